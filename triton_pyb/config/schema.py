"""The fields of ``ModelConfig`` as plain tables, taken from the protobuf descriptors of tritonclient."""

from __future__ import annotations

import functools
import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

_INTEGERS = {
    3: (-(2**63), 2**63 - 1),  # TYPE_INT64
    4: (0, 2**64 - 1),  # TYPE_UINT64
    5: (-(2**31), 2**31 - 1),  # TYPE_INT32
    13: (0, 2**32 - 1),  # TYPE_UINT32
}
_KINDS = {1: "float", 2: "float", 8: "bool", 9: "string", 11: "message", 14: "enum"}


@dataclass(eq=False)
class FieldType:
    """One field of a message: what its value may look like in the text format.

    Attributes
    ----------
    kind : str
        ``"int"``, ``"float"``, ``"bool"``, ``"string"``, ``"enum"`` or ``"message"``.
    low, high : int
        The range of an ``"int"``.
    has_presence : bool
        False for a proto3 scalar: writing it twice is an error only when the first value is not the default.
    """

    name: str
    kind: str
    repeated: bool
    oneof: str
    has_presence: bool
    low: int = 0
    high: int = 0
    enum: dict[str, int] = field(default_factory=dict)
    enum_names: dict[int, str] = field(default_factory=dict)
    message: MessageType | None = None

    @property
    def default(self) -> Any:
        if self.repeated:
            return []
        scalars = {"int": 0, "float": 0.0, "bool": False, "string": "", "enum": self.enum_names.get(0, 0)}
        return scalars.get(self.kind)


@dataclass(eq=False)
class MessageType:
    """One message type; `name` is its full protobuf name, as Triton's messages print it."""

    name: str
    is_map_entry: bool
    fields: dict[str, FieldType] = field(default_factory=dict)


@functools.cache
def model_config_pb2() -> ModuleType:
    """``tritonclient.grpc.model_config_pb2`` without its package, whose import of grpc costs 0.1 s."""
    name = "tritonclient.grpc.model_config_pb2"
    if name in sys.modules:
        return sys.modules[name]
    package = importlib.util.find_spec("tritonclient")
    for folder in (package.submodule_search_locations or []) if package is not None else []:
        file = Path(folder) / "grpc" / "model_config_pb2.py"
        spec = importlib.util.spec_from_file_location("triton_pyb.config._model_config_pb2", file)
        if file.is_file() and spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError("tritonclient[grpc] is not installed", name=name)


@functools.cache
def model_config_type() -> MessageType:
    """The table of ``inference.ModelConfig`` and, below it, of every message it holds."""
    return _message_type(model_config_pb2().ModelConfig.DESCRIPTOR, {})


def _message_type(descriptor: Any, known: dict[str, MessageType]) -> MessageType:
    if descriptor.full_name in known:
        return known[descriptor.full_name]
    message = MessageType(descriptor.full_name, descriptor.GetOptions().map_entry)
    known[descriptor.full_name] = message
    for item in descriptor.fields:
        low, high = _INTEGERS.get(item.type, (0, 0))
        enum = {value.name: value.number for value in item.enum_type.values} if item.enum_type else {}
        message.fields[item.name] = FieldType(
            name=item.name,
            kind=_KINDS.get(item.type, "int"),
            repeated=bool(item.is_repeated if hasattr(item, "is_repeated") else item.label == 3),
            oneof=item.containing_oneof.name if item.containing_oneof else "",
            has_presence=item.has_presence,
            low=low,
            high=high,
            enum=enum,
            enum_names={number: name for name, number in enum.items()},
            message=_message_type(item.message_type, known) if item.message_type else None,
        )
    return message
