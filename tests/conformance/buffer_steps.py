"""Functions that answer with one buffer of their own, or say where their arguments lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from triton_pyb import Annotated, Batch, Name, Pipeline, Tensor, model, preprocess

_buffer = np.zeros((8, 2), np.float32)
X = {"x": Tensor("FP32", (2,))}
Y = {"y": Tensor("FP32", (2,))}


def fill(x: Any) -> Any:
    """The answer lies in one buffer, whatever is asked."""
    if x.ndim == 1:
        _buffer[0] = x * 2
        return _buffer[0]
    if (x == 13).any():
        raise ValueError("thirteen")
    _buffer[: len(x)] = x * 2
    return _buffer[: len(x)]


def fill_list(x: list[Any]) -> list[Any]:
    _buffer[: len(x)] = np.array(x) * 2
    return [_buffer[index] for index in range(len(x))]


def double_in_place(x: Any) -> Any:
    if (x == 13).any():
        x *= 100
        raise ValueError("thirteen, and the input is spoilt")
    x *= 2
    return x


buffer_each = model.wrap(fill, name="buffer_each", inputs=X, outputs=Y)
buffer_limit = model.wrap(fill, name="buffer_limit", batch="stack", inputs=X, outputs=Y, limit=2)
buffer_split = model.wrap(
    fill, name="buffer_split", batch="stack", inputs=X, outputs=Y, fallback="split", on_item_error="mask"
)
buffer_request = model.wrap(fill, name="buffer_request", batch="request", inputs=X, outputs=Y)
listed: dict[str, Any] = {"x": Batch[Annotated[Any, Tensor("FP32", (2,))]]}
buffer_list = model.wrap(
    fill_list, name="buffer_list", batch="list", inputs=listed, outputs={"y": listed["x"]}, limit=3
)
in_place_split = model.wrap(
    double_in_place, name="in_place_split", batch="stack", inputs=X, outputs=Y, fallback="split", on_item_error="mask"
)
in_place_each = model.wrap(double_in_place, name="in_place_each", inputs=X, outputs=Y)


@model(name="twice_the_same", batch="stack")
def twice_the_same(
    x: Annotated[Any, Tensor("FP32", (2,))],
) -> tuple[Annotated[Any, Tensor("FP32", (2,), name="a")], Annotated[Any, Tensor("FP32", (2,), name="b")]]:
    return x, x


@preprocess
def first(a: str, b: str = "no b") -> Annotated[str, Name("joined")]:
    return f"{a}|{b}"


@model
def second(joined: str, c: str = "no c", number: int = 5) -> Annotated[str, Name("all")]:
    return f"{joined}|{c}|{number}"


optional = Pipeline("optional", [first, second], inputs=["c"], max_queue_delay_microseconds=300_000)


@model
def three(x: int = 3, y: str = "a") -> Annotated[str, Name("text")]:
    return f"{x}{y}"


all_optional = Pipeline("all_optional", [three], max_queue_delay_microseconds=300_000)
