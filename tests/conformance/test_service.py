"""State, sequences, streams, calls and metrics, alike on the emulator and on the real server."""

from __future__ import annotations

import json
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from triton_pyb.emulator.errors import InferenceFailed

from . import service_steps, steps
from .conftest import Server, answered, strings


def number(value: float) -> Any:
    return np.array([[float(value)]])


def test_state_and_settings(side: Server) -> None:
    entry = side.deploy(service_steps.with_state)
    answer = side.infer(entry, {"index": np.array([[1], [0]])})["y"]
    assert [json.loads(text) for text in answer[:, 0]] == [
        {"word": "b", "threshold": 0.5, "device": "cpu"},
        {"word": "a", "threshold": 0.5, "device": "cpu"},
    ]


def test_a_class_step(side: Server) -> None:
    entry = side.deploy(service_steps.Tokenizer)
    assert side.infer(entry, {"text": strings("a b c", "")})["n_words"].tolist() == [[3], [1]]


def test_interleaved_sequences(side: Server) -> None:
    entry = side.deploy(service_steps.running_sum)

    def send(sequence: int, x: int, start: bool = False, end: bool = False) -> int:
        answer = side.infer(
            entry, {"x": np.array([[x]])}, correlation_id=sequence, sequence_start=start, sequence_end=end
        )
        return int(answer["sum"][0, 0])

    assert [send(7, 1, start=True), send(9, 10, start=True), send(7, 2), send(9, 20)] == [101, 110, 103, 130]
    assert [send(7, 3, end=True), send(9, 5)] == [106, 135]
    assert send(7, 4, start=True) == 104
    assert [send(9, 1, end=True), send(7, 1, end=True)] == [136, 105]


def test_a_stream(side: Server) -> None:
    entry = side.deploy(service_steps.tokens)
    parts = list(side.server.stream_infer(entry, {"text": strings("one 둘 three")}))
    assert [part["token"].tolist() for part in parts] == [[[b"one"]], [["둘".encode()]], [[b"three"]]]


def test_an_empty_stream_ends(side: Server) -> None:
    entry = side.deploy(service_steps.tokens)
    assert list(side.server.stream_infer(entry, {"text": strings("")})) == []


@pytest.mark.parametrize(
    ("text", "code", "words"), [("a bad b", "INVALID_ARG", "a bad word"), ("a bug b", "INTERNAL", "KeyError")]
)
def test_an_error_in_the_middle_of_a_stream(side: Server, text: str, code: str, words: str) -> None:
    entry = side.deploy(service_steps.tokens)
    got = []
    with pytest.raises(InferenceFailed, match=words) as caught:
        for part in side.server.stream_infer(entry, {"text": strings(text)}):
            got.append(part["token"][0, 0])
    assert got == [b"a"]
    assert words in caught.value.message
    assert list(side.server.stream_infer(entry, {"text": strings("next")}))[0]["token"][0, 0] == b"next"


def test_a_stream_takes_one_item(side: Server) -> None:
    entry = side.deploy(service_steps.tokens)
    with pytest.raises(InferenceFailed, match="TPB235"):
        list(side.server.stream_infer(entry, {"text": strings("a", "b")}))


def test_an_async_stream(side: Server) -> None:
    entry = side.deploy(service_steps.letters)
    parts = list(side.server.stream_infer(entry, {"text": strings("abc")}))
    assert [part["letter"][0, 0] for part in parts] == [b"a", b"b", b"c"]


def test_streams_run_beside_each_other(side: Server) -> None:
    entry = side.deploy(service_steps.tokens)

    def one(index: int) -> list[bytes]:
        text = " ".join(f"{index}.{n}" for n in range(20))
        return [part["token"][0, 0] for part in side.server.stream_infer(entry, {"text": strings(text)})]

    with ThreadPoolExecutor(4) as pool:
        for index, words in enumerate(pool.map(one, range(8))):
            assert words == [f"{index}.{n}".encode() for n in range(20)]


def test_a_stream_that_nobody_reads_is_stopped(side: Server) -> None:
    """The client goes after three responses; the author's ``finally`` runs, seen in a metric."""
    entry = side.deploy(service_steps.endless)
    stream = side.server.stream_infer(entry, {"text": strings("go")})
    assert [next(stream)["n"][0, 0] for _ in range(3)] == [0, 1, 2]
    stream.close()
    until = time.monotonic() + 10
    while "endless_stopped 1" not in _metrics(side):
        assert time.monotonic() < until, "the generator still runs"
        time.sleep(0.1)


def test_async_calls_finish_together(side: Server) -> None:
    """Three requests, each waiting for two calls of 0.2 s: all of it at the same time."""
    side.deploy_step(service_steps.sleeper, delay_ms=30)  # so that the calls of one moment meet there too
    entry = side.deploy_step(service_steps.calls_slow, delay_ms=20)
    side.infer(entry, {"x": number(0)})
    times_s = []
    for _ in range(5):  # the best of five: other work on the machine may slow one down
        begun = time.monotonic()
        answers = side.together(entry, [{"x": number(n)} for n in range(3)])
        times_s.append(time.monotonic() - begun)
        assert [answered(answer)["z"][0, 0] for answer in answers] == [2 * n + 3 for n in range(3)]
    assert min(times_s) < 0.35, times_s  # one after the other would be 1.2 s


@pytest.mark.parametrize(
    ("code", "status"),
    [("reject", "INVALID_ARG"), ("missing", "NOT_FOUND"), ("busy", "UNAVAILABLE"), ("bug", "INTERNAL")],
)
def test_the_status_of_a_called_model_is_kept(side: Server, code: str, status: str) -> None:
    side.deploy(steps.refuse)
    entry = side.deploy(service_steps.calls_refuser)
    with pytest.raises(InferenceFailed) as caught:
        side.infer(entry, {"code": strings(code)})
    assert caught.value.code == status
    assert "\x1e" not in caught.value.message
    assert side.infer(entry, {"code": strings("fine")})["answer"].tolist() == [[b"fine"]]


def test_calling_what_is_not_there(side: Server) -> None:
    entry = side.deploy(service_steps.calls_anything)
    with pytest.raises(InferenceFailed, match="not ready") as caught:
        side.infer(entry, {"target": strings("nobody")})
    assert caught.value.code == "UNAVAILABLE"


def test_a_ring_of_calls_is_refused(side: Server) -> None:
    side.deploy(service_steps.ring_b)
    entry = side.deploy(service_steps.ring_a)
    with pytest.raises(InferenceFailed, match="ring_a -> ring_b -> ring_a"):
        side.infer(entry, {"target": strings("x")})


def test_a_called_stream(side: Server) -> None:
    side.deploy(service_steps.tokens)
    entry = side.deploy(service_steps.collects)
    answer = side.infer(entry, {"text": strings("a b c")})["all"]
    assert json.loads(answer[0, 0]) == ["a", "b", "c"]


def test_a_request_parameter_and_its_id(side: Server) -> None:
    entry = side.deploy(service_steps.asks)
    answer = side.infer(
        entry, {"x": np.array([[1]])}, request_id="r-1", parameters={"lang": "ko", "n": 3, "flag": True}
    )
    about = json.loads(answer["about"][0, 0])
    assert about["id"] == "r-1"
    assert about["parameters"] == {"lang": "ko", "n": 3, "flag": True}
    assert (about["correlation_id"], about["cancelled"], about["has_time"]) == (0, False, True)


def test_a_deadline_is_kept(side: Server) -> None:
    entry = side.deploy(service_steps.patient)
    with pytest.raises(InferenceFailed, match="timeout of 0.1 s has passed") as caught:
        side.infer(entry, {"x": np.arange(9.0)}, timeout_us=100_000)
    assert caught.value.code == "UNAVAILABLE"
    assert side.infer(entry, {"x": np.arange(2.0)})["y"].tolist() == [0, 1]


TEXTS = ["한국어", "🙂🧪", "", "a\0b\0", "x" * 5_000_000]


@pytest.mark.parametrize("text", TEXTS, ids=["korean", "emoji", "empty", "nul", "5 MB"])
def test_text_survives_both_ways(side: Server, text: str) -> None:
    entry = side.deploy(service_steps.echo)
    data = text.encode() + b"\0\xff"
    answer = side.infer(entry, {"text": strings(text), "data": strings(data)})
    assert answer["text_out"][0, 0] == text.encode()
    assert answer["data_out"][0, 0] == data


def test_metrics_are_counted(side: Server) -> None:
    entry = side.deploy(service_steps.counted)
    for n in range(10):
        side.infer(entry, {"x": np.full((8, 1), n + 0.5)})
    page = _metrics(side)
    assert 'counted_x_bucket{le="1"} 8' in page
    assert 'counted_x_bucket{le="10"} 80' in page
    assert "counted_x_count 80" in page
    assert 'counted_calls{kind="test"} 80' in page


def _metrics(side: Server) -> str:
    server = side.server
    if hasattr(server, "metrics_url"):
        with urllib.request.urlopen(server.metrics_url) as page:
            text: str = page.read().decode()
        return text
    return str(server.metrics_page())


def test_waiting_requests_are_a_gauge(side: Server) -> None:
    entry = side.deploy(service_steps.dozes)
    gauge = f'nv_inference_pending_request_count{{model="{entry}",version="1"}} '
    with ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(side.infer, entry, {"x": np.array([float(n)])}) for n in range(3)]
        time.sleep(0.7)
        page = _metrics(side)
        assert [answer.result()["y"].tolist() for answer in answers] == [[0], [1], [2]]
    assert "# TYPE nv_inference_pending_request_count gauge" in page
    assert gauge + "2" in page  # one is being executed
    assert gauge + "0" in _metrics(side)
