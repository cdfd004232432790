"""Start a real Triton on a model repository, wait until it is ready, talk to it, stop it."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

from numpy.typing import NDArray

from triton_pyb.server import log as server_log
from triton_pyb.server.client import TritonClient
from triton_pyb.server.errors import ServerError, ServerFailed
from triton_pyb.server.installation import find_installation
from triton_pyb.server.layout import make_backends, make_environment
from triton_pyb.server.ports import HOST, choose_ports

Result = TypeVar("Result")
ModelControlMode = Literal["none", "explicit", "poll"]

#: How long a server may take to end by itself before it is killed.
STOP_S = 15.0


class RealTriton:
    """One tritonserver process on 127.0.0.1, a context manager.

    Parameters
    ----------
    repository : path
        Folder of model folders.
    python : path, optional
        Python, or virtual environment, that runs the models; default: this one.  Only the server of the
        wheel can change it.
    http_port, grpc_port, metrics_port : int, optional
        None or 0: any free port.
    load_models : sequence of str
        With ``model_control_mode="explicit"``: what to load at the start; ``"*"`` is everything.
    extra_args : sequence of str
        Passed to tritonserver as they are, after all others.
    timeout_s : float
        How long the server may take until every model is ready.
    """

    def __init__(
        self,
        repository: str | os.PathLike[str],
        *,
        python: str | os.PathLike[str] | None = None,
        http_port: int | None = None,
        grpc_port: int | None = None,
        metrics_port: int | None = None,
        model_control_mode: ModelControlMode = "none",
        load_models: Sequence[str] = (),
        extra_args: Sequence[str] = (),
        timeout_s: float = 120.0,
    ) -> None:
        self.repository = Path(repository).absolute()
        self.python = python
        self.model_control_mode = model_control_mode
        self.load_models = tuple(load_models)
        self.extra_args = tuple(extra_args)
        self.timeout_s = timeout_s
        self._wanted_ports = {"http": http_port, "grpc": grpc_port, "metrics": metrics_port}
        self._ports: dict[str, int] = {}
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._client: TritonClient | None = None
        self.shm_prefix = ""
        self._log_text = ""
        self.description = ""
        self.stand_ins: tuple[str, ...] = ()
        self.command: list[str] = []

    def __enter__(self) -> RealTriton:
        return self if self.running else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # ---- life

    def start(self, waiting: Callable[[str], None] | None = None) -> RealTriton:
        """Start the server and return when every model is ready.

        Parameters
        ----------
        waiting : callable, optional
            Called a few times a second with what the server is doing, e.g. ``"loading preprocessing"``.

        Raises
        ------
        ServerNotFound
            If there is no Triton, or none for the wanted Python.
        ServerFailed
            If a model does not load, or the server dies or is not ready in time; with the log's own words.
        """
        if self._process is not None:
            raise ServerError("TPB609", "this server runs already", str(self.repository), "call stop() before start()")
        if not self.repository.is_dir():
            raise ServerError(
                "TPB610",
                f"there is no folder '{self.repository}'",
                "the model repository",
                "give the folder that holds the model folders",
            )
        installation, interpreter = find_installation(self.python)
        self.description = installation.describe(interpreter)
        self.stand_ins = installation.stand_ins
        self._ports = choose_ports(self._wanted_ports)
        self._folder = Path(tempfile.mkdtemp(prefix="triton_pyb_server_"))
        self.shm_prefix = f"triton_pyb_{os.getpid()}_{secrets.token_hex(4)}_"
        self._log_text = ""
        backends = make_backends(installation, interpreter, self._folder)
        self.command = [str(installation.binary), *self._arguments(backends)]
        atexit.register(self.stop)
        with self.log_path.open("wb") as log:
            self._process = subprocess.Popen(
                self.command,
                env=make_environment(installation, interpreter, self._folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in a terminal reaches us alone, and we stop it in order
            )
        try:
            self._wait_until_ready(waiting)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the server: SIGTERM, and SIGKILL only when that does not help.  Twice is as good as once."""
        atexit.unregister(self.stop)
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._process is not None:
            self._end_process(self._process)
            self._process = None
            self._log_text = self.log_path.read_text(errors="replace")
        if self.shm_prefix:
            for region in Path("/dev/shm").glob(self.shm_prefix + "*"):  # left behind after SIGKILL
                region.unlink(missing_ok=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def http_url(self) -> str:
        return f"http://{HOST}:{self._ports['http']}"

    @property
    def grpc_url(self) -> str:
        return f"grpc://{HOST}:{self._ports['grpc']}"

    @property
    def metrics_url(self) -> str:
        return f"http://{HOST}:{self._ports['metrics']}/metrics"

    @property
    def log_path(self) -> Path:
        """Where the server writes its log while it runs."""
        if self._folder is None:
            raise ServerError(
                "TPB611",
                "this server does not run: it has no log file",
                str(self.repository),
                "call start() first",
            )
        return self._folder / "server.log"

    @property
    def log(self) -> str:
        """The whole log, also after `stop`."""
        return self._log_text if self._folder is None else self.log_path.read_text(errors="replace")

    # ---- models

    def load_model(self, model: str) -> None:
        """Load or reload one model (model_control_mode "explicit").

        Raises
        ------
        ServerFailed
            If it does not load: with the server's answer and the log's own words.
        """
        before = len(self.log)
        try:
            self._ask(lambda client: client.load_model(model))
        except ServerError as error:
            if error.code not in ("TPB612", "TPB616"):
                raise
            time.sleep(0.1)  # the log is written a moment after the answer
            written = self.log[before:]
            cause = server_log.causes(written).get(model)
            what = f"model '{model}' did not load: {cause or error.what}"
            quoted = server_log.failures(written, model)
            raise ServerFailed("TPB612", what, error.where, error.fix, quoted) from error

    def unload_model(self, model: str) -> None:
        """Unload one model and wait until it is gone (model_control_mode "explicit")."""
        self._ask(lambda client: client.unload_model(model))

    def infer(
        self, model: str, inputs: Mapping[str, Any], outputs: Iterable[str] | None = None, **options: Any
    ) -> dict[str, NDArray[Any]]:
        """Send one request over HTTP; options and answer as in `TritonClient.infer`."""
        return self._ask(lambda client: client.infer(model, inputs, outputs, **options))

    def infer_many(self, model: str, inputs: Sequence[Mapping[str, Any]], **options: Any) -> list[Any]:
        """Send several requests at once; see `TritonClient.infer_many`."""
        return self._ask(lambda client: client.infer_many(model, inputs, **options))

    def model_config(self, model: str, version: str = "") -> dict[str, Any]:
        """The complete configuration as the server sees it."""
        return self._ask(lambda client: client.model_config(model, version))

    def statistics(self, model: str, version: str = "") -> dict[str, Any]:
        """What the server counted for this model (without `version`: its first loaded one)."""
        return self._ask(lambda client: client.statistics(model, version))

    def is_model_ready(self, model: str, version: str = "") -> bool:
        """False for anything unknown."""
        return self._ask(lambda client: client.is_model_ready(model, version))

    def repository_index(self) -> list[dict[str, Any]]:
        """Name, version, state and reason of every model in the repository index."""
        return self._ask(lambda client: client.repository_index())

    def raise_if_dead(self) -> None:
        """Raise `ServerFailed`, with the log's own words, if the process ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise ServerFailed(
                "TPB613",
                f"the server died: {_exit_text(self._process.returncode)}",
                str(self.repository),
                "correct what its log tells of, and start it again",
                server_log.failures(self.log) or server_log.tail(self.log),
            )

    def _ask(self, call: Callable[[TritonClient], Result]) -> Result:
        if self._process is None:
            raise ServerError("TPB614", "this server does not run", str(self.repository), "call start(), or use `with`")
        self.raise_if_dead()
        if self._client is None:
            self._client = TritonClient(self.http_url, self.timeout_s)
        try:
            return call(self._client)
        except ServerError:
            time.sleep(0.1)  # a connection breaks a moment before its process is gone
            self.raise_if_dead()
            raise

    # ---- the process

    def _arguments(self, backends: Path) -> list[str]:
        arguments = [
            f"--model-repository={self.repository}",
            f"--backend-directory={backends}",
            f"--model-control-mode={self.model_control_mode}",
            *(f"--load-model={name}" for name in self.load_models),
            f"--backend-config=python,shm-region-prefix-name={self.shm_prefix}",
            "--exit-timeout-secs=5",
        ]
        for name, port in self._ports.items():
            arguments += [f"--{name}-address={HOST}", f"--{name}-port={port}"]
        return [*arguments, *self.extra_args]

    def _wait_until_ready(self, waiting: Callable[[str], None] | None) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self.timeout_s
        while not self._is_ready():
            log = self.log
            if self._process.poll() is not None:
                raise self._did_not_start(f"the server ended: {_exit_text(self._process.returncode)}", log)
            if any(sign in log for sign in server_log.STUB_NEVER_STARTS):
                raise self._did_not_start("a model's Python process did not start", log)
            if time.monotonic() > deadline:
                names = ", ".join(server_log.still_loading(log)) or "none"
                raise self._did_not_start(
                    f"the server was not ready after {self.timeout_s:g} s; still loading: {names}", log
                )
            if waiting is not None:
                names = ", ".join(server_log.still_loading(log))
                waiting(f"loading {names}" if names else "starting")
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.http_url}/v2/health/ready", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _did_not_start(self, what: str, log: str) -> ServerFailed:
        causes = server_log.causes(log)
        if causes:
            what = "; ".join(f"model '{name}' does not load: {cause}" for name, cause in causes.items())
        quoted = server_log.failures(log) or server_log.tail(log)
        return ServerFailed(
            "TPB602",
            what,
            f"{self.repository} on {self.description}",
            "correct what the log tells of and start again",
            quoted,
        )

    def _end_process(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            patience_s = STOP_S if self._is_ready() else 3.0  # one that hangs in its start looks at no signal
            process.terminate()
            try:
                process.wait(patience_s)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(process.pid, signal.SIGKILL)  # the server if it still runs, and stubs it left behind
        except ProcessLookupError:
            pass
        process.wait()


def _exit_text(status: int) -> str:
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
