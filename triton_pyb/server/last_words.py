"""What the log of a server that died says about it, and where all of it is kept."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path

from triton_pyb.server import log as server_log

#: How many lines are quoted.
LINES = 20
#: Parts of lines of a process that dies: of the C++ runtime, of tritonserver's own handler, of glibc.
_FATAL = ("terminate called", "what():", "Signal (", "Segmentation fault", "Check failed", "Fatal Python error")


def last_words(text: str) -> str:
    """The signs of the end first, then the last lines, `LINES` in all; repeated lines once."""
    lines = [line for line in server_log.tail(text, 400).splitlines() if "Signal (15)" not in line]
    fatal = [line for line in lines if any(sign in line for sign in _FATAL) or line.startswith("F")]
    chosen = list(dict.fromkeys(fatal))[-LINES // 2 :]
    others = list(dict.fromkeys(line for line in lines if line not in fatal))
    return "\n".join([*chosen, *others[len(others) - min(len(others), LINES - len(chosen)) :]])


def keep_log(log_path: Path, pid: int) -> str:
    """Copy the log out of the folder that goes with the server; the line that names the copy."""
    kept = Path(tempfile.gettempdir(), f"triton_pyb_server_{pid}.log")
    with contextlib.suppress(OSError):
        shutil.copyfile(log_path, kept)
        return f"all of it: {kept}"
    return ""
