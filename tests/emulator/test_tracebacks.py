"""What pytest shows of a mistake in an application: the test, the author's line, the message."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

APP = """
from triton_pyb import model


def undeclared(x: int):
    return x


step = model(undeclared)
"""
TEST = """
def test_it(triton):
    triton.load("app.py")
"""


def test_no_frame_of_ours_stands_before_the_message(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "test_app.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", str(tmp_path)]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False).stdout
    places = re.findall(r"^(\S+\.py):\d+: ", output, re.M)
    assert places == ["test_app.py", "app.py"], output
    assert '>       triton.load("app.py")' in output and ">   step = model(undeclared)" in output
    assert "E   triton_pyb.runtime.errors.DeclarationError: TPB107 " in output
