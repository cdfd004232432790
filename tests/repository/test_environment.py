"""Environment archives: made alike every time, and refused with reasons where they could not run."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.repository.applications import step_with, write
from triton_pyb.config.releases import Release, find_release
from triton_pyb.repository import BuildError, build, environment, resolution
from triton_pyb.repository.archive_check import check_archive
from triton_pyb.repository.environment import pack_environment
from triton_pyb.repository.versions import read_config

GOOD = {"bin/activate": b"", "lib/python3.10/site-packages/click/__init__.py": b""}
RELEASE = find_release("24.10")


def archive(folder: Path, files: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    path = folder / "env.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return path


def library(symbol_version: str = "GLIBC_2.17", machine: int = 62) -> bytes:
    """The least ELF file that wants one symbol version of libc.so.6."""
    strings = b"\0libc.so.6\0" + symbol_version.encode() + b"\0.gnu.version_r\0.dynstr\0"
    needs = b"".join(
        number.to_bytes(size, "little")
        for number, size in ((1, 2), (1, 2), (1, 4), (16, 4), (0, 4), (0, 4), (0, 2), (2, 2), (11, 4), (0, 4))
    )
    body = strings + needs
    names = {".gnu.version_r": strings.index(b".gnu.version_r"), ".dynstr": strings.index(b".dynstr")}

    def section(name: int, kind: int, offset: int, size: int, link: int, info: int) -> bytes:
        fields = ((name, 4), (kind, 4), (0, 8), (0, 8), (offset, 8), (size, 8), (link, 4), (info, 4), (1, 8), (0, 8))
        return b"".join(number.to_bytes(width, "little") for number, width in fields)

    sections = section(0, 0, 0, 0, 0, 0)
    sections += section(names[".dynstr"], 3, 64, len(strings), 0, 0)
    sections += section(names[".gnu.version_r"], 0x6FFFFFFE, 64 + len(strings), len(needs), 1, 1)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    for number, width in ((3, 2), (machine, 2), (1, 4), (0, 8), (0, 8), (64 + len(body), 8), (0, 4), (64, 2),
                          (0, 2), (0, 2), (64, 2), (3, 2), (1, 2)):  # fmt: skip
        head += number.to_bytes(width, "little")
    return head + body + sections


def test_a_good_archive(tmp_path: Path) -> None:
    links = {"bin/python3": "/usr/bin/python3.10"}
    check_archive(archive(tmp_path, {**GOOD, "lib/a.so": library("GLIBC_2.35")}, links), RELEASE)


def test_what_conda_pack_makes(tmp_path: Path) -> None:
    """A real Python, its own libstdc++, and a library that needs a newer one than Ubuntu's."""
    files = {
        **GOOD,
        "bin/python3.10": b"",
        "lib/libstdc++.so.6": library(),
        "lib/python3.10/os.py": b"",
        "lib/b.so": library("GLIBCXX_3.4.32"),
    }
    check_archive(archive(tmp_path, files, {"bin/python3": "python3.10"}), RELEASE)


@pytest.mark.parametrize(
    "files, links, said",
    [
        ({"lib/python3.10/site-packages/a.py": b""}, {}, "it has no bin/activate"),
        ({f"env/{name}": content for name, content in GOOD.items()}, {}, "at its top; there is 'env/bin/activate'"),
        ({"bin/activate": b""}, {}, "it has no lib/pythonX.Y/site-packages"),
        ({"bin/activate": b"", "lib/python3.11/site-packages/a.py": b""}, {},
         "it holds Python 3.11, the stub of 24.10 runs 3.10"),
        (GOOD, {"bin/python3": "/home/me/.pyenv/versions/3.10.1/bin/python3"},
         "bin/python3 is a link to /home/me/.pyenv/versions/3.10.1/bin/python3, which is not in the container"),
        ({**GOOD, "lib/python3.10/site-packages/triton_python_backend_utils.py": b""}, {}, "would hide Triton's own"),
        ({**GOOD, "lib/a.so": library("GLIBC_2.38")}, {}, "needs GLIBC_2.38, Ubuntu 22.04 has 2.35"),
        ({**GOOD, "lib/a.so": library("GLIBCXX_3.4.32")}, {}, "needs GLIBCXX_3.4.32, Ubuntu 22.04 has 3.4.30"),
        ({**GOOD, "lib/a.so": library(machine=183)}, {}, "is for AARCH64, the container for x86_64"),
        ({**GOOD, "lib/a.so": b"\xcf\xfa\xed\xfe"}, {}, "is no library of Linux"),
        ({**GOOD, "lib/a.dylib": b""}, {}, "is a library of macOS"),
        ({**GOOD, "lib/a.pyd": b""}, {}, "is a library of Windows"),
    ],
)  # fmt: skip
def test_an_archive_that_could_not_run(
    tmp_path: Path, files: dict[str, bytes], links: dict[str, str], said: str
) -> None:
    with pytest.raises(BuildError) as caught:
        check_archive(archive(tmp_path, files, links), RELEASE)
    assert caught.value.code == "TPB450"
    assert said in caught.value.what


def test_no_archive_at_all(tmp_path: Path) -> None:
    (tmp_path / "env.tar.gz").write_bytes(b"no archive")
    with pytest.raises(BuildError, match="TPB450 'env.tar.gz' could not run in 24.10: it cannot be read"):
        check_archive(tmp_path / "env.tar.gz", RELEASE)


# ---- packing


@pytest.fixture
def wheels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """In place of pip: one module is `installed`; what was asked of it is collected."""
    asked: list[str] = []

    def resolve(requirements: Sequence[str], release: Release, machine: str = "x86_64") -> list[str]:
        asked.append(f"{release.python_text} {release.glibc} {machine}: {', '.join(requirements)}")
        return ["click==8.1.7"]

    def install(pinned: Sequence[str], release: Release, folder: Path, machine: str = "x86_64") -> None:
        write(
            folder, {"click/__init__.py": "HERE = __file__\n", "bin/tool": "#!/here/python", "c/direct_url.json": "/"}
        )

    monkeypatch.setattr(environment, "resolve_requirements", resolve)
    monkeypatch.setattr(environment, "install_wheels", install)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return asked


def test_the_same_requirements_give_the_same_bytes(wheels: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = pack_environment(["click==8.1.7"], RELEASE)
    content = first.read_bytes()
    assert pack_environment(["click==8.1.7"], RELEASE) == first
    assert wheels == ["3.10 (2, 35) x86_64: click==8.1.7"]  # the second came from the cache
    first.unlink()
    pack_environment(["click==8.1.7"], RELEASE)
    assert first.read_bytes() == content
    with tarfile.open(first) as tar:
        names = tar.getnames()
        about = json.loads(tar.extractfile("triton_pyb_env.json").read())  # type: ignore[union-attr]
        assert {(member.mtime, member.uid) for member in tar} == {(0, 0)}
    assert not any("bin/tool" in name or "direct_url" in name for name in names)
    assert about["requirements"] == ["click==8.1.7"]


def test_it_works_wherever_it_lies(wheels: list[str], tmp_path: Path) -> None:
    """Sourced as Triton does it, with the Python of this machine in place of the container's."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    packed = pack_environment(["click==8.1.7"], RELEASE._replace(python=sys.version_info[:2]))
    for place in ("one", "two words"):
        with tarfile.open(packed) as tar:
            tar.extractall(tmp_path / place, filter="tar")
        run = subprocess.run(
            ["bash", "-c", 'source "$0/bin/activate" && exec python3 -c "import click, sys; print(click.HERE)"',
             str(tmp_path / place)],
            capture_output=True, text=True, check=True,
            env={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        )  # fmt: skip
        assert run.stdout.strip() == f"{tmp_path}/{place}/lib/python{here}/site-packages/click/__init__.py"


def test_the_configuration_names_the_archive(wheels: list[str], tmp_path: Path) -> None:
    write(tmp_path, step_with("import click"))
    build(str(tmp_path / "app.py:double"), tmp_path / "models", release="24.10", env="pack")
    place = tmp_path / "models/double"
    (packed,) = place.glob("env-*.tar.gz")
    parameter = read_config(place / "config.pbtxt").parameters["EXECUTION_ENV_PATH"].string_value
    assert parameter == f"$$TRITON_MODEL_DIRECTORY/{packed.name}"


def test_other_versions_than_here_are_told(wheels: list[str], tmp_path: Path) -> None:
    write(tmp_path, step_with("import click"))
    built = build(str(tmp_path / "app.py:double"), tmp_path / "models", release="24.10", env="pack")
    assert built.notes[0].startswith("the environment for Python 3.10 holds click 8.1.7 instead of ")


def test_a_step_that_needs_only_numpy_has_no_archive(wheels: list[str], tmp_path: Path) -> None:
    write(tmp_path, step_with(""))
    build(str(tmp_path / "app.py:double"), tmp_path / "models", release="24.10", env="pack")
    assert not list((tmp_path / "models/double").glob("env-*"))


def test_an_archive_of_somebody_else_is_checked(tmp_path: Path) -> None:
    write(tmp_path, step_with("import click"))
    target = str(tmp_path / "app.py:double")
    packed = archive(tmp_path, GOOD)
    with pytest.raises(BuildError, match="TPB450 'env.tar.gz' could not run in 21.10: it holds Python 3.10"):
        build(target, tmp_path / "models", release="21.10", env_archive=packed)
    assert not (tmp_path / "models").exists()
    build(target, tmp_path / "models", release="24.10", env_archive=packed)
    assert (tmp_path / "models/double/env.tar.gz").read_bytes() == packed.read_bytes()


def test_an_image_instead(wheels: list[str], tmp_path: Path) -> None:
    write(tmp_path, step_with("import click"))
    built = build(str(tmp_path / "app.py:double"), tmp_path / "models", release="24.10", env="image")
    assert built.image == tmp_path / "models-image"
    assert "FROM nvcr.io/nvidia/tritonserver:24.10-py3\n" in (built.image / "Dockerfile").read_text()
    assert (built.image / "requirements.txt").read_text() == "click==8.1.7\n"
    (built.image / "Dockerfile").write_text("FROM mine\n")
    with pytest.raises(BuildError, match="TPB459 '.*Dockerfile' was not written by triton_pyb"):
        build(str(tmp_path / "app.py:double"), tmp_path / "models", release="24.10", env="image")


def test_an_environment_needs_a_release(tmp_path: Path) -> None:
    write(tmp_path, step_with("import click"))
    with pytest.raises(BuildError, match="TPB458 env='pack' needs to know the container's Python and glibc"):
        build(str(tmp_path / "app.py:double"), tmp_path / "models", env="pack")


# ---- resolving


def test_versions_that_the_container_cannot_have_are_relaxed(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def resolved(requirements: Sequence[str], release: Release, machine: str) -> list[str]:
        tried.append(list(requirements))
        if len(tried) == 1:
            raise resolution._NoWheel("No matching distribution found for numpy==1.26.4")
        return ["numpy==1.24.4"]

    monkeypatch.setattr(resolution, "_resolved", resolved)
    resolution.resolve_requirements(["numpy==1.26.4", "click==8.2.1"], find_release("21.10"))
    assert tried[1] == ["numpy<2", "click<=8.2.1"]


def test_a_package_without_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolved(requirements: Sequence[str], release: Release, machine: str) -> list[str]:
        raise resolution._NoWheel("No matching distribution found")

    monkeypatch.setattr(resolution, "_resolved", resolved)
    with pytest.raises(BuildError, match="TPB456 no wheels for a==1 on Python 3.8, glibc 2.31, x86_64"):
        resolution.resolve_requirements(["a==1"], find_release("21.10"))


def test_pip_is_told_the_target() -> None:
    options = resolution._target(find_release("21.10"), "aarch64")
    assert "--python-version=3.8" in options and "--abi=cp38" in options
    assert "--platform=manylinux_2_31_aarch64" in options and "--platform=manylinux2014_aarch64" in options
    assert not any("2_32" in option or "x86_64" in option for option in options)
