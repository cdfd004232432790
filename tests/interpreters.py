"""Other Pythons of this machine, with what the models of a test import."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest


def environment(version: str, folder: Path, packages: Sequence[str]) -> Path:
    """A Python of that version that has `packages`; skips the test when there is none.

    Parameters
    ----------
    version : str
        ``"3.8"``.  The variable ``TRITON_PYB_PYTHON38`` names one that is ready; without it a virtual environment
        is made in `folder`, from an installed Python.
    """
    variable = f"TRITON_PYB_PYTHON{version.replace('.', '')}"
    named = os.environ.get(variable)
    if named:
        return Path(named)
    base = installed(version)
    if base is None:
        pytest.skip(f"no python{version} on PATH or below ~/.pyenv, and {variable} is not set")
    subprocess.run([base, "-m", "venv", folder / "venv"], check=True, capture_output=True)
    python = folder / "venv" / "bin" / "python"
    pip = subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], capture_output=True, text=True)
    if pip.returncode != 0:
        pytest.skip(f"{' '.join(packages)} cannot be installed for Python {version}: {pip.stderr.strip()[-200:]}")
    return python


def installed(version: str) -> Path | None:
    """A Python of that version on this machine."""
    candidates = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    on_path = shutil.which(f"python{version}")
    for candidate in [*candidates, *([Path(on_path)] if on_path else [])]:
        answer = subprocess.run([candidate, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True)
        if answer.stdout.split() == version.encode().split(b"."):
            return candidate
    return None
