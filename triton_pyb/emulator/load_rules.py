"""What the server refuses in a configuration before any model code runs, and in which words.

Source: ValidateModelConfig, ValidateModelIOConfig and ValidateInstanceGroup of Triton's core 24.10.
The rules follow the server's order: the first one that fails is the one reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triton_pyb.emulator import ensemble_rules, sequence_rules
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
        _refuse_first(sequence_rules.findings(config))
    _refuse_first(_response_cache(config))
    for agent in config.model_repository_agents.agents:
        raise ConfigRefused(
            f"unable to find 'libtritonrepoagent_{agent.name}.so' for repo agent '{agent.name}', searched:"
            " /opt/tritonserver/repoagents"
        )
    if strict_config:
        refuse_tensors(config)


def refuse_tensors(config: Any) -> None:
    """Raise `ConfigRefused` for a wrong input or output; the server does it when the model loads."""
    for kind, tensors in (("input", config.input), ("output", config.output)):
        for tensor in tensors:
            _refuse_first(_tensor(config, kind, tensor))


def refuse_batch_tensors(config: Any) -> None:
    """Raise `ConfigRefused` for a wrong ``batch_input`` or ``batch_output``; checked when the model loads."""
    _refuse_first(_batch_tensors(config))


def _batch_tensors(config: Any) -> Iterator[str]:
    name = config.name
    inputs = {tensor.name for tensor in config.input}
    outputs = {tensor.name for tensor in config.output}
    targets: set[str] = set()
    for tensor in [*config.batch_input, *config.batch_output]:
        side = "input" if tensor.DESCRIPTOR.name == "BatchInput" else "output"
        if len(tensor.source_input) != 1:
            kind = tensor.Kind.Name(tensor.kind)
            yield f"batch {side} kind '{kind}' expects 1 source input, got {len(tensor.source_input)} for {name}"
        if side == "input" and tensor.data_type not in (_INT32, _FP32):
            yield f"batch input data type must be TYPE_INT32 or TYPE_FP32 for {name}"
        for source in tensor.source_input:
            if source not in inputs:
                yield f"unknown source input name '{source}' for {name}"
        for target in tensor.target_name if side == "output" else ():
            if target not in outputs:
                yield f"unknown target output name '{target}' for {name}"
            if target in targets:
                yield f"target output name '{target}' can only be specified once for {name}"
            targets.add(target)


_INT32, _FP32 = 8, 11  # of the DataType enum


def refuse_instance_groups(config: Any, gpus: int) -> None:
    """Raise `ConfigRefused` for an instance group that this machine cannot hold."""
    for group in config.instance_group:
        where = f"instance group {group.name} of model {config.name} has kind"
        if group.kind == group.KIND_GPU:
            if not gpus and not group.gpus:
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
