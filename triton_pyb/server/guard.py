"""A server does not outlive the process that started it, not even one that is killed."""

from __future__ import annotations

import subprocess
from pathlib import Path

# `read` returns when we write a line, or when the pipe closes because this process is gone.
_SCRIPT = """
read -r stopped && exit 0
kill -TERM "$1" 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$1" 2>/dev/null || break; sleep 1; done
kill -s KILL -- "-$1" 2>/dev/null || kill -KILL "-$1" 2>/dev/null
rm -rf "$2" "/dev/shm/$3"*
"""


class Guard:
    """A shell that waits for this process to end, then ends a server and removes what it left.

    Parameters
    ----------
    pid : int
        Of the server, which leads a process group.
    folder : pathlib.Path
        The server's temporary folder.
    shm_prefix : str
        Prefix of the server's own regions in /dev/shm.
    """

    def __init__(self, pid: int, folder: Path, shm_prefix: str) -> None:
        self._popen = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "guard", str(pid), str(folder), shm_prefix],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # what kills our group leaves it alone
        )

    def release(self) -> None:
        """The server was stopped in order: there is nothing left to guard."""
        if self._popen.poll() is None:
            self._popen.communicate(b"stopped\n")
