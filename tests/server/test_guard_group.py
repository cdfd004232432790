"""The guard of a server whose starter was killed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from triton_pyb.server.guard import Guard

# A server that ends at SIGTERM without ending its stub, as one does that is told to stop while it loads.
_SERVER = """
import signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
signal.pause()
"""


def _alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_stub_that_its_server_left_ends_too(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert server.stdout is not None
    stub = int(server.stdout.readline())
    guard = Guard(server.pid, tmp_path / "none", "triton_pyb_no_such_region_")
    try:
        assert guard._popen.stdin is not None
        guard._popen.stdin.close()  # what happens when the starter is killed
        server.wait(10)
        guard._popen.wait(15)
        deadline = time.monotonic() + 2
        while _alive(stub) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not _alive(stub)
    finally:
        server.stdout.close()
        if _alive(stub):
            subprocess.run(["kill", "-KILL", str(stub)], check=False)
