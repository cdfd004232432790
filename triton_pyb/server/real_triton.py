"""Start a real Triton on a model repository, wait until it is ready, talk to it, stop it."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

from numpy.typing import NDArray

from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.server import log as server_log
from triton_pyb.server.client import TritonClient
from triton_pyb.server.errors import ServerError, ServerFailed
from triton_pyb.server.installation import find_installation
from triton_pyb.server.layout import make_backends, make_environment
from triton_pyb.server.ports import HOST, choose_ports
from triton_pyb.server.process import ServerProcess

Result = TypeVar("Result")
ModelControlMode = Literal["none", "explicit", "poll"]


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
        self._process: ServerProcess | None = None
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
        self._log_text = ""
        self.shm_prefix = f"triton_pyb_{os.getpid()}_{secrets.token_hex(4)}_"
        backends = make_backends(installation, interpreter, self._folder)
        self.command = [str(installation.binary), *self._arguments(backends)]
        atexit.register(self.stop)
        self._process = ServerProcess(
            self.command,
            make_environment(installation, interpreter, self._folder),
            self.log_path,
            self.http_url,
            f"{self.repository} on {self.description}",
            self.shm_prefix,
        )
        try:
            self._process.wait_until_ready(self.timeout_s, waiting)
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
            self._process.end()
            self._log_text, self._process = self._process.log, None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.running

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
        return self._log_text if self._process is None else self._process.log

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
            cause = server_log.causes(written).get(model, error.what)
            raise ServerFailed(
                "TPB612",
                f"model '{model}' did not load: {cause}",
                error.where,
                error.fix,
                log=server_log.failures(written, model),
            ) from error

    def unload_model(self, model: str) -> None:
        """Unload one model and wait until it is gone (model_control_mode "explicit")."""
        self._ask(lambda client: client.unload_model(model))

    def infer(
        self, model: str, inputs: Mapping[str, Any], outputs: Iterable[str] | None = None, **options: Any
    ) -> dict[str, NDArray[Any]]:
        """Send one request over HTTP; options and answer as in `TritonClient.infer`.

        An `InferenceFailed` has in `log` what the server logged meanwhile, of other requests too.
        """
        with self._quoting_log():
            return self._ask(lambda client: client.infer(model, inputs, outputs, **options))

    def infer_many(self, model: str, inputs: Sequence[Mapping[str, Any]], **options: Any) -> list[Any]:
        """Send several requests at once; see `TritonClient.infer_many`."""
        return self._ask(lambda client: client.infer_many(model, inputs, **options))

    def stream_infer(self, model: str, inputs: Mapping[str, Any], **options: Any) -> Iterator[dict[str, NDArray[Any]]]:
        """The responses of one request as they come, over gRPC; see `TritonClient.stream_infer`."""
        self._ask(lambda client: client.is_ready())
        with self._quoting_log(), TritonClient(self.grpc_url, self.timeout_s) as client:
            yield from client.stream_infer(model, inputs, **options)

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
        if self._process is not None:
            self._process.raise_if_dead()

    @contextmanager
    def _quoting_log(self) -> Iterator[None]:
        """Give an `InferenceFailed` what was logged since; ours comes before the answer, the server's own after."""
        before = self.log_path.stat().st_size if self._folder is not None else 0
        try:
            yield
        except InferenceFailed as error:
            if error.log or self._folder is None:
                raise
            written = self.log_path.read_bytes()[before:].decode(errors="replace")
            log = server_log.errors(written)
            message, code, where, fix, _ = error.args
            raise InferenceFailed(message, code, where, fix, "" if log in message else log) from error

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
