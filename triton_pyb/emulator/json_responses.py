"""The HTTP protocol's inference responses: tensors in JSON, or binary behind it."""

from __future__ import annotations

from typing import Any

from triton_pyb.emulator import byte_tensors, rapid_json
from triton_pyb.emulator.json_requests import JsonRequest
from triton_pyb.emulator.messages import WireResponse, WireTensor
from triton_pyb.emulator.validation import RequestRefused


def write(response: WireResponse, asked: JsonRequest, model: str, version: int) -> tuple[bytes, list[bytes]]:
    """The JSON of a response, and the binary tensors that follow it."""
    document: dict[str, Any] = {}
    if asked.request.request_id:
        document["id"] = asked.request.request_id
    document.update(model_name=model, model_version=str(version))
    if response.parameters:
        document["parameters"] = response.parameters
    outputs, tails = [], []
    for tensor in response.outputs:
        entry: dict[str, Any] = {"name": tensor.name, "datatype": tensor.datatype, "shape": list(tensor.shape)}
        if asked.binary.get(tensor.name, asked.binary_default):
            tails.append(byte_tensors.bytes_of(tensor))
            entry["parameters"] = {"binary_data_size": len(tails[-1])}
        else:
            entry["data"] = listed_values(tensor)
        outputs.append(entry)
    document["outputs"] = outputs
    return rapid_json.dumps(document), tails


def listed_values(tensor: WireTensor) -> list[Any]:
    """The elements of a tensor as JSON has them, flat.

    Raises
    ------
    RequestRefused
        For data types that JSON cannot carry.
    """
    if tensor.datatype in ("FP16", "BF16"):
        raise RequestRefused(
            f"sending {tensor.datatype} data via JSON is not supported. Please use the binary data format for output"
            f" {tensor.name}"
        )
    if tensor.datatype == "BYTES":
        return [item.decode("utf-8", "surrogateescape") for item in tensor.array.ravel().tolist()]
    values: list[Any] = tensor.array.ravel().tolist()
    return values
