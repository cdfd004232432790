"""Built for a release: its Python, its pb_utils, its config.pbtxt, its numpy, its shared memory."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

import pytest

from tests.repository.applications import STEP, pipeline_text, step_with, write
from triton_pyb.config.releases import ReleaseError, find_release
from triton_pyb.repository import build
from triton_pyb.repository.manifest import read_manifest
from triton_pyb.repository.release_check import python_needs
from triton_pyb.runtime.errors import TritonPybError

LAZY = "from __future__ import annotations\n"


def build_step(folder: Path, imports: str, release: str, body: str = STEP) -> None:
    write(folder, {"app.py": imports + body})
    build(str(folder / "app.py:double"), folder / "models", release=release)


@pytest.mark.parametrize(
    "name, python, glibc",
    [("21.10", (3, 8), (2, 31)), ("23.05", (3, 10), (2, 35)), ("24.10", (3, 10), (2, 35)), ("24.11", (3, 12), (2, 39))],
)
def test_what_a_release_brings(name: str, python: tuple[int, int], glibc: tuple[int, int]) -> None:
    release = find_release(name)
    assert (release.python, release.glibc) == (python, glibc)


def test_the_latest_is_the_newest_that_is_described() -> None:
    latest = find_release("latest")
    assert latest.at_least("26.08") and latest.python == (3, 12)
    assert find_release("26.10").python == (3, 12)  # not described yet: as its predecessor


def test_no_such_release() -> None:
    with pytest.raises(ReleaseError, match=r"TPB430 there is no Triton release '21.9'"):
        find_release("21.9")


@pytest.mark.parametrize(
    "source, needs",
    [
        ("match 1:\n    case 1: pass", {(1, (3, 10))}),
        ("import tomllib", {(1, (3, 11))}),
        ("A = dict[str, int]", {(1, (3, 9))}),
        ("from functools import cache", {(1, (3, 9))}),
        ("def f(x: list[int]): pass", {(1, (3, 9))}),
        (LAZY + "def f(\n    x: list[\n        int],\n) -> dict[\n    str, int]: pass\nb: tuple[int, ...] = ()", set()),
        (LAZY + "def f(x: int | None): pass", set()),
        ("class A: pass\ndef f(x: A | None): pass", {(2, (3, 10))}),
        (LAZY + "def f(é: list[int], y: 'ü' = (lambda: 0)) -> X: return dict[str, int]", {(2, (3, 9))}),
    ],
)
def test_what_needs_which_python(source: str, needs: set[tuple[int, tuple[int, int]]]) -> None:
    assert {(need.line, need.python) for need in python_needs(source) if need.python > (3, 8)} == needs


@pytest.mark.parametrize(
    "imports, release, code, said",
    [
        ("X = dict[str, int]", "21.10", "TPB431", "needs Python 3.9; release 21.10 has 3.8"),
        ("def f():\n    import tomllib", "23.05", "TPB431", "'tomllib' module needs Python 3.11"),
        ("try:\n    import distutils\nexcept ImportError:\n    pass", "24.11", "TPB431",
         "module 'distutils' is gone since Python 3.12"),
        ("def f():\n    import triton_python_backend_utils as pb\n    pb.Logger", "21.10", "TPB433",
         "pb_utils.Logger needs release 22.09"),
    ],
)  # fmt: skip
def test_what_the_release_lacks_is_refused(tmp_path: Path, imports: str, release: str, code: str, said: str) -> None:
    with pytest.raises(TritonPybError) as caught:
        build_step(tmp_path / "project", f"{LAZY}{imports}\n", release)
    assert caught.value.code == code
    assert said in caught.value.what
    assert "app.py:" in caught.value.where
    assert os.listdir(tmp_path / "project") == ["app.py"]


def test_a_field_that_the_release_lacks(tmp_path: Path) -> None:
    optional = STEP.replace(', Tensor("FP32", (2,))])', ', Tensor("FP32", (2,))] = np.zeros(2))')
    with pytest.raises(TritonPybError, match=r"TPB432 'input\[0\].optional' in config.pbtxt needs release 22.01"):
        build_step(tmp_path, LAZY, "21.10", optional)
    build_step(tmp_path, LAZY, "22.01", optional)


def test_everything_that_is_missing_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(TritonPybError) as caught:
        build_step(tmp_path, "X = dict[str, int]\nimport zoneinfo\n", "21.10")
    assert str(caught.value).startswith("2 errors\nTPB431")


def test_the_manifest_says_the_release(tmp_path: Path) -> None:
    build_step(tmp_path, LAZY, "21.10")
    manifest = read_manifest(tmp_path / "models/double")
    assert manifest is not None and manifest.release == "21.10"


def test_numpy_2_is_kept_out_where_the_stub_cannot_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "2.1.0" if name == "numpy" else real(name))
    write(tmp_path, step_with(""))
    for release, expected in (("24.10", "numpy<2"), ("25.01", "numpy==2.1.0"), ("", "numpy==2.1.0")):
        built = build(str(tmp_path / "app.py:double"), tmp_path / "models", release=release)
        assert built.requirements == (expected,)


def test_shared_memory_is_computed(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": pipeline_text()})
    old = build(str(tmp_path / "app.py:pipeline"), tmp_path / "models", release="21.10")
    assert old.shm_bytes == 2 * 64 << 20
    assert any("about 128 MiB of shared memory, docker gives 64 MiB" in note for note in old.notes)
    new = build(str(tmp_path / "app.py:pipeline"), tmp_path / "models", release="24.10")
    assert new.shm_bytes == 2 * ((1 << 20) + 4 * (8 + 8))
    assert new.notes == ()
