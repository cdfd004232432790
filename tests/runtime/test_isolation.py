"""Isolation, as a property: whatever a bad item does, the other requests (or, masked, the other items) never notice."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triton_pyb import Annotated, Batch, Context, ItemError, Json, Reject, Tensor, model
from triton_pyb.runtime.execution import Answer
from triton_pyb.runtime.refusals import Refusal
from triton_pyb.runtime.signature import Signature
from triton_pyb.runtime.steps import mark_of

from . import invariance
from .requests import run

#: What an item does, and the status its request gets for it.
GOOD = "good"
BAD = {"reject": "INVALID_ARG", "return": "INTERNAL", "unreadable": "INVALID_ARG"}
RAISE = {"raise": "INTERNAL"}

OPTIONS: list[dict[str, Any]] = [
    {"batch": "each"},
    {"batch": "each", "workers": 3},
    {"batch": "stack"},
    {"batch": "stack", "limit": 2},
    {"batch": "stack", "fallback": "split"},
    {"batch": "list"},
    {"batch": "list", "limit": 3, "fallback": "split"},
    {"batch": "pad", "fallback": "split"},
    {"batch": "request"},
]


def step_of(options: dict[str, Any], **more: Any) -> Any:
    """Echoes JSON values; obeys those that say ``{"do": ...}``."""

    def one(value: Any, ctx: Context, index: int) -> Any:
        what = value["do"]
        if what == "raise":
            raise ValueError("as told")
        if what == "reject":
            ctx.reject(index, "as told")
        return object() if what == "return" else value["id"]

    def single(value: Any, ctx: Context) -> Any:
        if value["do"] == "reject":
            raise Reject("as told")
        return one(value, ctx, 0)

    def many(value: Any, ctx: Context) -> Any:
        return [one(item, ctx, index) for index, item in enumerate(value)]

    each = options["batch"] == "each"
    word: Any = Json() if each else Batch[Annotated[Any, Json()]]
    function = single if each else many
    function.__annotations__.update({"value": word, "return": None})
    return model.wrap(function, inputs={"value": word}, outputs={"out": word}, name="m", **options, **more)


def wire(requests: list[list[str]]) -> list[dict[str, Any]]:
    """Requests of JSON items; an unreadable one is no JSON at all."""
    number = iter(range(1000))
    return [
        {
            "value": [
                b"{" if what == "unreadable" else json.dumps({"do": what, "id": next(number)}).encode() for what in part
            ]
        }
        for part in requests
    ]


def numbers(answer: Answer) -> list[Any]:
    assert not isinstance(answer, Refusal), answer
    return [json.loads(text) if text else None for text in answer["out"].ravel()]


def expected(requests: list[list[str]]) -> list[list[int | None]]:
    number = iter(range(1000))
    return [[None if what == "unreadable" else next(number) for what in part] for part in requests]


def batches(*told: str) -> st.SearchStrategy[list[list[str]]]:
    return st.lists(st.lists(st.sampled_from((GOOD, GOOD, *told)), max_size=3), min_size=1, max_size=5)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@given(requests=batches(*BAD))
def test_a_request_fails_for_its_own_items_only(options: dict[str, Any], requests: list[list[str]]) -> None:
    answers = run(step_of(options), *wire(requests))
    for part, ids, answer in zip(requests, expected(requests), answers, strict=True):
        codes = {BAD[what] for what in part if what in BAD}
        if codes:
            assert isinstance(answer, Refusal) and answer.code in codes
        else:
            assert numbers(answer) == ids


@pytest.mark.parametrize(
    "options", [one for one in OPTIONS if one["batch"] in ("each", "list", "stack", "pad")], ids=str
)
@given(requests=batches(*BAD))
def test_masked_an_item_fails_alone(options: dict[str, Any], requests: list[list[str]]) -> None:
    answers = run(step_of(options, on_item_error="mask"), *wire(requests))
    for part, ids, answer in zip(requests, expected(requests), answers, strict=True):
        assert numbers(answer) == [number if what == GOOD else None for what, number in zip(part, ids, strict=True)]
        assert not isinstance(answer, Refusal)
        codes = {GOOD: 0, "reject": 3, "return": 1, "unreadable": 3}
        assert answer["status"].ravel().tolist() == [codes[what] for what in part]


@pytest.mark.parametrize(
    "options", [one for one in OPTIONS if one["batch"] == "each" or one.get("fallback") == "split"], ids=str
)
@given(requests=batches(*BAD, "raise"))
def test_an_exception_stays_with_its_item_too(options: dict[str, Any], requests: list[list[str]]) -> None:
    """In the mode "each", and in the joined ones with ``fallback="split"``."""
    answers = run(step_of(options), *wire(requests))
    for part, ids, answer in zip(requests, expected(requests), answers, strict=True):
        codes = {{**BAD, **RAISE}[what] for what in part if what != GOOD}
        if codes:
            assert isinstance(answer, Refusal) and answer.code in codes
        else:
            assert numbers(answer) == ids


@pytest.mark.parametrize("options", [one for one in OPTIONS if one["batch"] in ("stack", "list")], ids=str)
@given(requests=batches("error"))
def test_an_error_in_place_of_an_item(options: dict[str, Any], requests: list[list[str]]) -> None:
    def function(value: Any) -> Any:
        return [ItemError("as told") if item["do"] == "error" else item["id"] for item in value]

    word: Any = Batch[Annotated[Any, Json()]]
    step = model.wrap(function, inputs={"value": word}, outputs={"out": word}, name="m", **options)
    answers = run(step, *wire(requests))
    for part, ids, answer in zip(requests, expected(requests), answers, strict=True):
        if "error" in part:
            assert isinstance(answer, Refusal) and answer.code == "INVALID_ARG"
            assert f"item {part.index('error')} of {len(part)}: as told" in answer.message
        else:
            assert numbers(answer) == ids


@pytest.mark.parametrize("mode", invariance.MODES)
def test_every_mode_travels_as_json(mode: str) -> None:
    mark = mark_of(invariance.STEPS[mode])
    assert mark is not None
    assert Signature.from_dict(json.loads(json.dumps(mark.signature.to_dict()))) == mark.signature


@given(
    lengths=st.lists(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), max_size=3), min_size=1, max_size=4),
    multiple=st.integers(1, 4),
)
def test_padding_two_inputs_of_two_sizes_changes_nothing(lengths: list[list[tuple[int, int]]], multiple: int) -> None:
    """Every request holds items of its first item's sizes; each is computed as if it were alone."""

    def function(a: Any, b: Any) -> dict[str, Any]:
        return {"a2": a * 2, "b2": b + 1, "both": a.sum(axis=1) + b.sum(axis=(1, 2))}

    step = model.wrap(
        function,
        inputs={"a": Tensor("FP32", ("L",)), "b": Tensor("INT32", ("L", "M"))},
        outputs={"a2": Tensor("FP32", ("L",)), "b2": Tensor("INT32", ("L", "M")), "both": Tensor("FP64", ())},
        name="m",
        batch="pad",
        multiple_of=multiple,
    )
    random = np.random.default_rng(0)
    requests = []
    for part in lengths:
        length, width = part[0] if part else (1, 1)
        requests.append(
            {
                "a": random.integers(0, 9, (len(part), length)).astype(np.float32),
                "b": random.integers(0, 9, (len(part), length, width)).astype(np.int32),
            }
        )
    for request, answer in zip(requests, run(step, *requests), strict=True):
        assert not isinstance(answer, Refusal), answer
        if len(request["a"]):
            np.testing.assert_array_equal(answer["a2"], request["a"] * 2)
            np.testing.assert_array_equal(answer["b2"], request["b"] + 1)
        both = request["a"].sum(axis=1) + request["b"].sum(axis=(1, 2))
        np.testing.assert_array_equal(answer["both"][:, 0], both)
