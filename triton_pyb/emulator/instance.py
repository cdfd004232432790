"""One model instance: the stub process (or its inline twin) as the server half drives it.

    instance = ModelInstance(Launch(model_dir=..., version="1", ...), host)
    instance.start()                       # imports model.py, runs initialize; raises LoadError
    fault = instance.execute(requests, respond)
    instance.finalize()

`respond(index, response, flags)` comes from any thread, also after `execute` returned (decoupled models,
senders used from a thread). Per request the last call carries FINAL (response may be None: a bare final
flag), or RESCHEDULE. A hang or a death of the real server is a response with `fault` set (then flags is
FINAL), or the WireFault that `execute` returns, which stands for all its unfinished requests.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from .inline import InlineModel
from .messages import WireFault, WireRequest, WireResponse, unhealthy
from .process import ChildRefused, ModelDied, ModelProcess
from .stub.errors import EmulatorError
from .stub.lifecycle import ModelFailed
from .stub.releases import Release

_READY_TIMEOUT_S = 5.0  # Source: kUserModelReadinessTimeoutMs of 26.03

Respond = Callable[[int, WireResponse | None, int], None]


class Host(Protocol):
    """What a model instance asks of its server; every method may be called from any thread."""

    metrics: Any  # a registry.MetricsRegistry; one for the whole server

    def infer(self, request: WireRequest, decoupled: bool) -> Iterator[WireResponse]:
        """BLS. Yields responses as they come, exactly one unless `decoupled`; the last has ``final`` set.

        Errors are responses too: ``stage="request"`` with the server's plain message when no model ran
        (the "Model M - Error when running inference: " prefix is put on by the stub), else "execution".
        """

    def load_model(self, name: str, config: str, files: dict[str, bytes]) -> str | None:
        """None once it is loaded, or the server's message, e.g. "failed to load 'M', failed to poll ..."."""

    def unload_model(self, name: str, unload_dependents: bool) -> str | None:
        """None, or the server's message; an unknown model is no error."""

    def is_model_ready(self, name: str, version: str) -> bool:
        """False for anything unknown; `version` is "" or digits."""

    def log(self, level: str, file: str, line: int, message: str) -> None:
        """`level` is "INFO", "WARNING", "ERROR" or "VERBOSE"; `file` a base name such as "model.py"."""

    def output(self, stream: str, text: str) -> None:
        """One line (without its end) that the model's process wrote to "stdout" or "stderr"."""


@dataclass
class Launch:
    """What `initialize` will be told, and how the instance is to run.

    Attributes
    ----------
    model_dir : str
        ``<repository>/<model>``; holds the folder `version`.
    config : dict
        The complete model configuration as Triton's JSON spells it.
    kind : str
        "CPU", "GPU" or "MODEL".
    release : str
        Container release, e.g. "24.10": names, keywords and behaviours it lacks are missing.
    inline : bool
        Run in this process: `breakpoint()` works, a crash takes the tests along.
    factory : callable
        Inline only: called for the model object in place of importing ``<version>/model.py``.
    python : str
        The interpreter of the child, default this one.
    environment : dict
        Added to the child's environment.
    gpu : bool
        The emulated machine has a GPU.
    model_file : str
        In place of ``<version>/model.py``: another file there, or the model.py of a Python-based backend.
    execute_timeout_s : float
        Child only: kill the process when one `execute` takes longer. Default: wait.
    """

    model_dir: str
    version: str
    config: dict[str, Any]
    instance_name: str
    kind: str = "CPU"
    device_id: int = 0
    release: str = "24.10"
    inline: bool = False
    factory: Callable[[], object] | None = None
    python: str | None = None
    cwd: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    gpu: bool = False
    model_file: str | None = None
    execute_timeout_s: float | None = None


class LoadError(Exception):
    """The model did not load; the message is the text Triton puts after "Internal: "."""


class ModelInstance:
    """One instance of a model, in a child process or inline."""

    def __init__(self, launch: Launch, host: Host) -> None:
        self.launch = launch
        self.host = host
        self._runner: ModelProcess | InlineModel | None = None

    def start(self) -> None:
        """Import model.py, build the model, run `initialize`.

        Raises
        ------
        LoadError
            With the text of the exception as the stub words it.
        EmulatorError
            When the model did what kills or hangs a real server.
        """
        runner = self._runner = _runner(self.launch, self.host)
        try:
            if isinstance(runner, InlineModel):
                runner.initialize(_args(self.launch))
            else:
                runner.ask("initialize", _child_launch(self.launch), _args(self.launch))
        except (ModelFailed, ChildRefused) as failed:
            self._discard()
            raise LoadError(str(failed)) from failed.__cause__
        except ModelDied:
            self._discard()
            raise LoadError(_dead(self.launch.instance_name)) from None
        except EmulatorError:
            self._discard()
            raise

    def _discard(self) -> None:
        runner, self._runner = self._runner, None
        if isinstance(runner, ModelProcess):
            runner.end()

    def execute(self, requests: list[WireRequest], respond: Respond) -> WireFault | None:
        """Run `execute` on a batch; returns when the model's `execute` did. One call at a time.

        A fault that is returned stands for every request that `respond` has not finished.
        """
        runner = self._runner
        assert runner is not None, "start() first"
        if isinstance(runner, InlineModel):
            return runner.execute(requests, respond)
        return runner.execute(requests, respond, self.launch.execute_timeout_s)

    def cancel(self, request: WireRequest) -> None:
        """The client went away: `is_cancelled()` of this request turns True."""
        if self._runner is not None:
            self._runner.cancel(request.key)

    def is_ready(self) -> tuple[bool, str]:
        """The user-defined check (26.03) and, since 25.12, the health of the process; with Triton's message."""
        runner, release = self._runner, Release(self.launch.release)
        name = self.launch.instance_name
        if runner is None:
            return False, _dead(name)
        if isinstance(runner, ModelProcess) and runner.dead:
            healthy = not release.has("the readiness check sees a dead stub")
            return (True, "") if healthy else (False, _dead(name))
        if not release.has("is_ready"):
            return True, ""
        reason = runner.readiness() if isinstance(runner, InlineModel) else runner.readiness(_READY_TIMEOUT_S)
        return (True, "") if reason is None else (False, f"Model '{name}' is not ready (user-defined check failed).")

    def give_up(self, after_s: float) -> None:
        """End a process whose `execute` still runs after `after_s` seconds of waiting: its batch gets a fault.

        Inline there is no process to end: the thread stays.
        """
        if isinstance(self._runner, ModelProcess):
            self._runner.give_up(after_s)

    def finalize(self) -> None:
        """Run `finalize`, end the process; safe to call twice, on a dead process too."""
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.end()


def auto_complete(launch: Launch, host: Host) -> dict[str, Any]:
    """`auto_complete_config` in a process of its own: the configuration as the model left it.

    Only max_batch_size, input, output, dynamic_batching and model_transaction_policy are meant to be taken
    over. Raises LoadError, and EmulatorError as `ModelInstance.start` does.
    """
    if not Release(launch.release).has("auto_complete_config"):
        return launch.config
    runner = _runner(launch, host)
    try:
        if isinstance(runner, InlineModel):
            return runner.auto_complete(launch.config)
        completed: dict[str, Any] = runner.ask("auto_complete", _child_launch(launch), launch.config)
        return completed
    except (ModelFailed, ChildRefused) as failed:
        raise LoadError(str(failed)) from failed.__cause__
    except ModelDied:
        raise LoadError(_dead(launch.instance_name)) from None
    finally:
        if isinstance(runner, ModelProcess):
            runner.end()


def _runner(launch: Launch, host: Host) -> ModelProcess | InlineModel:
    if not launch.inline:
        return ModelProcess(launch.instance_name, launch.python, launch.cwd, launch.environment, host, launch.release)
    return InlineModel(
        launch.model_dir,
        launch.version,
        launch.release,
        launch.instance_name,
        _decoupled(launch),
        launch.gpu,
        launch.model_file,
        launch.factory,
        host,
    )


def _decoupled(launch: Launch) -> bool:
    return bool(launch.config.get("model_transaction_policy", {}).get("decoupled"))


def _child_launch(launch: Launch) -> dict[str, Any]:
    return {
        "model_dir": launch.model_dir,
        "version": launch.version,
        "release": launch.release,
        "instance_name": launch.instance_name,
        "decoupled": _decoupled(launch),
        "gpu": launch.gpu,
        "model_file": launch.model_file,
    }


def _args(launch: Launch) -> dict[str, str]:
    """What `initialize` gets: seven strings."""
    return {
        "model_config": json.dumps(launch.config, separators=(",", ":")),
        "model_instance_kind": launch.kind,
        "model_instance_name": launch.instance_name,
        "model_instance_device_id": str(launch.device_id),
        "model_repository": launch.model_dir,
        "model_version": launch.version,
        "model_name": os.path.basename(launch.model_dir) if not launch.config.get("name") else launch.config["name"],
    }


def _dead(name: str) -> str:
    error = unhealthy(name).error
    assert error is not None
    return error.message
