"""What is installed: the stubs where type checkers look, and the files that are no Python modules."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")

ROOT = Path(__file__).parents[2]
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "triton_pyb", "stubs")
MODEL = """\
import triton_python_backend_utils as pb_utils

reveal_type(pb_utils.get_model_dir())
pb_utils.TritonError(3)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy to build from: a build leaves nothing behind in the working tree."""
    folder = tmp_path_factory.mktemp("project")
    for name in BUILT_FROM:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)
    return folder


def build(project: Path, hook: str) -> zipfile.ZipFile:
    """What the build backend's `hook` makes, as an installer calls it."""
    code = f"import sys; from hatchling.build import {hook}; print({hook}(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, "dist"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return zipfile.ZipFile(project / "dist" / done.stdout.split()[-1])


@pytest.fixture(scope="module")
def wheel(project: Path) -> zipfile.ZipFile:
    return build(project, "build_wheel")


@pytest.mark.parametrize(
    "name",
    [
        "triton_python_backend_utils-stubs/__init__.pyi",
        "c_python_backend_utils-stubs/__init__.pyi",
        "triton_pyb/py.typed",
        "triton_pyb/config/releases.csv",
        "triton_pyb/check/known_packages.txt",
        "triton_pyb/emulator/backends/onnxruntime/model.py",
        "triton_pyb/emulator/backends/pytorch/model.py",
        "triton_pyb/emulator/stub/backend/python/triton_python_backend_utils.py",
        "triton_pyb/repository/model_template.py",
    ],
)
def test_the_wheel_holds(wheel: zipfile.ZipFile, name: str) -> None:
    assert name in wheel.namelist()


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else_to_import(wheel: zipfile.ZipFile) -> None:
    tree = {str(path.relative_to(ROOT)) for path in (ROOT / "triton_pyb").rglob("*") if path.is_file()}
    held = {name for name in wheel.namelist() if name.startswith("triton_pyb/")}
    assert held == {name for name in tree if "__pycache__" not in name}
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if top.isidentifier()} == {"triton_pyb"}
    assert {top for top in tops if top.endswith("-stubs")} == {
        path.name + "-stubs" for path in (ROOT / "stubs").iterdir()
    }


@pytest.mark.parametrize("hook", ["build_wheel", "build_editable"])
def test_an_installed_wheel_gives_types_and_no_module(project: Path, tmp_path: Path, hook: str) -> None:
    """Installed and editable alike: mypy reads the stubs, Python finds no such module."""
    pytest.importorskip("mypy")
    pytest.importorskip("editables")  # what hatchling needs for the second
    python, site = empty_environment(tmp_path / "venv")
    build(project, hook).extractall(site)
    code = "from importlib.util import find_spec as f; print(*map(f, ['triton_python_backend_utils', "
    code += "'c_python_backend_utils']), f('triton_pyb') is not None)"
    found = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout == "None None True\n", found.stderr
    model = tmp_path / "model.py"
    model.write_text(MODEL)
    command = [sys.executable, "-m", "mypy", "--config-file=", "--strict", f"--python-executable={python}", model.name]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert [line.partition(": ")[2].replace("builtins.", "") for line in checked.stdout.splitlines()[:-1]] == [
        'note: Revealed type is "str"',
        'error: Argument 1 to "TritonError" has incompatible type "int"; expected "str"  [arg-type]',
    ]


def empty_environment(folder: Path) -> tuple[Path, Path]:
    """An environment with nothing in it: its Python and its site-packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    (site,) = folder.glob("lib/python*/site-packages")
    return folder / "bin" / "python", site
