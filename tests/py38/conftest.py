"""A real Python 3.8 with numpy: the oldest that a supported container has."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


@pytest.fixture(scope="session")
def python38() -> str:
    """Its path: ``TRITON_PYB_PYTHON38``, or ``python3.8`` on the path; skipped, with the reason, without one."""
    python = os.environ.get("TRITON_PYB_PYTHON38") or shutil.which("python3.8")
    if python is None:
        pytest.skip("no Python 3.8: set TRITON_PYB_PYTHON38 to one that has numpy")
    program = "import sys, numpy; print(sys.version_info[:2] == (3, 8))"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True)
    if done.stdout.strip() != "True":
        pytest.skip(f"'{python}' is no Python 3.8 with numpy: {(done.stderr or done.stdout).strip()[-200:]}")
    return python
