"""The properties must notice real faults: each one planted here turns them red."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from triton_pyb.runtime import batching, execution, joined_call, outputs

from . import invariance

original_split = batching.split


def off_by_one(column: Any, counts: Sequence[int]) -> list[Any]:
    """The second request gets its rows one place too early."""
    parts = list(original_split(column, counts))
    if len(parts) > 1 and counts[0] and counts[1]:
        parts[1] = column[counts[0] - 1 : counts[0] - 1 + counts[1]]
    return parts


def dropped_row(column: Any, counts: Sequence[int]) -> list[Any]:
    """The last row of the last request is lost."""
    parts = list(original_split(column, counts))
    parts[-1] = parts[-1][:-1]
    return parts


def swapped_parts(column: Any, counts: Sequence[int]) -> list[Any]:
    """The first and the last request get each other's rows."""
    parts = list(original_split(column, counts))
    parts[0], parts[-1] = parts[-1], parts[0]
    return parts


def red(mode: str) -> bool:
    """Whether the property of that mode fails now."""

    @settings(
        max_examples=100,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(invariance.splits())
    def property_of_the_mode(split: invariance.Split) -> None:
        invariance.check(invariance.STEPS[mode], split)

    try:
        property_of_the_mode()
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("mode", ["each", "stack"])
def test_without_a_fault_the_property_is_green(mode: str) -> None:
    assert not red(mode)


@pytest.mark.parametrize("mode", [mode for mode in invariance.MODES if mode.startswith(("stack", "list", "pad"))])
@pytest.mark.parametrize("fault", [off_by_one, dropped_row, swapped_parts])
def test_a_fault_in_cutting_a_joined_result_is_noticed(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[..., Any], mode: str
) -> None:
    monkeypatch.setattr(joined_call, "split", fault)
    assert red(mode)


@pytest.mark.parametrize("mode", ["each", "stack"])
@pytest.mark.parametrize("fault", ["swapped", "repeated", "reversed"])
def test_answers_in_another_order_are_noticed(monkeypatch: pytest.MonkeyPatch, mode: str, fault: str) -> None:
    original = execution.Execution.run

    def run(self: execution.Execution, *args: Any) -> list[execution.Answer]:
        answers = original(self, *args)
        if fault == "reversed":
            return answers[::-1]
        if len(answers) > 1:
            answers[0] = answers[1]
            if fault == "swapped":
                answers[1] = original(self, *args)[0]
        return answers

    monkeypatch.setattr(execution.Execution, "run", run)
    assert red(mode)


def test_an_item_that_is_answered_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the mode "each": the second item of a request gets the first one's outputs."""
    original = outputs.Assembly.put_item
    first: dict[int, Any] = {}

    def put_item(self: Any, index: int, items: Any) -> None:
        if index == 0:
            first[id(self)] = items
        original(self, index, first.get(id(self), items) if index == 1 else items)

    monkeypatch.setattr(outputs.Assembly, "put_item", put_item)
    assert red("each")
