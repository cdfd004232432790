"""The same items, cut into requests in any way; what the answers must be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from .conftest import Answer, answered
from .mode_steps import OUTPUTS, Item, expected

#: Of every deployed step; the server refuses a request with more items.
MAX_BATCH_SIZE = 8

numbers = st.integers(-5, 5)
items = st.builds(
    Item,
    vector=st.lists(numbers, max_size=3).map(tuple),
    pair=st.tuples(numbers, numbers),
    text=st.sampled_from(["", "a", "한글"]) | st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    number=st.none() | numbers,
)


class Split(NamedTuple):
    """`cuts[i]`: item i begins a new request."""

    items: Sequence[Item]
    cuts: Sequence[bool]

    def requests(self) -> list[list[Item]]:
        parts: list[list[Item]] = []
        for item, cut in zip(self.items, self.cuts, strict=True):
            if not parts or cut or len(parts[-1]) == MAX_BATCH_SIZE or _company(parts[-1][-1]) != _company(item):
                parts.append([])
            parts[-1].append(item)
        return parts


def _company(item: Item) -> tuple[int, bool]:
    """Items that differ here cannot come in one request."""
    return len(item.vector), item.number is None


@st.composite
def splits(draw: st.DrawFn, max_size: int = 8) -> Split:
    drawn = draw(st.lists(items, min_size=1, max_size=max_size))
    return Split(drawn, draw(st.lists(st.booleans(), min_size=len(drawn), max_size=len(drawn))))


def fixed(seed: int, n_items: int) -> Iterator[Split]:
    """The same `n_items` items: one by one, as few requests as possible, and two ways between."""
    random = np.random.default_rng(seed)
    drawn = [
        Item(
            tuple(random.integers(-5, 6, random.integers(0, 3)).tolist()),
            (int(random.integers(-5, 6)), int(random.integers(-5, 6))),
            random.choice(["", "a", "한글", "a\0"]),
            None if random.random() < 0.4 else int(random.integers(-5, 6)),
        )
        for _ in range(n_items)
    ]
    yield Split(drawn, [True] * n_items)
    yield Split(drawn, [False] * n_items)
    for _ in range(2):
        yield Split(drawn, (random.random(n_items) < 0.4).tolist())


def wire(part: Sequence[Item]) -> dict[str, Any]:
    """One request."""
    count = len(part)
    request: dict[str, Any] = {
        "vector": np.array([item.vector for item in part], np.float32).reshape(count, len(part[0].vector)),
        "pair": np.array([item.pair for item in part], np.int32).reshape(count, 2),
        "text": np.array([item.text.encode() for item in part] + [None], object)[:-1].reshape(count, 1),
    }
    if part[0].number is not None:
        request["count"] = np.array([item.number for item in part], np.int64).reshape(count, 1)
    return request


def check(requests: Sequence[Sequence[Item]], answers: Sequence[Answer]) -> None:
    """Raise AssertionError where an answer is not what its own request's items deserve, bit for bit."""
    assert len(answers) == len(requests)
    for part, answer in zip(requests, answers, strict=True):
        outputs = answered(answer)
        assert sorted(outputs) == sorted(OUTPUTS)
        for name, array in outputs.items():
            assert len(array) == len(part), name
            for item, row in zip(part, array, strict=True):
                want = expected(item)[name]
                if name in ("doubled", "found"):
                    np.testing.assert_array_equal(row, want, strict=True)
                else:
                    assert row.tolist() == [want], name
