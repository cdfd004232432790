"""The tensors that tell a model where in its sequence a request stands."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from triton_pyb.emulator.messages import DATATYPES, WireRequest, WireTensor, altered
from triton_pyb.emulator.unordered import unordered
from triton_pyb.emulator.validation import RequestRefused
from triton_pyb.runtime.dtypes import wire_name

_TYPES = {"int32_false_true": "INT32", "fp32_false_true": "FP32", "bool_false_true": "BOOL"}


@dataclass(frozen=True)
class Controls:
    """The control inputs of one model.

    Attributes
    ----------
    flags : dict
        Kind to (tensor name, data type, value for false, value for true).
    correlation : tuple
        Name and data type of the correlation id's tensor, or None.
    """

    flags: dict[str, tuple[str, str, Any, Any]]
    correlation: tuple[str, str] | None
    shape: tuple[int, ...]

    @classmethod
    def of(cls, config: dict[str, Any]) -> Controls:
        flags: dict[str, tuple[str, str, Any, Any]] = {}
        correlation = None
        for tensor in config["sequence_batching"]["control_input"]:
            for control in tensor["control"]:
                kind = control["kind"].removeprefix("CONTROL_SEQUENCE_")
                if kind == "CORRID":
                    correlation = (tensor["name"], wire_name(control["data_type"]))
                    continue
                for field, datatype in _TYPES.items():
                    if control[field]:
                        flags[kind] = (tensor["name"], datatype, *control[field])
        shape = (1, 1) if config["max_batch_size"] else (1,)
        return cls(flags, correlation, shape)

    @property
    def names(self) -> set[str]:
        """The names of all control inputs."""
        return {name for name, *_ in self.flags.values()} | ({self.correlation[0]} if self.correlation else set())

    def applied(self, request: WireRequest, ready: bool) -> WireRequest:
        """The request with its control inputs, in the order in which the server shows them."""
        set_flags = {"START": bool(request.flags & 1), "END": bool(request.flags & 2), "READY": ready}
        tensors = {tensor.name: tensor for tensor in request.inputs}
        for kind in ("START", "END", "READY"):
            if kind in self.flags:
                name, datatype, false, true = self.flags[kind]
                tensors[name] = self._tensor(name, datatype, true if set_flags[kind] else false)
        if self.correlation is not None:
            name, datatype = self.correlation
            tensors[name] = self._tensor(name, datatype, _correlation_value(request.correlation_id, datatype))
        return altered(request, inputs=[tensors[name] for name in unordered(tensors)])

    def _tensor(self, name: str, datatype: str, value: Any) -> WireTensor:
        if datatype == "BYTES":
            array = np.empty(1, object)
            array[0] = value
        else:
            array = np.array([value]).astype(DATATYPES[datatype])
        return WireTensor(name, datatype, self.shape, array.reshape(self.shape))

    def check(self) -> None:
        """Raise for what 24.10 cannot do: a text correlation id in a model that batches."""
        if self.correlation is not None and self.correlation[1] == "BYTES" and len(self.shape) == 2:
            raise RequestRefused(
                f"unexpected number of string elements 2 for inference input '{self.correlation[0]}', expecting 1"
            )


def _correlation_value(value: int | str, datatype: str) -> Any:
    if datatype == "BYTES":
        return str(value).encode()
    if isinstance(value, str):
        # The server copies the text with its length in front over the number; what does not fit is cut off here.
        text = value.encode()
        return np.frombuffer((struct.pack("<I", len(text)) + text).ljust(8, b"\0")[:8], DATATYPES[datatype])[0]
    return value
