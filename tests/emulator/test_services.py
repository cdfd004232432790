"""The ports: HTTP, gRPC and metrics, called with tritonclient."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import queue
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

from tests.emulator.models import ECHO, ensemble, execute, tensors, write
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.endpoints import Endpoints
from triton_pyb.emulator.errors import InferenceFailed

IO = "max_batch_size: 4\n" + tensors(("input", "IN", "FP32", [4]))
TEXT = tensors(("input", "IN", "STRING", [-1]), ("output", "OUT", "STRING", [-1]))
SCORES = IO + '\noutput [ { name: "OUT" data_type: TYPE_FP32 dims: [4] label_filename: "labels.txt" } ]'
STREAM = execute(
    """
for r in requests:
    sender = r.get_response_sender()
    for n in range(int(r.inputs()[0].as_numpy()[0])):
        sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([n], "f4"))]))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
)


@pytest.fixture(scope="module")
def endpoints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoints]:
    repository = tmp_path_factory.mktemp("repository")
    folder = write(repository, "scores", SCORES)
    (folder / "labels.txt").write_text("cat\ndog\nbird\n")
    write(repository, "text", TEXT)
    write(repository, "free", tensors(("input", "IN", "FP32", [-1]), ("output", "OUT", "FP32", [-1])))
    decoupled = "model_transaction_policy { decoupled: true }\n"
    one = tensors(("input", "IN", "FP32", [1]), ("output", "OUT", "FP32", [1]))
    write(repository, "stream", decoupled + one, STREAM)
    write(repository, "silent", one, execute("return [None for _ in requests]"))
    triton = EmulatedTriton(repository, inline=True, model_control_mode="explicit", load_models=["*"])
    with triton:
        endpoints = Endpoints(triton.store, grpc_port=0, metrics_port=0)
        endpoints.start()
        yield endpoints
        endpoints.stop()


@pytest.fixture
def http_client(endpoints: Endpoints) -> Iterator[Any]:
    client = tritonclient.http.InferenceServerClient(f"127.0.0.1:{endpoints.ports['http']}")
    yield client
    client.close()


@pytest.fixture
def grpc_client(endpoints: Endpoints) -> Iterator[Any]:
    client = tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{endpoints.ports['grpc']}")
    yield client
    client.close()


@pytest.fixture(params=["http", "grpc"])
def client(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(f"{request.param}_client")


def protocol_of(client: Any) -> Any:
    return tritonclient.http if "http" in type(client).__module__ else tritonclient.grpc


def tensor(protocol: Any, name: str, array: np.ndarray[Any, Any], datatype: str = "FP32") -> Any:
    made = protocol.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array)
    return made


def request(endpoints: Endpoints, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", endpoints.ports["http"], timeout=10)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    answer = response.status, response.read()
    connection.close()
    return answer


def test_health_and_metadata(client: Any) -> None:
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("scores") and not client.is_model_ready("nope")
    options = {} if protocol_of(client) is tritonclient.http else {"as_json": True}
    assert client.get_server_metadata(**options)["name"] == "triton"
    metadata = client.get_model_metadata("scores", **options)
    assert metadata["platform"] == "python"
    assert [int(dim) for dim in metadata["inputs"][0]["shape"]] == [-1, 4]
    config = client.get_model_config("scores", **options)
    config = config.get("config", config)
    assert config["max_batch_size"] == 4


def test_numbers(client: Any) -> None:
    sent = np.arange(8, dtype=np.float32).reshape(2, 4)
    result = client.infer("scores", [tensor(protocol_of(client), "IN", sent)], request_id="r")
    assert (result.as_numpy("OUT") == sent).all()
    response = result.get_response()
    assert (response["id"] if isinstance(response, dict) else response.id) == "r"


def test_bytes_of_any_kind(client: Any) -> None:
    sent = np.array([b"", b"\xff\x00", "둘".encode()], dtype=object)
    assert client.infer("text", [tensor(protocol_of(client), "IN", sent, "BYTES")]).as_numpy("OUT").tolist() == [*sent]


def test_json_without_the_binary_extension(http_client: Any) -> None:
    made = tritonclient.http.InferInput("IN", [1, 4], "FP32")
    made.set_data_from_numpy(np.ones((1, 4), np.float32), binary_data=False)
    output = tritonclient.http.InferRequestedOutput("OUT", binary_data=False)
    result = http_client.infer("scores", [made], outputs=[output])
    assert result.get_response()["outputs"][0]["data"] == [1.0] * 4


def test_compression(http_client: Any, endpoints: Endpoints) -> None:
    sent = np.ones((1, 4), np.float32)
    result = http_client.infer(
        "scores",
        [tensor(tritonclient.http, "IN", sent)],
        request_compression_algorithm="gzip",
        response_compression_algorithm="deflate",
    )
    assert (result.as_numpy("OUT") == sent).all()
    body = gzip.compress(b"{}")
    path = "/v2/models/scores/infer"
    assert request(endpoints, "POST", path, body, **{"Content-Encoding": "gzip"})[0] == 500
    status, answer = request(endpoints, "POST", path, body, **{"Content-Encoding": "br"})
    assert (status, answer) == (501, b'{"error":"Unsupported compression type"}')


def test_classes(client: Any) -> None:
    protocol = protocol_of(client)
    sent = np.array([[1, 5, 2, 3], [9, 8, 7, 6]], np.float32)
    wanted = protocol.InferRequestedOutput("OUT", class_count=2)
    result = client.infer("scores", [tensor(protocol, "IN", sent)], outputs=[wanted])
    assert result.as_numpy("OUT").tolist() == [
        [b"5.000000:1:dog", b"3.000000:3"],
        [b"9.000000:0:cat", b"8.000000:1:dog"],
    ]


def test_classes_of_strings_kill_a_server(client: Any) -> None:
    protocol = protocol_of(client)
    sent = tensor(protocol, "IN", np.array([b"a"], object), "BYTES")
    with pytest.raises(InferenceServerException, match="TPB585 classes were asked for of output 'OUT', a tensor of s"):
        client.infer("text", [sent], outputs=[protocol.InferRequestedOutput("OUT", class_count=1)])


def test_classes_of_nothing_kill_a_server_over_http(http_client: Any, grpc_client: Any) -> None:
    """Source: measured on 24.10."""
    empty = np.zeros(0, np.float32)
    asked = tritonclient.http.InferRequestedOutput("OUT", class_count=1)
    with pytest.raises(InferenceServerException, match="TPB585 .* a tensor without elements"):
        http_client.infer("free", [tensor(tritonclient.http, "IN", empty)], outputs=[asked])
    asked = tritonclient.grpc.InferRequestedOutput("OUT", class_count=1)
    result = grpc_client.infer("free", [tensor(tritonclient.grpc, "IN", empty)], outputs=[asked])
    assert result.as_numpy("OUT").tolist() == []


@pytest.mark.parametrize(
    ("model", "name", "array", "status", "grpc_status", "message"),
    [
        (
            "scores",
            "NOPE",
            np.ones((1, 4), np.float32),
            "400",
            "StatusCode.INVALID_ARGUMENT",
            "unexpected inference input 'NOPE' for model 'scores'",
        ),
        (
            "nope",
            "IN",
            np.ones((1, 4), np.float32),
            "404",
            "StatusCode.NOT_FOUND",
            "Request for unknown model: 'nope' is not found",
        ),
    ],
)
def test_errors(model: str, name: str, array: Any, status: str, grpc_status: str, message: str, client: Any) -> None:
    with pytest.raises(InferenceServerException) as failed:
        client.infer(model, [tensor(protocol_of(client), name, array)])
    assert failed.value.message() == message
    assert failed.value.status() in (status, grpc_status)


def test_a_request_that_is_never_answered(client: Any) -> None:
    with pytest.raises(InferenceServerException, match="TPB"):
        client.infer("silent", [tensor(protocol_of(client), "IN", np.ones(1, np.float32))])


@pytest.mark.parametrize("options", [{"strict_off": {"unanswered"}}, {"mode": "faithful"}])
def test_its_client_waits_where_the_check_is_off(options: dict[str, Any], tmp_path: Path) -> None:
    one = tensors(("input", "IN", "FP32", [1]), ("output", "OUT", "FP32", [1]))
    write(tmp_path, "silent", one, execute("return [None for _ in requests]"))
    with EmulatedTriton(tmp_path, inline=True, **options) as triton:
        endpoints = Endpoints(triton.store, grpc_port=0)
        endpoints.start()
        client = tritonclient.http.InferenceServerClient(
            f"127.0.0.1:{endpoints.ports['http']}", network_timeout=0.3, connection_timeout=0.3
        )
        with pytest.raises(TimeoutError):
            client.infer("silent", [tensor(tritonclient.http, "IN", np.ones(1, np.float32))])
        client.close()
        grpc_client = tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{endpoints.ports['grpc']}")
        with pytest.raises(InferenceServerException, match="Deadline Exceeded"):
            grpc_client.infer("silent", [tensor(tritonclient.grpc, "IN", np.ones(1, np.float32))], client_timeout=0.3)
        grpc_client.close()
        endpoints.stop()
        assert any("never answered" in record.message for record in triton.log)


def test_decoupled_models_want_a_stream(client: Any) -> None:
    with pytest.raises(InferenceServerException, match="doesn't support models with decoupled"):
        client.infer("stream", [tensor(protocol_of(client), "IN", np.ones(1, np.float32))])


@pytest.mark.parametrize("empty_final", [True, False])
def test_a_stream(empty_final: bool, grpc_client: Any) -> None:
    arrived: queue.Queue[Any] = queue.Queue()
    grpc_client.start_stream(callback=lambda result, error: arrived.put((result, error)))
    sent = [tensor(tritonclient.grpc, "IN", np.array([3], np.float32))]
    grpc_client.async_stream_infer("stream", sent, enable_empty_final_response=empty_final)
    grpc_client.async_stream_infer("nope", sent)
    grpc_client.stop_stream()
    results = [result for result, error in list(arrived.queue) if error is None]
    errors = [error for _, error in list(arrived.queue) if error is not None]
    values = [result.as_numpy("OUT") for result in results]
    assert [value.tolist() for value in values if value is not None] == [[0], [1], [2]]
    assert len(results) == (4 if empty_final else 3)
    assert [error.message() for error in errors] == ["Request for unknown model: 'nope' is not found"]


def test_loading_and_unloading(client: Any) -> None:
    client.unload_model("text")
    assert not client.is_model_ready("text")
    client.load_model("text")
    assert client.is_model_ready("text")
    with pytest.raises(InferenceServerException, match="failed to load 'nope', failed to poll"):
        client.load_model("nope")
    config = json.dumps({"backend": "python", "max_batch_size": 2})
    client.load_model("fresh", config=config, files={"file:1/model.py": ECHO.encode()})
    assert client.is_model_ready("fresh")
    index = client.get_model_repository_index()
    rows = index if isinstance(index, list) else index.models
    assert "fresh" not in str(rows) and "scores" in str(rows)
    client.unload_model("fresh", unload_dependents=True)


@pytest.mark.parametrize(
    ("path", "body", "status", "answer"),
    [
        ("load", {"parameters": {"nope": "x"}}, 500, "unexpected error on creating Triton parameter"),
        ("load", {"parameters": {"nope": 3}}, 500, "attempt to access JSON non-string as string"),
        ("load", {"parameters": {"config": 3}}, 500, "attempt to access JSON non-string as string"),
        ("load", {"parameters": 5}, 500, "attempt to get members for non-object"),
        (
            "load",
            {"parameters": {"file:1/model.py": "abc"}},
            500,
            "failed to load 'stream', failed to poll from model repository",
        ),
        ("load", [], 200, None),
        ("unload", {"parameters": {"unload_dependents": 1}}, 200, None),
        ("unload", {"parameters": 5}, 200, None),
        ("unload", "{", 200, None),
        ("load", "", 200, None),
        ("load", "{", 500, "failed to parse the request JSON buffer: Missing a name for object member. at 1"),
    ],
)
def test_control_over_http(path: str, body: Any, status: int, answer: str | None, endpoints: Endpoints) -> None:
    """Source: measured on 24.10."""
    sent = body if isinstance(body, str) else json.dumps(body)
    got, text = request(endpoints, "POST", f"/v2/repository/models/stream/{path}", sent)
    assert (got, json.loads(text)["error"] if text else None) == (status, answer)


def test_files_come_in_lines(endpoints: Endpoints) -> None:
    """The server's base64 skips what is no digit. Source: measured on 24.10."""
    text = base64.encodebytes(ECHO.encode()).decode()
    config = json.dumps({"backend": "python"})
    body = json.dumps({"parameters": {"config": config, "file:1/model.py": text.replace("=", "")}})
    assert request(endpoints, "POST", "/v2/repository/models/lines/load", body) == (200, b"")
    request(endpoints, "POST", "/v2/repository/models/lines/unload")


@pytest.mark.parametrize(
    ("key", "value", "code", "message"),
    [
        ("nope", {"string_param": "x"}, "INVALID_ARGUMENT", "unrecognized load parameter 'nope'."),
        (
            "config",
            {"bytes_param": b"x"},
            "INVALID_ARGUMENT",
            "invalid value type for load parameter 'config', expected string_param.",
        ),
        (
            "file:1/model.py",
            {"string_param": "x"},
            "INVALID_ARGUMENT",
            "invalid value type for load parameter 'file:1/model.py', expected bytes_param.",
        ),
        (
            "file:1/model.py",
            {"bytes_param": b"x"},
            "INTERNAL",
            "failed to load 'stream', failed to poll from model repository",
        ),
    ],
)
def test_control_over_grpc(key: str, value: Any, code: str, message: str, endpoints: Endpoints) -> None:
    """Source: RegisterRepositoryModelLoad of grpc_server.cc, 24.10."""
    asked = service_pb2.RepositoryModelLoadRequest(model_name="stream")
    for kind, content in value.items():
        setattr(asked.parameters[key], kind, content)
    with grpc.insecure_channel(f"127.0.0.1:{endpoints.ports['grpc']}") as channel:
        with pytest.raises(grpc.RpcError) as failed:
            service_pb2_grpc.GRPCInferenceServiceStub(channel).RepositoryModelLoad(asked, timeout=10)
    assert (failed.value.code().name, failed.value.details()) == (code, message)


def test_statistics_and_index(client: Any) -> None:
    options = {} if protocol_of(client) is tritonclient.http else {"as_json": True}
    client.infer("scores", [tensor(protocol_of(client), "IN", np.ones((2, 4), np.float32))])
    (entry,) = client.get_inference_statistics("scores", **options)["model_stats"]
    assert int(entry["inference_count"]) >= 2
    if protocol_of(client) is tritonclient.http:  # Source: measured on 24.10
        assert list(entry)[5:] == ["inference_stats", "response_stats", "batch_stats", "memory_usage"]
    with pytest.raises(InferenceServerException, match="requested model 'nope' is not available"):
        client.get_inference_statistics("nope")
    index = client.get_model_repository_index(**options)
    rows = index if isinstance(index, list) else index["models"]
    assert {"name": "scores", "version": "1", "state": "READY"} in rows


def test_log_settings(client: Any) -> None:
    options = {} if protocol_of(client) is tritonclient.http else {"as_json": True}
    settings = client.update_log_settings({"log_verbose_level": 1}, **options)
    assert "1" in json.dumps(settings)
    client.update_log_settings({"log_verbose_level": 0})
    assert client.get_log_settings(**options)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"log_verbose_level": -1}, 500, "attempt to access JSON non-unsigned-integer as unsigned-integer"),
        ({"log_info": 1}, 500, "attempt to access JSON non-boolean as boolean"),
        ({"log_file": "a"}, 501, "log file location can not be updated through network protocol"),
        ({"log_format": "x"}, 503, "invalid argument for --log_format, got: x"),
        ({"nope": 1, "log_info": None}, 200, None),
        ([], 200, None),
    ],
)
def test_refused_log_settings(body: Any, status: int, message: str | None, endpoints: Endpoints) -> None:
    """Source: measured on 24.10."""
    got, text = request(endpoints, "POST", "/v2/logging", json.dumps(body))
    answer = json.loads(text)
    assert got == status and answer.get("error") == message
    assert message or set(answer) == {
        *("log_file", "log_info", "log_warning", "log_error", "log_verbose_level", "log_format")
    }


@pytest.mark.parametrize(
    ("key", "value", "code", "message"),
    [
        ("log_file", {"string_param": "a"}, "UNIMPLEMENTED", "log file location can not be updated through network"),
        ("log_info", {"uint32_param": 1}, "INVALID_ARGUMENT", "expect boolean for 'log_info'"),
        ("log_verbose_level", {"bool_param": True}, "INVALID_ARGUMENT", "expect int32 for 'log_verbose_level'"),
        ("log_format", {"bool_param": True}, "INVALID_ARGUMENT", "expect string for 'log_format'"),
        ("log_format", {"string_param": "x"}, "INVALID_ARGUMENT", "invalid argument for log_format, got: x"),
    ],
)
def test_log_settings_refused_over_grpc(key: str, value: Any, code: str, message: str, endpoints: Endpoints) -> None:
    """Source: RegisterLogging of grpc_server.cc, 24.10."""
    asked = service_pb2.LogSettingsRequest()
    for kind, content in value.items():
        setattr(asked.settings[key], kind, content)
    with grpc.insecure_channel(f"127.0.0.1:{endpoints.ports['grpc']}") as channel:
        with pytest.raises(grpc.RpcError) as failed:
            service_pb2_grpc.GRPCInferenceServiceStub(channel).LogSettings(asked, timeout=10)
    assert failed.value.code().name == code and failed.value.details().startswith(message)


def test_metrics_page(endpoints: Endpoints, client: Any) -> None:
    client.infer("scores", [tensor(protocol_of(client), "IN", np.ones((1, 4), np.float32))])
    url = f"http://127.0.0.1:{endpoints.ports['metrics']}/metrics"
    page = urllib.request.urlopen(url, timeout=10).read().decode()
    assert "# TYPE nv_inference_request_success counter" in page
    assert 'nv_inference_exec_count{model="scores",version="1"}' in page
    assert 'nv_inference_pending_request_count{model="scores",version="1"} 0' in page


def test_failures_of_an_ensemble_are_not_the_backends(tmp_path: Path) -> None:
    """Source: measured on 24.10."""
    write(tmp_path, "bad", TEXT, execute("raise ValueError('x')"))
    ends = tensors(("input", "X", "STRING", [-1]), ("output", "Y", "STRING", [-1]))
    write(tmp_path, "whole", ensemble(ends, [("bad", {"IN": "X"}, {"OUT": "Y"})], 0), None)
    with EmulatedTriton(tmp_path, inline=True) as triton:
        with pytest.raises(InferenceFailed, match="ValueError: x"):
            triton.infer("whole", {"X": ["a"]})
        page = triton.metrics_page()
    failed = 'nv_inference_request_failure{model="%s",reason="%s",version="1"} '
    assert failed % ("bad", "BACKEND") + "1" in page and failed % ("bad", "OTHER") + "0" in page
    assert failed % ("whole", "BACKEND") + "0" in page and failed % ("whole", "OTHER") + "0" not in page


@pytest.mark.parametrize(
    ("method", "path", "status", "answer"),
    [
        ("GET", "/v2/", 404, b'{"error":"Not Found"}'),
        ("GET", "/v2/models/scores/versions/x", 404, b'{"error":"Not Found"}'),
        ("GET", "/v2/models/scores/infer", 405, b'{"error":"Method Not Allowed"}'),
        ("GET", "/v2/models/nope/ready", 400, b'{"error":"Model version not ready"}'),
        ("GET", "/v2/models/scores/versions/7/stats", 400, None),
        ("GET", "/v2/systemsharedmemory/status", 200, b"[]"),
        ("POST", "/v2/systemsharedmemory/unregister", 200, b""),
        ("GET", "/v2/trace/setting", 200, None),
    ],
)
def test_paths(method: str, path: str, status: int, answer: bytes | None, endpoints: Endpoints) -> None:
    got_status, got = request(endpoints, method, path)
    assert got_status == status
    assert answer is None or got == answer


def test_a_taken_port_is_an_error(endpoints: Endpoints, tmp_path: Path) -> None:
    write(tmp_path, "m", IO)
    with EmulatedTriton(tmp_path, inline=True) as triton:
        second = Endpoints(triton.store, http_port=endpoints.ports["http"])
        with pytest.raises(OSError):
            second.start()
