"""HTTP answers of the emulator and of a real Triton: the same status, the same headers, the same bytes."""

from __future__ import annotations

import http.client
import json
import random
import struct
from typing import Any

import pytest

_HEADERS = ("Content-Type", "Inference-Header-Content-Length", "Transfer-Encoding")


def ask(port: int, path: str, body: Any = None, method: str = "POST", **headers: str) -> tuple[Any, ...]:
    """Status, the headers that count, and the body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        connection.request(method, path, data, {key.replace("_", "-"): value for key, value in headers.items()})
        response = connection.getresponse()
        return response.status, {name: response.getheader(name) for name in _HEADERS}, response.read()
    finally:
        connection.close()


def tensor(name: str, datatype: str, *data: Any) -> dict[str, Any]:
    return {"name": name, "shape": [len(data)], "datatype": datatype, "data": list(data)}


def say(word: str, *outputs: Any, **document: Any) -> dict[str, Any]:
    asked = {"outputs": list(outputs)} if outputs else {}
    return {"inputs": [tensor("IN", "BYTES", word)], **asked, **document}


def out(name: str = "OUT", **parameters: Any) -> dict[str, Any]:
    return {"name": name, "parameters": parameters}


def doubles(*values: Any, **document: Any) -> dict[str, Any]:
    return {"inputs": [tensor("D", "FP64", *values)], "outputs": [{"name": "D"}, {"name": "F"}], **document}


def parameter(value: Any) -> dict[str, Any]:
    return {"inputs": [tensor("D", "FP64", 1)], "outputs": [{"name": "P"}], "parameters": {"x": value}}


def made(n: int, **classes: int) -> dict[str, Any]:
    return {
        "inputs": [tensor("N", "INT32", n)],
        "outputs": [out(name, classification=classes[name]) for name in classes],
    }


FAILS, SENDS, MADE = "/v2/models/fails/infer", "/v2/models/sends/", "/v2/models/made/infer"
NUMBERS = "/v2/models/numbers/infer"
BINARY = {"binary_data_output": True}

INFER: dict[str, tuple[str, Any]] = {
    "text with every control character": (FAILS, say("ok")),
    "error response": (FAILS, say("NOT_FOUND")),
    "unavailable": (FAILS, say("UNAVAILABLE")),
    "raise": (FAILS, say("raise")),
    "half as JSON": (FAILS, say("half")),
    "half": (FAILS, say("half", out("H", binary_data=True))),
    "no bytes": (FAILS, say("empty", out(binary_data=True))),
    "no elements": (FAILS, say("empty")),
    "binary": (FAILS, say("ok", out(binary_data=True))),
    "binary for all": (FAILS, say("ok", parameters=BINARY)),
    "binary for all but the named": (FAILS, say("ok", {"name": "OUT"}, parameters=BINARY)),
    "asked twice": (FAILS, say("ok", out(binary_data=True), out(binary_data=False))),
    "asked twice, JSON first": (FAILS, say("ok", {"name": "OUT"}, out(binary_data=True))),
    "sent twice": (FAILS, say("twice")),
    "sent twice, binary": (FAILS, say("twice", out(binary_data=True))),
    "sent twice, all binary": (FAILS, say("twice", parameters=BINARY)),
    "unknown model": ("/v2/models/nope/infer", say("ok")),
    "unknown version": ("/v2/models/fails/versions/7/infer", say("ok")),
    "decoupled": (SENDS + "infer", say("1")),
    "no JSON": (FAILS, "{"),
    "unknown output": (FAILS, say("ok", out("NOPE"))),
    "unknown input": (FAILS, {"inputs": [tensor("NOPE", "BYTES", "a")]}),
    "a name twice": (
        FAILS,
        '{"inputs":[{"name":"IN","name":"X","shape":[1],"datatype":"BYTES","data":["ok"],"data":3}]}',
    ),
    "reserved": (FAILS, say("ok", parameters={"triton_x": 1})),
    **{
        f"parameter {value!r}": (NUMBERS, parameter(value))
        for value in (2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30, -(2**63), -(2**63) - 1, 1.0, 0.2, 1e22, 1.5e-7, True)
    },
    "classes": (MADE, made(5, F=3, D=2, I=9, U=1, I8=4)),
    "classes of many": (MADE, made(16, F=16, I=16)),
    "equal classes of many": (MADE, made(40, F=12, I=40)),
    "classes of halves": (MADE, made(3, H=1)),
    "classes of bools": (MADE, made(3, B=1)),
    "no classes": (MADE, made(3, F=0)),
    "classes asked twice": (MADE, {**made(3), "outputs": [out("F", classification=2), out("F", classification=1)]}),
    "classes of rows": (
        "/v2/models/rows/infer",
        {
            "inputs": [{"name": "N", "shape": [2, 2], "datatype": "INT32", "data": [1, 2, 4, 3]}],
            "outputs": [out("N2", classification=1)],
        },
    ),
    **{
        f"ensemble of {len(values)}, {outputs or 'all'}, {fields}": (
            "/v2/models/pair/infer",
            {
                "inputs": [tensor("X", "FP64", *values)],
                **({"outputs": [{"name": name} for name in outputs]} if outputs else {}),
                "parameters": fields,
            },
        )
        for values in ([], [1.5, 2])
        for outputs in ("", "Y", "ZY")
        for fields in ({}, {"sequence_id": 7, "sequence_start": True}, {"sequence_id": "a", "sequence_end": True})
    },
    "integers": (
        MADE,
        {"inputs": [tensor("N", "INT32", 3)], "outputs": [{"name": n} for n in ("I", "U", "I8", "B", "S")]},
    ),
}


@pytest.mark.real_triton
@pytest.mark.parametrize("name", INFER)
def test_infer(name: str, twin_ports: dict[str, tuple[int, int]]) -> None:
    path, body = INFER[name]
    ours, theirs = (ask(port, path, body) for port in twin_ports["http"])
    assert ours == theirs


HEADERS: dict[str, dict[str, str]] = {
    "too long a header": {"Inference_Header_Content_Length": "9999"},
    "negative": {"Inference_Header_Content_Length": "-1"},
    "unknown compression": {"Content_Encoding": "br"},
    "compressed badly": {"Content_Encoding": "gzip"},
}


@pytest.mark.real_triton
@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("path", [FAILS, "/v2/models/nope/infer", "/v2/models/fails/generate"])
def test_headers(name: str, path: str, twin_ports: dict[str, tuple[int, int]]) -> None:
    ours, theirs = (ask(port, path, say("ok"), **HEADERS[name]) for port in twin_ports["http"])
    assert ours == theirs


@pytest.mark.real_triton
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v2"),
        ("POST", "/v2/models/fails"),
        ("POST", "/v2/models/fails/config"),
        ("POST", "/v2/models/fails/stats"),
        ("POST", "/v2/models/fails/versions/1/ready"),
        ("POST", "/v2/health/live"),
        ("POST", "/v2/health/ready"),
        ("GET", FAILS),
        ("GET", "/v2/models/nope/infer"),
        ("GET", SENDS + "generate"),
        ("GET", SENDS + "generate_stream"),
        ("GET", "/v2/repository/index"),
        ("GET", "/v2/repository/models/fails/load"),
        ("GET", "/v2/nothing"),
        ("GET", "/v2/models/nope/ready"),
        ("GET", "/v2/models/nope/config"),
    ],
)
def test_methods(method: str, path: str, twin_ports: dict[str, tuple[int, int]]) -> None:
    ours, theirs = (ask(port, path, None, method) for port in twin_ports["http"])
    assert ours == theirs


SCRIPTS = ["1", "12", "", "N", "I", "U", "X", "Z", "C", "1N", "N1", "NI", "h", "1h", "h1"]
WORDS = ["ok", "raise", "NOT_FOUND", "INTERNAL", "UNKNOWN", "ALREADY_EXISTS", "half", "twice", "empty", "nothing"]


@pytest.mark.real_triton
@pytest.mark.parametrize("kind", ["generate", "generate_stream"])
@pytest.mark.parametrize(("model", "word"), [("sends", s) for s in SCRIPTS] + [("fails", w) for w in WORDS])
def test_generate(kind: str, model: str, word: str, twin_ports: dict[str, tuple[int, int]]) -> None:
    ours, theirs = (ask(port, f"/v2/models/{model}/{kind}", {"IN": word}) for port in twin_ports["http"])
    assert ours == theirs


@pytest.mark.real_triton
@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 0.2, 1e22, 5e-7, 123456789012345678])
def test_generate_with_numbers(value: Any, twin_ports: dict[str, tuple[int, int]]) -> None:
    body = {"D": [value], "x": value}
    ours, theirs = (ask(port, "/v2/models/numbers/generate", body) for port in twin_ports["http"])
    assert ours == theirs


def _texts(seed: int, count: int) -> list[str]:
    """Numbers as a client may write them, short and long."""
    rng = random.Random(seed)
    texts = [
        "0",
        "-0.0",
        "1e-320",
        "4.9e-324",
        "1.7976931348623157e308",
        "0.1",
        "2.5",
        "1E5",
        "1e+5",
        "123456789012345680",
    ]
    texts += ["18446744073709551615", "18446744073709551616", "-9223372036854775809", "1" * 40, "0." + "0" * 30 + "123"]
    texts += ["9007199254740993", "9007199254740993.0", "0.30000000000000004", "123456789.123456789123456789", "1e23"]
    while len(texts) < count:
        kind = rng.random()
        digits = "".join(rng.choices("0123456789", k=rng.randrange(1, 25)))
        if kind < 0.4:
            texts.append(repr(struct.unpack("<d", rng.randbytes(8))[0]))
        elif kind < 0.6:
            texts.append(f"0.{digits}e{rng.randrange(-330, 290)}")
        elif kind < 0.8:
            texts.append(f"{rng.randrange(1, 10**6)}.{digits}")
        else:
            texts.append(str(rng.randrange(1, 10 ** rng.randrange(1, 30))))
    return [text for text in texts if text not in ("nan", "inf", "-inf")]


@pytest.mark.real_triton
@pytest.mark.parametrize("seed", range(3))
def test_numbers(seed: int, twin_ports: dict[str, tuple[int, int]]) -> None:
    texts = _texts(seed, 3000)
    body = json.dumps(doubles(*range(len(texts))))
    body = body.replace(json.dumps(list(range(len(texts)))), "[" + ",".join(texts) + "]")
    (_, _, ours), (_, _, theirs) = (ask(port, NUMBERS, body) for port in twin_ports["http"])
    for name in ("D", "F"):
        pairs = zip(texts, _listed(ours, name), _listed(theirs, name), strict=True)
        assert [(text, one, other) for text, one, other in pairs if one != other][:10] == []


def _listed(body: bytes, name: str) -> list[str]:
    answer = json.loads(body, parse_float=str)
    assert "outputs" in answer, answer
    (data,) = (output["data"] for output in answer["outputs"] if output["name"] == name)
    assert isinstance(data, list)
    return data
