"""A bad item among good ones, in every mode: exactly the rule."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from . import option_steps
from .conftest import Answer, Server, answered, failure


def numbers(*values: int) -> dict[str, Any]:
    return {"x": np.array(values, np.int64).reshape(-1, 1)}


def values(answer: Answer, name: str = "y") -> list[int]:
    found: list[int] = answered(answer)[name][:, 0].tolist()
    return found


#: Steps in which a bad item fails its own request and nothing else, and the text that tells of -2.
ALONE = {
    "bad_each": "RuntimeError: below zero: -2",
    "bad_each_workers": "RuntimeError: below zero: -2",
    "bad_stack_split": "RuntimeError: below zero: -2",
    "bad_list": "below zero: -2",
    "bad_list_split": "RuntimeError: below zero: -2",
    "bad_pad_split": "RuntimeError: below zero: -2",
    "bad_context": "below zero: -2",
}


@pytest.mark.parametrize("step", ALONE)
def test_a_bad_item_fails_its_own_request(side: Server, step: str) -> None:
    entry = side.deploy_step(getattr(option_steps, step))
    requests = [numbers(1, 2), numbers(3, -2, 5), numbers(7), numbers(8, 9)]
    answers = side.together(entry, requests)
    assert [values(answer) for answer in (answers[0], *answers[2:])] == [[10, 20], [70], [80, 90]]
    error = failure(answers[1])
    told_by_author = step in ("bad_list", "bad_context")
    assert error.code == ("INVALID_ARG" if told_by_author else "INTERNAL")
    assert f"model '{step}'" in error.message
    assert f"item 1 of 3: {ALONE[step]}" in error.message
    assert values(side.infer(entry, numbers(4))) == [40]


@pytest.mark.parametrize("step", ["bad_each", "bad_stack_split", "bad_list_split"])
@pytest.mark.parametrize(("x", "code", "text"), [(404, "NOT_FOUND", "no such thing"), (13, "INVALID_ARG", "bad luck")])
def test_a_bad_item_keeps_its_status(side: Server, step: str, x: int, code: str, text: str) -> None:
    entry = side.deploy_step(getattr(option_steps, step))
    good, bad = side.together(entry, [numbers(1), numbers(2, x)])
    assert values(good) == [10]
    assert failure(bad).code == code
    assert "item 1 of 2" in failure(bad).message and text in failure(bad).message


def test_stack_without_fallback_fails_the_call_and_says_how_not_to(side: Server) -> None:
    entry = side.deploy_step(option_steps.bad_stack)
    answers = side.together(entry, [numbers(1), numbers(2, -2), numbers(3)])
    for answer in answers:
        assert failure(answer).code == "INTERNAL"
        assert 'joined 4 items of 3 requests (fallback="split" fails only the bad)' in failure(answer).message
    assert "item 0 of 1: RuntimeError: below zero: -1" in failure(side.together(entry, [numbers(-1)])[0]).message


def test_request_mode_fails_one_request(side: Server) -> None:
    entry = side.deploy_step(option_steps.bad_request)
    answers = side.together(entry, [numbers(1, 2), numbers(3, -2), numbers(5)])
    assert [values(answers[0]), values(answers[2])] == [[10, 20], [50]]
    assert "RuntimeError: below zero: -2" in failure(answers[1]).message


def test_the_context_rejects_with_any_status(side: Server) -> None:
    entry = side.deploy_step(option_steps.bad_context)
    answers = side.together(entry, [numbers(1), numbers(-9), numbers(-1, 2)])
    assert values(answers[0]) == [10]
    assert [failure(answer).code for answer in answers[1:]] == ["UNAVAILABLE", "INVALID_ARG"]


#: Step -> how many items of the request (1, -2, 3, 404, 13, 6) answer in spite of the bad ones.
MASKED = {
    "bad_each_mask": [0, 1, 0, 2, 3, 0],
    "bad_workers_mask": [0, 1, 0, 2, 3, 0],
    "bad_all_three": [0, 1, 0, 2, 3, 0],
}


@pytest.mark.parametrize("step", MASKED)
def test_masked_items_are_zeros_with_a_status(side: Server, step: str) -> None:
    entry = side.deploy_step(getattr(option_steps, step))
    first, second = side.together(entry, [numbers(1, -2, 3, 404, 13, 6), numbers(7, 8)])
    assert values(first, "state") == MASKED[step]
    assert values(first) == [10, 0, 30, 0, 0, 60]
    assert answered(first)["state"].dtype == np.int32
    assert (values(second, "state"), values(second)) == ([0, 0], [70, 80])


def test_a_masked_list(side: Server) -> None:
    entry = side.deploy_step(option_steps.bad_list_mask)
    first, second = side.together(entry, [numbers(-1, 2), numbers(-3)])
    assert (values(first), values(first, "state")) == ([0, 20], [3, 0])
    assert (values(second), values(second, "state")) == ([0], [3])


def test_a_masked_stack_without_fallback_marks_every_item_of_the_call(side: Server) -> None:
    entry = side.deploy_step(option_steps.bad_stack_mask)
    first, second = side.together(entry, [numbers(1, -2), numbers(3)])
    assert (values(first), values(first, "state")) == ([0, 0], [1, 1])
    assert (values(second), values(second, "state")) == ([0], [1])


def calls_of(side: Server, since: int) -> list[int]:
    return [int(rows) for rows in re.findall(r"counted: (\d+) rows", side.log()[since:])]


def test_the_search_for_three_bad_items_of_64_takes_few_calls(side: Server) -> None:
    entry = side.deploy_step(option_steps.counted, max_batch_size=64, delay_ms=10_000)
    before = len(side.log())
    bad = {5: -1, 40: 404, 41: 13}
    answers = side.together(entry, [numbers(bad.get(index, 1000 + index)) for index in range(64)])
    for index, answer in enumerate(answers):
        if index in bad:
            assert failure(answer).code == {-1: "INTERNAL", 404: "NOT_FOUND", 13: "INVALID_ARG"}[bad[index]]
        else:
            assert values(answer) == [10_000 + 10 * index]
    calls = calls_of(side, before)
    assert calls[0] == 64
    assert len(calls) <= 3 * 2 * math.log2(64) + 1


def test_one_traceback_in_the_log_with_the_authors_frames(side: Server) -> None:
    entry = side.deploy_step(option_steps.bad_stack)
    before = len(side.log())
    side.together(entry, [numbers(-71), numbers(-71)])
    written = side.log()[before:].replace("\\n", "\n").replace('\\"', '"')
    assert written.count("RuntimeError: below zero: -71") == 1
    assert written.count("Traceback (most recent call last)") == 1
    assert re.search(r'option_steps\.py", line \d+, in many', written)
    assert re.search(r'option_steps\.py", line \d+, in one', written)
    assert "joined_call.py" not in written


def test_what_a_client_did_wrong_leaves_no_traceback(side: Server) -> None:
    entry = side.deploy_step(option_steps.bad_each)
    before = len(side.log())
    assert failure(side.together(entry, [numbers(13)])[0]).code == "INVALID_ARG"
    assert "Traceback" not in side.log()[before:]
