"""Answers: each request its own, whatever its company does."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triton_pyb import Annotated, Batch, Json, Name, NotFound, Reject, Tensor, Unavailable, Unsupported, model

from . import invariance
from .requests import Log, answered, refused, run

Array = np.ndarray[Any, Any]
Vector = Annotated[Array, Tensor("FP32", (2,))]


def rows(*values: float) -> Array:
    """One row of two equal numbers for each value."""
    return np.array([[value, value] for value in values], np.float32).reshape(-1, 2)


# --- batch invariance


@pytest.mark.parametrize("mode", invariance.MODES)
@given(split=invariance.splits(), batching=st.booleans())
def test_any_split_into_requests_gives_the_same_answers(mode: str, split: invariance.Split, batching: bool) -> None:
    invariance.check(invariance.STEPS[mode], split, batching)


# --- isolation


@model
def picky(x: Vector) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
    """Rejects 1, raises at 2, exits at 3, returns a wrong shape at 4, and passes the rest on."""
    if x[0] == 1:
        raise Reject("one is not wanted")
    if x[0] == 2:
        raise ValueError("two is broken")
    if x[0] == 3:
        sys.exit("three exits")
    return np.zeros(3, np.float32) if x[0] == 4 else x


@pytest.mark.parametrize(
    "bad, code, said",
    [
        (1, "INVALID_ARG", "model 'm', item 1 of 2: one is not wanted"),
        (2, "INTERNAL", "item 1 of 2: ValueError: two is broken"),
        (3, "INTERNAL", "item 1 of 2: SystemExit: three exits"),
        (4, "INTERNAL", "output 'y' has the shape [3] per item, declared [2] [TPB204]"),
    ],
)
@pytest.mark.parametrize("place", range(5))
def test_one_bad_item_fails_its_own_request(bad: float, code: str, said: str, place: int) -> None:
    requests = [{"x": rows(10 + index, 20 + index)} for index in range(5)]
    requests[place] = {"x": rows(99, bad)}
    answers = run(picky, *requests)
    assert said in refused(answers[place], code)
    for index, (request, answer) in enumerate(zip(requests, answers, strict=True)):
        if index != place:
            np.testing.assert_array_equal(answered(answer)["y"], request["x"])


@pytest.mark.parametrize(
    "kind, code",
    [
        (Reject, "INVALID_ARG"),
        (NotFound, "NOT_FOUND"),
        (Unavailable, "UNAVAILABLE"),
        (Unsupported, "UNSUPPORTED"),
    ],
)
@pytest.mark.parametrize("batch", ["each", "stack"])
def test_an_authors_refusal_has_its_status_and_no_traceback(kind: type[Exception], code: str, batch: str) -> None:
    def step(x: Vector) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        raise kind("no such thing")

    log = Log()
    (answer,) = run(model(batch=batch)(step), {"x": rows(1)}, log=log)
    assert refused(answer, code).startswith("model 'm'") and "no such thing" in refused(answer, code)
    assert log == []


def test_an_unexpected_exception_is_told_in_short_and_logged_once_with_the_authors_frames() -> None:
    log = Log()
    (answer,) = run(picky, {"x": rows(2)}, log=log)
    message = refused(answer, "INTERNAL")
    assert message.startswith("model 'm', picky() (test_execution.py:")
    assert "\n" not in message and "Traceback" not in message
    (text,) = log
    assert "Traceback" in text and 'raise ValueError("two is broken")' in text
    assert "triton_pyb/runtime" not in text


@pytest.mark.parametrize("kind", [KeyboardInterrupt, GeneratorExit])
def test_what_ends_the_process_is_not_swallowed(kind: type[BaseException]) -> None:
    @model
    def step(x: Vector) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        raise kind

    with pytest.raises(kind):
        run(step, {"x": rows(1)})


def test_an_unreadable_request_does_not_touch_its_neighbours() -> None:
    answers = run(picky, {"x": rows(7)}, {}, {"x": np.zeros((1, 3), np.float32)}, {"x": rows(8)})
    assert answered(answers[0])["y"][0, 0] == 7 and answered(answers[3])["y"][0, 0] == 8
    assert "input 'x' is missing" in refused(answers[1], "INVALID_ARG")
    assert "input 'x' has shape [1, 3]" in refused(answers[2], "INVALID_ARG")


# --- joined calls


@model(batch="stack", name="m")
def joined(x: Vector, text: Batch[str] = []) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:  # noqa: B006
    calls.append(len(x))
    if (x == 2).any():
        raise ValueError("two is broken")
    return x if not (x == 4).any() else x[1:]


calls: list[int] = []


@pytest.fixture(autouse=True)
def no_calls() -> None:
    calls.clear()


def test_all_requests_meet_in_one_call() -> None:
    answers = run(joined, {"x": rows(5)}, {"x": rows(6, 7)}, {"x": rows()}, {"x": rows(8)})
    assert calls == [4]
    assert [answered(answer)["y"][:, 0].tolist() for answer in answers] == [[5], [6, 7], [], [8]]


def test_an_exception_fails_the_requests_of_that_call_only() -> None:
    text = np.array([[b"a"]], object)
    log = Log()
    answers = run(
        joined, {"x": rows(5)}, {"x": rows(2)}, {"x": rows(6), "text": text}, {"x": rows(7), "text": text}, log=log
    )
    assert sorted(calls) == [2, 2]
    for answer in answers[:2]:
        message = refused(answer, "INTERNAL")
        assert "in a call that joined 2 items of 2 requests" in message and "ValueError: two is broken" in message
    assert [answered(answer)["y"][0, 0] for answer in answers[2:]] == [6, 7]
    assert len(log) == 1


def test_an_unreadable_request_is_not_joined() -> None:
    answers = run(joined, {"x": rows(5)}, {"x": np.zeros((1, 3), np.float32)}, {"x": rows(6)})
    assert calls == [2]
    refused(answers[1], "INVALID_ARG")
    assert [answered(answers[index])["y"][0, 0] for index in (0, 2)] == [5, 6]


def test_too_few_rows_are_refused() -> None:
    for answer in run(joined, {"x": rows(5)}, {"x": rows(4)}):
        message = refused(answer, "INTERNAL")
        assert "output 'y' has 1 rows, expected 2 (shape [1, 2])" in message and "[TPB203]" in message


# --- what functions do


def test_the_same_buffer_each_time() -> None:
    buffer = np.zeros(2, np.float32)

    @model
    def step(x: Vector) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        np.multiply(x, 2, out=buffer)
        return buffer

    first, second = run(step, {"x": rows(1, 2)}, {"x": rows(3)})
    assert answered(first)["y"][:, 0].tolist() == [2, 4] and answered(second)["y"][:, 0].tolist() == [6]


def test_the_input_itself_may_come_back() -> None:
    @model
    def step(x: Vector) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        return x

    request = rows(1, 2)
    (answer,) = run(step, {"x": request})
    array = answered(answer)["y"]
    request[:] = 0
    assert array[:, 0].tolist() == [1, 2]


def test_only_what_was_requested_is_answered() -> None:
    for mode, step in invariance.STEPS.items():
        part = [invariance.Item((1, 2), (3, 4), "a", 5)]
        wire = invariance.wire(part, True)
        first, second, third = run(step, wire, wire, wire, requested=[{"label"}, None, {"doubled", "doc"}])
        assert list(answered(first)) == ["label"], mode
        assert list(answered(second)) == ["doubled", "total", "label", "doc"]
        assert list(answered(third)) == ["doubled", "doc"]


def test_an_output_that_nobody_asked_for_is_not_written() -> None:
    """It costs nothing, and what is wrong with it fails nobody."""

    @model
    def step(x: Vector) -> tuple[Annotated[str, Name("a")], Annotated[Any, Json(name="b")]]:
        return "fine", object()

    (answer,) = run(step, {"x": rows(1)}, requested=[{"a"}])
    assert answered(answer)["a"].tolist() == [[b"fine"]]
    (answer,) = run(step, {"x": rows(1)})
    refused(answer, "INTERNAL")


@pytest.mark.parametrize("batching", [True, False])
@pytest.mark.parametrize("mode", invariance.MODES)
def test_a_request_without_items_gets_tensors_without_items(mode: str, batching: bool) -> None:
    (answer,) = run(invariance.STEPS[mode], invariance.wire([], batching), batching=batching)
    outputs = answered(answer)
    assert {name: array.dtype for name, array in outputs.items()} == {
        "doubled": np.float32,
        "total": np.float64,
        "label": object,
        "doc": object,
    }
    assert all(len(array) == 0 for array in outputs.values())
    assert outputs["label"].shape == ((0, 1) if batching else (0,))


def test_no_requests_no_answers() -> None:
    assert run(picky) == []
    assert run(joined) == [] and calls == []


def test_an_optional_input_that_does_not_come_has_the_functions_default() -> None:
    @model
    def step(x: Vector, text: str = "nothing") -> Annotated[str, Name("y")]:
        return text

    first, second = run(step, {"x": rows(1, 2)}, {"x": rows(3), "text": ["said"]})
    assert answered(first)["y"].ravel().tolist() == [b"nothing", b"nothing"]
    assert answered(second)["y"].ravel().tolist() == [b"said"]


def test_a_step_with_only_optional_inputs_answers_one_item() -> None:
    @model
    def step(text: str = "nothing") -> Annotated[str, Name("y")]:
        return text

    assert answered(run(step, {})[0])["y"].tolist() == [[b"nothing"]]


def test_a_hundred_requests_keep_their_order() -> None:
    requests = [{"x": rows(*range(10 * index, 10 * index + index % 3))} for index in range(100)]
    for step in (picky, joined):
        for request, answer in zip(requests[1:], run(step, *requests[1:]), strict=True):
            np.testing.assert_array_equal(answered(answer)["y"], request["x"])
