"""Generators are decoupled models: every stream ends with the final flag, once, whatever happens in it."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.py38 import triton_python_backend_utils as stand_in
from triton_pyb import Annotated, Context, DeclarationError, Fatal, Name, Reject, model, triton_python_model

FINAL = 1


class Sender:
    """What a client would see: each response or None, and whether it was the last."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, bool]] = []
        self.ended = threading.Event()

    def send(self, response: Any = None, flags: int = 0) -> None:
        assert not self.ended.is_set(), "something was sent behind the final flag"
        self.sent.append((response, flags == FINAL))
        if flags == FINAL:
            self.ended.set()

    def texts(self) -> list[str]:
        assert self.ended.wait(5), "the stream never ended"
        return [
            response.error().message()
            if response.has_error()
            else response.output_tensors()[0].as_numpy()[0, 0].decode()
            for response, _ in self.sent
            if response is not None
        ]


class Request(stand_in.InferenceRequest):
    def __init__(self, *texts: str, cancelled: bool = False) -> None:
        array = np.array([[text.encode()] for text in texts], object).reshape(-1, 1)
        super().__init__({"text": array}, ["token"])
        self.sender = Sender()
        self.is_cancelled = lambda: cancelled

    def get_response_sender(self) -> Sender:
        return self.sender


@pytest.fixture(autouse=True)
def pb_utils(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("triton_python_backend_utils")
    vars(module).update({name: value for name, value in vars(stand_in).items() if not name.startswith("__")})
    vars(module)["TRITONSERVER_RESPONSE_COMPLETE_FINAL"] = FINAL
    monkeypatch.setitem(sys.modules, module.__name__, module)


def load(step: Any) -> Any:
    loaded = triton_python_model(step)()
    tensors = {"text": "input", "token": "output"}
    config: dict[str, Any] = {"name": "m", "max_batch_size": 8}
    for name, side in tensors.items():
        config[side] = [{"name": name, "data_type": "TYPE_STRING", "dims": ["1"]}]
    loaded.initialize(
        {
            "model_config": json.dumps(config),
            "model_name": "m",
            "model_instance_name": "m_0",
            "model_instance_kind": "CPU",
            "model_instance_device_id": "0",
            "model_repository": "/models/m",
            "model_version": "1",
        }
    )
    return loaded


closed: list[str] = []


@model
def words(text: str) -> Iterator[Annotated[str, Name("token")]]:
    """One word at a time; some are no words."""
    try:
        for word in text.split():
            if word == "bad":
                raise Reject("a bad word")
            if word == "broken":
                raise ValueError("a broken word")
            if word == "fatal":
                raise Fatal("no words left")
            yield 3 if word == "three" else word  # type: ignore[misc]
    finally:
        closed.append(text)


@model
async def awaited(text: str) -> AsyncIterator[Annotated[str, Name("token")]]:
    for word in text.split():
        yield word


def stream(step: Any, *requests: Request) -> list[list[str]]:
    loaded = load(step)
    assert loaded.execute(list(requests)) is None
    answers = [request.sender.texts() for request in requests]
    loaded.finalize()
    for request in requests:
        assert [last for _, last in request.sender.sent].count(True) == 1
    return answers


@pytest.mark.parametrize("step", [words, awaited])
def test_every_value_is_a_response_and_every_request_a_stream(step: Any) -> None:
    assert stream(step, Request("a b c"), Request(""), Request("d")) == [["a", "b", "c"], [], ["d"]]


@pytest.mark.parametrize(
    "text, said",
    [
        ("a bad b", "a bad word"),
        ("a broken b", "ValueError: a broken word"),
        ("a three b", "output 'token': int is no str [TPB206]"),
    ],
)
def test_what_goes_wrong_ends_its_own_stream(text: str, said: str) -> None:
    (first, second), (other,) = stream(words, Request(text), Request("good"))
    assert first == "a" and said in second and other == "good"


def test_a_generator_is_closed_when_the_client_goes() -> None:
    closed.clear()
    assert stream(words, Request("a b c", cancelled=True)) == [[]]
    assert closed == ["a b c"]


def test_a_stream_answers_one_item() -> None:
    for request in (Request("a", "b"), Request()):
        ((message,),) = stream(words, request)
        assert "items, and a stream answers one [TPB235]" in message


def test_a_request_that_cannot_be_read_has_a_stream_too() -> None:
    request = Request("a")
    request._tensors = []
    ((message,),) = stream(words, request)
    assert "input 'text' is missing [TPB224]" in message


def test_after_a_fatal_error_streams_are_refused() -> None:
    loaded = load(words)
    first, second = Request("fatal"), Request("a")
    loaded.execute([first])
    assert "no words left" in first.sender.texts()[0]
    loaded.execute([second])
    assert "no words left" in second.sender.texts()[0] and not loaded.is_ready()
    loaded.finalize()


def test_more_streams_than_threads_wait_their_turn() -> None:
    running, most = [0], [0]
    lock = threading.Lock()

    @model(workers=2)
    def counted(text: str) -> Iterator[Annotated[str, Name("token")]]:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        yield text
        with lock:
            running[0] -= 1

    assert stream(counted, *[Request(str(index)) for index in range(20)]) == [[str(index)] for index in range(20)]
    assert most[0] <= 2


def test_a_generator_belongs_to_one_item() -> None:
    with pytest.raises(DeclarationError) as caught:

        @model(batch="stack")
        def step(text: str, ctx: Context) -> Iterator[Annotated[str, Name("token")]]:
            yield text

    assert "TPB111" in str(caught.value) and "a generator answers one item with many responses" in str(caught.value)


def test_a_generator_says_what_it_yields() -> None:
    with pytest.raises(DeclarationError) as caught:

        @model
        def step(text: str) -> Annotated[str, Name("token")]:  # type: ignore[misc]
            yield text

    assert caught.value.code == "TPB107" and "the function yields, and its return annotation is" in caught.value.what
    assert caught.value.fix.startswith('write `-> Iterator[Annotated[str, Name("token")]]`')


@pytest.mark.parametrize("kind", [SystemExit, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit])
def test_every_stream_ends_whatever_is_raised_in_it(kind: type[BaseException]) -> None:
    """A client of a decoupled model waits for the final flag without a limit."""

    @model(name="m")
    def step(text: str) -> Iterator[Annotated[str, Name("token")]]:
        yield text
        raise kind

    request = Request("a")
    loaded = load(step)
    loaded.execute([request])
    try:
        assert request.sender.ended.wait(0.3), "the stream never ended"
    finally:
        loaded.finalize()
