"""The tritonserver process: its log, its readiness, its end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from triton_pyb.server import log as server_log
from triton_pyb.server.errors import ServerFailed
from triton_pyb.server.guard import Guard
from triton_pyb.server.last_words import keep_log, last_words

#: How long a server may take to end by itself before it is killed.
STOP_S = 15.0

_NO_MODEL_FILE = re.compile(r"Python model file not found in '.*?([^/']+)/([^/']+)/([^/']+)'")
#: What to do about the causes that are met most, by a part of the server's words.
_FIXES = {
    "but no GPUs are available": "this machine has no GPU: write KIND_AUTO, or KIND_CPU, where it is to run here too",
    "unable to find backend library": "that backend is not installed with this Triton: use NVIDIA's container for it",
    "No module named": "install that package in the Python that runs the models, or choose another with --python",
}

# Never through the proxy of the environment: the address is this machine.
_OPEN = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


class ServerProcess:
    """A process that was started and is watched.

    Parameters
    ----------
    where : str
        Repository and Triton, quoted in errors.
    shm_prefix : str
        Prefix of this server's own regions in /dev/shm.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        log_path: Path,
        http_url: str,
        where: str,
        shm_prefix: str,
    ) -> None:
        self.log_path, self._http_url, self._where, self._shm_prefix = log_path, http_url, where, shm_prefix
        with log_path.open("wb") as log:
            self._popen = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in a terminal reaches us alone, and we stop it in order
            )
        self._guard = Guard(self.pid, log_path.parent, shm_prefix)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    @property
    def log(self) -> str:
        return self.log_path.read_bytes().decode(errors="replace")  # a lone "\\r" ends no line

    def wait_until_ready(self, timeout_s: float, waiting: Callable[[str], None] | None) -> None:
        """Return when every model is ready; raise `ServerFailed` as soon as that cannot happen any more."""
        deadline = time.monotonic() + timeout_s
        while not self._is_ready():
            running, log = self.running, self.log  # in this order: the log of one that ended is whole
            if not running:
                raise self._did_not_start(log)
            if any(sign in log for sign in server_log.STUB_NEVER_STARTS):
                raise self._hangs(log)
            names = ", ".join(server_log.still_loading(log))
            if time.monotonic() > deadline:
                raise ServerFailed(
                    "TPB619",
                    f"the server was not ready after {timeout_s:g} s; still loading: {names or 'nothing'}",
                    self._where,
                    "give it more time with timeout_s= (command line: --timeout-s), or look at what a model waits for",
                    log=server_log.failures(log) or server_log.tail(log),
                )
            if waiting is not None:
                waiting(f"loading {names}" if names else "starting")
            time.sleep(0.1)

    def raise_if_dead(self) -> None:
        """Raise `ServerFailed`, with the last words of its log, if the process ended by itself."""
        if not self.running:
            end = self._exit_text()
            raise ServerFailed(
                "TPB613",
                f"the server died: {end}",
                self._where,
                "correct what its log tells of, and start it again",
                log="\n".join(filter(None, [last_words(self.log), keep_log(self.log_path, self.pid)])),
            )

    def end(self) -> None:
        """SIGTERM; SIGKILL only when that does not help.  Then nothing of it is left in /dev/shm."""
        if self.running:
            patience_s = STOP_S if self._is_ready() else 3.0  # one that hangs in its start looks at no signal
            self._popen.terminate()
            try:
                self._popen.wait(patience_s)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.pid, signal.SIGKILL)  # the server if it still runs, and stubs it left behind
        except ProcessLookupError:
            pass
        self._popen.wait()
        self._guard.release()
        for region in Path("/dev/shm").glob(self._shm_prefix + "*"):  # left behind after SIGKILL
            region.unlink(missing_ok=True)

    def _is_ready(self) -> bool:
        try:
            with _OPEN(f"{self._http_url}/v2/health/ready", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _did_not_start(self, log: str) -> ServerFailed:
        quoted = server_log.failures(log) or server_log.tail(log)
        causes = server_log.causes(log)
        if not causes:
            end = self._exit_text()
            return ServerFailed(
                "TPB622",
                f"the server ended: {end}",
                self._where,
                "correct what the log tells of and start again",
                log=quoted,
            )
        (model, cause), *others = causes.items()
        more = "".join(f"; nor does '{other}': {why}" for other, why in others)
        return ServerFailed(
            "TPB602",
            f"model '{model}' does not load: {cause}{more}",
            self._where,
            next(
                (fix for sign, fix in _FIXES.items() if sign in cause), "correct what the log tells of and start again"
            ),
            log=quoted,
        )

    def _hangs(self, log: str) -> ServerFailed:
        """Up to 25.07 the server waits without end for a Python process that never started."""
        missing = _NO_MODEL_FILE.search(log)
        if not missing:
            return ServerFailed(
                "TPB623",
                "a model's Python process did not start; Triton would wait for it without end",
                self._where,
                "correct what the log tells of and start again",
                log=server_log.failures(log),
            )
        model, version, file = missing.groups()
        return ServerFailed(
            "TPB620",
            f"model '{model}' has no file {version}/{file}; Triton would wait for it without end",
            self._where,
            "write that file, or move a folder away that is no version (Triton takes '2_old' for version 2)",
            log=server_log.failures(log),
        )

    def _exit_text(self) -> str:
        status = self._popen.wait()
        return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
