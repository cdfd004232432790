"""HTTP bodies to requests, beside what the recorded cases show; the refusals are a real server's."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from triton_pyb.emulator import json_requests, json_responses
from triton_pyb.emulator.messages import WireResponse, wire_tensor
from triton_pyb.emulator.validation import RequestRefused


def model(dtype: str = "FP32", dims: list[int] | None = None, max_batch_size: int = 8) -> dict[str, Any]:
    tensor = {"name": "x", "data_type": f"TYPE_{dtype}", "dims": dims or [2]}
    return {"name": "m", "max_batch_size": max_batch_size, "input": [tensor]}


def entry(**changes: Any) -> dict[str, Any]:
    whole = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 2], **changes}
    return {key: value for key, value in whole.items() if value is not None}


def read(*inputs: Any, binary: bytes = b"", **document: Any) -> json_requests.JsonRequest:
    header = json.dumps({"inputs": list(inputs), **document}).encode()
    return json_requests.read(header + binary, len(header) if binary else None, model())


def refused(*inputs: Any, binary: bytes = b"", **document: Any) -> tuple[str, str]:
    with pytest.raises(RequestRefused) as error:
        read(*inputs, binary=binary, **document)
    return error.value.message, error.value.code


def test_nested_data_is_flat() -> None:
    (tensor,) = read(entry(data=[[1], [2]])).request.inputs
    assert tensor.array.tolist() == [[1, 2]] and tensor.array.dtype == np.float32


@pytest.mark.parametrize(
    ("datatype", "data", "values"),
    [
        ("UINT8", [1, 300], [1, 44]),
        ("INT32", [3_000_000_000, -1], [-1294967296, -1]),
        ("FP32", [1e300, 1], [float("inf"), 1]),
        ("BYTES", ["\u00e9", ""], ["\u00e9".encode(), b""]),
        ("BOOL", [True, False], [True, False]),
    ],
)
def test_values_are_cast_as_the_server_casts(datatype: str, data: list[Any], values: list[Any]) -> None:
    (tensor,) = read(entry(datatype=datatype, data=data)).request.inputs
    assert tensor.array.tolist() == [values]


@pytest.mark.parametrize("datatype", ["FP32", "FP16", "BYTES", "NOT_A_TYPE"])
def test_without_elements_data_is_not_looked_at(datatype: str) -> None:
    (tensor,) = read(entry(shape=[1, 0], datatype=datatype, data=["nonsense"])).request.inputs
    assert tensor.shape == (1, 0) and tensor.array.size == 0


def test_too_few_strings_are_the_models_matter() -> None:
    (tensor,) = read(entry(datatype="BYTES", data=["a"])).request.inputs
    assert tensor.array.tolist() == [b"a"]


SOURCES = (
    "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters',"
    " 'shared_memory_region' in 'parameters'. But "
)


@pytest.mark.parametrize(
    ("given", "message", "code"),
    [
        ("x", SOURCES + "no field is set", "INVALID_ARG"),
        (entry(parameters={"binary_data_size": 8}), SOURCES + "set 'data' 'binary_data_size'", "INVALID_ARG"),
        (
            entry(data=None, parameters={"shared_memory_region": "r"}),
            "Unable to find shared memory region: 'r'",
            "NOT_FOUND",
        ),
        (
            entry(data=None, parameters={"binary_data_size": 8}),
            "unexpected size for input 'x', expecting 8 additional bytes for model 'm'",
            "INVALID_ARG",
        ),
        (
            entry(data=None, parameters={"binary_data_size": -1}),
            "Unable to parse 'binary_data_size': attempt to access JSON non-unsigned-integer as unsigned-integer",
            "INTERNAL",
        ),
        (
            entry(data=[1, 2, "x"]),
            "Unable to parse 'data': Shape does not match true shape of 'data' field",
            "INTERNAL",
        ),
        (entry(data=[1, "x", 3]), "Unable to parse 'data': attempt to access JSON non-number as double", "INTERNAL"),
        (
            entry(datatype="BYTES", data=[1, 2]),
            "Unable to parse JSON bytes array: attempt to access JSON non-string as string",
            "INTERNAL",
        ),
        (entry(datatype="TYPE_FP32"), "invalid datatype for input x", "INVALID_ARG"),
        (entry(name=5), "Unable to parse 'name': attempt to access JSON non-string as string", "INTERNAL"),
    ],
)
def test_refused_inputs(given: Any, message: str, code: str) -> None:
    assert refused(given) == (message, code)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"id": 5}, "Unable to parse 'id': attempt to access JSON non-string as string"),
        ({"parameters": 5}, "failed to get request params.: attempt to get members for non-object"),
        ({"parameters": {"x": []}}, "parameter 'x' has invalid type. It should be either 'int', 'bool', or 'string'."),
        ({"parameters": {"sequence_id": "x" * 129}}, "string correlation ID cannot be longer than 128 characters"),
        (
            {"parameters": {"sequence_start": 1}},
            "Unable to parse 'sequence_start': attempt to access JSON non-boolean as boolean",
        ),
        ({"outputs": [{}]}, "Unable to parse 'name': attempt to access non-existing object member 'name'"),
        (
            {"outputs": [{"name": "y", "parameters": {"classification": -1}}]},
            "Unable to set 'classification': attempt to access JSON non-unsigned-integer as unsigned-integer",
        ),
        (
            {"outputs": [{"name": "y", "parameters": {"shared_memory_region": "r"}}]},
            "Unable to find shared memory region: 'r'",
        ),
    ],
)
def test_refused_documents(document: dict[str, Any], message: str) -> None:
    assert refused(entry(), **document)[0] == message


def test_binary_data_follows_the_json_in_order() -> None:
    first = entry(data=None, parameters={"binary_data_size": 8})
    second = entry(name="y", data=None, parameters={"binary_data_size": 8})
    data = np.array([1, 2, 3, 4], np.float32).tobytes()
    inputs = read(first, second, binary=data).request.inputs
    assert [tensor.array.tolist() for tensor in inputs] == [[[1, 2]], [[3, 4]]]
    assert refused(first, binary=data)[0] == "unexpected additional input data for model 'm'"


def test_a_body_that_is_one_tensor() -> None:
    (tensor,) = json_requests.read(np.array([1, 2], np.float32).tobytes(), 0, model()).request.inputs
    assert tensor.shape == (1, 2)
    (text,) = json_requests.read(b"jpeg", 0, model("STRING", [1])).request.inputs
    assert text.array.tolist() == [[b"jpeg"]]
    (free,) = json_requests.read(
        np.array([1, 2, 3], np.float32).tobytes(), 0, model(dims=[-1], max_batch_size=0)
    ).request.inputs
    assert free.shape == (3,)
    for body, config, message in (
        (b"", model(), "Expected 8, got 0"),
        (b"ab", model("STRING", [2]), "the model must have input shape [1]"),
        (b"ab", {**model(), "input": []}, "but got 0 inputs in 'm' model configuration"),
        (b"ab", model(dims=[-1, -1]), "can not be deduced"),
    ):
        with pytest.raises(RequestRefused) as error:
            json_requests.read(body, 0, config)
        assert message in error.value.message


def test_responses() -> None:
    asked = json_requests.JsonRequest(read(entry()).request, binary={"b": True})
    asked.request.request_id = "r"
    tensors = [wire_tensor("a", "INT32", [1, 2]), wire_tensor("b", "BYTES", [b"\xff"])]
    header, tails = json_responses.write(WireResponse(tensors, parameters={"p": 1}), asked, "m", 3)
    assert tails == [b"\1\0\0\0\xff"]
    assert json.loads(header) == {
        "id": "r",
        "model_name": "m",
        "model_version": "3",
        "parameters": {"p": 1},
        "outputs": [
            {"name": "a", "datatype": "INT32", "shape": [2], "data": [1, 2]},
            {"name": "b", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": 5}},
        ],
    }
    with pytest.raises(RequestRefused, match="sending FP16 data via JSON is not supported"):
        json_responses.write(WireResponse([wire_tensor("a", "FP16", [1])]), asked, "m", 1)
