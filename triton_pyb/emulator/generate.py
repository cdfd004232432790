"""The generate extension: flat JSON in, flat JSON out.

Source: GenerateRequestClass of Triton's http_server.cc 24.10, and its answers.
"""

from __future__ import annotations

from math import prod
from typing import Any

from triton_pyb.emulator import json_requests, rapid_json
from triton_pyb.emulator.json_responses import listed
from triton_pyb.emulator.messages import WireRequest, WireResponse, WireTensor
from triton_pyb.emulator.validation import RequestRefused
from triton_pyb.runtime.dtypes import wire_name

NOT_ONE = (
    "generate expects model to produce exactly 1 response, use generate stream for model that generates various"
    " number of responses"
)


def read(body: bytes, model: dict[str, Any]) -> WireRequest:
    """The request that a generate body holds: members named like an input are inputs, all others parameters.

    Raises
    ------
    RequestRefused
    """
    document = rapid_json.parse(body)
    if not isinstance(document, dict):
        raise RequestRefused("attempt to get members for non-object", "INTERNAL")
    request = WireRequest([])
    if "id" in document:
        with json_requests.parsing("id"):
            request.request_id = rapid_json.as_text(document["id"])
    nested = document.get("parameters", {})
    if not isinstance(nested, dict):
        message = "Expected JSON object for keyword: 'parameters': attempt to access JSON non-object as object"
        raise RequestRefused(message, "INTERNAL")
    declared = {tensor["name"]: tensor for tensor in model["input"]}
    members = {**{key: value for key, value in document.items() if key != "parameters"}, **nested}
    for key, value in members.items():
        if key in declared:
            request.inputs.append(_tensor(declared[key], value, model["max_batch_size"] > 0))
        elif isinstance(value, (bool, int, float, str)):
            request.parameters[key] = rapid_json.as_parameter(value)
        else:
            raise RequestRefused(f"parameter '{key}' has invalid type. It should be either 'int', 'bool', or 'string'.")
    return request


def _tensor(declared: dict[str, Any], value: Any, batching: bool) -> WireTensor:
    name, datatype = declared["name"], wire_name(declared["data_type"])
    values = value if isinstance(value, list) else [value]
    shape = _shape([-1, *declared["dims"]] if batching else list(declared["dims"]), len(values))
    if shape is None:
        raise RequestRefused(f"The schema can not convert input '{name}' to tensor with proper shape")
    return WireTensor(name, datatype, shape, json_requests.json_data(values, name, datatype, shape))


def _shape(dims: list[int], count: int) -> tuple[int, ...] | None:
    """The dims with the last variable one as `count` elements need it, the others 1."""
    fixed = prod(dim for dim in dims if dim != -1)
    if count % fixed or (-1 not in dims and count != fixed):
        return None
    shape = [1 if dim == -1 else dim for dim in dims]
    if -1 in dims:
        shape[len(dims) - 1 - dims[::-1].index(-1)] = count // fixed
    return tuple(shape)


def write(response: WireResponse, request_id: str, model: str, version: int) -> bytes:
    """One response: outputs of one element as that element, all keys in alphabetical order.

    Of members with one name the first counts: what the server adds, then parameters, then outputs.

    Raises
    ------
    RequestRefused
        For data types that JSON cannot carry.
    """
    members: dict[str, bytes] = {}
    given = {"id": request_id} if request_id else {}
    for key, value in {**response.parameters, **given, "model_name": model, "model_version": str(version)}.items():
        members[key] = rapid_json.dumps(value)
    for tensor in response.outputs:
        if tensor.name not in members:
            values = listed(tensor)
            members[tensor.name] = values if tensor.array.size == 1 else b"[" + values + b"]"
    return b"{" + b",".join([rapid_json.dumps(key) + b":" + members[key] for key in sorted(members)]) + b"}"
