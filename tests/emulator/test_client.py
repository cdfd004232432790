"""tritonclient's face in this process answers as the ports do."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

from tests.emulator.models import execute, tensors, write
from triton_pyb.emulator import EmulatedTriton, InferenceFailed
from triton_pyb.emulator.client import InProcessClient

IO = tensors(("input", "IN", "FP32", [2]), ("output", "OUT", "FP32", [2]))
SEEN = execute(
    """
import json
text = [json.dumps([r.request_id(), r.correlation_id(), r.flags(), json.loads(r.parameters())]) for r in requests]
arrays = [np.array([t], object) for t in text]
return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", a)]) for a in arrays]
"""
)
TWICE = execute(
    """
for r in requests:
    sender = r.get_response_sender()
    for _ in range(2):
        sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy())]))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessClient]:
    repository = tmp_path_factory.mktemp("repository")
    write(repository, "echo", "max_batch_size: 4\n" + IO)
    write(repository, "seen", tensors(("input", "IN", "FP32", [2]), ("output", "OUT", "STRING", [1])), SEEN)
    write(repository, "twice", "model_transaction_policy { decoupled: true }\n" + IO, TWICE)
    with EmulatedTriton(repository, inline=True, model_control_mode="explicit", load_models=["*"]) as triton:
        client = triton.client()
        yield client
        client.close()


@pytest.fixture(params=[tritonclient.http, tritonclient.grpc], ids=["http", "grpc"])
def protocol(request: pytest.FixtureRequest) -> Any:
    return request.param


def tensor(protocol: Any, array: Any, name: str = "IN") -> Any:
    made = protocol.InferInput(name, list(np.shape(array)), "FP32")
    made.set_data_from_numpy(np.asarray(array, np.float32))
    return made


def test_infer_takes_and_gives_tritonclients_objects(protocol: Any, client: InProcessClient) -> None:
    wanted = [protocol.InferRequestedOutput("OUT")]
    result = client.infer("echo", [tensor(protocol, [[1, 2]])], outputs=wanted)
    assert type(result) is protocol.InferResult
    assert result.as_numpy("OUT").tolist() == [[1, 2]]


def test_infer_takes_and_gives_dicts(client: InProcessClient) -> None:
    assert client.infer("echo", {"IN": [1, 2]})["OUT"].tolist() == [[1, 2]]
    with pytest.raises(InferenceFailed):
        client.infer("echo", {})


def test_what_a_request_says_arrives(protocol: Any, client: InProcessClient) -> None:
    result = client.infer(
        "seen",
        [tensor(protocol, [1, 2])],
        request_id="r",
        sequence_id=9,
        sequence_start=True,
        parameters={"a": 1, "b": "x", "c": True},
    )
    assert json.loads(result.as_numpy("OUT")[0]) == ["r", 9, 1, {"a": 1, "b": "x", "c": True}]


def test_errors_are_tritonclients(protocol: Any, client: InProcessClient) -> None:
    for model, status in (("nope", "404"), ("echo", "400")):
        with pytest.raises(InferenceServerException) as failed:
            client.infer(model, [tensor(protocol, [1, 2])])
        assert failed.value.status() == status
    with pytest.raises(InferenceServerException, match="unexpected inference input 'X'"):
        client.infer("echo", [tensor(protocol, [[1, 2]], "X")])


def test_async_infer(protocol: Any, client: InProcessClient) -> None:
    pending = client.async_infer("echo", [tensor(protocol, [[1, 2]])])
    assert pending.get_result(timeout=10).as_numpy("OUT").tolist() == [[1, 2]]
    done: queue.Queue[Any] = queue.Queue()
    client.async_infer("nope", [tensor(protocol, [[1, 2]])], lambda result, error: done.put((result, error)))
    result, error = done.get(timeout=10)
    assert result is None and isinstance(error, InferenceServerException)


def test_a_stream(client: InProcessClient) -> None:
    arrived: queue.Queue[Any] = queue.Queue()
    with pytest.raises(InferenceServerException, match="stream not available"):
        client.async_stream_infer("twice", [])
    client.start_stream(lambda result, error: arrived.put((result, error)))
    client.async_stream_infer("twice", [tensor(tritonclient.grpc, [3, 4])], enable_empty_final_response=True)
    client.stop_stream()
    results = [arrived.get(timeout=10)[0] for _ in range(3)]
    finals = [result.get_response().parameters["triton_final_response"].bool_param for result in results]
    assert finals == [False, False, True]
    assert results[0].as_numpy("OUT").tolist() == [3, 4]


def test_server_and_models(client: InProcessClient) -> None:
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("echo")
    assert client.get_server_metadata()["version"] == "2.51.0"
    assert client.get_model_metadata("echo")["inputs"] == [{"name": "IN", "datatype": "FP32", "shape": [-1, 2]}]
    assert client.get_model_config("echo")["max_batch_size"] == 4
    assert client.get_inference_statistics("echo")["model_stats"][0]["name"] == "echo"
    client.unload_model("seen")
    client.load_model("seen")
    assert {"name": "seen", "version": "1", "state": "READY"} in client.get_model_repository_index()
    with pytest.raises(InferenceServerException, match="failed to load 'nope'"):
        client.load_model("nope")
    with pytest.raises(InferenceServerException, match="'nope' is not found"):
        client.get_model_config("nope")
