"""What the server refuses of an ensemble: by itself, and against the models it names.

Source: ValidateEnsembleSchedulingConfig (model_config_utils.cc), ensemble_utils.cc and
model_repository_manager.cc of Triton's core 24.10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from triton_pyb.emulator.errors import LoadFailed
from triton_pyb.emulator.validation import listed

if TYPE_CHECKING:
    from triton_pyb.emulator.model_store import Entry


def findings(config: Any) -> Iterator[str]:
    """What is wrong with an ensemble on its own, in the server's order."""
    name = config.name
    if config.platform != "ensemble":
        yield f"ensemble scheduling cannot be set for model '{name}' whose platform is not ensemble"
    if config.instance_group:
        yield f"instance group should not be specified for ensemble '{name}'"
    if config.HasField("optimization"):
        yield f"optimization should not be specified for ensemble '{name}'"
    if config.model_warmup:
        yield f"model_warmup can not be specified for ensemble '{name}'"
    if not config.ensemble_scheduling.step:
        yield f"must specify 'step' for ensemble '{name}'"
    yield from _steps(config)
    yield from _graph(config)


def _steps(config: Any) -> Iterator[str]:
    written: set[str] = set()
    for index, step in enumerate(config.ensemble_scheduling.step):
        for field in ("model_name", "input_map", "output_map"):
            if not getattr(step, field):
                yield f"must specify '{field}' in step {index} of ensemble '{config.name}'"
        for tensor in step.output_map.values():
            if tensor in written:
                yield (
                    f"ensemble tensor '{tensor}' can appear in an output map only once for ensemble"
                    f" '{config.name}' step {index}"
                )
            written.add(tensor)


def _graph(config: Any) -> Iterator[str]:
    name, steps = config.name, list(config.ensemble_scheduling.step)
    reads = {tensor for step in steps for tensor in step.input_map.values()}
    writes = {tensor for step in steps for tensor in step.output_map.values()}
    inputs, outputs = [t.name for t in config.input], [t.name for t in config.output]
    for tensor in inputs:
        if tensor not in reads | writes | set(outputs):
            yield f"ensemble input '{tensor}' for ensemble {name}' is not used"
        elif tensor not in reads and tensor not in outputs and tensor not in writes:
            yield f"ensemble input '{tensor}' for ensemble {name}' is not used"
    for tensor in outputs:
        if tensor not in reads | writes | set(inputs):
            yield f"ensemble output '{tensor}' for ensemble {name}' is not used"
    settled, grown = set(inputs), True
    while grown:
        grown = False
        for step in steps:
            new = set(step.output_map.values()) - settled
            if new and set(step.input_map.values()) <= settled:
                settled |= new
                grown = True
    for tensor in outputs:
        if tensor not in settled:
            unconnected = [
                read
                for step in steps
                if tensor in step.output_map.values()
                for read in step.input_map.values()
                if read not in writes and read not in inputs
            ]
            depends = (
                f": at least one of its depending tensors, '{unconnected[0]}', is not connected" if unconnected else ""
            )
            yield f"output '{tensor}' for ensemble '{name}' is not written{depends}"
    for tensor in sorted(reads | writes):
        if tensor not in settled or (tensor not in reads and tensor not in outputs):
            yield f"ensemble tensor '{tensor}' is unused in ensemble '{name}'"


def refuse_dependencies(config: Any, entries: Mapping[str, Entry]) -> None:
    """Compare an ensemble with the models that its steps name.

    Raises
    ------
    LoadFailed
        With stage ``"dependency"``.
    """
    for message in _dependency_findings(config, entries):
        raise LoadFailed(config.name, "dependency", message)


def _dependency_findings(config: Any, entries: Mapping[str, Entry]) -> Iterator[str]:
    name = config.name
    for step in config.ensemble_scheduling.step:
        entry = entries.get(step.model_name)
        if entry is None or any(failure.stage == "poll" for failure in entry.failures):
            yield (f"ensemble {name} contains models that are not available or ambiguous: {step.model_name}")
            return
    for step in config.ensemble_scheduling.step:
        entry = entries[step.model_name]
        if not entry.loaded:
            yield _not_loaded(name, entry)
        if step.model_version != -1 and step.model_version not in entry.loaded:
            yield (
                f"ensemble '{name}' depends on '{step.model_name}' whose required version"
                f" {step.model_version} is not loaded."
            )
    yield from _Consistency(config, entries).findings()


def _not_loaded(name: str, entry: Entry) -> str:
    for failure in entry.failures:
        if failure.stage == "dependency":
            return (
                f"ensemble '{name}' depends on '{entry.name}' which is not valid. Model '{entry.name}' failed"
                f" with error: {failure.reason}"
            )
        cause = failure.message.removeprefix(f"load failed for model '{entry.name}': ").rstrip("\n")
        return (
            f"ensemble '{name}' depends on '{entry.name}' which has no loaded version. Model '{entry.name}'"
            f" loading failed with error: {cause}"
        )
    return f"ensemble '{name}' depends on '{entry.name}' which has no loaded version"


class _Consistency:
    """Types and shapes of the ensemble's tensors: the first who names one decides, later ones compare."""

    def __init__(self, config: Any, entries: Mapping[str, Entry]) -> None:
        self.config, self.entries = config, entries
        self.known: dict[str, tuple[str, list[int], bool, str]] = {}  # type, dims, batching, model

    def findings(self) -> Iterator[str]:
        config, name = self.config, self.config.name
        batching = config.max_batch_size > 0
        for tensor in [*config.input, *config.output]:
            dims = list(tensor.reshape.shape if tensor.HasField("reshape") else tensor.dims)
            yield from self._compare(tensor.name, _type_name(tensor), dims, batching, name)
        origin: dict[str, str] = {}
        for step in config.ensemble_scheduling.step:
            versions = self.entries[step.model_name].loaded
            version = max(versions) if step.model_version == -1 else step.model_version
            model = versions[version].config
            limit = model["max_batch_size"]
            if limit and limit < config.max_batch_size:
                yield (
                    f"ensemble {name} allows maximum batch size {config.max_batch_size}, but it contains model"
                    f" {model['name']} which only allows maximum batch size to be {limit}"
                )
            yield from self._inputs(step, model)
            yield from self._outputs(step, model)
            yield from self._decoupled(step, model, origin)

    def _inputs(self, step: Any, model: dict[str, Any]) -> Iterator[str]:
        declared = {tensor["name"] for tensor in model["input"]}
        for key, tensor in step.input_map.items():
            if key not in declared:
                yield (
                    f"in ensemble {self.config.name}, ensemble tensor {tensor} is mapping to non-existing input"
                    f" {key} in model {model['name']}"
                )
        for tensor in model["input"]:
            if tensor["name"] in step.input_map:
                yield from self._compare_with(step.input_map[tensor["name"]], tensor, model)
            elif not tensor["optional"]:
                yield (
                    f"in ensemble {self.config.name}, input {tensor['name']} in model {model['name']} is not"
                    " mapped to any ensemble tensors"
                )

    def _outputs(self, step: Any, model: dict[str, Any]) -> Iterator[str]:
        declared = {tensor["name"]: tensor for tensor in model["output"]}
        for key, tensor in step.output_map.items():
            if key not in declared:
                yield (
                    f"in ensemble {self.config.name}, ensemble tensor {tensor} is mapped from non-existing"
                    f" output {key} in model {model['name']}"
                )
        for key, tensor in step.output_map.items():
            yield from self._compare_with(tensor, declared[key], model)

    def _decoupled(self, step: Any, model: dict[str, Any], origin: dict[str, str]) -> Iterator[str]:
        labels = {origin.get(tensor, "") for tensor in step.input_map.values()}
        if len(labels) > 1:
            yield (
                f"in ensemble {self.config.name}, step of model '{self.config.name}' receives inputs originated"
                " from different decoupled models"
            )
        decoupled = model.get("model_transaction_policy", {}).get("decoupled")
        label = model["name"] if decoupled else next(iter(labels), "")
        for tensor in step.output_map.values():
            origin[tensor] = label

    def _compare_with(self, name: str, tensor: dict[str, Any], model: dict[str, Any]) -> Iterator[str]:
        batching = model["max_batch_size"] > 0
        yield from self._compare(name, tensor["data_type"], list(tensor["dims"]), batching, model["name"])

    def _compare(self, tensor: str, dtype: str, dims: list[int], batching: bool, model: str) -> Iterator[str]:
        if tensor not in self.known:
            self.known[tensor] = (dtype, dims, batching, model)
            return
        first_dtype, first_dims, first_batching, first_model = self.known[tensor]
        prefix = f"in ensemble {self.config.name}, ensemble tensor {tensor}: inconsistent"
        if dtype != first_dtype:
            yield (
                f"{prefix} data type: {first_dtype} is inferred from model {first_model} while {dtype} is"
                f" inferred from model {model}"
            )
        full = [-1, *dims] if batching else dims
        first_full = [-1, *first_dims] if first_batching else first_dims
        if not _agree(dims, first_dims) and not _agree(full, first_full):
            yield (
                f"{prefix} shape: {listed(first_full)} is inferred from model {first_model} while"
                f" {listed(full)} is inferred from model {model}"
            )


def _agree(one: list[int], other: list[int]) -> bool:
    return len(one) == len(other) and all(a == b or -1 in (a, b) for a, b in zip(one, other, strict=True))


def _type_name(tensor: Any) -> str:
    return str(tensor.DESCRIPTOR.fields_by_name["data_type"].enum_type.values_by_number[tensor.data_type].name)


def complete_decoupled(config: Any, entries: Mapping[str, Entry]) -> None:
    """An ensemble is decoupled as soon as one of its steps is, whatever it says itself."""
    decoupled = any(
        model.decoupled
        for step in config.ensemble_scheduling.step
        for model in entries[step.model_name].loaded.values()
    )
    if decoupled:
        config.model_transaction_policy.decoupled = True
    elif config.HasField("model_transaction_policy"):
        config.model_transaction_policy.decoupled = False
