"""Cutting and joining columns; who meets is told by test_joined_call.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triton_pyb.runtime.batching import Segment, chunks, cut, halves, join, split

counts = st.lists(st.integers(0, 4), min_size=1, max_size=6)


@pytest.mark.parametrize("kind", ["array", "list"])
@given(counts=counts)
def test_split_undoes_join(kind: str, counts: list[int]) -> None:
    stops = np.cumsum([0, *counts])
    columns: list[Any] = [np.arange(start, stop) for start, stop in zip(stops, stops[1:], strict=False)]
    if kind == "list":
        columns = [list(column) for column in columns]
    parts = split(join(columns), counts)
    assert [list(part) for part in parts] == [list(column) for column in columns]


def test_one_column_is_not_copied() -> None:
    for column in (np.zeros((3, 2)), ["a", "b", "c"]):
        assert join([column]) is column
        assert split(column, [3])[0] is column
        assert cut(column, 0, 3) is column
    array = np.zeros((3, 2))
    assert np.shares_memory(cut(array, 1, 2), array)


@given(counts, st.integers(1, 5))
def test_chunks_are_full_but_the_last_and_lose_nothing(counts: list[int], size: int) -> None:
    segments = [Segment(index, 0, count) for index, count in enumerate(counts)]
    cut_up = list(chunks(segments, size))
    sizes = [sum(segment.n_items for segment in chunk) for chunk in cut_up]
    assert all(total == size for total in sizes[:-1]) and all(total <= size for total in sizes)
    items = [(s.request, item) for chunk in cut_up for s in chunk for item in range(s.start, s.stop)]
    assert items == [(index, item) for index, count in enumerate(counts) for item in range(count)]
    assert {s.request for chunk in cut_up for s in chunk} == set(range(len(counts)))


@given(counts.filter(lambda counts: sum(counts) > 1))
def test_halves_are_two_and_smaller(counts: list[int]) -> None:
    segments = [Segment(index, 0, count) for index, count in enumerate(counts)]
    totals = [sum(segment.n_items for segment in half) for half in halves(segments)]
    assert sum(totals) == sum(counts) and max(totals) < sum(counts)
    assert len([total for total in totals if total]) == 2
