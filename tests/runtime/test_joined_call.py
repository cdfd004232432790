"""One call for the items of several requests: who meets, and what a bad item does to the others."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triton_pyb import (
    Annotated,
    Batch,
    Context,
    Fatal,
    ItemError,
    Json,
    Name,
    NotFound,
    Reject,
    Tensor,
    model,
)
from triton_pyb.runtime.context import RequestInfo

from .requests import Log, answered, execution, refused, run, tensor

Array = np.ndarray[Any, Any]
Vector = Annotated[Array, Tensor("FP32", (2,))]
MODES = ["stack", "list", "pad"]


def rows(*values: float) -> Array:
    """One row of two equal numbers for each value."""
    return np.array([[value, value] for value in values], np.float32).reshape(-1, 2)


def firsts(answer: Any) -> list[float]:
    return [float(value) for value in answered(answer)["y"][:, 0]]


class Calls(list[list[float]]):
    """What the function got, call by call; it raises at 2 and passes everything else on."""

    def __call__(self, x: Any) -> Any:
        values = [float(item[0]) for item in x]
        self.append(values)
        if 2 in values:
            raise ValueError("two is broken")
        return x

    def step(self, batch: str = "stack", **options: Any) -> Any:
        word: Any = Batch[Vector] if batch == "list" else Tensor("FP32", (2,))
        inputs, outputs = {"x": word}, {"y": word}
        return model.wrap(lambda x: self(x), inputs=inputs, outputs=outputs, name="m", batch=batch, **options)


# --- who meets


@pytest.mark.parametrize("batch", MODES)
def test_all_items_meet_in_one_call(batch: str) -> None:
    calls = Calls()
    answers = run(calls.step(batch), {"x": rows(5)}, {"x": rows(6, 7)}, {"x": rows()})
    assert calls == [[5, 6, 7]]
    assert [firsts(answer) for answer in answers] == [[5], [6, 7], []]


def test_in_the_mode_request_nobody_meets() -> None:
    calls = Calls()
    answers = run(calls.step("request"), {"x": rows(5)}, {"x": rows(6, 7)}, {"x": rows()})
    assert calls == [[5], [6, 7], []]
    assert [firsts(answer) for answer in answers] == [[5], [6, 7], []]


@pytest.mark.parametrize("batch", MODES)
@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_no_call_gets_more_items_than_the_limit(batch: str, limit: int) -> None:
    calls = Calls()
    answers = run(calls.step(batch, limit=limit), {"x": rows(5, 6, 7)}, {"x": rows(8)}, {"x": rows(9, 10, 11)})
    assert max(map(len, calls)) <= limit and sum(calls, []) == [5, 6, 7, 8, 9, 10, 11]
    assert len(calls) == -(-7 // limit)
    assert [firsts(answer) for answer in answers] == [[5, 6, 7], [8], [9, 10, 11]]


def grouped(calls: list[Any]) -> Any:
    def function(x: Any, language: Any) -> Any:
        calls.append((x[:, 0].tolist(), list(language)))
        return x

    return model.wrap(
        function,
        inputs={"x": Tensor("FP32", (2,)), "language": Batch[str]},
        outputs={"y": Tensor("FP32", (2,))},
        name="m",
        batch="stack",
        group_by="language",
    )


def test_items_meet_that_agree_in_an_input() -> None:
    calls: list[Any] = []
    answers = run(
        grouped(calls),
        {"x": rows(5, 6), "language": ["ko", "en"]},
        {"x": rows(7), "language": ["ko"]},
    )
    assert calls == [([5, 7], ["ko", "ko"]), ([6], ["en"])]
    assert [firsts(answer) for answer in answers] == [[5, 6], [7]]


def test_requests_meet_that_agree_in_a_parameter() -> None:
    calls = Calls()
    requests = [{"x": rows(value)} for value in (5, 6, 7, 8)]
    infos = [RequestInfo(parameters=parameters) for parameters in ({"beam": 1}, {"beam": True}, {}, {"beam": 1})]
    answers = execution(calls.step(group_by="beam")).run(requests, None, infos)
    assert calls == [[5, 8], [6], [7]]
    assert [firsts(answer) for answer in answers] == [[5], [6], [7], [8]]


# --- bad items


def test_a_call_that_raises_fails_its_requests_and_names_the_way_out() -> None:
    log = Log()
    answers = run(Calls().step(), {"x": rows(5)}, {"x": rows(2)}, log=log)
    for answer in answers:
        message = refused(answer, "INTERNAL")
        assert 'in a call that joined 2 items of 2 requests (fallback="split" fails only the bad)' in message
        assert message.endswith("ValueError: two is broken")
    assert len(log) == 1


@pytest.mark.parametrize("batch", MODES)
def test_splitting_finds_the_bad_one(batch: str) -> None:
    calls = Calls()
    log = Log()
    requests = [{"x": rows(*values)} for values in ((5, 6), (7, 2, 8), (9,), (2,), (3, 4))]
    answers = run(calls.step(batch, fallback="split"), *requests, log=log)
    assert [firsts(answers[index]) for index in (0, 2, 4)] == [[5, 6], [9], [3, 4]]
    assert "item 1 of 3: ValueError: two is broken" in refused(answers[1], "INTERNAL")
    assert "item 0 of 1: ValueError: two is broken" in refused(answers[3], "INTERNAL")
    assert len(log) == 2


@pytest.mark.parametrize("batch", MODES)
def test_splitting_keeps_a_request_without_items(batch: str) -> None:
    requests = [{"x": rows(*values)} for values in ((), (2,), ())]
    answers = run(Calls().step(batch, fallback="split"), *requests)
    assert firsts(answers[0]) == firsts(answers[2]) == []


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3), min_size=1, max_size=5))
def test_splitting_fails_the_bad_requests_and_no_other(values: list[list[int]]) -> None:
    answers = run(Calls().step(fallback="split"), *[{"x": rows(*part)} for part in values])
    for part, answer in zip(values, answers, strict=True):
        if 2 in part:
            assert f"item {part.index(2)} of {len(part)}" in refused(answer, "INTERNAL")
        else:
            assert firsts(answer) == part


@pytest.mark.parametrize("batch", MODES)
def test_the_function_rejects_an_item(batch: str) -> None:
    word: Any = Batch[Vector] if batch == "list" else Vector

    def step(x: Any, ctx: Context) -> Any:
        for index, item in enumerate(x):
            if item[0] == 1:
                ctx.reject(index, "one is not wanted")
            if item[0] == 3:
                ctx.reject(index, NotFound("three is not there"))
        return x

    step.__annotations__.update(
        {
            "x": word,
            "return": Batch[Annotated[Array, Tensor("FP32", (2,), name="y")]]
            if batch == "list"
            else Annotated[Array, Tensor("FP32", (2,), name="y")],
        }
    )
    answers = run(model(batch=batch, name="m")(step), {"x": rows(5, 1)}, {"x": rows(6)}, {"x": rows(3)})
    assert "item 1 of 2: one is not wanted" in refused(answers[0], "INVALID_ARG")
    assert firsts(answers[1]) == [6]
    assert "item 0 of 1: three is not there" in refused(answers[2], "NOT_FOUND")


def failing(x: Any) -> Any:
    """An ItemError in place of 1 and of 3, None for 4, the value of the others."""
    special = {1: ItemError("one is not wanted"), 3: ItemError(NotFound("three is not there")), 4: None}
    return [special.get(int(item[0]), str(int(item[0]))) for item in x]


def listing(**options: Any) -> Any:
    return model.wrap(
        failing, inputs={"x": Tensor("FP32", (2,))}, outputs={"y": Batch[str]}, name="m", batch="stack", **options
    )


def test_an_error_stands_in_place_of_an_item() -> None:
    answers = run(listing(), {"x": rows(5, 1)}, {"x": rows(6)}, {"x": rows(3)}, {"x": rows(4)})
    assert "item 1 of 2: one is not wanted" in refused(answers[0], "INVALID_ARG")
    assert answered(answers[1])["y"].tolist() == [[b"6"]]
    refused(answers[2], "NOT_FOUND")
    assert "None is no text [TPB206]" in refused(answers[3], "INTERNAL")
    assert repr(ItemError("x")) == "ItemError('x')"


def test_masked_items_are_marked_and_the_others_answered() -> None:
    (answer,) = run(listing(on_item_error="mask"), {"x": rows(5, 1, 3, 4, 6)})
    outputs = answered(answer)
    assert outputs["y"].ravel().tolist() == [b"5", b"", b"", b"", b"6"]
    assert outputs["status"].dtype == np.int32 and outputs["status"].ravel().tolist() == [0, 3, 2, 1, 0]


def test_a_masked_output_of_another_name_and_only_when_asked() -> None:
    step = listing(on_item_error="mask", status_output="state")
    first, second = run(step, {"x": rows(1)}, {"x": rows(1)}, requested=[{"state"}, {"y"}])
    assert list(answered(first)) == ["state"] and list(answered(second)) == ["y"]


@pytest.mark.parametrize("mode", ["each", *MODES])
def test_an_item_that_cannot_be_read_is_masked(mode: str) -> None:
    def step(value: Any) -> Any:
        return value

    words: Any = {"value": Json()} if mode == "each" else {"value": Batch[Annotated[Any, Json()]]}
    outputs: Any = {"y": words["value"]}
    marked = model.wrap(step, inputs=words, outputs=outputs, name="m", batch=mode, on_item_error="mask")
    (answer,) = run(marked, {"value": [b"1", b"{", b"3"]})
    assert answered(answer)["y"].ravel().tolist() == [b"1", b"", b"3"]
    assert answered(answer)["status"].ravel().tolist() == [0, 3, 0]


def test_masked_rows_of_a_stacked_output_are_zero_and_the_functions_array_untouched() -> None:
    kept: list[Array] = []

    @model(batch="stack", on_item_error="mask", name="m")
    def step(x: Vector, ctx: Context) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        ctx.reject(1, "not this one")
        kept.append(x + 1)
        return kept[0]

    (answer,) = run(step, {"x": rows(5, 6, 7)})
    assert firsts(answer) == [6, 0, 8] and kept[0][:, 0].tolist() == [6, 7, 8]


@pytest.mark.parametrize("batch", ["each", "stack"])
def test_exceptions_that_mean_a_bad_request(batch: str) -> None:
    log = Log()
    calls = Calls()
    step = model.wrap(
        lambda x: calls(x[None] if batch == "each" else x)[0] if batch == "each" else calls(x),
        inputs={"x": Tensor("FP32", (2,))},
        outputs={"y": Tensor("FP32", (2,))},
        name="m",
        batch=batch,
        bad_input=(ValueError,),
    )
    (answer,) = run(step, {"x": rows(2)}, log=log)
    assert "ValueError: two is broken" in refused(answer, "INVALID_ARG") and log == []


@pytest.mark.parametrize("batch", ["each", "stack", "request"])
def test_after_a_fatal_error_every_request_is_refused(batch: str) -> None:
    calls: list[int] = []

    def function(x: Any) -> Any:
        calls.append(1)
        raise Fatal("the device is gone")

    step = model.wrap(
        function, inputs={"x": Tensor("INT8", ())}, outputs={"y": Tensor("INT8", ())}, name="m", batch=batch
    )
    ready = execution(step)
    request = {"x": np.zeros((1, 1), np.int8)}
    for answer in [*ready.run([request, request]), *ready.run([request])]:
        assert "the device is gone" in refused(answer, "UNAVAILABLE")
    assert len(calls) == 1


def test_a_joined_call_may_return_the_same_buffer_each_time() -> None:
    buffer = np.zeros((8, 2), np.float32)

    def function(x: Array) -> Array:
        np.multiply(x, 2, out=buffer[: len(x)])
        return buffer[: len(x)]

    step = model.wrap(
        function,
        inputs={"x": Tensor("FP32", (2,))},
        outputs={"y": Tensor("FP32", (2,))},
        name="m",
        batch="stack",
        limit=1,
    )
    first, second = run(step, {"x": rows(1)}, {"x": rows(2)})
    assert (firsts(first), firsts(second)) == ([2], [4])


def test_the_context_of_a_joined_call_knows_every_row() -> None:
    seen: list[Context] = []

    @model(batch="stack", name="m")
    def step(x: Vector, ctx: Context) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        seen.append(ctx)
        return x

    infos = [RequestInfo("a"), RequestInfo("b"), RequestInfo("c")]
    execution(step).run([{"x": rows(5)}, {"x": rows()}, {"x": rows(6, 7)}], None, infos)
    (ctx,) = seen
    assert [request.request_id for request in ctx.requests] == ["a", "b", "c"]
    assert [(ctx.requests[request].request_id, item) for request, item in ctx.rows] == [("a", 0), ("c", 0), ("c", 1)]


def test_json_of_items_of_several_requests() -> None:
    @model(batch="list", name="m")
    def step(value: Batch[Annotated[Any, Json()]]) -> Batch[Annotated[Any, Json(name="y")]]:
        return [[item] for item in value]

    answers = run(step, {"value": tensor(["1", "2"])}, {"value": tensor(['"a"'])})
    assert [[json.loads(text) for text in answered(answer)["y"].ravel()] for answer in answers] == [[[1], [2]], [["a"]]]


def test_a_rejection_out_of_a_joined_call_keeps_its_status() -> None:
    @model(batch="stack", name="m")
    def step(x: Vector) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        raise Reject("nothing of this")

    for answer in run(step, {"x": rows(1)}, {"x": rows(2)}):
        assert "nothing of this" in refused(answer, "INVALID_ARG")


def test_a_name_of_the_output_survives_in_every_mode() -> None:
    @model(batch="list", name="m")
    def step(x: Batch[Vector]) -> Batch[Annotated[str, Name("y")]]:
        return [str(item.tolist()) for item in x]

    assert answered(run(step, {"x": rows(1)})[0])["y"].tolist() == [[b"[1.0, 1.0]"]]


def test_a_default_stands_for_each_item() -> None:
    @model(batch="list", name="m")
    def listed(text: Batch[str], n: Batch[int] = 2) -> Batch[Annotated[str, Name("out")]]:  # type: ignore[assignment]
        return [word * times for word, times in zip(text, n, strict=True)]

    @model(batch="stack", name="m")
    def stacked(
        x: Annotated[Array, Tensor("INT64", (2,))], n: int = 3
    ) -> Annotated[Array, Tensor("INT64", (2,), name="out")]:
        doubled: Array = x * np.asarray(n)[:, None]
        return doubled

    (answer,) = run(listed, {"text": ["a", "b"]})
    assert answered(answer)["out"].tolist() == [[b"aa"], [b"bb"]]
    (answer,) = run(stacked, {"x": np.ones((2, 2), np.int64)})
    assert answered(answer)["out"].tolist() == [[3, 3], [3, 3]]
