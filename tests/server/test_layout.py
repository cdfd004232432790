from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from triton_pyb.server import Installation, describe_interpreter
from triton_pyb.server.layout import make_backends, make_environment


@pytest.fixture
def wheel(tmp_path: Path) -> Installation:
    """The files of a wheel that matter here."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for name in (
        "backends/python/libtriton_python.so",
        "backends/python/triton_python_backend_utils.py",
        f"stubs/{version}/triton_python_backend_stub",
        "stubs/3.7/triton_python_backend_stub",
    ):
        (tmp_path / "wheel" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "wheel" / name).write_text(name)
    root = tmp_path / "wheel"
    return Installation("wheel", root / "tritonserver", root / "backends", root / "libs", root / "stubs")


def test_the_backends_are_python_with_its_stub_and_the_stand_ins(tmp_path: Path, wheel: Installation) -> None:
    interpreter = describe_interpreter()
    backends = make_backends(wheel, interpreter, tmp_path)
    assert sorted(folder.name for folder in backends.iterdir()) == ["onnxruntime", "python", "pytorch"]
    stub = backends / "python" / "triton_python_backend_stub"
    assert stub.read_text() == f"stubs/{interpreter.version}/triton_python_backend_stub"
    assert os.access(stub, os.X_OK)
    assert not any(file.is_symlink() for file in backends.rglob("*"))  # Triton refuses links that lead out
    assert [file.name for file in (backends / "pytorch").iterdir()] == ["model.py"]


def test_the_environment_points_to_this_very_python(
    tmp_path: Path, wheel: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/mine")
    monkeypatch.setenv("PYTHONHOME", "/elsewhere")
    monkeypatch.setenv("PYTHONPATH", "/packages")
    interpreter = describe_interpreter()
    environment = make_environment(wheel, interpreter, tmp_path)
    assert environment["LD_LIBRARY_PATH"] == f"{wheel.libraries}:{interpreter.library_folder}:/mine"
    assert environment["PATH"].startswith(f"{interpreter.executable.parent}:")
    assert "PYTHONHOME" not in environment and environment["PYTHONPATH"] == "/packages"


def test_another_python_gets_its_name_and_not_our_packages(
    tmp_path: Path, wheel: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/packages")
    lonely = tmp_path / "lonely" / "python-x"  # no python3 beside it
    lonely.parent.mkdir()
    lonely.symlink_to(sys.executable)
    environment = make_environment(wheel, replace(describe_interpreter(), executable=lonely), tmp_path)
    assert environment["PATH"].startswith(f"{tmp_path / 'bin'}:")
    assert (tmp_path / "bin" / "python3").readlink() == lonely
    assert "PYTHONPATH" not in environment


def test_a_native_server_is_left_as_it_is(tmp_path: Path) -> None:
    native = Installation("native", tmp_path / "tritonserver", tmp_path / "backends")
    assert make_backends(native, None, tmp_path) == tmp_path / "backends"
    assert make_environment(native, None, tmp_path) == dict(os.environ)
