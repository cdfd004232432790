"""``batch="pad"``: one array of items of different sizes, and the true sizes beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from triton_pyb import Annotated, Lengths, Tensor, model

from .requests import answered, refused, run

Array = np.ndarray[Any, Any]


def padded(seen: list[tuple[Any, Any]], **options: Any) -> Any:
    @model(batch="pad", name="m", **options)
    def step(
        tokens: Annotated[Array, Tensor("INT64", ("L",))], lengths: Annotated[Array, Lengths("tokens")]
    ) -> Annotated[Array, Tensor("INT64", ("L",), name="y")]:
        seen.append((tokens.tolist(), lengths.tolist()))
        return tokens + 1

    return step


def request(*items: list[int]) -> dict[str, Array]:
    return {"tokens": np.array(items, np.int64)}


def test_items_are_padded_to_the_longest_and_cut_back() -> None:
    seen: list[Any] = []
    answers = run(padded(seen), request([1, 2, 3]), request([4], [5]))
    assert seen == [([[1, 2, 3], [4, 0, 0], [5, 0, 0]], [3, 1, 1])]
    assert [answered(answer)["y"].tolist() for answer in answers] == [[[2, 3, 4]], [[5], [6]]]


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"pad_value": -1}, [[1, 2, 3], [4, -1, -1]]),
        ({"pad_to": 4}, [[1, 2, 3, 0], [4, 0, 0, 0]]),
        ({"multiple_of": 2}, [[1, 2, 3, 0], [4, 0, 0, 0]]),
        ({"multiple_of": 3, "pad_value": 9}, [[1, 2, 3], [4, 9, 9]]),
    ],
)
def test_the_size_and_the_filling_are_said(options: dict[str, Any], expected: Any) -> None:
    seen: list[Any] = []
    answers = run(padded(seen, **options), request([1, 2, 3]), request([4]))
    assert seen[0][0] == expected
    assert [answered(answer)["y"].tolist() for answer in answers] == [[[2, 3, 4]], [[5]]]


def test_an_item_above_the_size() -> None:
    seen: list[Any] = []
    message = refused(run(padded(seen, pad_to=2), request([1, 2, 3]))[0], "INVALID_ARG")
    assert "input 'tokens' has an axis of 3, above pad_to=2 [TPB231]" in message


def test_an_item_above_the_size_fails_its_own_request_only() -> None:
    seen: list[Any] = []
    bad, good = run(padded(seen, pad_to=2), request([1, 2, 3]), request([4]))
    refused(bad, "INVALID_ARG")
    assert answered(good)["y"].tolist() == [[5]]


def test_no_items() -> None:
    seen: list[Any] = []
    (answer,) = run(padded(seen), {"tokens": np.zeros((0, 3), np.int64)})
    assert answered(answer)["y"].shape[0] == 0


def test_two_variable_axes() -> None:
    seen: list[Any] = []

    @model(batch="pad", name="m")
    def step(
        x: Annotated[Array, Tensor("FP32", ("H", "W"))], sizes: Annotated[Array, Lengths("x")]
    ) -> Annotated[Array, Tensor("FP32", ("W",), name="y")]:
        seen.append(sizes.tolist())
        return np.asarray(x.sum(axis=1))

    one, other = run(step, {"x": np.ones((1, 2, 3), np.float32)}, {"x": np.ones((1, 3, 1), np.float32)})
    assert seen == [[[2, 3], [3, 1]]]
    assert answered(one)["y"].tolist() == [[2, 2, 2]] and answered(other)["y"].tolist() == [[3]]
