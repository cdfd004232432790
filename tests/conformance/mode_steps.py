"""One step in every batch mode: open sizes, an optional input, text, JSON, several inputs and outputs, no rows.

All answer the same for the same item; `expected` says what, without the package.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from triton_pyb import Annotated, Batch, Json, Lengths, Tensor, model

Array = np.ndarray[Any, Any]
DEFAULT_COUNT = 7


class Item(NamedTuple):
    """``vector`` may have no entries; ``number`` None leaves the optional input out."""

    vector: tuple[int, ...]
    pair: tuple[int, int]
    text: str
    number: int | None


def expected(item: Item) -> dict[str, Any]:
    count = DEFAULT_COUNT if item.number is None else item.number
    vector = np.array(item.vector, np.float32)
    return {
        "doubled": vector * 2,
        "found": np.array([[value, index] for index, value in enumerate(item.vector)], np.int64).reshape(-1, 2),
        "total": np.float64(sum(item.pair) + count),
        "label": f"{item.text}-{count}".encode(),
        "document": json.dumps({"text": item.text, "first": item.pair[0]}, ensure_ascii=False).encode(),
    }


INPUTS: dict[str, Any] = {
    "vector": Tensor("FP32", ("L",)),
    "pair": Tensor("INT32", (2,)),
    "text": str,
    "count": int,
}
OUTPUTS: dict[str, Any] = {
    "doubled": Tensor("FP32", ("L",)),
    "found": Tensor("INT64", ("L", 2)),
    "total": Tensor("FP64", ()),
    "label": str,
    "document": Annotated[Any, Json()],
}
_STACKED_IN: dict[str, Any] = {**INPUTS, "text": Batch[str], "count": Tensor("INT64", ())}
_STACKED_OUT: dict[str, Any] = {**OUTPUTS, "label": Batch[str], "document": Batch[Annotated[Any, Json()]]}
_LISTED_IN: dict[str, Any] = {name: Batch[word] for name, word in INPUTS.items()}  # type: ignore[valid-type]
_LISTED_OUT: dict[str, Any] = {name: Batch[word] for name, word in OUTPUTS.items()}  # type: ignore[valid-type]


def one(vector: Any, pair: Any, text: str, count: int = DEFAULT_COUNT) -> dict[str, Any]:
    found = [[value, index] for index, value in enumerate(vector)]
    return {
        "doubled": vector * 2,
        "found": np.array(found, np.int64).reshape(-1, 2),
        "total": int(pair.sum()) + count,
        "label": f"{text}-{count}",
        "document": {"text": text, "first": pair[0]},
    }


def stacked(vector: Any, pair: Any, text: list[str], count: Any = None) -> dict[str, Any]:
    counts = [DEFAULT_COUNT] * len(vector) if count is None else list(count)
    index = np.broadcast_to(np.arange(vector.shape[1]), vector.shape)
    return {
        "doubled": vector * 2,
        "found": np.stack([vector.astype(np.int64), index], axis=2),
        "total": pair.sum(axis=1) + np.array(counts, np.int64),
        "label": [f"{word}-{number}" for word, number in zip(text, counts, strict=True)],
        "document": [{"text": word, "first": first} for word, first in zip(text, pair[:, 0], strict=True)],
    }


def listed(vector: list[Any], pair: list[Any], text: list[str], count: list[int] | None = None) -> dict[str, Any]:
    counts = [DEFAULT_COUNT] * len(vector) if count is None else count
    answers = [one(*item) for item in zip(vector, pair, text, counts, strict=True)]
    return {name: [answer[name] for answer in answers] for name in OUTPUTS}


@model(batch="pad", name="in_pad", inputs=_STACKED_IN, outputs=_STACKED_OUT, pad_value=9, multiple_of=2)
def in_pad(vector: Any, pair: Any, text: Any, count: Any = None) -> Any:
    assert vector.shape[1] % 2 == 0
    return stacked(vector, pair, text, count)


@model(batch="pad", name="in_pad_with_lengths", limit=3)
def in_pad_with_lengths(
    vector: Annotated[Array, Tensor("FP32", ("L",))], lengths: Annotated[Array, Lengths("vector")]
) -> Annotated[Array, Tensor("FP32", (), name="mean")]:
    assert len(vector) <= 3
    return np.array([row[:length].mean() if length else 0 for row, length in zip(vector, lengths, strict=True)])


in_each = model.wrap(one, name="in_each", inputs=INPUTS, outputs=OUTPUTS)
in_each_with_workers = model.wrap(one, name="in_each_with_workers", inputs=INPUTS, outputs=OUTPUTS, workers=3)
in_stack = model.wrap(stacked, name="in_stack", batch="stack", inputs=_STACKED_IN, outputs=_STACKED_OUT)
in_stack_limited = model.wrap(
    stacked, name="in_stack_limited", batch="stack", inputs=_STACKED_IN, outputs=_STACKED_OUT, limit=2
)
in_stack_grouped = model.wrap(
    stacked, name="in_stack_grouped", batch="stack", inputs=_STACKED_IN, outputs=_STACKED_OUT, group_by="text"
)
in_stack_split = model.wrap(
    stacked, name="in_stack_split", batch="stack", inputs=_STACKED_IN, outputs=_STACKED_OUT, fallback="split"
)
in_list = model.wrap(listed, name="in_list", batch="list", inputs=_LISTED_IN, outputs=_LISTED_OUT)
in_list_limited = model.wrap(
    listed, name="in_list_limited", batch="list", inputs=_LISTED_IN, outputs=_LISTED_OUT, limit=3
)
in_request = model.wrap(stacked, name="in_request", batch="request", inputs=_STACKED_IN, outputs=_STACKED_OUT)

MODES = {
    "each": in_each,
    "each, workers": in_each_with_workers,
    "stack": in_stack,
    "stack, limit": in_stack_limited,
    "stack, group_by": in_stack_grouped,
    "stack, fallback": in_stack_split,
    "list": in_list,
    "list, limit": in_list_limited,
    "pad": in_pad,
    "request": in_request,
}
