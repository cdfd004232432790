"""What travels: every way of importing, data files, and what cannot travel is said before anything is written."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.repository.applications import STEP, step_with, tree, write
from triton_pyb.repository import BuildError, build
from triton_pyb.repository.closure import Closure, find_closure
from triton_pyb.repository.target import load_target
from triton_pyb.runtime.steps import mark_of


def closure(folder: Path, files: dict[str, str], target: str = "app.py:double") -> Closure:
    step = load_target(str(write(folder, files) / target))
    mark = mark_of(step)
    assert mark is not None
    return find_closure(mark, step)


def travelling(folder: Path, files: dict[str, str]) -> set[str]:
    return set(closure(folder, files).files) - {"app.py"}


@pytest.mark.parametrize(
    "imports, files, expected",
    [
        ("import helper", {"helper.py": ""}, {"helper.py"}),
        ("import pack.sub.deep", {"pack/__init__.py": "", "pack/sub/__init__.py": "", "pack/sub/deep.py": ""},
         {"pack/__init__.py", "pack/sub/__init__.py", "pack/sub/deep.py"}),
        ("from pack import one", {"pack/__init__.py": "", "pack/one.py": "from . import two\nfrom .two import f",
                                  "pack/two.py": "f = 1", "pack/unused.py": ""},
         {"pack/__init__.py", "pack/one.py", "pack/two.py"}),
        ("from pack.a.b import c", {"pack/a/b.py": "from ..d import e\nc = e", "pack/d.py": "e = 1"},
         {"pack/a/b.py", "pack/d.py"}),
        ("def later():\n    from helper import f\n    return f", {"helper.py": "f = 1"}, {"helper.py"}),
        ("import importlib\nm = importlib.import_module('helper')", {"helper.py": ""}, {"helper.py"}),
        ("from pack import *", {"pack/__init__.py": "__all__ = ['one']", "pack/one.py": "", "pack/two.py": ""},
         {"pack/__init__.py", "pack/one.py"}),
        ("import one", {"one.py": "import two", "two.py": "import one"}, {"one.py", "two.py"}),
        ("TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import nowhere", {}, set()),
        ("try:\n    import nowhere\nexcept ImportError:\n    nowhere = None", {}, set()),
        ("import contextlib\nwith contextlib.suppress(ImportError):\n    import nowhere", {}, set()),
        ("import sys\nif sys.version_info < (3, 0):\n    import nowhere", {}, set()),
        ("if __name__ == '__main__':\n    import nowhere\n    from triton_pyb.server import RealTriton", {}, set()),
        ("from importlib import resources\nTEXT = resources.files('pack').joinpath('a.txt')",
         {"pack/__init__.py": "", "pack/a.txt": "a", "pack/data/b.json": "{}", "pack/__pycache__/c.pyc": ""},
         {"pack/a.txt", "pack/data/b.json"}),
        ("import pkgutil, pack\nTEXT = pkgutil.get_data('pack', 'a.txt')",
         {"pack/__init__.py": "", "pack/a.txt": "a", "pack/b.txt": "b"}, {"pack/__init__.py", "pack/a.txt"}),
        ("from pack import words", {"pack/__init__.py": "", "pack/a.txt": "a", "pack/words.py":
         "from importlib.resources import files\nA = files(__package__) / 'a.txt'"},
         {"pack/__init__.py", "pack/words.py", "pack/a.txt"}),
    ],
)  # fmt: skip
def test_what_is_imported_travels(tmp_path: Path, imports: str, files: dict[str, str], expected: set[str]) -> None:
    assert travelling(tmp_path, step_with(imports, files)) == expected


def test_third_party_is_listed_with_the_version_in_use(tmp_path: Path) -> None:
    import cv2

    write(tmp_path, step_with("import cv2\nimport google.protobuf\nimport json"))
    built = build(str(tmp_path / "app.py"), tmp_path / "models")
    assert built.third_party == ("cv2", "google")
    assert f"protobuf=={metadata.version('protobuf')}" in built.requirements
    assert any(cv2.__version__ in line for line in built.requirements if line.startswith("opencv"))


def test_assets_keep_their_place_beside_the_file(tmp_path: Path) -> None:
    files = step_with("", {"labels.txt": "cat", "data/a.json": "1", "data/b.json": "2", "data/c.bin": "3"})
    write(tmp_path, files)
    step = load_target(str(tmp_path / "app.py:double"))
    mark = mark_of(step)
    assert mark is not None
    mark.assets = ("labels.txt", "data/*.json")
    assert set(find_closure(mark, step).files) == {"app.py", "labels.txt", "data/a.json", "data/b.json"}


@pytest.mark.parametrize(
    "pattern, code, said",
    [
        ("label.txt", "TPB418", "'label.txt', which fits no file below"),
        ("../x.txt", "TPB419", "outside the folder of the declaration"),
        ("model.py", "TPB415", "would hide the 'model.py'"),
        ("out.txt", "TPB409", "leads out of the project"),
    ],
)
def test_an_asset_that_cannot_travel(tmp_path: Path, pattern: str, code: str, said: str) -> None:
    outside = write(tmp_path, {"secret.txt": "s"}) / "secret.txt"
    project = write(tmp_path / "project", step_with("", {"labels.txt": "cat", "model.py": ""}))
    (project / "out.txt").symlink_to(outside)
    step = load_target(str(project / "app.py:double"))
    mark = mark_of(step)
    assert mark is not None
    mark.assets = (pattern,)
    with pytest.raises(BuildError) as caught:
        find_closure(mark, step)
    assert caught.value.code == code
    assert said in caught.value.what


@pytest.mark.parametrize(
    "imports, files, code, said",
    [
        ("def f():\n    import nowhere", {}, "TPB408", "there is no module 'nowhere'"),
        ("def f():\n    import helpr", {"helper.py": ""}, "TPB408", "did you mean 'helper'?"),
        ("def f():\n    import pack.gone", {"pack/__init__.py": ""}, "TPB408", "there is no module 'pack.gone'"),
        ("def f():\n    import random", {"random.py": ""}, "TPB406", "the standard library's module 'random'"),
        ("def f():\n    import model", {"model.py": ""}, "TPB415", "module 'model' would hide the 'model'"),
        ("import helper", {"helper.py": "", "helper/__init__.py": ""}, "TPB416", "two modules are named 'helper'"),
        ("def f():\n    import quick", {"quick.cpython-311-x86_64-linux-gnu.so": ""}, "TPB417", "compiled extension"),
        ("from triton_pyb.dtypes import x", {}, "TPB402", "cannot be imported"),
        ("from triton_pyb.repository import build", {}, "TPB420", "triton_pyb.repository does not travel"),
        ("import one", {"one.py": "from two import a", "two.py": "from one import b"}, "TPB402", "circular import"),
        ("def f():\n    import bad", {"bad.py": "def ("}, "TPB402", "bad.py' cannot be parsed"),
    ],
)  # fmt: skip
def test_what_cannot_travel_is_said_and_nothing_is_written(
    tmp_path: Path, imports: str, files: dict[str, str], code: str, said: str
) -> None:
    if "quick" in imports:
        from importlib.machinery import EXTENSION_SUFFIXES

        files = {f"quick{EXTENSION_SUFFIXES[0]}": ""}
    write(tmp_path / "project", step_with(imports, files))
    with pytest.raises(BuildError) as caught:
        build(str(tmp_path / "project/app.py:double"), tmp_path / "models")
    assert caught.value.code == code
    assert said in caught.value.what
    assert os.listdir(tmp_path) == ["project"]


def test_a_module_outside_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "elsewhere", {"shared_words.py": ""})
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    with pytest.raises(BuildError, match=r"TPB409 module 'shared_words' lies outside the project") as caught:
        closure(tmp_path / "project", step_with("import shared_words"))
    assert str(tmp_path / "project") in caught.value.where


def test_a_module_that_is_a_link_out_of_the_project(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", {"helper.py": ""})
    project = write(tmp_path / "project", step_with("import helper"))
    (project / "helper.py").symlink_to(tmp_path / "elsewhere/helper.py")
    with pytest.raises(BuildError, match=r"TPB409 .*helper.py' leads out of the project, to .*elsewhere"):
        closure(project, {})


def test_what_reading_cannot_tell_is_noted(tmp_path: Path) -> None:
    imports = "import importlib, pathlib\ndef f(name):\n    return importlib.import_module(name)\n"
    imports += "def g():\n    return (pathlib.Path(__file__).parent / 'labels.txt').read_text()"
    notes = closure(tmp_path, step_with(imports, {"labels.txt": "cat"})).notes
    assert notes[0].startswith("app.py:4 imports a module whose name only running tells")
    assert notes[1].endswith('declare it: assets=("labels.txt",)')


def test_no_pickle_no_absolute_path_no_cache(tmp_path: Path) -> None:
    project = write(tmp_path / "somewhere_special", {**step_with("import helper"), "helper.py": ""})
    build(str(project / "app.py"), tmp_path / "models")
    for name, content in tree(tmp_path / "models").items():
        assert not name.endswith((".pkl", ".pickle", ".pyc"))
        assert "__pycache__/" not in name  # a file of that name keeps Python from making the folder
        assert b"somewhere_special" not in content, name
        assert b"\x80\x04\x95" not in content, name  # how a pickle begins


def test_the_step_of_a_package_travels_with_it(tmp_path: Path) -> None:
    write(tmp_path, {"service/__init__.py": "", "service/app.py": "from .words import A\n" + STEP,
                     "service/words.py": "A = 1"})  # fmt: skip
    previous = os.getcwd()
    os.chdir(tmp_path)
    try:
        step = load_target("service.app:double")
        mark = mark_of(step)
        assert mark is not None
        found = find_closure(mark, step)
    finally:
        os.chdir(previous)
    assert found.function == "service.app:double"
    assert set(found.files) == {"service/__init__.py", "service/app.py", "service/words.py"}


def test_an_installed_application_travels_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = tmp_path / "lib/site-packages"
    write(packages, {"my_service/__init__.py": "", "my_service/app.py": "from . import words\n" + STEP,
                     "my_service/words.py": "", "neighbour.py": ""})  # fmt: skip
    monkeypatch.syspath_prepend(str(packages))
    built = build("my_service.app:double", tmp_path / "models")
    assert {"1/my_service/app.py", "1/my_service/words.py"} <= set(tree(tmp_path / "models/double"))
    assert built.third_party == ()
    monkeypatch.delitem(sys.modules, "my_service.app", raising=False)
