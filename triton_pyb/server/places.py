"""The models of tests on a real Triton: what ``pytest --triton=real`` and ``--triton=URL`` mean.

Classes of the entry point group ``triton_pyb.servers`` (see `triton_pyb.emulator.places`).
"""

from __future__ import annotations

import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

from triton_pyb.config.releases import find_release
from triton_pyb.emulator.errors import LoadFailed
from triton_pyb.emulator.repository import model_folders, read_config
from triton_pyb.emulator.targets import Served, resolve
from triton_pyb.emulator.triton import EmulatedTriton
from triton_pyb.runtime.errors import did_you_mean
from triton_pyb.server import log as server_log
from triton_pyb.server.client import TritonClient
from triton_pyb.server.connection import Connection
from triton_pyb.server.errors import ServerError, ServerFailed
from triton_pyb.server.installation import WHEEL_RELEASE, find_installation
from triton_pyb.server.real_triton import RealTriton

#: Keywords of `EmulatedTriton` that say nothing about a real server, or what a real server is anyway.
_NO_MATTER = {"mode", "strict_off", "inline", "model_control_mode", "exit_on_error", "load_models", "execute_timeout_s"}


class ServedModels:
    """The models of one `load`, with the face of an `EmulatedTriton`.

    What only an emulator can tell (`batches`, `printed`, ...) skips the test.
    """

    def __init__(
        self, server: RealTriton | TritonClient, served: Served, folders: list[str], skip: Callable[[str], NoReturn]
    ) -> None:
        self._server, self.served, self.folders, self._skip = server, served, folders, skip
        self.names: list[str] = []  # loaded by this `load`
        self.entry = served.entry
        self.log_start = len(server.log) if isinstance(server, RealTriton) else 0
        self._pool = ThreadPoolExecutor(8, "infer")

    def infer(self, model: str, inputs: Mapping[str, Any], *arguments: Any, **options: Any) -> dict[str, Any]:
        """As `TritonClient.infer`."""
        return self._server.infer(model, inputs, *arguments, **options)

    def infer_many(self, model: str, inputs: Any, **options: Any) -> list[Any]:
        """As `TritonClient.infer_many`: from a thread each, so that only the configuration's delay joins them."""
        return self._server.infer_many(model, inputs, **options)

    def async_infer(self, model: str, inputs: Mapping[str, Any], **options: Any) -> Future[dict[str, Any]]:
        """`infer` without waiting."""
        return self._pool.submit(lambda: self._server.infer(model, inputs, **options))

    def stream_infer(self, model: str, inputs: Mapping[str, Any], **options: Any) -> Iterator[dict[str, Any]]:
        """As `TritonClient.stream_infer`."""
        return self._server.stream_infer(model, inputs, **options)

    def load_model(self, name: str) -> None:
        """Load or reload one of the target's models.

        Raises
        ------
        LoadFailed
            With the reason that the server's log gives.
        """
        try:
            self._server.load_model(name)
        except ServerFailed as failure:
            if failure.code != "TPB612":
                raise
            raise LoadFailed(name, "load", failure.what.removeprefix(f"model '{name}' did not load: ")) from failure
        if name not in self.names:
            self.names.append(name)

    def unload_model(self, name: str) -> None:
        """Take a model out of service and wait until it is gone."""
        self._server.unload_model(name)
        if name in self.names:
            self.names.remove(name)

    def model_names(self) -> list[str]:
        """The target's models that can be asked, sorted."""
        return sorted(name for name in self.folders if self._server.is_model_ready(name))

    def model_config(self, model: str, version: str = "") -> dict[str, Any]:
        """The complete configuration as the server sees it."""
        return self._server.model_config(model, version)

    def statistics(self, model: str, version: str = "") -> dict[str, Any]:
        """What the server counted for this model since it was loaded."""
        return self._server.statistics(model, version)

    def is_model_ready(self, model: str, version: str = "") -> bool:
        """False for anything unknown."""
        return self._server.is_model_ready(model, version)

    def repository_index(self) -> list[dict[str, Any]]:
        """The index of the whole server."""
        return self._server.repository_index()

    def client(self) -> Any:
        """A new client of tritonclient, for the protocol of the address."""
        url = self._server.http_url if isinstance(self._server, RealTriton) else self._server.url
        return Connection(url, 60.0).new_client()

    def metrics_page(self) -> str:
        """The text of ``/metrics``."""
        if not isinstance(self._server, RealTriton):
            self._skip("--triton=URL says nothing about the address of the metrics")
        with urllib.request.urlopen(self._server.metrics_url) as page:
            text: str = page.read().decode()
        return text

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(EmulatedTriton, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._skip(f"only the emulator has `{name}`")

    def end(self) -> None:
        """Unload what was loaded, ensembles first."""
        self._pool.shutdown()
        for name in reversed(self.names.copy()):
            self.unload_model(name)
        if self.served.temporary is not None:
            self.served.temporary.cleanup()


class StartedServer:
    """A real Triton that starts with the first `load` and serves every test of the session, in explicit mode."""

    def __init__(self, where: str, skip: Callable[[str], NoReturn]) -> None:
        self._skip = skip
        self._folder = tempfile.TemporaryDirectory(prefix="triton_pyb_")
        self._server: RealTriton | None = None

    def load(self, target: Any, options: dict[str, Any]) -> ServedModels:
        _refuse_options(options, self._skip)
        server = self._started()
        served = resolve(target, inline=False)
        folders = _folders(served)
        for name, folder in folders.items():
            link = server.repository / name
            if link.is_symlink():
                raise ServerError(
                    "TPB624",
                    f"another model '{name}' is loaded by this test",
                    "triton.load",
                    "give models that run at the same time different names: a real server has one repository",
                )
            link.symlink_to(folder)
        models = ServedModels(server, served, list(folders), self._skip)
        try:
            for name in _in_order(folders, options):
                models.load_model(name)
        except BaseException:
            self.unload(models)
            raise
        return models

    def _started(self) -> RealTriton:
        if self._server is None:
            server = RealTriton(self._folder.name, model_control_mode="explicit")
            server.start()
            self._server = server
        return self._server

    def unload(self, models: ServedModels) -> None:
        models.end()
        for name in models.folders:
            Path(self._folder.name, name).unlink()

    def log_of(self, models: ServedModels) -> str:
        server = self._server
        return "" if server is None else "\n".join(server_log.notable(server.log[models.log_start :]))

    def close(self) -> None:
        if self._server is not None:
            self._server.stop()
        self._folder.cleanup()


class RunningServer:
    """A Triton that somebody else started: its repository must have the models, it must allow to load them."""

    def __init__(self, where: str, skip: Callable[[str], NoReturn]) -> None:
        self._skip = skip
        self._client = TritonClient(where)

    def load(self, target: Any, options: dict[str, Any]) -> ServedModels:
        _refuse_options(options, self._skip, anything_runs_here=True)
        served = resolve(target, inline=False)
        folders = _folders(served)
        states = {entry["name"]: entry.get("state", "") for entry in self._client.repository_index()}
        for name in folders:
            if name not in states:
                raise ServerError(
                    "TPB625",
                    f"this server sees no model '{name}'{did_you_mean(name, states)}, its repository has "
                    f"{', '.join(sorted(states)) or 'nothing'}",
                    self._client.url,
                    "put the model's folder into the server's repository, or use --triton=real",
                )
        models = ServedModels(self._client, served, list(folders), self._skip)
        for name in _in_order(folders, options):
            if states[name] != "READY":
                models.load_model(name)
        return models

    def unload(self, models: ServedModels) -> None:
        models.end()

    def log_of(self, models: ServedModels) -> str:
        return ""  # it is on another machine, or in another terminal

    def close(self) -> None:
        self._client.close()


def _refuse_options(options: dict[str, Any], skip: Callable[[str], NoReturn], anything_runs_here: bool = False) -> None:
    """Skip the test when it asks for what only the emulator can be."""
    release = options.get("release")
    if release is not None and not anything_runs_here:
        installation, _ = find_installation()
        if installation.kind != "wheel" or find_release(release).name != WHEEL_RELEASE:
            skip(f"the server that is here is not release {release}")
    for name in sorted(set(options) - _NO_MATTER - {"release"}):
        skip(f"only the emulator takes {name}=")
    if options.get("model_control_mode") == "poll":
        skip("tests run in explicit mode on a real server")


def _folders(served: Served) -> dict[str, Path]:
    folders: dict[str, Path] = {}
    for repository in served.repositories:
        folders.update(model_folders(repository))
    return {name: folder for name, folder in folders.items() if name in served.only or not served.only}


def _in_order(folders: dict[str, Path], options: dict[str, Any]) -> list[str]:
    """The models to load, ensembles last."""
    wanted = list(folders)
    if options.get("model_control_mode") == "explicit" and "*" not in options.get("load_models", ()):
        wanted = [name for name in folders if name in options.get("load_models", ())]
    return sorted(wanted, key=lambda name: _is_ensemble(folders[name]))


def _is_ensemble(folder: Path) -> bool:
    try:
        return bool(read_config(folder, WHEEL_RELEASE).HasField("ensemble_scheduling"))
    except LoadFailed:
        return False  # the server will say what is wrong with it
