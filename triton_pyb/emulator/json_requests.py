"""The HTTP protocol's inference requests: tensors in JSON, or binary behind it.

Source: http_server.cc of Triton's server 24.10; every refusal was seen in its answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_pyb.emulator import byte_tensors, rapid_json
from triton_pyb.emulator.messages import DATATYPES, WireRequest, WireTensor
from triton_pyb.emulator.validation import RequestRefused

_READERS: dict[str, Callable[[Any], Any]] = {
    **{name: rapid_json.as_unsigned for name in ("UINT8", "UINT16", "UINT32", "UINT64")},
    **{name: rapid_json.as_signed for name in ("INT8", "INT16", "INT32", "INT64")},
    "BOOL": rapid_json.as_bool,
    "FP32": rapid_json.as_number,
    "FP64": rapid_json.as_number,
}


@dataclass
class JsonRequest:
    """A request and how its answer is to be written.

    Attributes
    ----------
    binary : dict
        Name of a requested output to whether it goes behind the JSON; the others follow `binary_default`.
    classes : dict
        Output name to the number of classes asked for.
    """

    request: WireRequest
    binary_default: bool = False
    binary: dict[str, bool] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)


def read(body: bytes, header_length: int | None, model: dict[str, Any]) -> JsonRequest:
    """The request that an HTTP body holds.

    Parameters
    ----------
    header_length : int or None
        ``Inference-Header-Content-Length``: how many bytes are JSON, None for all.
    model : dict
        The model's configuration.

    Raises
    ------
    RequestRefused
    """
    if header_length == 0 or (header_length is None and not body):
        return _raw(body, model)
    header = body if header_length is None else body[:header_length]
    document = rapid_json.parse(header)
    result = JsonRequest(WireRequest([]))
    if isinstance(document, dict) and "id" in document:
        with parsing("id"):
            result.request.request_id = rapid_json.text_member(document, "id")
    _parameters(document, result)
    _inputs(document, result.request, memoryview(body)[len(header) :], model["name"])
    _outputs(document, result)
    return result


@contextmanager
def parsing(what: str) -> Iterator[None]:
    """Name the field that a refusal is about."""
    try:
        yield
    except RequestRefused as error:
        if error.message == _LONG_ID:  # the one refusal that comes without the name of the field
            raise
        raise RequestRefused(f"Unable to parse '{what}': {error.message}", error.code) from None


_LONG_ID = "string correlation ID cannot be longer than 128 characters"


def _parameters(document: Any, result: JsonRequest) -> None:
    if not isinstance(document, dict) or "parameters" not in document:
        return
    parameters, request = document["parameters"], result.request
    if not isinstance(parameters, dict):
        message = "failed to get request params.: attempt to get members for non-object"
        raise RequestRefused(message, "INTERNAL")
    for key, value in parameters.items():
        with parsing(key):
            if key == "sequence_id":
                request.correlation_id = _correlation_id(value)
            elif key in ("sequence_start", "sequence_end"):
                request.flags |= rapid_json.as_bool(value) << (key == "sequence_end")
            elif key == "priority":
                request.priority = rapid_json.as_unsigned(value)
            elif key == "timeout":
                request.timeout_us = rapid_json.as_unsigned(value)
            elif key == "binary_data_output":
                result.binary_default = rapid_json.as_bool(value)
        if key in _RESERVED:
            continue
        if key.startswith("triton_"):
            raise RequestRefused(
                "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified."
            )
        if not isinstance(value, (bool, int, float, str)):
            raise RequestRefused(f"parameter '{key}' has invalid type. It should be either 'int', 'bool', or 'string'.")
        request.parameters[key] = rapid_json.as_parameter(value)


_RESERVED = {"sequence_id", "sequence_start", "sequence_end", "priority", "timeout", "binary_data_output"}


def _correlation_id(value: Any) -> int | str:
    try:
        return rapid_json.as_unsigned(value)
    except RequestRefused:
        text = rapid_json.as_text(value)
    if len(text.encode("utf-8", "surrogateescape")) > 128:
        raise RequestRefused(_LONG_ID, "UNSUPPORTED")
    return text


def _inputs(document: Any, request: WireRequest, binary: memoryview, model: str) -> None:
    with parsing("inputs"):
        inputs = rapid_json.array_member(document, "inputs")
    for entry in inputs:
        source = _source(entry)
        with parsing("name"):
            name = rapid_json.text_member(entry, "name")
        with parsing("datatype"):
            datatype = rapid_json.text_member(entry, "datatype")
        with parsing("shape"):
            shape = tuple(rapid_json.as_unsigned(dim) for dim in rapid_json.array_member(entry, "shape"))
        datatype = datatype if datatype in DATATYPES else "<invalid>"
        if any(tensor.name == name for tensor in request.inputs):
            prefix = f"[request id: {request.request_id or '<id_unknown>'}] "
            raise RequestRefused(f"{prefix}input '{name}' already exists in request")
        array, used = _data(entry, source, WireTensor(name, datatype, shape, np.empty(0)), binary, model)
        binary = binary[used:]
        request.inputs.append(WireTensor(name, datatype, shape, array))
    if len(binary):
        raise RequestRefused(f"unexpected additional input data for model '{model}'")


def _source(entry: Any) -> str:
    """Where an input's data stands: exactly one place is allowed, and that is looked at first."""
    entry = entry if isinstance(entry, dict) else {}
    parameters = entry.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    sources = ["data"] if "data" in entry else []
    sources += [key for key in ("binary_data_size", "shared_memory_region") if key in parameters]
    if len(sources) == 1:
        return sources[0]
    got = "But set " + " ".join(f"'{source}'" for source in sources) if sources else "But no field is set"
    raise RequestRefused(
        "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters',"
        f" 'shared_memory_region' in 'parameters'. {got}"
    )


def _data(
    entry: dict[str, Any], source: str, tensor: WireTensor, binary: memoryview, model: str
) -> tuple[NDArray[Any], int]:
    """The input's array, and how many bytes of `binary` it took."""
    if source == "data":
        return json_data(entry["data"], tensor.name, tensor.datatype, tensor.shape), 0
    if source == "shared_memory_region":
        region = entry["parameters"]["shared_memory_region"]
        raise RequestRefused(f"Unable to find shared memory region: '{region}'", "NOT_FOUND")
    with parsing("binary_data_size"):
        size = rapid_json.as_unsigned(entry["parameters"]["binary_data_size"])
    if size > len(binary):
        raise RequestRefused(
            f"unexpected size for input '{tensor.name}', expecting {size - len(binary)} additional bytes for"
            f" model '{model}'"
        )
    return byte_tensors.array_of(bytes(binary[:size]), tensor.datatype, tensor.shape), size


def json_data(data: Any, name: str, datatype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """The array that a JSON ``data`` holds; where the elements are counted later, one that does not fit `shape`.

    Raises
    ------
    RequestRefused
    """
    if not shape or 0 in shape:  # the server expects no elements then, and looks at none
        return np.empty(shape or 0, DATATYPES.get(datatype, np.uint8))
    if datatype == "<invalid>":
        raise RequestRefused(f"invalid datatype for input {name}")
    if datatype in ("FP16", "BF16"):
        raise RequestRefused(
            f"receiving {datatype} data via JSON is not supported. Please use the binary data format for input {name}"
        )
    if not isinstance(data, list):
        message = "attempt to access JSON non-array as array"
        raise RequestRefused(f"Unable to parse 'data': {message}", "INTERNAL")
    if datatype == "BYTES":
        try:
            texts = _leaves(data, rapid_json.as_text, None)
        except RequestRefused as error:
            raise RequestRefused(f"Unable to parse JSON bytes array: {error.message}", error.code) from None
        array = _array([text.encode("utf-8", "surrogateescape") for text in texts], datatype)
        return array.reshape(shape) if array.size == prod(shape) else array  # counted when the tensor is checked
    with parsing("data"):
        leaves = _leaves(data, _READERS[datatype], prod(shape))
        if len(leaves) != prod(shape):
            raise RequestRefused(_MISFIT, "INTERNAL")
    return _array(leaves, datatype).reshape(shape)


_MISFIT = "Shape does not match true shape of 'data' field"


def _leaves(data: list[Any], read: Callable[[Any], Any], limit: int | None) -> list[Any]:
    leaves: list[Any] = []
    for item in data:
        if isinstance(item, list):
            leaves += _leaves(item, read, None if limit is None else limit - len(leaves))
        else:
            if limit is not None and len(leaves) >= limit:
                raise RequestRefused(_MISFIT, "INTERNAL")
            leaves.append(read(item))
    return leaves


def _array(leaves: list[Any], datatype: str) -> NDArray[Any]:
    if datatype == "BYTES":
        return np.array([*leaves, None], object)[:-1]
    dtype = np.dtype(DATATYPES[datatype])
    if dtype.kind in "iu":  # too wide a number loses its upper bits, as in the server's cast
        wide = np.uint64 if dtype.kind == "u" else np.int64
        return np.array(leaves, wide).astype(dtype)
    with np.errstate(over="ignore"):
        return np.array(leaves, np.float64 if dtype.kind == "f" else dtype).astype(dtype)


def _outputs(document: Any, result: JsonRequest) -> None:
    if "outputs" not in document:
        return
    with parsing("outputs"):
        outputs = rapid_json.array_member(document, "outputs")
    for entry in outputs:
        with parsing("name"):
            name = rapid_json.text_member(entry, "name")
        parameters = entry.get("parameters")
        parameters = parameters if isinstance(parameters, dict) else {}
        count = _class_count(parameters["classification"]) if "classification" in parameters else 0
        if "shared_memory_region" in parameters:
            region = parameters["shared_memory_region"]
            raise RequestRefused(f"Unable to find shared memory region: '{region}'", "NOT_FOUND")
        with parsing("binary_data"):
            binary = rapid_json.as_bool(parameters.get("binary_data", False))
        if name not in result.binary:  # the first entry of a name is kept
            result.binary[name], result.classes[name] = binary, count
        result.request.requested_outputs.append(name)


def _class_count(value: Any) -> int:
    try:
        return rapid_json.as_unsigned(value)
    except RequestRefused as error:
        raise RequestRefused(f"Unable to set 'classification': {error.message}", error.code) from None


def _raw(body: bytes, model: dict[str, Any]) -> JsonRequest:
    """A body that is one tensor's bytes and nothing else."""
    prefix = "[request id: <id_unknown>] "
    name, inputs = model["name"], model["input"]
    if len(inputs) != 1:
        raise RequestRefused(
            f"{prefix}Raw request must only have 1 input (found 1) to be deduced but got {len(inputs)} inputs in"
            f" '{name}' model configuration"
        )
    declared = inputs[0]
    datatype = "BYTES" if declared["data_type"] == "TYPE_STRING" else declared["data_type"][len("TYPE_") :]
    batch = (1,) if model["max_batch_size"] else ()
    if datatype == "BYTES":
        if prod(declared["dims"]) != 1:
            raise RequestRefused(
                f"{prefix}For BYTE datatype raw input '{declared['name']}', the model must have input shape [1]"
            )
        array: NDArray[Any] = np.array([body, None], object)[:-1].reshape(*batch, *declared["dims"])
        tensor = WireTensor(declared["name"], datatype, array.shape, array)
        return JsonRequest(WireRequest([tensor]), binary_default=True)
    shape = _deduced(declared, body, batch, DATATYPES[datatype])
    if prod(shape) * np.dtype(DATATYPES[datatype]).itemsize != len(body):
        expected = prod(shape) * np.dtype(DATATYPES[datatype]).itemsize
        raise RequestRefused(
            f"{prefix}input byte size mismatch for input 'raw_input' for model '{name}'. Expected {expected}, got"
            f" {len(body)}"
        )
    tensor = WireTensor(declared["name"], datatype, shape, byte_tensors.array_of(body, datatype, shape))
    return JsonRequest(WireRequest([tensor]), binary_default=True)


def _deduced(declared: dict[str, Any], body: bytes, batch: tuple[int, ...], dtype: Any) -> tuple[int, ...]:
    dims = [int(dim) for dim in declared["dims"]]
    if dims.count(-1) > 1:
        raise RequestRefused(
            f"[request id: <id_unknown>] The shape of the raw input '{declared['name']}' can not be deduced because"
            " there are more than one variable-sized dimension"
        )
    fixed = prod(dim for dim in dims if dim != -1)
    free = len(body) // (fixed * np.dtype(dtype).itemsize)
    return (*batch, *(free if dim == -1 else dim for dim in dims))
