"""One version of a model as the server holds it: configuration, instances, scheduler, counts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from triton_pyb.emulator import meeting as meetings
from triton_pyb.emulator import model_config, warmup
from triton_pyb.emulator.batcher import Batcher, Runner
from triton_pyb.emulator.contract import Contract
from triton_pyb.emulator.errors import LoadFailed
from triton_pyb.emulator.instance import Host, Launch, LoadError, ModelInstance, auto_complete
from triton_pyb.emulator.load_rules import refuse_batch_tensors, refuse_instance_groups, refuse_tensors
from triton_pyb.emulator.parameter_rules import never_loads, refuse_parameters
from triton_pyb.emulator.meeting import Meeting
from triton_pyb.emulator.messages import FINAL, RESCHEDULE, WireFault, WireRequest, WireResponse
from triton_pyb.emulator.pending import Deliver, Pending
from triton_pyb.emulator.sequence_batcher import SequenceBatcher
from triton_pyb.emulator.statistics import Statistics
from triton_pyb.emulator.validation import RequestRefused, normalized, restored

#: Backends that a stand-in of ours runs on the CPU: its model.py takes the place of the model's own.
STAND_INS = {
    backend: Path(__file__).parent / "backends" / backend / "model.py" for backend in ("onnxruntime", "pytorch")
}


@dataclass(frozen=True)
class Machine:
    """What the emulated server runs on, and how."""

    release: str = "24.10"
    mode: str = "strict"
    strict_off: frozenset[str] = frozenset()
    gpus: int = 0
    python: str | None = None
    inline: bool = False
    auto_complete: bool = True
    cwd: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    factories: dict[str, Callable[[], object]] = field(default_factory=dict)


class Scheduler(Protocol):
    """What takes a model's requests in."""

    def enqueue(self, pendings: list[Pending]) -> None: ...
    def stop(self) -> None: ...


class LoadedModel:
    """A version of a model that answers requests.

    Attributes
    ----------
    config : dict
        The complete configuration in its JSON form, the one `initialize` gets.
    """

    def __init__(self, name: str, version: int, config: dict[str, Any], scheduler: Scheduler | None = None) -> None:
        self.name, self.version, self.config = name, version, config
        self.statistics = Statistics()
        self.instances: list[ModelInstance] = []
        self._scheduler = scheduler
        self._unanswered = 0
        self._answered = threading.Condition()

    @property
    def decoupled(self) -> bool:
        return bool(self.config.get("model_transaction_policy", {}).get("decoupled"))

    @property
    def is_ensemble(self) -> bool:
        return "ensemble_scheduling" in self.config

    def serve(self, scheduler: Scheduler) -> None:
        """Take requests from now on."""
        self._scheduler = scheduler

    def submit(self, request: WireRequest, deliver: Deliver, meeting: Meeting | None = None) -> None:
        """Check a request and queue it; every answer, errors too, goes to `deliver`.

        Raises
        ------
        RequestRefused
            When the server would refuse it before queueing.
        """
        assert self._scheduler is not None
        request, rows = normalized(request, self.config)
        pending = Pending(replace(request, model_name=self.name), rows, self._counted(deliver), meeting)
        if self.is_ensemble:
            self._scheduler.enqueue([pending])  # an ensemble queues nothing itself: its steps do
        else:
            meetings.submit(self._scheduler, pending)

    def _counted(self, deliver: Deliver) -> Deliver:
        with self._answered:
            self._unanswered += 1

        def delivered(response: WireResponse) -> None:
            deliver(response)
            if response.final:
                with self._answered:
                    self._unanswered -= 1
                    self._answered.notify_all()

        return delivered

    def cancel(self, request: WireRequest) -> None:
        """The client went away; what runs may look at `is_cancelled()`."""
        request.cancelled = True
        for instance in self.instances:
            instance.cancel(request)

    def ready(self) -> tuple[bool, str]:
        """Whether every instance says it is ready, and the first message of one that is not."""
        for instance in self.instances:
            ok, message = instance.is_ready()
            if not ok:
                return False, message
        return True, ""

    def stop(self, patience_s: float = 30.0) -> None:
        """Answer what is queued, wait for the answers still due, then finalize the instances.

        Parameters
        ----------
        patience_s : float
            How long a decoupled model may still send.
        """
        if self._scheduler is not None:
            self._scheduler.stop()
        with self._answered:
            self._answered.wait_for(lambda: not self._unanswered, patience_s)
        for instance in self.instances:
            instance.finalize()


class InstanceRunner:
    """Runs batches on one instance and passes its answers on."""

    def __init__(self, model: LoadedModel, instance: ModelInstance, contract: Contract) -> None:
        self.model, self.instance, self._contract = model, instance, contract
        self._declared = {tensor["name"] for tensor in model.config["output"]}
        self._reshaped = {t["name"]: t for t in model.config["output"] if "reshape" in t}
        self._batching = model.config["max_batch_size"] > 0
        self.reschedule: Callable[[Pending], None] | None = None  # set by an iterative scheduler

    def __call__(self, batch: list[Pending]) -> None:
        _Execution(self, batch).run()

    def outgoing(self, response: WireResponse, pending: Pending, final: bool) -> WireResponse:
        """A response as the client sees it."""
        outputs = [
            restored(tensor, self._reshaped[tensor.name], self._batching) if tensor.name in self._reshaped else tensor
            for tensor in response.outputs
            if tensor.name in self._declared
        ]
        response = replace(response, outputs=outputs, final=final)
        return self._contract.checked(response, pending)


class _Execution:
    """One call of `execute`, and the answers that may still come after it."""

    def __init__(self, runner: InstanceRunner, batch: list[Pending]) -> None:
        self._runner, self._batch = runner, batch
        self._open = set(range(len(batch)))
        self._counted = False
        self._started_ns = time.monotonic_ns()

    def run(self) -> None:
        for pending in self._batch:
            pending.started_ns = self._started_ns
        fault = self._runner.instance.execute([pending.request for pending in self._batch], self._respond)
        self._count()
        if fault is not None:
            for index in sorted(self._open):
                self._finish(index, WireResponse(fault=fault))

    def _respond(self, index: int, response: WireResponse | None, flags: int) -> None:
        self._count()
        if flags & RESCHEDULE:
            self._open.discard(index)
            self._rescheduled(index)
            return
        final = bool(flags & FINAL)
        outgoing = self._runner.outgoing(response or WireResponse(), self._batch[index], final)
        if final:
            self._finish(index, outgoing)
        else:
            self._batch[index].deliver(outgoing)

    def _finish(self, index: int, response: WireResponse) -> None:
        self._open.discard(index)
        pending = self._batch[index]
        ok = response.error is None and response.fault is None
        self._runner.model.statistics.answered(ok, time.monotonic_ns() - pending.enqueued_ns)
        pending.deliver(replace(response, final=True))

    def _rescheduled(self, index: int) -> None:
        if self._runner.reschedule is not None:
            self._runner.reschedule(self._batch[index])
            return
        what = "the model reschedules a request, but its scheduler is not iterative: nobody answers it"
        fix = "add sequence_batching { iterative_sequence: true }, or answer the request"
        self._finish(index, WireResponse(fault=WireFault("TPB560", what, f"model '{self._runner.model.name}'", fix)))

    def _count(self) -> None:
        # Counted with the first answer, so that who has an answer also finds it counted.
        if self._counted:
            return
        self._counted = True
        now = time.monotonic_ns()
        waited = [self._started_ns - pending.enqueued_ns for pending in self._batch]
        rows = [pending.rows for pending in self._batch]
        self._runner.model.statistics.executed(rows, now - self._started_ns, waited)


def load(name: str, version: int, folder: Path, config: Any, machine: Machine, host: Host) -> LoadedModel:
    """Load one version of a model that runs in instances.

    Raises
    ------
    LoadFailed
        With the server's reason.
    """

    def failed(reason: object, code: str) -> LoadFailed:
        return LoadFailed(name, "load", str(reason), version, code)

    config = _copied(config)
    backend = config.backend
    if backend != "python" and backend not in STAND_INS:
        raise failed(
            f"unable to find backend library for backend '{backend}', try specifying runtime on the model"
            " configuration.",
            "INVALID_ARG",
        )
    if config.sequence_batching.state:
        raise failed("implicit state (sequence_batching.state) is not emulated", "UNSUPPORTED")
    hang = never_loads(config, folder, version, machine.release)
    if hang:
        raise failed(hang, "INTERNAL")
    if backend in STAND_INS:
        config.runtime = "model.py"
    model_config.complete_instance_groups(config, machine.gpus)
    try:
        refuse_instance_groups(config, machine.gpus)
        launch = _launch(folder, version, config, machine)
        if (
            launch.factory is None
            and machine.auto_complete
            and (machine.mode == "faithful" or _may_complete(launch, config))
        ):
            _take_over(config, auto_complete(launch, host))
        refuse_tensors(config)
        refuse_batch_tensors(config)
        refuse_missing_labels(name, version, config, folder)
    except model_config.ConfigRefused as error:
        raise failed(error, "INVALID_ARG") from None
    except LoadError as error:
        raise failed(error, "INTERNAL") from None
    wrong = refuse_parameters(config, folder)
    if wrong:
        raise failed(*wrong)
    model = LoadedModel(name, version, model_config.as_dict(config, machine.release))
    launches = _launches(folder, version, config, machine)
    try:
        model.instances = _started(launches, host)
    except LoadError as error:
        raise failed(error, "INTERNAL") from None
    try:
        for instance in model.instances:
            _warm_up(model, instance, folder)
    except RequestRefused as error:
        model.stop()
        raise failed(error.message, error.code) from None
    contract = Contract.of(model.config, machine.mode, machine.strict_off)
    model.serve(_scheduler(model, [InstanceRunner(model, instance, contract) for instance in model.instances]))
    return model


def _warm_up(model: LoadedModel, instance: ModelInstance, folder: Path) -> None:
    for name, requests in warmup.samples(model.config, folder):
        requests = [normalized(request, model.config)[0] for request in requests]
        failures: list[str] = []

        def note(index: int, response: WireResponse | None, flags: int, failures: list[str] = failures) -> None:
            if response is not None and response.error is not None:
                failures.append(response.error.message)

        fault = instance.execute(requests, note)
        if failures:
            texts = "".join(f"{message}; " for message in failures)
            raise RequestRefused(f"failed to run warmup sample '{name}': {texts}")
        if fault is not None:
            raise RequestRefused(f"failed to run warmup sample '{name}': {fault.what}")


def _copied(config: Any) -> Any:
    copy = type(config)()
    copy.CopyFrom(config)
    return copy


def _scheduler(model: LoadedModel, runners: list[InstanceRunner]) -> Scheduler:
    if "sequence_batching" in model.config:
        return SequenceBatcher(model.config, runners)
    plain: list[Runner] = list(runners)
    return Batcher(model.config, plain)


def _launch(folder: Path, version: int, config: Any, machine: Machine, group: Any = None, index: int = 0) -> Launch:
    kinds = {0: "CPU", 1: "GPU", 2: "CPU", 3: "MODEL"}
    gpus = list(group.gpus) if group is not None else []
    return Launch(
        model_dir=str(folder),
        version=str(version),
        config=model_config.as_dict(config, machine.release),
        instance_name=f"{group.name}_{index}" if group is not None else config.name,
        kind=kinds[group.kind] if group is not None else "CPU",
        device_id=gpus[index % len(gpus)] if gpus else 0,
        release=machine.release,
        inline=machine.inline or config.name in machine.factories,
        factory=machine.factories.get(config.name),
        python=machine.python,
        cwd=machine.cwd,
        environment=dict(machine.environment),
        model_file=_model_file(folder, version, config),
        gpu=machine.gpus > 0,
    )


def _model_file(folder: Path, version: int, config: Any) -> str | None:
    if config.backend in STAND_INS:
        return str(STAND_INS[config.backend])
    name = config.default_model_filename
    return str(folder / str(version) / name) if name not in ("", "model.py") else None


def _launches(folder: Path, version: int, config: Any, machine: Machine) -> list[Launch]:
    return [
        _launch(folder, version, config, machine, group, index)
        for group in config.instance_group
        if not group.passive
        for index in range(group.count * max(1, len(group.gpus)))
    ]


def _started(launches: list[Launch], host: Host) -> list[ModelInstance]:
    instances = [ModelInstance(launch, host) for launch in launches]
    if len(instances) < 2 or any(launch.inline for launch in launches):
        starts: list[Callable[[], object]] = [instance.start for instance in instances]
        outcomes = [_outcome(start) for start in starts]
    else:
        with ThreadPoolExecutor(len(instances)) as pool:
            outcomes = list(pool.map(_outcome, [instance.start for instance in instances]))
    for outcome in outcomes:
        if outcome is not None:
            for instance in instances:
                instance.finalize()
            raise outcome
    return instances


def _outcome(start: Callable[[], object]) -> LoadError | None:
    try:
        start()
    except LoadError as error:
        return error
    return None


def _may_complete(launch: Launch, config: Any) -> bool:
    """Whether the model could have an `auto_complete_config` at all.

    The server starts an extra process for it at every load, and so does faithful mode. Where a complete
    configuration meets sources that never mention the function, that process would change nothing.
    """
    if not config.input or not config.output:
        return True
    if launch.model_file is not None:
        return True
    sources = [*Path(launch.model_dir, launch.version).rglob("*.py"), *Path(launch.model_dir).glob("*.py")]
    return any(b"auto_complete_config" in source.read_bytes() for source in sources if source.is_file())


def _take_over(config: Any, completed: dict[str, Any]) -> None:
    """What the server takes from `auto_complete_config`; a data type it cannot read voids it all, silently."""
    taken: dict[str, Any] = {
        key: completed[key]
        for key in ("max_batch_size", "input", "output", "dynamic_batching", "model_transaction_policy")
        if key in completed
    }
    for tensor in [*taken.get("input", []), *taken.get("output", [])]:
        if isinstance(tensor.get("data_type"), str):
            tensor["data_type"] = tensor["data_type"].upper()  # enum names are read without regard to case here
    try:
        message = model_config.from_dict(taken)
    except Exception:  # the server ignores the status of its SetModelConfig, whatever it is
        return
    for key in ("input", "output"):
        config.ClearField(key)
        getattr(config, key).extend(getattr(message, key))
    config.max_batch_size = message.max_batch_size
    for key in ("dynamic_batching", "model_transaction_policy"):
        if message.HasField(key):
            config.ClearField(key)
            getattr(config, key).CopyFrom(getattr(message, key))
    model_config.normalize(config)


def refuse_missing_labels(name: str, version: int, config: Any, folder: Path) -> None:
    """Raise `LoadFailed` when an output names a label file that is not there."""
    for output in config.output:
        path = folder / output.label_filename
        if output.label_filename and not path.is_file():
            reason = f"failed to open text file for read {path}: No such file or directory"
            raise LoadFailed(name, "load", reason, version, "INTERNAL")
