from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from triton_pyb.server import InferenceFailed, RealTriton, ServerError, TritonClient
from triton_pyb.server import client as client_module
from triton_pyb.server.ports import choose_ports

from .model_folders import ECHO, config, write_echo, write_model


@pytest.mark.parametrize("url", ["ftp://host:1", "http://", ""])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ServerError) as refusal:
        TritonClient(url)
    assert refusal.value.code == "TPB615"
    assert refusal.value.what == f"'{url}' is no address of a Triton"


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_nobody_listens(scheme: str) -> None:
    address = f"{scheme}://127.0.0.1:{choose_ports({'http': None})['http']}"
    with TritonClient(address, timeout_s=5) as client, pytest.raises(ServerError) as refusal:
        client.infer("echo", {"X": np.ones(1, np.float32)})
    assert refusal.value.code == "TPB617"
    assert refusal.value.what.startswith("no Triton answers: ") and refusal.value.where == address
    assert not TritonClient(address, timeout_s=5).is_ready()


def test_a_dtype_without_data_type_is_refused() -> None:
    with pytest.raises(ServerError) as refusal:
        TritonClient("127.0.0.1:1").infer("echo", {"X": np.ones(1, np.complex64)})
    assert refusal.value.code == "TPB618"
    assert refusal.value.what == "got an array of dtype complex64, which Triton has no data type for"
    assert refusal.value.where == "input 'X' of model 'echo'"


@pytest.fixture(scope="module", params=["http", "grpc"])
def client(request: pytest.FixtureRequest, explicit_server: RealTriton) -> Iterator[TritonClient]:
    for name, data_type, max_batch_size in (("texts", "STRING", 8), ("floats", "FP32", 8), ("flat", "INT32", 0)):
        if not (explicit_server.repository / name).exists():
            write_echo(explicit_server.repository, name, data_type, max_batch_size)
            explicit_server.load_model(name)
    url = explicit_server.http_url if request.param == "http" else explicit_server.grpc_url
    with TritonClient(url) as client:
        yield client


@pytest.mark.real_triton
class TestOnAServer:
    @pytest.mark.parametrize(
        ("model", "value", "expected"),
        [
            ("texts", "안녕", [["안녕".encode()]]),
            ("texts", b"\x00\xff", [[b"\x00\xff"]]),
            ("texts", ["a", b"b", ""], [[b"a"], [b"b"], [b""]]),
            ("texts", np.array([["a"], ["b"]]), [[b"a"], [b"b"]]),
            ("floats", 1, [[1.0]]),
            ("floats", [1, 2.5], [[1.0], [2.5]]),
            ("flat", 7, [7]),
            ("flat", [7, 8], [7, 8]),
            ("flat", np.array([1, 2], np.int32), [1, 2]),
        ],
    )
    def test_plain_values_become_what_the_model_declares(
        self, client: TritonClient, model: str, value: object, expected: object
    ) -> None:
        assert client.infer(model, {"X": value})["Y"].tolist() == expected

    def test_a_wrong_array_is_refused_by_the_server_with_both_dtypes(self, client: TritonClient) -> None:
        with pytest.raises(InferenceFailed) as refusal:
            client.infer("floats", {"X": np.ones((1, 1))}, request_id="r7")
        assert refusal.value.message == (
            "[request id: r7] inference input 'X' data-type is 'FP64', but model 'floats' expects 'FP32'"
        )
        assert (refusal.value.code, refusal.value.status) == ("INVALID_ARG", 400)

    def test_an_unknown_model_is_an_answer_of_the_server(self, client: TritonClient) -> None:
        with pytest.raises(InferenceFailed, match="unknown model: 'nobody'") as refusal:
            client.infer("nobody", {"X": np.ones((1, 1), np.float32)})
        assert refusal.value.status in (400, 404)

    def test_numbers_in_config_and_statistics_are_numbers(self, client: TritonClient) -> None:
        assert client.model_config("floats")["input"][0]["dims"] == [1]
        client.infer("floats", {"X": 1.0})
        assert client.statistics("floats")["inference_count"] >= 1
        assert {"texts", "floats", "flat"} <= {entry["name"] for entry in client.repository_index()}
        assert client.is_ready()

    def test_one_client_in_several_threads(self, client: TritonClient) -> None:
        answers: list[float] = []

        def ask(number: int) -> None:
            for _ in range(5):
                answers.append(float(client.infer("floats", {"X": float(number)})["Y"][0, 0]) - number)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [0.0] * 20

    def test_large_tensors_travel(self, client: TritonClient) -> None:
        array = np.arange(3_000_000, dtype=np.int32)  # 12 MB: above gRPC's own limit of 4 MB
        np.testing.assert_array_equal(client.infer("flat", {"X": array})["Y"], array)

    def test_parameters_and_versions_travel(self, client: TritonClient) -> None:
        assert client.infer("floats", {"X": 1.0}, outputs=["Y"], parameters={"k": "v"}, version="1")["Y"] == 1.0
        with pytest.raises(InferenceFailed):
            client.infer("floats", {"X": np.ones((1, 1), np.float32)}, version="7")


@pytest.mark.real_triton
@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_late_answer_is_an_error_with_the_time(explicit_server: RealTriton, scheme: str) -> None:
    name = f"slow_{scheme}"
    slow = ECHO.replace("        responses = []", "        import time\n        time.sleep(3)\n        responses = []")
    write_model(explicit_server.repository, name, config("X FP32 1", "Y FP32 1"), {"model.py": slow})
    explicit_server.load_model(name)
    url = explicit_server.http_url if scheme == "http" else explicit_server.grpc_url
    with TritonClient(url, timeout_s=0.5) as client, pytest.raises(ServerError) as refusal:
        client.infer(name, {"X": np.ones((1, 1), np.float32)})
    assert refusal.value.code == "TPB616"
    assert refusal.value.what == "no answer within 0.5 s"


DECOUPLED = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            for number in range(int(pb_utils.get_input_tensor_by_name(request, "X").as_numpy()[0])):
                sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([number], np.int32))]))
            if number == 2:
                sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("three is too many")))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""


@pytest.mark.real_triton
def test_a_decoupled_model_answers_as_often_as_it_likes(explicit_server: RealTriton) -> None:
    policy = "model_transaction_policy { decoupled: true }"
    text = config("X INT32 1", "Y INT32 1", max_batch_size=0, tail=policy)
    write_model(explicit_server.repository, "counts", text, {"model.py": DECOUPLED})
    explicit_server.load_model("counts")
    answers = [answer["Y"].tolist() for answer in explicit_server.stream_infer("counts", {"X": 2})]
    assert answers == [[0], [1]]
    with pytest.raises(InferenceFailed, match="three is too many"):
        list(explicit_server.stream_infer("counts", {"X": 3}))
    with pytest.raises(ServerError) as refusal, TritonClient(explicit_server.http_url) as client:
        list(client.stream_infer("counts", {"X": 1}))
    assert (refusal.value.code, refusal.value.what) == ("TPB621", "HTTP carries one response to a request")


class Stream:
    """What a client of tritonclient does when its stream is stopped; `ends` says when the stream does."""

    def __init__(self, ends: bool) -> None:
        self.stops: list[bool] = []
        self.closed, self._end = threading.Event(), threading.Event()
        if ends:
            self._end.set()

    def start_stream(self, callback: Callable[..., None]) -> None:
        self._callback = callback

    def async_stream_infer(self, *_: object, **__: object) -> None:
        response = SimpleNamespace(outputs=[SimpleNamespace(name="Y")], parameters={})
        response.parameters["triton_final_response"] = SimpleNamespace(bool_param=False)
        self._callback(SimpleNamespace(get_response=lambda: response, as_numpy=lambda name: np.ones(1)), None)

    def stop_stream(self, cancel_requests: bool = False) -> None:
        self.stops.append(cancel_requests)
        if cancel_requests:
            self._end.set()
        self._end.wait(10)

    def close(self) -> None:
        self.closed.set()


@pytest.mark.parametrize(("ends", "stops"), [(True, [False]), (False, [False, True])])
def test_a_stream_left_early_is_cancelled_only_when_it_does_not_end(
    ends: bool, stops: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(ends)
    monkeypatch.setattr(client_module, "READ_ON_S", 0.2)
    with TritonClient("grpc://127.0.0.1:1") as client:
        monkeypatch.setattr(client._connection, "new_client", lambda: stream)
        answers = client.stream_infer("counts", {"X": np.ones(1, np.float32)})
        next(answers)
        answers.close()  # type: ignore[attr-defined]
    assert stream.closed.wait(5)
    assert stream.stops == stops


@pytest.mark.real_triton
def test_a_server_outlives_many_streams_left_early(explicit_server: RealTriton) -> None:
    """With a cancel for each it died before the 800th."""
    text = config("X INT32 1", "Y INT32 1", max_batch_size=0, tail="model_transaction_policy { decoupled: true }")
    write_model(explicit_server.repository, "left", text, {"model.py": DECOUPLED})
    explicit_server.load_model("left")
    for _ in range(800):
        answers = explicit_server.stream_infer("left", {"X": 20})
        next(answers)
        answers.close()  # type: ignore[attr-defined]
    until = time.monotonic() + 10  # the last ones are read on in the background
    while explicit_server.statistics("left")["inference_count"] < 800:
        assert time.monotonic() < until
        time.sleep(0.05)
    explicit_server.raise_if_dead()


@pytest.mark.real_triton
def test_a_proxy_of_the_environment_is_not_asked(explicit_server: RealTriton, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "grpc_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for url in (explicit_server.http_url, explicit_server.grpc_url):
        assert TritonClient(url, timeout_s=5).is_ready()
    assert explicit_server._process is not None and explicit_server._process._is_ready()
