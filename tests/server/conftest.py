"""One real server for all tests of this folder, in explicit mode: a test loads what it wrote."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from triton_pyb.server import RealTriton


@pytest.fixture(scope="session")
def explicit_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealTriton]:
    """A real Triton without models; write a folder into ``.repository`` and ``.load`` it."""
    repository = tmp_path_factory.mktemp("explicit_repository")
    with RealTriton(repository, model_control_mode="explicit") as server:
        yield server


@pytest.fixture(scope="session")
def python38(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python 3.8 with numpy: TRITON_PYB_PYTHON38, or a virtual environment made from one that is installed."""
    named = os.environ.get("TRITON_PYB_PYTHON38")
    if named:
        return Path(named)
    base = _installed_python38()
    if base is None:
        pytest.skip("no python3.8 on PATH or below ~/.pyenv, and TRITON_PYB_PYTHON38 is not set")
    environment = tmp_path_factory.mktemp("python38") / "venv"
    subprocess.run([base, "-m", "venv", environment], check=True, capture_output=True)
    python = environment / "bin" / "python"
    installed = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "numpy<1.25"], capture_output=True, text=True
    )
    if installed.returncode != 0:
        pytest.skip(f"numpy<1.25 cannot be installed for Python 3.8: {installed.stderr.strip()[-200:]}")
    return python


def _installed_python38() -> Path | None:
    candidates = sorted(Path.home().glob(".pyenv/versions/3.8.*/bin/python3.8"))
    on_path = shutil.which("python3.8")
    for candidate in [*candidates, *([Path(on_path)] if on_path else [])]:
        answer = subprocess.run([candidate, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True)
        if answer.stdout.strip() == b"(3, 8)":
            return candidate
    return None
