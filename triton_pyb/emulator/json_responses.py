"""The HTTP protocol's inference responses: tensors in JSON, or binary behind it.

Source: InferRequestClass::FinalizeResponse and WriteDataToJson of Triton's http_server.cc 24.10.
"""

from __future__ import annotations

from typing import Any

from triton_pyb.emulator import byte_tensors, rapid_json
from triton_pyb.emulator.json_requests import JsonRequest
from triton_pyb.emulator.messages import RepeatedParameters, WireResponse, WireTensor
from triton_pyb.emulator.stub.doubles import number
from triton_pyb.emulator.validation import RequestRefused


def write(response: WireResponse, asked: JsonRequest, model: str, version: int) -> tuple[bytes, list[bytes]]:
    """The JSON of a response, and the binary tensors that follow it; one without bytes is not among them.

    Raises
    ------
    RequestRefused
        For data types that JSON cannot carry.
    """
    document: dict[str, Any] = {}
    if asked.request.request_id:
        document["id"] = asked.request.request_id
    document.update(model_name=model, model_version=str(version))
    outputs, tails = [], []
    binary = dict(asked.binary)
    for tensor in response.outputs:
        entry: dict[str, Any] = {"name": tensor.name, "datatype": tensor.datatype, "shape": list(tensor.shape)}
        if binary.pop(tensor.name, asked.binary_default):  # of two outputs with one name the first was asked for
            data = byte_tensors.bytes_of(tensor)
            entry["parameters"] = {"binary_data_size": len(data)}
            outputs.append(rapid_json.dumps(entry))
            if data:
                tails.append(data)
        else:
            outputs.append(rapid_json.dumps(entry)[:-1] + b',"data":[' + listed(tensor) + b"]}")
    head = rapid_json.dumps(document)[:-1]
    if response.parameters:
        members = rapid_json.dumps(response.parameters)[1:-1]
        if isinstance(response.parameters, RepeatedParameters):
            members = b",".join([members] * response.parameters.times)
        head += b',"parameters":{' + members + b"}"
    return b"".join((head, b',"outputs":[', b",".join(outputs), b"]}")), tails


def listed(tensor: WireTensor) -> bytes:
    """The elements of a tensor as JSON has them: flat, with commas between.

    Raises
    ------
    RequestRefused
        For data types that JSON cannot carry.
    """
    if tensor.datatype in ("FP16", "BF16"):
        raise RequestRefused(
            f"sending {tensor.datatype} data via JSON is not supported. Please use the binary data format for output"
        )
    values: list[Any] = tensor.array.ravel().tolist()
    if tensor.datatype in ("FP32", "FP64"):
        return ",".join(map(number, values)).encode()
    if tensor.datatype == "BYTES":
        values = [item.decode("utf-8", "surrogateescape") for item in values]
    return rapid_json.dumps(values)[1:-1]
