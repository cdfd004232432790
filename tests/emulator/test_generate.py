"""The generate extension; every expected answer is a real server's."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.emulator.models import execute, tensors, write
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.endpoints import Endpoints

OUTPUTS = (("output", "OUT", "STRING", [1]), ("output", "NUM", "INT32", [2]))
#: Answers the shapes and values it got, the id and the parameters; beside them two numbers.
SEEN = execute(
    """
import json
answers = []
for r in requests:
    seen = {}
    for t in r.inputs():
        values = [x.decode() if isinstance(x, bytes) else x for x in t.as_numpy().ravel().tolist()]
        seen[t.name()] = [list(t.shape()), values]
    text = json.dumps([seen, r.request_id(), json.loads(r.parameters())])
    tensors = [("OUT", np.array([[text]], object)), ("NUM", np.array([[1, 2]], "i4"))]
    answers.append(pb_utils.InferenceResponse([pb_utils.Tensor(*t) for t in tensors]))
return answers
"""
)
COUNT = execute(
    """
for r in requests:
    sender = r.get_response_sender()
    n = int(r.inputs()[0].as_numpy().ravel()[0])
    for i in range(n):
        sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[i]], "f4"))]))
    if n == 5:
        sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("oops")))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    repository = tmp_path_factory.mktemp("repository")
    inputs = {
        "one": [("input", "T", "STRING", [1])],
        "more": [("input", "N", "INT32", [-1]), ("input", "F", "FP32", [2, 2])],
        "free": [("input", "B", "BOOL", [1]), ("input", "U", "UINT8", [-1, -1])],
    }
    for name, declared in inputs.items():
        write(repository, name, "max_batch_size: 4\n" + tensors(*declared, *OUTPUTS), SEEN)
    ends = tensors(("input", "N", "FP32", [1]), ("output", "OUT", "FP32", [1]))
    write(repository, "count", "max_batch_size: 4 model_transaction_policy { decoupled: true }\n" + ends, COUNT)
    with EmulatedTriton(repository, inline=True, mode="faithful") as triton:
        endpoints = Endpoints(triton.store)
        endpoints.start()
        yield endpoints.ports["http"]
        endpoints.stop()


def ask(port: int, model: str, body: Any, kind: str = "generate") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", f"/v2/models/{model}/{kind}", body if isinstance(body, str) else json.dumps(body))
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("model", "body", "seen"),
    [
        ("one", {"T": "x"}, [{"T": [[1, 1], ["x"]]}, "", {}]),
        ("one", {"T": ["x", "y"]}, [{"T": [[2, 1], ["x", "y"]]}, "", {}]),
        ("one", {"T": "x", "id": "q"}, [{"T": [[1, 1], ["x"]]}, "q", {"id": "q"}]),
        ("one", {"parameters": {"T": "x", "a": 1.5}}, [{"T": [[1, 1], ["x"]]}, "", {"a": 1.5}]),
        ("one", {"T": "x", "triton_x": 1}, [{"T": [[1, 1], ["x"]]}, "", {"triton_x": 1}]),
        (
            "more",
            {"N": [1, 2, 3], "F": [1, 2, 3, 4]},
            [{"N": [[1, 3], [1, 2, 3]], "F": [[1, 2, 2], [1, 2, 3, 4]]}, "", {}],
        ),
        ("more", {"N": [], "F": [1, 2, 3, 4]}, [{"N": [[1, 0], []], "F": [[1, 2, 2], [1, 2, 3, 4]]}, "", {}]),
        ("free", {"B": True, "U": [1, 2]}, [{"B": [[1, 1], [True]], "U": [[1, 1, 2], [1, 2]]}, "", {}]),
    ],
)
def test_members_become_inputs_and_parameters(model: str, body: Any, seen: Any, port: int) -> None:
    status, answer = ask(port, model, body)
    assert status == 200
    assert json.loads(json.loads(answer)["OUT"]) == seen


def test_members_of_an_answer_are_sorted(port: int) -> None:
    _, answer = ask(port, "one", {"T": "x", "id": "q"})
    assert list(json.loads(answer)) == ["NUM", "OUT", "id", "model_name", "model_version"]
    assert json.loads(answer)["NUM"] == [1, 2]


MISFIT = "The schema can not convert input 'F' to tensor with proper shape"


@pytest.mark.parametrize(
    ("model", "body", "status", "message"),
    [
        ("one", {"T": []}, 400, "expected 1 string elements for inference input 'T' for model 'one', got 0"),
        ("one", {"T": 5}, 500, "Unable to parse JSON bytes array: attempt to access JSON non-string as string"),
        ("one", {}, 400, "expected 1 inputs but got 0 inputs for model 'one'"),
        ("one", [], 500, "attempt to get members for non-object"),
        ("one", {"T": "x", "id": 5}, 500, "Unable to parse 'id': attempt to access JSON non-string as string"),
        ("one", {"T": "x", "parameters": 5}, 500, "Expected JSON object for keyword: 'parameters'"),
        ("one", {"T": "x", "baz": [1]}, 400, "parameter 'baz' has invalid type."),
        ("more", {"N": 7, "F": [[1, 2], [3, 4]]}, 400, MISFIT),
        ("more", {"N": 7, "F": [1, 2, 3]}, 400, MISFIT),
        ("more", {"N": [1.5], "F": [1, 2, 3, 4]}, 500, "JSON non-signed-integer as signed-integer"),
        ("one", "{", 500, "Missing a name for object member. at 1"),
        ("one", "", 500, "The document is empty. at 0"),
        ("nope", {"N": 5}, 404, "Request for unknown model: 'nope' is not found"),
    ],
)
def test_refusals(model: str, body: Any, status: int, message: str, port: int) -> None:
    for kind in ("generate", "generate_stream"):
        got, answer = ask(port, model, body, kind)
        assert got == status and message in json.loads(answer)["error"]


def test_streams(port: int) -> None:
    answers = [f'data: {{"OUT":{n}.0,"model_name":"count","model_version":"1"}}\n\n' for n in range(5)]
    assert ask(port, "count", {"N": 0}, "generate_stream") == (200, "")
    assert ask(port, "count", {"N": 2}, "generate_stream") == (200, "".join(answers[:2]))
    assert ask(port, "count", {"N": 5}, "generate_stream") == (200, "".join(answers) + 'data: {"error":"oops"}\n\n')


@pytest.mark.parametrize("count", [0, 2, 5])
def test_one_response_is_wanted(count: int, port: int) -> None:
    assert ask(port, "count", {"N": 1}) == (200, '{"OUT":0.0,"model_name":"count","model_version":"1"}')
    status, answer = ask(port, "count", {"N": count})
    assert status == 200 and "exactly 1 response" in json.loads(answer)["error"]
