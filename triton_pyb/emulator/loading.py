"""Loading one version of a model: rules, auto-complete, instances, warm-up, in the server's order.

Source: TritonModel::Create of Triton's core 24.10 (backend_model.cc).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from triton_pyb.emulator import model_config, warmup
from triton_pyb.emulator.batcher import Batcher, Runner
from triton_pyb.emulator.completion import CompletionRefused, take_over
from triton_pyb.emulator.contract import Contract
from triton_pyb.emulator.errors import LoadFailed
from triton_pyb.emulator.instance import Launch, LoadError, ModelInstance, auto_complete
from triton_pyb.emulator.load_rules import refuse_at_poll, refuse_batch_tensors, refuse_instance_groups, refuse_tensors
from triton_pyb.emulator.loaded_model import CallingHost, InstanceRunner, LoadedModel, Machine, Scheduler
from triton_pyb.emulator.messages import WireResponse
from triton_pyb.emulator.parameter_rules import broken_name, missing_file, never_loads, refuse_parameters
from triton_pyb.emulator.sequence_batcher import SequenceBatcher
from triton_pyb.emulator.validation import RequestRefused

#: Backends that a stand-in of ours runs on the CPU: its model.py takes the place of the model's own.
STAND_INS = {
    backend: Path(__file__).parent / "backends" / backend / "model.py" for backend in ("onnxruntime", "pytorch")
}


def load(
    name: str, version: int, folder: Path, config: Any, machine: Machine, new_host: Callable[[], CallingHost]
) -> LoadedModel:
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
    if not hang and name not in machine.factories:
        hang = missing_file(config, folder, version, machine.release)
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
            take_over(config, auto_complete(launch, new_host()))
            refuse_at_poll(config)
        refuse_tensors(config)
        refuse_batch_tensors(config)
        refuse_missing_labels(name, version, config, folder)
    except model_config.ConfigRefused as error:
        raise failed(error, "INVALID_ARG") from None
    except (LoadError, CompletionRefused) as error:
        raise failed(error, "INTERNAL") from None
    wrong = refuse_parameters(config, folder)
    if wrong:
        raise failed(*wrong)
    broken = broken_name(config, machine.release)
    if broken:
        raise failed(broken, "INTERNAL")
    model = LoadedModel(name, version, model_config.as_dict(config, machine.release))
    launches = _launches(folder, version, config, machine)
    try:
        hosts = [new_host() for _ in launches]
        model.instances = _started([ModelInstance(launch, host) for launch, host in zip(launches, hosts, strict=True)])
    except LoadError as error:
        raise failed(error, "INTERNAL") from None
    try:
        for instance in model.instances:
            _warm_up(model, instance, folder)
    except RequestRefused as error:
        model.stop()
        raise failed(error.message, error.code) from None
    contract = Contract.of(model.config, machine.mode, machine.strict_off)
    model.serve(
        _scheduler(
            model,
            [
                InstanceRunner(model, instance, host, contract)
                for instance, host in zip(model.instances, hosts, strict=True)
            ],
        )
    )
    return model


def _warm_up(model: LoadedModel, instance: ModelInstance, folder: Path) -> None:
    for name, requests in warmup.samples(model.config, folder):
        rows = [model.rules.normalize(request) for request in requests]
        failures: list[str] = []

        def note(index: int, response: WireResponse | None, flags: int, failures: list[str] = failures) -> None:
            if response is not None and response.error is not None:
                failures.append(response.error.message)

        begun_ns = time.monotonic_ns()
        fault = instance.execute(requests, note)
        took_ns = time.monotonic_ns() - begun_ns
        model.statistics.executed(rows, took_ns, [0] * len(rows))
        for _ in rows:
            model.statistics.answered(True, took_ns)
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
        execute_timeout_s=machine.execute_timeout_s,
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


def _started(instances: list[ModelInstance]) -> list[ModelInstance]:
    if len(instances) < 2 or any(instance.launch.inline for instance in instances):
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


def refuse_missing_labels(name: str, version: int, config: Any, folder: Path) -> None:
    """Raise `LoadFailed` when an output names a label file that is not there."""
    for output in config.output:
        path = folder / output.label_filename
        if output.label_filename and not path.is_file():
            reason = f"failed to open text file for read {path}: No such file or directory"
            raise LoadFailed(name, "load", reason, version, "INTERNAL")
