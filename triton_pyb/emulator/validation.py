"""What the server checks of a request before any model sees it, in its order and in its words.

Source: InferenceRequest::Normalize of Triton's core 24.10; every text was seen in a 24.10 server's answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from triton_pyb.emulator import byte_tensors
from triton_pyb.emulator.messages import DATATYPES, WireRequest, WireTensor
from triton_pyb.emulator.unordered import unordered
from triton_pyb.runtime.dtypes import wire_name

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


def normalized(request: WireRequest, config: dict[str, Any]) -> tuple[WireRequest, int]:
    """The request as the model will get it (reshaped, outputs spelled out), and its batch size.

    The batch size is 0 for a model without batching.

    Raises
    ------
    RequestRefused
        With the server's text, for the first thing that is wrong.
    """
    declared = {tensor["name"]: tensor for tensor in config["input"]}
    name, prefix = config["name"], f"[request id: {request.request_id or '<id_unknown>'}] "
    by_name: dict[str, WireTensor] = {}
    for tensor in request.inputs:
        if tensor.name in by_name:
            raise RequestRefused(f"{prefix}input '{tensor.name}' already exists in request")
        by_name[tensor.name] = tensor
    outputs = _requested_outputs(request, config)
    _check_count(by_name, config, prefix)
    order = unordered(by_name)
    rows = _batch_size([by_name[key] for key in order], config, prefix)
    if rows > config["max_batch_size"]:
        limit = config["max_batch_size"]
        raise RequestRefused(f"{prefix}inference request batch-size must be <= {limit} for '{name}'")
    for key in order:
        _check_tensor(by_name[key], declared[key], config, prefix)
        _check_byte_size(by_name[key], rows, config, prefix)
    batching = config["max_batch_size"] > 0
    # The server fills a second map from the first one: the model sees the order of that.
    seen = unordered(order)
    inputs = [_reshaped(by_name[key], declared[key], batching) for key in seen]
    return replace(request, inputs=inputs, requested_outputs=outputs), rows


def _requested_outputs(request: WireRequest, config: dict[str, Any]) -> list[str]:
    declared = [tensor["name"] for tensor in config["output"]]
    for output in request.requested_outputs:
        if output not in declared:
            raise RequestRefused(f"unexpected inference output '{output}' for model '{config['name']}'")
    return list(dict.fromkeys(request.requested_outputs or declared))


def _check_count(by_name: dict[str, WireTensor], config: dict[str, Any], prefix: str) -> None:
    most = len(config["input"])
    required = [tensor["name"] for tensor in config["input"] if not tensor.get("optional")]
    if len(required) <= len(by_name) <= most:
        if not by_name and config["max_batch_size"] > 0 and config.get("platform") != "ensemble":
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
        f"{prefix}expected {expected} but got {len(by_name)} inputs for model '{config['name']}'. Got input(s)"
        f" [{got}], but missing required input(s) {listed}. Please provide all required input(s)."
    )


def _batch_size(tensors: list[WireTensor], config: dict[str, Any], prefix: str) -> int:
    declared = {tensor["name"] for tensor in config["input"]}
    rows = 0
    for tensor in tensors:
        if tensor.name not in declared:
            raise RequestRefused(f"unexpected inference input '{tensor.name}' for model '{config['name']}'")
        if config["max_batch_size"] == 0:
            continue
        if not tensor.shape:
            raise RequestRefused(
                f"{prefix}input '{tensor.name}' has no shape but model requires batch dimension for '{config['name']}'"
            )
        if rows == 0:
            rows = tensor.shape[0]
        elif tensor.shape[0] != rows:
            raise RequestRefused(
                f"{prefix}input '{tensor.name}' batch size does not match other inputs for '{config['name']}'"
            )
    return rows


def _check_tensor(tensor: WireTensor, declared: dict[str, Any], config: dict[str, Any], prefix: str) -> None:
    model = config["name"]
    expected = wire_name(declared["data_type"])
    if tensor.datatype != expected:
        raise RequestRefused(
            f"{prefix}inference input '{tensor.name}' data-type is '{tensor.datatype}', but model '{model}'"
            f" expects '{expected}'"
        )
    batching = config["max_batch_size"] > 0
    full = [-1, *declared["dims"]] if batching else declared["dims"]
    if fits(full, tensor.shape):
        return
    raise RequestRefused(
        f"{prefix}unexpected shape for input '{tensor.name}' for model '{model}'. Expected {listed(full)}, got"
        f" {listed(tensor.shape)}. {_BATCH_NOTE if batching else ''}"
    )


def fits(dims: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether a shape is one that these dims allow."""
    return len(dims) == len(shape) and all(dim in (-1, got) for dim, got in zip(dims, shape, strict=True))


def listed(dims: Any) -> str:
    """``[1,2]``: dims as the server writes them."""
    return "[" + ",".join(str(dim) for dim in dims) + "]"


def _check_byte_size(tensor: WireTensor, rows: int, config: dict[str, Any], prefix: str) -> None:
    # The first axis counts as the batch says, not as the tensor does; a batch of zero rows as no axis at all.
    shape = tensor.shape
    if config["max_batch_size"]:
        shape = (rows % 2**32, *shape[1:]) if rows else shape[1:]  # the server keeps it as an unsigned number
    if tensor.datatype == "BYTES":
        _check_elements(tensor, prod(shape), config["name"], prefix)
        return
    expected = prod(shape) * np.dtype(DATATYPES[tensor.datatype]).itemsize
    if expected != tensor.array.nbytes:
        raise RequestRefused(
            f"{prefix}input byte size mismatch for input '{tensor.name}' for model '{config['name']}'. Expected"
            f" {expected}, got {tensor.array.nbytes}"
        )


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


def _reshaped(tensor: WireTensor, declared: dict[str, Any], batching: bool) -> WireTensor:
    if "reshape" not in declared:
        return tensor
    shape = tensor.shape[1:] if batching else tensor.shape
    free = [got for dim, got in zip(declared["dims"], shape, strict=True) if dim == -1]
    new = [free.pop(0) if dim == -1 else dim for dim in declared["reshape"]["shape"]]
    full = (*tensor.shape[:1], *new) if batching else tuple(new)
    return replace(tensor, shape=full, array=tensor.array.reshape(full))


def restored(tensor: WireTensor, declared: dict[str, Any], batching: bool) -> WireTensor:
    """An output whose configuration has a `reshape`, in the dims that the client was promised."""
    reshape = declared["reshape"]["shape"]
    shape = tensor.shape[1:] if batching else tensor.shape
    free = [shape[i] for i, dim in enumerate(reshape) if dim == -1 and i < len(shape)]
    new = [free.pop(0) if dim == -1 and free else dim for dim in declared["dims"]]
    full = (*tensor.shape[:1], *new) if batching else tuple(new)
    if prod(full) != tensor.array.size:
        return tensor
    return replace(tensor, shape=full, array=tensor.array.reshape(full))
