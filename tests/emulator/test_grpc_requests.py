"""gRPC's inference messages, good and bad, to the emulator and to a real Triton: the same status, the same words."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import grpc
import pytest
from tritonclient.grpc import service_pb2, service_pb2_grpc

FLOATS = struct.pack("<2f", 1, 2)
_KINDS = {bool: "bool_param", int: "int64_param", str: "string_param", float: "double_param"}


def message(
    model: str = "plain",
    raw: Sequence[bytes] = (FLOATS,),
    inputs: Sequence[tuple[str, str, list[int], dict[str, list[Any]]]] = (("IN", "FP32", [1, 2], {}),),
    outputs: Sequence[str | tuple[str, int]] = (),
    parameters: dict[str, Any] | None = None,
    **fields: Any,
) -> Any:
    made = service_pb2.ModelInferRequest(model_name=model, **fields)
    for name, datatype, shape, contents in inputs:
        tensor = made.inputs.add(name=name, datatype=datatype, shape=shape)
        for field, values in contents.items():
            getattr(tensor.contents, field).extend(values)
    made.raw_input_contents.extend(raw)
    for output in outputs:
        name, classes = (output, 0) if isinstance(output, str) else output
        asked = made.outputs.add(name=name)
        if classes:
            asked.parameters["classification"].int64_param = classes
    for key, value in (parameters or {}).items():
        parameter = made.parameters[key]
        if value is not None:
            kind, value = value if isinstance(value, tuple) else (_KINDS[type(value)], value)
            setattr(parameter, kind, value)
    return made


def one(datatype: str, shape: list[int], name: str = "IN", **contents: list[Any]) -> Any:
    return [(name, datatype, shape, contents)]


def elements(count: int, *outputs: tuple[str, int]) -> Any:
    return message("made", [struct.pack("<i", count)], [("N", "INT32", [1], {})], outputs)


def script(text: str, **fields: Any) -> Any:
    return message("sends", [], [("IN", "BYTES", [1], {"bytes_contents": [text.encode()]})], **fields)


MESSAGES = {
    "good": message(),
    "no data": message(raw=[]),
    "more data than inputs": message(raw=[FLOATS, FLOATS]),
    "too few bytes": message(raw=[FLOATS[:6]]),
    "contents": message(raw=[], inputs=one("FP32", [1, 2], fp32_contents=[1, 2])),
    "contents and raw": message(inputs=one("FP32", [1, 2], fp32_contents=[1, 2])),
    "too few contents": message(raw=[], inputs=one("FP32", [1, 2], fp32_contents=[1])),
    "contents of another type": message(raw=[], inputs=one("FP32", [1, 2], int_contents=[1, 2])),
    "no data type": message(inputs=one("NONE", [1, 2])),
    "negative dim": message(inputs=one("FP32", [1, -2])),
    "negative rows": message(inputs=one("FP32", [-1, 2])),
    "no shape": message(inputs=one("FP32", [])),
    "unknown input": message(inputs=one("FP32", [1, 2], "NOPE")),
    "unknown output": message(outputs=["NOPE"]),
    "unknown model": message("nope"),
    "unknown version": message(model_version="7"),
    "odd version": message(model_version="x"),
    "negative version": message(model_version="-1"),
    "reserved parameter": message(parameters={"triton_x": 1}),
    "empty parameter": message(parameters={"x": None}),
    "parameters": message(parameters={"x": 1.5, "y": True, "z": "s"}),
    "unsigned parameter": message(parameters={"x": ("uint64_param", 7)}),
    "unsigned timeout": message(parameters={"timeout": ("uint64_param", 7)}),
    "negative timeout": message(parameters={"timeout": -7}),
    "unsigned priority": message(parameters={"priority": ("uint64_param", 0)}),
    "negative priority": message(parameters={"priority": -1}),
    "odd priority": message(parameters={"priority": "x"}),
    "odd timeout": message(parameters={"timeout": "x"}),
    "odd sequence": message(parameters={"sequence_id": 1.5}),
    "odd start": message(parameters={"sequence_start": 1}),
    "input twice": message(raw=[FLOATS] * 2, inputs=one("FP32", [1, 2]) * 2),
    "no inputs": message(raw=[], inputs=[]),
    "text sequence": message("sequence", parameters={"sequence_id": "a", "sequence_start": True, "sequence_end": True}),
    "no sequence": message("sequence", parameters={"sequence_id": "", "sequence_start": True}),
    "long sequence": message("sequence", parameters={"sequence_id": "x" * 200, "sequence_start": True}),
    "strings": message("text", [], one("BYTES", [1, 2], bytes_contents=[b"a", b"b"])),
    "too few strings": message("text", [b"\1\0\0\0a"], one("BYTES", [1, 2])),
    "half a length": message("text", [b"\1\0\0"], one("BYTES", [1, 2])),
    "bools": message("batched", [], one("BOOL", [1, 1, 2], bool_contents=[True, False])),
    "reshaped": message("shaped", [], one("INT64", [1, 2, 2], int64_contents=[1, 2, 3, 4])),
    "another data type": message(raw=[b"1234"], inputs=one("FP16", [1, 2])),
    "too many rows": message(raw=[FLOATS * 9], inputs=one("FP32", [9, 2])),
    "with an id": message(raw=[], inputs=one("INT32", [1, 2], int_contents=[1, 2]), id="abc"),
    "classes": elements(5, ("F", 3), ("I", 9), ("U", 1)),
    "classes of halves": elements(3, ("H", 1)),
    "classes of bools": elements(3, ("B", 1)),
    "classes of nothing": elements(0, ("F", 2)),
    "ensemble": message("whole", inputs=one("FP32", [1, 2], "X"), id="q"),
}


def ask(port: int, request: Any) -> tuple[str, Any]:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        try:
            return "OK", stub.ModelInfer(request, timeout=20)
        except grpc.RpcError as error:
            return error.code().name, error.details()


@pytest.mark.real_triton
@pytest.mark.parametrize("name", MESSAGES)
def test_same_answers(name: str, twin_ports: dict[str, tuple[int, int]]) -> None:
    ours, theirs = (ask(port, MESSAGES[name]) for port in twin_ports["grpc"])
    assert ours == theirs


STREAMED = {
    "good": message(),
    "refused": message("plain", inputs=one("FP32", [1, 2], "NOPE"), id="r"),
    "unknown": message("nope", id="r"),
    "raises": message("fails", [], one("BYTES", [1], bytes_contents=[b"raise"]), id="r", model_version="1"),
    "answers nothing": message("fails", [], one("BYTES", [1], bytes_contents=[b"nothing"])),
    "classes": elements(5, ("F", 2)),
    "classes of halves": elements(5, ("H", 2)),
    **{
        f"{text or 'only the end'} of {version or 'any'}": script(text, model_version=version, id="r", parameters=final)
        for text in ("1", "12", "", "N", "1N2")
        for version in ("", "1")
        for final in [{"triton_enable_empty_final_response": True}]
    },
    **{
        f"ensemble of {text}": message(
            "sent",
            [],
            [("X", "BYTES", [1], {"bytes_contents": [text.encode()]})],
            parameters={"triton_enable_empty_final_response": True},
        )
        for text in ("1", "12", "12f")
    },
    "an end that nobody wants to see": script("1"),
    "no end is wanted": script("1", parameters={"triton_enable_empty_final_response": False}),
}


def stream(port: int, request: Any) -> list[Any]:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        return list(stub.ModelStreamInfer(iter([request]), timeout=20))


@pytest.mark.real_triton
@pytest.mark.parametrize("name", STREAMED)
def test_same_streams(name: str, twin_ports: dict[str, tuple[int, int]]) -> None:
    ours, theirs = (stream(port, STREAMED[name]) for port in twin_ports["grpc"])
    assert ours == theirs
