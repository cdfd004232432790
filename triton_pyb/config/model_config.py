"""Signature -> ``ModelConfig`` -> ``config.pbtxt``, through Triton's own protobuf schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from triton_pyb.runtime.dtypes import config_name, wire_name
from triton_pyb.runtime.signature import Field

if TYPE_CHECKING:
    ModelConfig = Any  # the generated class has no types
else:
    ModelConfig = model_config_pb2.ModelConfig


class TensorConfig:
    """A tensor as a model configuration declares it.

    Attributes
    ----------
    name : str
    dtype : str
        Wire name, ``"FP32"``.
    dims : tuple of int
        As in the configuration: per item with ``max_batch_size > 0``, with the leading axis otherwise.
    optional : bool
    ragged : bool
        ``allow_ragged_batch``: the server may join requests that differ in this input's shape.
    """

    def __init__(
        self, name: str, dtype: str, dims: Iterable[int], optional: bool = False, ragged: bool = False
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.dims = tuple(int(size) for size in dims)
        self.optional = optional
        self.ragged = ragged

    @classmethod
    def of(cls, field: Field, batching: bool, ragged: bool = False) -> TensorConfig:
        """The declaration behind one Field of a Signature."""
        return cls(field.name, field.dtype, field.dims(batching), field.optional, ragged and batching)

    def __str__(self) -> str:
        return f"'{self.name}' {self.dtype}{list(self.dims)}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorConfig) and vars(self) == vars(other)


def step_config(
    name: str,
    inputs: Iterable[TensorConfig],
    outputs: Iterable[TensorConfig],
    *,
    max_batch_size: int,
    instances: int = 1,
    max_queue_delay_microseconds: int = 0,
) -> ModelConfig:
    """The configuration of a step of ours: the python backend, on the CPU.

    Notes
    -----
    ``KIND_CPU`` is said because Triton's default on a machine with GPUs is one instance per GPU, which a pre- or
    postprocess function does not use.
    """
    config = _model(name, inputs, outputs, max_batch_size, max_queue_delay_microseconds)
    config.backend = "python"
    group = config.instance_group.add()
    group.kind = model_config_pb2.ModelInstanceGroup.KIND_CPU
    group.count = instances
    return config


#: With "yes", Triton's default, every input is copied to the CPU before the model sees it.
#: Source: python_backend README, "Input Tensor Device Placement".
FORCE_CPU = "FORCE_CPU_ONLY_INPUT_TENSORS"


def leave_inputs_on_device(config: ModelConfig) -> None:
    """Let inputs stay where they are, for a step on a GPU whose function takes a torch.Tensor.

    An instance on the CPU keeps Triton's default, and so does a parameter that the author wrote.
    """
    on_gpu = any(group.kind == model_config_pb2.ModelInstanceGroup.KIND_GPU for group in config.instance_group)
    if on_gpu and FORCE_CPU not in config.parameters:
        config.parameters[FORCE_CPU].string_value = "no"


def core_config(
    name: str,
    inputs: Iterable[TensorConfig],
    outputs: Iterable[TensorConfig],
    *,
    max_batch_size: int,
    platform: str = "",
    backend: str = "",
    max_queue_delay_microseconds: int = 0,
) -> ModelConfig:
    """The configuration of a core model; where it runs is left to Triton (a GPU when there is one)."""
    config = _model(name, inputs, outputs, max_batch_size, max_queue_delay_microseconds)
    config.platform = platform
    config.backend = backend
    return config


def ensemble_config(
    name: str,
    inputs: Iterable[TensorConfig],
    outputs: Iterable[TensorConfig],
    steps: Iterable[tuple[str, Mapping[str, str], Mapping[str, str]]],
    *,
    max_batch_size: int,
) -> ModelConfig:
    """The configuration of an ensemble.

    Parameters
    ----------
    steps : iterable of (model name, input_map, output_map)
        ``input_map`` is model input -> ensemble tensor, ``output_map`` model output -> ensemble tensor.
    """
    config = _model(name, inputs, outputs, max_batch_size, None)
    config.platform = "ensemble"
    for model_name, input_map, output_map in steps:
        step = config.ensemble_scheduling.step.add()
        step.model_name = model_name
        step.model_version = -1
        step.input_map.update(input_map)
        step.output_map.update(output_map)
    return config


def _model(
    name: str,
    inputs: Iterable[TensorConfig],
    outputs: Iterable[TensorConfig],
    max_batch_size: int,
    max_queue_delay_microseconds: int | None,
) -> Any:
    config = ModelConfig(name=name, max_batch_size=max_batch_size)
    for tensors, entries in ((inputs, config.input), (outputs, config.output)):
        for tensor in tensors:
            entry = entries.add()
            entry.name = tensor.name
            entry.data_type = model_config_pb2.DataType.Value(config_name(tensor.dtype))
            entry.dims.extend(tensor.dims)
            if tensor.optional:
                entry.optional = True
            if tensor.ragged:
                entry.allow_ragged_batch = True
    if max_batch_size > 0 and max_queue_delay_microseconds is not None:
        config.dynamic_batching.SetInParent()  # without the block the server never joins requests
        if max_queue_delay_microseconds:
            config.dynamic_batching.max_queue_delay_microseconds = max_queue_delay_microseconds
    return config


def to_pbtxt(config: ModelConfig, header: str = "") -> str:
    """The text of ``config.pbtxt``: UTF-8 kept readable, lists on one line, maps in key order.

    Parameters
    ----------
    header : str
        Lines of a comment at the top, without ``#``.
    """
    text: str = text_format.MessageToString(config, as_utf8=True, use_short_repeated_primitives=True)
    comment = "".join(f"# {line}".rstrip() + "\n" for line in header.splitlines())
    return comment + text


def tensors_of(config: ModelConfig, side: str) -> tuple[TensorConfig, ...]:
    """The ``"input"`` or ``"output"`` declarations of a configuration."""
    names = model_config_pb2.DataType.Name
    return tuple(
        TensorConfig(
            entry.name,
            wire_name(names(entry.data_type)),
            entry.dims,
            getattr(entry, "optional", False),
        )
        for entry in getattr(config, side)
    )
