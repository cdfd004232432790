"""gRPC's inference messages to requests and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tritonclient.grpc import service_pb2

from triton_pyb.emulator import byte_tensors
from triton_pyb.emulator.messages import DATATYPES, WireRequest, WireResponse, WireTensor
from triton_pyb.emulator.validation import RequestRefused

#: Which field of ``InferTensorContents`` carries a data type that is not sent raw.
_CONTENTS = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}


@dataclass
class GrpcRequest:
    """A request and how its answer is to be written.

    Attributes
    ----------
    empty_final : bool
        The client wants to see a final flag that comes without a response.
    """

    request: WireRequest
    empty_final: bool = False
    classes: dict[str, int] = field(default_factory=dict)


def read(message: Any) -> GrpcRequest:
    """The request that a ``ModelInferRequest`` holds.

    Raises
    ------
    RequestRefused
    """
    result = GrpcRequest(WireRequest([], request_id=message.id))
    for key, parameter in message.parameters.items():
        _parameter(key, parameter, result)
    _inputs(message, result.request)
    for output in message.outputs:
        result.request.requested_outputs.append(output.name)
        if "classification" in output.parameters:
            result.classes[output.name] = output.parameters["classification"].int64_param
    return result


def _parameter(key: str, parameter: Any, result: GrpcRequest) -> None:
    request = result.request
    choice = parameter.WhichOneof("parameter_choice")
    value: Any = getattr(parameter, choice) if choice else None
    if key == "sequence_id":
        request.correlation_id = value
    elif key in ("sequence_start", "sequence_end"):
        request.flags |= bool(value) << (key == "sequence_end")
    elif key == "priority":
        request.priority = int(value)
    elif key == "timeout":
        request.timeout_us = int(value)
    elif key == "triton_enable_empty_final_response":
        result.empty_final = bool(value)
    elif key.startswith("triton_"):
        raise RequestRefused(
            "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified."
        )
    elif value is None:
        raise RequestRefused(
            f"parameter '{key}' has invalid type. It should be either 'int64_param', 'bool_param', or 'string_param'."
        )
    else:
        request.parameters[key] = value


def _inputs(message: Any, request: WireRequest) -> None:
    prefix = f"[request id: {request.request_id or '<id_unknown>'}] "
    raw = list(message.raw_input_contents)
    for tensor in message.inputs:
        if tensor.datatype not in DATATYPES:
            raise RequestRefused(f"{prefix}invalid datatype for input {tensor.name}")
        if any(other.name == tensor.name for other in request.inputs):
            raise RequestRefused(f"{prefix}input '{tensor.name}' already exists in request")
        shape = tuple(tensor.shape)
        if "shared_memory_region" in tensor.parameters:
            region = tensor.parameters["shared_memory_region"].string_param
            raise RequestRefused(f"Unable to find shared memory region: '{region}'", "NOT_FOUND")
        if message.raw_input_contents:
            data = raw.pop(0) if raw else b""
        else:
            data = _contents(tensor)
        array = byte_tensors.array_of(data, tensor.datatype, shape)
        request.inputs.append(WireTensor(tensor.name, tensor.datatype, shape, array))


def _contents(tensor: Any) -> bytes:
    values = list(getattr(tensor.contents, _CONTENTS.get(tensor.datatype, "bool_contents")))
    if tensor.datatype == "BYTES":
        array = np.array([*values, None], object)[:-1]
    else:
        array = np.array(values).astype(DATATYPES[tensor.datatype])
    return byte_tensors.bytes_of(WireTensor(tensor.name, tensor.datatype, array.shape, array))


def write(response: WireResponse, request_id: str, model: str, version: int) -> Any:
    """A ``ModelInferResponse``, its tensors raw."""
    message = service_pb2.ModelInferResponse(model_name=model, model_version=str(version), id=request_id)
    for key, value in response.parameters.items():
        _set(message.parameters[key], value)
    for tensor in response.outputs:
        message.outputs.add(name=tensor.name, datatype=tensor.datatype, shape=tensor.shape)
        message.raw_output_contents.append(byte_tensors.bytes_of(tensor))
    return message


def _set(parameter: Any, value: Any) -> None:
    if isinstance(value, bool):
        parameter.bool_param = value
    elif isinstance(value, int):
        parameter.int64_param = value
    else:
        parameter.string_param = str(value)
