"""Bad items among good ones: whatever the split, the options and the company, each item meets the same end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from triton_pyb import Batch, NotFound, Reject, Tensor, model
from triton_pyb.runtime.refusals import Refusal

from .requests import answered, run

BAD = {-1: "INTERNAL", -2: "INVALID_ARG", -3: "NOT_FOUND"}
STATUS = {"INTERNAL": 1, "INVALID_ARG": 3, "NOT_FOUND": 2}


def one(x: int, lang: str = "") -> int:
    if x == -1:
        raise RuntimeError("bug")
    if x == -2:
        raise Reject("bad")
    if x == -3:
        raise NotFound("nothing")
    return x * 10


def many(x: Any, lang: Any = None) -> Any:
    return np.array([one(int(value)) for value in x], np.int64)


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    batch = draw(st.sampled_from(["each", "stack", "list", "pad"]))
    chosen: dict[str, Any] = {"batch": batch, "on_item_error": draw(st.sampled_from(["mask", "fail_request"]))}
    if batch == "each":
        if draw(st.booleans()):
            chosen["workers"] = 3
        return chosen
    chosen["fallback"] = "split"
    if draw(st.booleans()):
        chosen["limit"] = draw(st.integers(1, 4))
    if draw(st.booleans()):
        chosen["group_by"] = "lang"
    return chosen


def step(chosen: dict[str, Any]) -> Any:
    batch = chosen["batch"]
    number: Any = {"each": int, "list": Batch[int]}.get(batch, Tensor("INT64", ()))
    text: Any = str if batch == "each" else Batch[str]
    function = one if batch == "each" else many
    return model.wrap(function, name="m", inputs={"x": number, "lang": text}, outputs={"y": number}, **chosen)


items = st.lists(st.tuples(st.sampled_from([1, 2, 3, 4, -1, -2, -3]), st.sampled_from("ab")), max_size=5)


@settings(deadline=None, max_examples=300, report_multiple_bugs=False, suppress_health_check=list(HealthCheck))
@given(chosen=options(), parts=st.lists(items, min_size=1, max_size=5))
def test_every_item_meets_its_own_end(chosen: dict[str, Any], parts: list[list[tuple[int, str]]]) -> None:
    requests = [
        {
            "x": np.array([x for x, _ in part], np.int64).reshape(-1, 1),
            "lang": np.array([lang.encode() for _, lang in part] + [None], object)[:-1].reshape(-1, 1),
        }
        for part in parts
    ]
    answers = run(step(chosen), *requests)
    assert len(answers) == len(parts)
    for part, answer in zip(parts, answers, strict=True):
        bad = [(index, BAD[x]) for index, (x, _) in enumerate(part) if x < 0]
        if bad and chosen["on_item_error"] == "fail_request":
            assert isinstance(answer, Refusal), answer
            index, code = bad[0]
            assert (answer.code, f"item {index} of {len(part)}" in answer.message) == (code, True)
            continue
        outputs = answered(answer)
        assert outputs["y"].tolist() == [[max(x, 0) * 10] for x, _ in part]
        if chosen["on_item_error"] == "mask":
            assert outputs["status"].tolist() == [[STATUS[BAD[x]] if x < 0 else 0] for x, _ in part]


@settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
@given(n_items=st.integers(1, 64), bad=st.sets(st.integers(0, 63), max_size=4))
def test_the_search_is_short(n_items: int, bad: set[int]) -> None:
    calls: list[int] = []

    def counted(x: Any) -> Any:
        calls.append(len(x))
        return many(x)

    split = model.wrap(
        counted,
        name="m",
        batch="stack",
        fallback="split",
        inputs={"x": Tensor("INT64", ())},
        outputs={"y": Tensor("INT64", ())},
    )
    bad = {index for index in bad if index < n_items}
    answers = run(split, *[{"x": np.array([[-1 if index in bad else index]])} for index in range(n_items)])
    assert {index for index, answer in enumerate(answers) if isinstance(answer, Refusal)} == bad
    assert len(calls) <= len(bad) * 2 * np.ceil(np.log2(max(n_items, 2))) + 1


@pytest.mark.parametrize("planted", ["first half only", "last item left out"])
def test_the_property_notices_a_fault(monkeypatch: pytest.MonkeyPatch, planted: str) -> None:
    from triton_pyb.runtime import joined_call
    from triton_pyb.runtime.batching import halves

    def faulty(segments: Any) -> Any:
        parts = halves(segments)
        if planted == "first half only":
            return parts[:1]
        *others, last = parts
        return [*others, last[:-1] or last]

    monkeypatch.setattr(joined_call, "halves", faulty)
    with pytest.raises(AssertionError):
        test_every_item_meets_its_own_end()
