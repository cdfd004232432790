"""What the server takes over from `auto_complete_config`.

The model may leave anything in its configuration. The server reads the whole of it as protobuf's C++ library reads
JSON, takes a few fields, and where it cannot read it, takes nothing and says nothing.

Source: TritonModel::UpdateModelConfig of Triton's core 24.10, ModelState::SetModelConfig of the Python backend; every
rule was seen in a 24.10 server's answer.
"""

from __future__ import annotations

import json
from typing import Any

from google.protobuf import descriptor

from triton_pyb.emulator import model_config

#: How C++ spells the truth. Source: safe_strtob of protobuf.
_TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}


class CompletionRefused(Exception):
    """The model does not load; the text comes after "Internal: "."""


def take_over(config: Any, completed: dict[str, Any]) -> None:
    """Put into `config` what the server takes from `completed`.

    Raises
    ------
    CompletionRefused
    """
    try:
        json.dumps(completed, allow_nan=False)
    except ValueError:
        raise CompletionRefused("Failed to accept document, invalid JSON.") from None
    message = _read(completed)
    if message is None or not _same_choice(config, message):
        decoupled = _member(_member(completed, "model_transaction_policy"), "decoupled")
        if decoupled is not None and not isinstance(decoupled, bool):
            raise CompletionRefused(
                f"decoupled is {decoupled!r}, not true or false, in what auto_complete_config left: a real server"
                " dies here"
            )
        return
    config.max_batch_size = message.max_batch_size
    for key in ("input", "output"):
        config.ClearField(key)
        getattr(config, key).extend(getattr(message, key))
    for key in ("dynamic_batching", "sequence_batching", "ensemble_scheduling"):
        if config.WhichOneof("scheduling_choice") is None and message.HasField(key):
            getattr(config, key).CopyFrom(getattr(message, key))
    if message.HasField("model_transaction_policy"):
        config.model_transaction_policy.decoupled = message.model_transaction_policy.decoupled
    model_config.normalize(config)


def _read(completed: dict[str, Any]) -> Any:
    try:
        return model_config.from_dict(_as_cpp(completed, model_config.descriptor_of_config()))
    except Exception:  # whatever it is: the server ignores the status
        return None


def _same_choice(config: Any, message: Any) -> bool:
    own = config.WhichOneof("scheduling_choice")
    return own is None or own == message.WhichOneof("scheduling_choice")


def _member(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _as_cpp(value: Any, message: descriptor.Descriptor) -> Any:
    """An object as Python's stricter reader of JSON takes it."""
    if not isinstance(value, dict):
        return value
    fields = {field.name: field for field in message.fields} | {field.json_name: field for field in message.fields}
    return {key: _of_field(item, fields[key]) if key in fields else item for key, item in value.items()}


def _of_field(value: Any, field: descriptor.FieldDescriptor) -> Any:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        inner = field.message_type.fields_by_name["value"]
        return {key: _single(item, inner) for key, item in value.items()} if isinstance(value, dict) else value
    if field.is_repeated and value is not None:
        return [_single(item, field) for item in _flat(value)]
    return _single(value, field)


def _flat(value: Any) -> list[Any]:
    """The items of a list: lists in it are part of it, null is nothing, and one value is a list of it."""
    if isinstance(value, list):
        return [item for part in value for item in _flat(part)]
    return [] if value is None else [value]


def _single(value: Any, field: descriptor.FieldDescriptor) -> Any:
    if field.message_type is not None:
        return _as_cpp(value, field.message_type)
    if isinstance(value, str):
        if field.enum_type is not None:
            return value.upper().replace("-", "_")
        if field.type == field.TYPE_BOOL:
            return _TRUTH.get(value.lower(), value)
    return value
