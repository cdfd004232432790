"""Batch invariance: any split of the same items into requests gives the same answers, each request its own.

The step under test takes several inputs (one of open size, one optional, text) and gives several outputs; what it
should answer is computed here without the package.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from triton_pyb import Annotated, Batch, Json, Name, Tensor, model

from .requests import answered, run

Array = np.ndarray[Any, Any]
DEFAULT_COUNT = 7
DEFAULT_COUNTS = np.array(DEFAULT_COUNT)


class Item(NamedTuple):
    vector: tuple[int, ...]
    pair: tuple[int, int]
    text: str
    amount: int | None  # of the input `count`; None: it is left out

    @property
    def company(self) -> tuple[int, bool]:
        """Items that differ here cannot come in one request."""
        return len(self.vector), self.amount is None

    def expected(self) -> dict[str, Any]:
        count = DEFAULT_COUNT if self.amount is None else self.amount
        return {
            "doubled": np.array(self.vector, np.float32) * 2,
            "total": np.float64(sum(self.pair) + count),
            "label": f"{self.text}-{count}".encode(),
            "doc": json.dumps({"text": self.text, "first": self.pair[0]}, ensure_ascii=False).encode(),
        }


class Split(NamedTuple):
    """Items, cut into requests; `empty` requests stand before those places."""

    items: list[Item]
    cuts: list[bool]
    empty: set[int]

    def requests(self) -> list[list[Item]]:
        parts: list[list[Item]] = []
        for index, item in enumerate(self.items):
            if index in self.empty:
                parts.append([])
            if not parts or not parts[-1] or self.cuts[index] or parts[-1][-1].company != item.company:
                parts.append([])
            parts[-1].append(item)
        return parts or [[]]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
numbers = st.integers(-5, 5)
items = st.builds(
    Item,
    vector=st.lists(numbers, min_size=1, max_size=3).map(tuple),
    pair=st.tuples(numbers, numbers),
    text=texts,
    amount=st.none() | numbers,
)


@st.composite
def splits(draw: st.DrawFn) -> Split:
    drawn = draw(st.lists(items, max_size=8))
    return Split(
        drawn,
        draw(st.lists(st.booleans(), min_size=len(drawn), max_size=len(drawn))),
        draw(st.sets(st.integers(0, 7), max_size=2)),
    )


Outputs = tuple[
    Annotated[Array, Tensor("FP32", ("L",), name="doubled")],
    Annotated[float, Tensor("FP64", (), name="total")],
    Annotated[str, Name("label")],
    Annotated[Any, Json(name="doc")],
]


@model
def each(
    vector: Annotated[Array, Tensor("FP32", ("L",))],
    pair: Annotated[Array, Tensor("INT32", (2,))],
    text: str,
    count: int = DEFAULT_COUNT,
) -> Outputs:
    return vector * 2, float(pair.sum() + count), f"{text}-{count}", {"text": text, "first": pair[0]}


class Columns(NamedTuple):
    doubled: Annotated[Array, Tensor("FP32", ("L",))]
    sums: Annotated[Array, Tensor("FP64", (), name="total")]
    label: Batch[str]
    doc: Batch[Annotated[Any, Json()]]


@model(batch="stack")
def stack(
    vector: Annotated[Array, Tensor("FP32", ("L",))],
    pair: Annotated[Array, Tensor("INT32", (2,))],
    text: Batch[str],
    count: Annotated[Array, Tensor("INT64", ())] = DEFAULT_COUNTS,
) -> Columns:
    counts = np.broadcast_to(count, len(vector))
    return Columns(
        vector * 2,
        pair.sum(axis=1) + counts,
        [f"{one}-{other}" for one, other in zip(text, counts, strict=True)],
        [{"text": one, "first": first} for one, first in zip(text, pair[:, 0], strict=True)],
    )


def columns(vector: Any, pair: Any, text: Any, count: Any = DEFAULT_COUNT) -> dict[str, Any]:
    """What `stack` does, where items come as lists, or padded."""
    counts = list(count) if np.ndim(count) else [count] * len(vector)
    return {
        "doubled": vector * 2 if isinstance(vector, np.ndarray) else [one * 2 for one in vector],
        "total": np.array([float(one.sum() + other) for one, other in zip(pair, counts, strict=True)]),
        "label": [f"{one}-{other}" for one, other in zip(text, counts, strict=True)],
        "doc": [{"text": one, "first": other[0]} for one, other in zip(text, pair, strict=True)],
    }


INPUTS = {
    "vector": Tensor("FP32", ("L",)),
    "pair": Tensor("INT32", (2,)),
    "text": Batch[str],
    "count": Tensor("INT64", ()),
}
OUTPUTS = {
    "doubled": Tensor("FP32", ("L",)),
    "total": Tensor("FP64", ()),
    "label": Batch[str],
    "doc": Batch[Annotated[Any, Json()]],
}


def said(batch: str, **options: Any) -> Any:
    """`columns` as a step of that mode."""

    def listed(words: dict[str, Any]) -> dict[str, Any]:
        many: Any = Batch
        return {name: word if "Batch" in str(word) else many[word] for name, word in words.items()}

    everything = batch == "list"
    return model.wrap(
        columns,
        inputs=listed(INPUTS) if everything else INPUTS,
        outputs=listed(OUTPUTS) if everything else OUTPUTS,
        name="m",
        batch=batch,
        **options,
    )


STEPS = {
    "each": each,
    "each, with threads": model.wrap(each, outputs=None, name="m", workers=3),
    "stack": stack,
    "stack, limited": said("stack", limit=2),
    "stack, grouped": said("stack", group_by="text"),
    "stack, split on failure": said("stack", fallback="split"),
    "list": said("list"),
    "list, limited": said("list", limit=3),
    "pad": said("pad"),
    "pad, to a multiple": said("pad", multiple_of=4, pad_value=9),
    "pad, limited": said("pad", limit=2),
    "request": said("request"),
}
MODES = list(STEPS)


def check(step: Any, split: Split, batching: bool = True) -> None:
    """Raise AssertionError where an answer is not what its own request's items deserve."""
    requests = split.requests()
    answers = run(step, *[wire(part, batching) for part in requests], batching=batching)
    assert len(answers) == len(requests)
    for part, answer in zip(requests, answers, strict=True):
        outputs = answered(answer)
        assert list(outputs) == ["doubled", "total", "label", "doc"]
        for name, array in outputs.items():
            assert len(array) == len(part)
            for item, row in zip(part, array, strict=True):
                row = row if name == "doubled" else row[0] if batching else row
                np.testing.assert_array_equal(row, item.expected()[name], strict=name == "doubled")


def wire(part: list[Item], batching: bool) -> dict[str, Array]:
    """One request, as Triton hands it over."""
    length = len(part[0].vector) if part else 2
    value = (len(part), 1) if batching else (len(part),)
    request: dict[str, Array] = {
        "vector": np.array([item.vector for item in part], np.float32).reshape(len(part), length),
        "pair": np.array([item.pair for item in part], np.int32).reshape(len(part), 2),
        "text": np.array([item.text.encode() for item in part], object).reshape(value),
    }
    if part and part[0].amount is not None:
        request["count"] = np.array([item.amount for item in part], np.int64).reshape(value)
    return request
