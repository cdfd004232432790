"""What the server refuses of ``sequence_batching`` when it polls the repository, in its words.

Source: ValidateModelConfig and ValidateSequenceControl of Triton's core 24.10.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def findings(config: Any) -> Iterator[str]:
    """What is wrong, in the server's order."""
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
