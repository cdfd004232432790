from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from triton_pyb.server import ServerNotFound, find_installation, installation

from .test_interpreter import fake_python


@pytest.fixture
def no_native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_native", lambda: None)


def test_nothing_installed_says_how_to_install(no_native: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(installation, "distribution", absent)
    with pytest.raises(ServerNotFound) as refusal:
        find_installation()
    assert refusal.value.code == "TPB601"
    assert "there is no Triton on this machine" in refusal.value.what
    assert "pip install 'triton_pyb[server]'" in refusal.value.fix


def test_a_native_server_wins_and_brings_its_own_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = tmp_path / "bin" / "tritonserver"
    binary.parent.mkdir()
    (tmp_path / "backends").mkdir()
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", str(binary.parent))
    found, interpreter = find_installation()
    assert (found.kind, found.binary, found.backends) == ("native", binary, tmp_path / "backends")
    assert interpreter is None and found.stand_ins == ()
    assert found.describe(interpreter) == f"Triton at {binary}"


@pytest.mark.real_triton
class TestWheel:
    @pytest.fixture(autouse=True)
    def _needs_the_wheel(self, no_native: None) -> None:
        if installation._wheel() is None:
            pytest.skip("nvidia-pytriton is not installed")

    def test_is_found_without_importing_it(self) -> None:
        found, interpreter = find_installation()
        assert found.kind == "wheel" and found.binary.is_file()
        assert "pytriton" not in sys.modules
        assert interpreter is not None and "CPU stand-ins: onnxruntime, pytorch" in found.describe(interpreter)

    def test_a_python_without_stub_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ServerNotFound) as refusal:
            find_installation(fake_python(tmp_path, version="3.7", full_version="3.7.16"))
        assert refusal.value.code == "TPB605"
        expected = "the wheel has no stub for Python 3.7.16; it has 3.8, 3.9, 3.10, 3.11, 3.12, 3.13"
        assert refusal.value.what == expected

    def test_a_python_without_numpy_is_refused(self, tmp_path: Path) -> None:
        python = fake_python(tmp_path, numpy="")
        with pytest.raises(ServerNotFound) as refusal:
            find_installation(python)
        assert refusal.value.code == "TPB606"
        assert "has no numpy" in refusal.value.what
        assert refusal.value.fix == f"run `{python} -m pip install 'numpy<2'`"

    def test_numpy_2_is_refused_with_the_reason(self, tmp_path: Path) -> None:
        with pytest.raises(ServerNotFound) as refusal:
            find_installation(fake_python(tmp_path, numpy="2.1.0"))
        assert refusal.value.code == "TPB607"
        assert "numpy 2.1.0 does not work with the Python backend of Triton 24.10" in refusal.value.what
        assert "it sends empty tensors" in refusal.value.what
