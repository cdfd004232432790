"""What the server refuses in a configuration before any model code runs, and in which words.

Source: ValidateModelConfig, ValidateModelIOConfig and ValidateInstanceGroup of Triton's core 24.10.
The rules follow the server's order: the first one that fails is the one reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triton_pyb.emulator import ensemble_rules
from triton_pyb.emulator.model_config import ConfigRefused


def refuse_at_poll(config: Any, strict_config: bool = False) -> None:
    """Raise `ConfigRefused` for what the server refuses when it polls the repository."""
    _refuse_first(_platform(config))
    if config.HasField("ensemble_scheduling"):
        _refuse_first(ensemble_rules.findings(config))
    if config.max_batch_size < 0:
        raise ConfigRefused(f"'max_batch_size' must be non-negative value for {config.name}")
    if config.HasField("dynamic_batching"):
        _refuse_first(_dynamic_batching(config))
    if config.HasField("sequence_batching"):
        _refuse_first(_sequence_batching(config))
    _refuse_first(_response_cache(config))
    if strict_config:
        refuse_tensors(config)


def refuse_tensors(config: Any) -> None:
    """Raise `ConfigRefused` for a wrong input or output; the server does it when the model loads."""
    for kind, tensors in (("input", config.input), ("output", config.output)):
        for tensor in tensors:
            _refuse_first(_tensor(config, kind, tensor))


def refuse_instance_groups(config: Any, gpus: int) -> None:
    """Raise `ConfigRefused` for an instance group that this machine cannot hold."""
    for group in config.instance_group:
        where = f"instance group {group.name} of model {config.name} has kind"
        if group.kind == group.KIND_GPU:
            if not gpus:
                raise ConfigRefused(f"{where} KIND_GPU but no GPUs are available")
            for gpu in group.gpus:
                if not 0 <= gpu < gpus:
                    raise ConfigRefused(
                        f"instance group {group.name} of model {config.name} specifies invalid or unsupported"
                        f" gpu id {gpu}. GPUs with at least the minimum required CUDA compute compatibility of"
                        f" 6.000000 are: {', '.join(map(str, range(gpus)))}"
                    )
        elif group.gpus:
            kind = "KIND_MODEL" if group.kind == group.KIND_MODEL else "KIND_CPU"
            raise ConfigRefused(f"{where} {kind} but specifies one or more GPUs")
        if group.profile:
            raise ConfigRefused(
                f"instance group {group.name} of model {config.name} and platform {config.platform}specifies"
                " profile field which is only supported for TensorRT models"
            )


def _refuse_first(messages: Iterator[str]) -> None:
    for message in messages:
        raise ConfigRefused(message)


def _platform(config: Any) -> Iterator[str]:
    if config.platform == "ensemble" and config.backend:
        yield f"Ensemble model '{config.name}' must have platform type 'ensemble' and empty backend type"
    if config.platform == "ensemble" and not config.HasField("ensemble_scheduling"):
        yield f"ensemble scheduling must be set for ensemble {config.name} whose platform is ensemble"


def _dynamic_batching(config: Any) -> Iterator[str]:
    batching, name = config.dynamic_batching, config.name
    for size in batching.preferred_batch_size:
        if size <= 0:
            yield f"dynamic batching preferred size must be positive for {name}"
        if size > config.max_batch_size:
            yield f"dynamic batching preferred size must be <= max batch size for {name}"
    levels = batching.priority_levels
    if levels:
        if not 1 <= batching.default_priority_level <= levels:
            yield f"default priority level must be in range [1, {levels}] for {name}"
        for level in batching.priority_queue_policy:
            if not 1 <= level <= levels:
                yield f"priority queue policy must have priority level in range [1, {levels}] for {name}"
    if batching.preserve_ordering:
        if levels > 1:
            yield f"Only one priority level is allowed when 'preserve_ordering' is true for {name}"
        policies = [batching.default_queue_policy, *batching.priority_queue_policy.values()]
        for policy in policies:
            if policy.timeout_action == policy.DELAY and policy.default_timeout_microseconds:
                yield (f"Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for {name}")


def _sequence_batching(config: Any) -> Iterator[str]:
    sequence, name = config.sequence_batching, config.name
    kinds: set[str] = set()
    tensors: set[str] = set()
    for tensor in sequence.control_input:
        if not tensor.name:
            yield f"sequence batching control tensor must have a name for {name}"
        if tensor.name in tensors:
            yield (
                f"sequence batching control tensor '{tensor.name}' is specified for multiple control kinds for {name}"
            )
        tensors.add(tensor.name)
        for control in tensor.control:
            kind = control.Kind.Name(control.kind)
            if kind in kinds:
                yield f"sequence batching specifies multiple {kind} tensors for {name}"
            kinds.add(kind)
            yield from _control(name, kind, control)
    if sequence.HasField("oldest"):
        for size in sequence.oldest.preferred_batch_size:
            if size <= 0:
                yield f"sequence batching preferred batch size must be positive for {name}"
            if size > config.max_batch_size:
                yield f"sequence batching preferred batch size must be <= max batch size for {name}"
    if sequence.HasField("direct"):
        if not 0.0 <= sequence.direct.minimum_slot_utilization <= 1.0:
            yield f"sequence batching minimum slot utilization must be in range (0.0, 1.0] for {name}"


_CORRELATION_TYPES = ("TYPE_UINT64", "TYPE_INT64", "TYPE_UINT32", "TYPE_INT32", "TYPE_STRING")


def _control(model: str, kind: str, control: Any) -> Iterator[str]:
    fields = ("int32_false_true", "fp32_false_true", "bool_false_true")
    given = [field for field in fields if getattr(control, field)]
    choices = "'int32_false_true', 'fp32_false_true'"
    if kind == "CONTROL_SEQUENCE_CORRID":
        if given:
            yield (f"sequence batching must not specify either {choices} or 'bool_false_true' for {kind} for {model}")
        data_type = control.DESCRIPTOR.fields_by_name["data_type"].enum_type
        if data_type.values_by_number[control.data_type].name not in _CORRELATION_TYPES:
            yield (
                f"unexpected data type for control {kind} for {model}. Allowed data types are TYPE_UINT64,"
                " TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING"
            )
        return
    if not given:
        yield (f"sequence batching must specify either {choices} or 'bool_false_true' for {kind} for {model}")
    if len(given) > 1:
        yield (f"sequence batching specifies more than one from {choices} and 'bool_false_true' for {kind} for {model}")
    if len(getattr(control, given[0])) != 2:
        yield f"sequence batching control '{given[0]}' must have exactly 2 entries for {kind} for {model}"


def _response_cache(config: Any) -> Iterator[str]:
    if not config.response_cache.enable:
        return
    if config.model_transaction_policy.decoupled:
        yield (
            f"Response Cache does not currently support model {config.name} with 'decoupled' transaction"
            " policy. Please disable the response cache."
        )
    if config.HasField("sequence_batching"):
        yield (
            f"Response Cache does not currently support model {config.name} with sequence batching scheduler."
            " Please disable the response cache."
        )


def _tensor(config: Any, kind: str, tensor: Any) -> Iterator[str]:
    name, title = config.name, f"model {kind} '{tensor.name}'"
    if not tensor.name:
        yield f"model {kind} must specify 'name' for {name}"
    if not tensor.data_type:
        yield f"{title} must specify 'data_type' for {name}"
    if not tensor.dims:
        yield f"{title} must specify 'dims' for {name}"
    if config.max_batch_size == 0 and tensor.HasField("reshape") and not tensor.reshape.shape:
        yield (
            f"{title} cannot have empty reshape for non-batching model as scalar tensors are not supported for {name}"
        )
    for dim in tensor.dims:
        if dim < 1 and dim != -1:
            yield (f"{title} dimension must be integer >= 1, or -1 to indicate a variable-size dimension for {name}")
    if tensor.HasField("reshape"):
        yield from _reshape(name, title, tensor)
    if kind == "input" and tensor.format != tensor.FORMAT_NONE and len(tensor.dims) != 3:
        yield f"model input NHWC/NCHW require 3 dims for {name}"
    if tensor.is_shape_tensor:
        yield f"shape tensors are only supported for TensorRT platform for {name}"
    if tensor.is_non_linear_format_io:
        yield f"Non-linear IO format is only supported for the TensorRT platform for {name}"


def _reshape(model: str, title: str, tensor: Any) -> Iterator[str]:
    dims, shape = list(tensor.dims), list(tensor.reshape.shape)
    for dim in shape:
        if dim < 1 and dim != -1:
            yield (
                f"{title} reshape dimensions must be integer >= 1, or -1 to indicate a variable-size"
                f" dimension for {model}"
            )
    dim_chunks, shape_chunks = _chunk_sizes(dims), _chunk_sizes(shape)
    if -1 not in dims and -1 not in shape:
        if dim_chunks != shape_chunks:
            yield f"{title} has different size for dims and reshape for {model}"
    elif -1 not in dims or -1 not in shape:
        yield f"{title} has different size for dims and reshape for {model}"
    elif len(dim_chunks) != len(shape_chunks):
        yield f"{title} has different number of variable-size dimensions for dims and reshape for {model}"
    elif dim_chunks != shape_chunks:
        yield f"{title} has different size for dims and reshape for {model}"


def _chunk_sizes(dims: list[int]) -> list[int]:
    """The element counts between the variable-size dimensions: ``[2, -1, 6]`` -> ``[2, 6]``."""
    sizes = [1]
    for dim in dims:
        if dim == -1:
            sizes.append(1)
        else:
            sizes[-1] *= dim
    return sizes
