"""gRPC's inference messages to requests and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tritonclient.grpc import service_pb2

from triton_pyb.emulator import byte_tensors
from triton_pyb.emulator.loaded_model import LoadedModel
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


#: Reserved parameter to the kinds it may have, in the order in which the refusal names them.
_RESERVED = {
    "sequence_id": ("int64_param", "string_param"),
    "sequence_start": ("bool_param",),
    "sequence_end": ("bool_param",),
    "priority": ("int64_param", "uint64_param"),
    "timeout": ("int64_param",),
    "triton_enable_empty_final_response": ("bool_param",),
}


def _parameter(key: str, parameter: Any, result: GrpcRequest) -> None:
    request = result.request
    kind = parameter.WhichOneof("parameter_choice")
    value: Any = getattr(parameter, kind) if kind else None
    if key in _RESERVED and kind not in _RESERVED[key]:
        kinds = " or ".join(_RESERVED[key])
        raise RequestRefused(f"invalid value type for '{key}' parameter, expected {kinds}.")
    if key == "sequence_id":
        if isinstance(value, str) and len(value.encode()) > 128:
            raise RequestRefused("string correlation ID cannot be longer than 128 characters", "UNSUPPORTED")
        request.correlation_id = value
    elif key in ("sequence_start", "sequence_end"):
        request.flags |= value << (key == "sequence_end")
    elif key == "priority":
        if value < 0:
            raise RequestRefused("invalid value for 'priority', expected value >= 0.")
        request.priority = value
    elif key == "timeout":
        request.timeout_us = value % 2**64  # a negative one is a very long one
    elif key == "triton_enable_empty_final_response":
        result.empty_final = value
    elif key.startswith("triton_"):
        raise RequestRefused(
            "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting"
            " with 'triton_' are allowed: triton_enable_empty_final_response"
        )
    elif kind in (None, "uint64_param"):
        raise RequestRefused(
            f"invalid value type for '{key}' parameter, expected int64_param, bool_param, or string_param."
        )
    else:
        request.parameters[key] = value


def _inputs(message: Any, request: WireRequest) -> None:
    prefix = f"[request id: {request.request_id or '<id_unknown>'}] "
    raw = list(message.raw_input_contents)
    for tensor in message.inputs:
        if any(other.name == tensor.name for other in request.inputs):
            raise RequestRefused(f"{prefix}input '{tensor.name}' already exists in request")
        shape = tuple(tensor.shape)
        if "shared_memory_region" in tensor.parameters:
            region = tensor.parameters["shared_memory_region"].string_param
            raise RequestRefused(f"Unable to find shared memory region: '{region}'", "NOT_FOUND")
        where = f"'{tensor.name}' for model '{message.model_name}'"
        if not message.raw_input_contents:
            data = _contents(tensor, where)
        elif tensor.HasField("contents"):
            raise RequestRefused(f"contents field must not be specified when using raw_input_contents for {where}")
        else:
            data = raw.pop(0) if raw else b""
        datatype = tensor.datatype if tensor.datatype in DATATYPES else "<invalid>"
        array = byte_tensors.array_of(data, datatype, shape) if datatype in DATATYPES else np.empty(0)
        request.inputs.append(WireTensor(tensor.name, datatype, shape, array))


def _contents(tensor: Any, where: str) -> bytes:
    """The explicit contents of a tensor as raw bytes."""
    if not tensor.HasField("contents"):
        raise RequestRefused(f"unable to find data for input tensor {where} in request.")
    for descriptor, values in tensor.contents.ListFields():
        if descriptor.name != _CONTENTS.get(tensor.datatype):
            kind = _KINDS[descriptor.name]
            raise RequestRefused(
                f"unexpected explicit tensor data for input tensor {where} of type '{kind}', expected datatype"
                f" '{tensor.datatype}'"
            )
        if tensor.datatype == "BYTES":
            array = np.array([*values, None], object)[:-1]
        else:
            array = np.array(list(values)).astype(DATATYPES[tensor.datatype])
        return byte_tensors.bytes_of(WireTensor(tensor.name, tensor.datatype, array.shape, array))
    return b""


#: The data type that a field of ``InferTensorContents`` stands for in a refusal.
_KINDS = {
    "bool_contents": "BOOL",
    "int_contents": "INT32",
    "int64_contents": "INT64",
    "uint_contents": "UINT32",
    "uint64_contents": "UINT64",
    "fp32_contents": "FP32",
    "fp64_contents": "FP64",
    "bytes_contents": "BYTES",
}


def write(response: WireResponse, request_id: str, model: str, version: int) -> Any:
    """A ``ModelInferResponse``, its tensors raw."""
    message = service_pb2.ModelInferResponse(model_name=model, model_version=str(version), id=request_id)
    for key, value in response.parameters.items():
        _set(message.parameters[key], value)
    for tensor in response.outputs:
        message.outputs.add(name=tensor.name, datatype=tensor.datatype, shape=tensor.shape)
        message.raw_output_contents.append(byte_tensors.bytes_of(tensor))
    return message


def write_streamed(response: WireResponse, asked: GrpcRequest, message: Any, model: LoadedModel) -> Any:
    """A response of a stream; None for the end of a decoupled one that its client does not want to see.

    An end without a response tells the model and version that `message` named, not the ones that answered.
    """
    if response.outputs or not response.final or not model.decoupled:
        written = write(response, message.id, model.name, model.version)
    elif asked.empty_final:
        written = service_pb2.ModelInferResponse(
            model_name=message.model_name, model_version=message.model_version, id=message.id
        )
    else:
        return None
    written.parameters["triton_final_response"].bool_param = response.final
    return written


def _set(parameter: Any, value: Any) -> None:
    if isinstance(value, bool):
        parameter.bool_param = value
    elif isinstance(value, int):
        parameter.int64_param = value
    else:
        parameter.string_param = str(value)
