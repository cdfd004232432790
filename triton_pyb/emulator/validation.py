"""What the server checks of a request before any model sees it, in its order and in its words.

Source: InferenceRequest::Normalize of Triton's core 24.10; every text was seen in a 24.10 server's answer.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from triton_pyb.emulator import byte_tensors
from triton_pyb.emulator.messages import DATATYPES, WireRequest, WireTensor, altered
from triton_pyb.emulator.unordered import unordered
from triton_pyb.runtime.arrays import fits
from triton_pyb.runtime.dtypes import wire_name

#: Bytes of one element; BYTES has no fixed number.
ITEM_BYTES = {name: np.dtype(dtype).itemsize for name, dtype in DATATYPES.items()}

_BATCH_NOTE = (
    "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to"
    " each input shape. If you want to specify the full shape including the batch dim in your input dims"
    " config, try setting max_batch_size to zero. See the model configuration docs for more info on"
    " max_batch_size."
)


class RequestRefused(Exception):
    """The server answers this request with an error before a model runs."""

    def __init__(self, message: str, code: str = "INVALID_ARG") -> None:
        super().__init__(message)
        self.message, self.code = message, code


class RequestRules:
    """What one model's configuration asks of a request: made once, asked for every request."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._model, self._max_batch_size = config["name"], config["max_batch_size"]
        self._batching = self._max_batch_size > 0
        self._is_ensemble = config.get("platform") == "ensemble"
        self._declared = {tensor["name"]: tensor for tensor in config["input"]}
        self._datatypes = {name: declared_datatype(tensor) for name, tensor in self._declared.items()}
        batch_axis = [-1] if self._batching else []
        self._dims = {name: batch_axis + list(tensor["dims"]) for name, tensor in self._declared.items()}
        self._required = [tensor["name"] for tensor in config["input"] if not tensor.get("optional")]
        self._most = len(config["input"])
        self._outputs = list(dict.fromkeys(tensor["name"] for tensor in config["output"]))
        self._takes_one = len(self._required) <= 1 <= self._most
        self._known_outputs = frozenset(self._outputs)
        self._fixed = {
            name: (datatype, tuple(tensor["dims"]), prod(tensor["dims"]) * ITEM_BYTES[datatype])
            for (name, tensor), datatype in zip(self._declared.items(), self._datatypes.values(), strict=True)
            if datatype in ITEM_BYTES and datatype != "BYTES" and -1 not in tensor["dims"] and "reshape" not in tensor
        }

    def normalize(self, request: WireRequest) -> int:
        """Make the request what the model will get: reshaped, in the server's order, outputs spelled out.

        Returns
        -------
        int
            Its batch size; 0 for a model without batching.

        Raises
        ------
        RequestRefused
            With the server's text, for the first thing that is wrong; the request is as it was.
        """
        rows = self._plain_rows(request)
        if rows is not None:
            request.model_name = self._model
            request.requested_outputs = request.requested_outputs or self._outputs
            return rows
        prefix = f"[request id: {request.request_id or '<id_unknown>'}] "
        by_name: dict[str, WireTensor] = {}
        for tensor in request.inputs:
            if tensor.name in by_name:
                raise RequestRefused(f"{prefix}input '{tensor.name}' already exists in request")
            by_name[tensor.name] = tensor
        outputs = self._requested_outputs(request)
        self._check_count(by_name, prefix)
        order = unordered(by_name)
        rows = self._batch_size([by_name[key] for key in order], prefix)
        if rows > self._max_batch_size:
            raise RequestRefused(
                f"{prefix}inference request batch-size must be <= {self._max_batch_size} for '{self._model}'"
            )
        for key in order:
            self._check_tensor(by_name[key], prefix)
            self._check_byte_size(by_name[key], rows, prefix)
        # The server fills a second map from the first one: the model sees the order of that.
        request.inputs = [self._reshaped(by_name[key]) for key in unordered(order)]
        request.requested_outputs, request.model_name = outputs, self._model
        return rows

    def _plain_rows(self, request: WireRequest) -> int | None:
        """The batch size of a request in which nothing is to be changed or refused: nearly every one; else None."""
        asked = request.requested_outputs
        if len(request.inputs) != 1 or not self._takes_one or len(set(asked)) != len(asked):
            return None
        tensor = request.inputs[0]
        expected = self._fixed.get(tensor.name)
        if expected is None or not self._known_outputs.issuperset(asked):
            return None
        datatype, dims, item_bytes = expected
        if not self._batching:
            fine = tensor.shape == dims and tensor.array.nbytes == item_bytes
            return 0 if fine and tensor.datatype == datatype else None
        if not tensor.shape or tensor.datatype != datatype or tensor.shape[1:] != dims:
            return None
        rows = tensor.shape[0]
        return rows if 0 < rows <= self._max_batch_size and tensor.array.nbytes == rows * item_bytes else None

    def _requested_outputs(self, request: WireRequest) -> list[str]:
        if not request.requested_outputs:
            return list(self._outputs)
        for output in request.requested_outputs:
            if output not in self._outputs:
                raise RequestRefused(f"unexpected inference output '{output}' for model '{self._model}'")
        return list(dict.fromkeys(request.requested_outputs))

    def _check_count(self, by_name: dict[str, WireTensor], prefix: str) -> None:
        required, most = self._required, self._most
        if len(required) <= len(by_name) <= most:
            if not by_name and self._batching and not self._is_ensemble:
                # All inputs are optional, none came, and nothing says how many rows there are.
                raise RequestRefused(f"{prefix}out of bounds index 0: request has 0 inputs")
            return
        expected = f"{most}" if len(required) == most else f"number of inputs between {len(required)} and {most}"
        expected += " inputs" if len(required) == most else ""
        missing = "".join(f"'{name}'," for name in required if name not in by_name)
        got = ",".join(f"'{name}'" for name in unordered(by_name))
        # With nothing missing the server's text loses its opening bracket; ours is as it is there.
        listed = f"[{missing[:-1]}]" if missing else "]"
        raise RequestRefused(
            f"{prefix}expected {expected} but got {len(by_name)} inputs for model '{self._model}'. Got input(s)"
            f" [{got}], but missing required input(s) {listed}. Please provide all required input(s)."
        )

    def _batch_size(self, tensors: list[WireTensor], prefix: str) -> int:
        rows = 0
        for tensor in tensors:
            if tensor.name not in self._declared:
                raise RequestRefused(f"unexpected inference input '{tensor.name}' for model '{self._model}'")
            if not self._batching:
                continue
            if not tensor.shape:
                raise RequestRefused(
                    f"{prefix}input '{tensor.name}' has no shape but model requires batch dimension for '{self._model}'"
                )
            if rows == 0:
                rows = tensor.shape[0]
            elif tensor.shape[0] != rows:
                raise RequestRefused(
                    f"{prefix}input '{tensor.name}' batch size does not match other inputs for '{self._model}'"
                )
        return rows

    def _check_tensor(self, tensor: WireTensor, prefix: str) -> None:
        expected, dims = self._datatypes[tensor.name], self._dims[tensor.name]
        if tensor.datatype != expected:
            raise RequestRefused(
                f"{prefix}inference input '{tensor.name}' data-type is '{tensor.datatype}', but model"
                f" '{self._model}' expects '{expected}'"
            )
        if not fits(dims, tensor.shape):
            raise RequestRefused(
                f"{prefix}unexpected shape for input '{tensor.name}' for model '{self._model}'. Expected"
                f" {listed(dims)}, got {listed(tensor.shape)}. {_BATCH_NOTE if self._batching else ''}"
            )

    def _check_byte_size(self, tensor: WireTensor, rows: int, prefix: str) -> None:
        # The first axis counts as the batch says, not as the tensor does; a batch of zero rows as no axis at all.
        shape = tensor.shape
        if self._batching:
            shape = (rows % 2**32, *shape[1:]) if rows else shape[1:]  # the server keeps it as an unsigned number
        if tensor.datatype == "BYTES":
            _check_elements(tensor, prod(shape), self._model, prefix)
            return
        expected = prod(shape) * ITEM_BYTES[tensor.datatype]
        if expected != tensor.array.nbytes:
            raise RequestRefused(
                f"{prefix}input byte size mismatch for input '{tensor.name}' for model '{self._model}'. Expected"
                f" {expected}, got {tensor.array.nbytes}"
            )

    def _reshaped(self, tensor: WireTensor) -> WireTensor:
        declared = self._declared[tensor.name]
        if "reshape" not in declared:
            return tensor
        shape = tensor.shape[1:] if self._batching else tensor.shape
        free = [got for dim, got in zip(declared["dims"], shape, strict=True) if dim == -1]
        new = [free.pop(0) if dim == -1 else dim for dim in declared["reshape"]["shape"]]
        full = (*tensor.shape[:1], *new) if self._batching else tuple(new)
        return altered(tensor, shape=full, array=tensor.array.reshape(full))


def declared_datatype(tensor: dict[str, Any]) -> str:
    """The wire name that a configuration declares; a number of no data type loads, and no tensor ever fits it."""
    declared = tensor["data_type"]
    return wire_name(declared) if isinstance(declared, str) else "<invalid>"


def listed(dims: Any) -> str:
    """``[1,2]``: dims as the server writes them."""
    return "[" + ",".join(str(dim) for dim in dims) + "]"


def _check_elements(tensor: WireTensor, expected: int, model: str, prefix: str) -> None:
    where = f"for inference input '{tensor.name}'"
    got = tensor.array.size
    if tensor.array.dtype != object:  # bytes that make no tensor of this shape
        elements, complaint = byte_tensors.elements_of(tensor.array.tobytes())
        if elements is None and complaint.startswith("expecting 4 bytes"):
            raise RequestRefused(f"{prefix}incomplete string length indicator {where} for model '{model}', {complaint}")
        if elements is None:  # only the backend notices
            raise RequestRefused(f"incomplete string data {where}, {complaint}")
        got = len(elements)
    if got < expected:
        raise RequestRefused(f"{prefix}expected {expected} string elements {where} for model '{model}', got {got}")
    if got > expected:
        raise RequestRefused(
            f"{prefix}unexpected number of string elements {got} {where} for model '{model}', expecting {expected}"
        )


def restored(tensor: WireTensor, declared: dict[str, Any], batching: bool) -> WireTensor:
    """An output whose configuration has a `reshape`, in the dims that the client was promised."""
    reshape = declared["reshape"]["shape"]
    shape = tensor.shape[1:] if batching else tensor.shape
    free = [shape[i] for i, dim in enumerate(reshape) if dim == -1 and i < len(shape)]
    new = [free.pop(0) if dim == -1 and free else dim for dim in declared["dims"]]
    full = (*tensor.shape[:1], *new) if batching else tuple(new)
    if prod(full) != tensor.array.size:
        return tensor
    return altered(tensor, shape=full, array=tensor.array.reshape(full))
