"""Steps with state, sequences, streams, calls and metrics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import numpy as np

from triton_pyb import (
    Annotated,
    Batch,
    Context,
    Json,
    Name,
    Reject,
    SequenceState,
    State,
    model,
)


class Vocabulary:
    """Stands for what is slow to load."""

    def __init__(self, words: list[str]) -> None:
        self.words = words


@model(settings={"words": ["a", "b"], "threshold": 0.5})
def with_state(index: int, vocabulary: State[Vocabulary], ctx: Context) -> Annotated[dict[str, Any], Json(name="y")]:
    return {"word": vocabulary.words[index], "threshold": ctx.settings["threshold"], "device": ctx.device}


@with_state.setup
def load_vocabulary(ctx: Context) -> Vocabulary:
    assert ctx.version_dir.startswith(ctx.model_dir)
    return Vocabulary(list(ctx.settings["words"]))


@model(name="tokenizer")
class Tokenizer:
    """A class step: setup once, called per item."""

    def setup(self) -> None:
        self.separator = " "

    def __call__(self, text: str) -> Annotated[int, Name("n_words")]:
        return len(text.split(self.separator))


class Total:
    def __init__(self, start: int) -> None:
        self.value = start


@model
def running_sum(x: int, total: SequenceState[Total]) -> Annotated[int, Name("sum")]:
    total.value += x
    return total.value


@running_sum.start_sequence
def start_at_100() -> Total:
    return Total(100)


@model(name="tokens")
def tokens(text: str, ctx: Context) -> Iterator[Annotated[str, Name("token")]]:
    """One response per word; stops early when told, fails in the middle when told."""
    for word in text.split():
        if word == "bad":
            raise Reject("a bad word")
        if word == "bug":
            raise KeyError("bug")
        yield word


@model(name="endless")
def endless(text: str, ctx: Context) -> Iterator[Annotated[int, Name("n")]]:
    n = 0
    try:
        while True:
            yield n
            n += 1
            time.sleep(0.01)
    finally:
        ctx.metrics.counter("endless_stopped", "streams that ended").increment()


@model(name="stopped")
def stopped(text: str, ctx: Context) -> Annotated[bool, Name("yes")]:
    """Whether a request that is still wanted sees itself so."""
    return not ctx.cancelled


@model(name="letters")
async def letters(text: str) -> AsyncIterator[Annotated[str, Name("letter")]]:
    for letter in text:
        await asyncio.sleep(0)
        yield letter


@model(name="slow")
def slow(x: float) -> Annotated[float, Name("y")]:
    time.sleep(0.2)
    return x + 1


@model(name="calls_slow", max_batch_size=8)
async def calls_slow(x: float, ctx: Context) -> Annotated[float, Name("z")]:
    answers = await asyncio.gather(*(ctx.call_async("sleeper", x=np.array([[x + n]])) for n in range(2)))
    return float(sum(answer["y"][0, 0] for answer in answers))


@model(name="sleeper")
async def sleeper(x: float) -> Annotated[float, Name("y")]:
    await asyncio.sleep(0.2)
    return x + 1


@model(name="calls_refuser")
def calls_refuser(code: str, ctx: Context) -> Annotated[str, Name("answer")]:
    return str(ctx.call("refuse", code=[[code]])["answer"][0, 0], "utf-8")


@model(name="calls_anything")
def calls_anything(target: str, ctx: Context) -> Annotated[str, Name("answer")]:
    ctx.call(target, x=np.zeros((1, 3), np.float32))
    return "answered"


@model(name="ring_a")
def ring_a(target: str, ctx: Context) -> Annotated[str, Name("answer")]:
    return str(ctx.call("ring_b", target=[["ring_a"]])["answer"][0, 0])


@model(name="ring_b")
def ring_b(target: str, ctx: Context) -> Annotated[str, Name("answer")]:
    return str(ctx.call(target, target=[["ring_b"]])["answer"][0, 0])


@model(name="collects")
def collects(text: str, ctx: Context) -> Annotated[list[str], Json(name="all")]:
    return [str(part["token"][0, 0], "utf-8") for part in ctx.stream("tokens", text=[[text]])]


@model(name="counted")
def counted(x: float, ctx: Context) -> Annotated[float, Name("y")]:
    ctx.metrics.histogram("counted_x", "values seen", buckets=(1.0, 10.0)).observe(x)
    ctx.metrics.counter("counted_calls", "calls", labels={"kind": "test"}).increment()
    return x


@model(name="asks")
def asks(x: int, ctx: Context) -> Annotated[dict[str, Any], Json(name="about")]:
    request = ctx.request
    return {
        "id": request.request_id,
        "parameters": request.parameters,
        "correlation_id": request.correlation_id,
        "timeout_us": request.timeout_us,
        "has_time": request.remaining_s is None or request.remaining_s > 0,
        "cancelled": request.cancelled,
    }


@model(name="patient", instances=1, max_batch_size=0)
def patient(x: float, ctx: Context) -> Annotated[float, Name("y")]:
    """The third item of a request with a timeout of 0.1 s is not begun."""
    time.sleep(0.06)
    return x


@model(name="dozes", instances=1, max_batch_size=0)
def dozes(x: float) -> Annotated[float, Name("y")]:
    time.sleep(1)
    return x


class Echoed(NamedTuple):
    text_out: Batch[str]
    data_out: Batch[bytes]


@model(name="echo", batch="list")
def echo(text: Batch[str], data: Batch[bytes]) -> Echoed:
    return Echoed(list(text), list(data))
