"""Which items meet in one call of a joined mode, and how their columns are put together.

A segment is a run of items of one request; a call takes a list of segments.  Pure functions, no pb_utils.
"""

from __future__ import annotations

import copy
import json
from typing import Any, Dict, Iterable, List, NamedTuple, Sequence, Tuple

import numpy as np

from .arrays import concatenate, is_torch
from .errors import InputError
from .padding import check_longest
from .received import Column, Received
from .signature import Field, Signature


class Segment(NamedTuple):
    """Items `start` to `stop` (exclusive) of one request."""

    request: int
    start: int
    stop: int

    @property
    def n_items(self) -> int:
        return self.stop - self.start


def plan_calls(signature: Signature, requests: Dict[int, Received]) -> List[List[Segment]]:
    """The calls that serve these requests, items in order of arrival.

    Items meet when their arrays can be stacked (pad mode: padded), when the same optional inputs came, and when
    they agree in `group_by`; at most `limit` of them.  Triton's own batcher joins equal shapes only, but pictures
    are all of one shape on the wire and differ once decoded: a request must not fail because of its company.
    """
    groups: Dict[Any, List[Segment]] = {}
    for index, received in requests.items():
        for key, segment in _segments(signature, index, received):
            members = groups.setdefault(key, [])
            last = members[-1] if members else None
            if last is not None and last.request == index and last.stop == segment.start:
                members[-1] = Segment(index, last.start, segment.stop)
            else:
                members.append(segment)
    limit = signature.options.get("limit")
    calls: List[List[Segment]] = []
    for members in groups.values():
        calls += [members] if limit is None else list(chunks(members, limit))
    return calls


def chunks(segments: Iterable[Segment], size: int) -> Iterable[List[Segment]]:
    """Cut a list of segments into lists of at most `size` items."""
    chunk: List[Segment] = []
    room = size
    for segment in segments:
        start = segment.start
        while start < segment.stop:
            stop = min(segment.stop, start + room)
            chunk.append(Segment(segment.request, start, stop))
            room -= stop - start
            start = stop
            if room == 0:
                yield chunk
                chunk, room = [], size
        if segment.start == segment.stop:  # a request without items is served too
            chunk.append(segment)
    if chunk:
        yield chunk


def halves(segments: Sequence[Segment]) -> List[List[Segment]]:
    """The two halves of a call, by items; requests without items are a call of their own."""
    full = [segment for segment in segments if segment.n_items]
    empty = [segment for segment in segments if not segment.n_items]
    total = sum(segment.n_items for segment in full)
    return [*chunks(full, (total + 1) // 2), *([empty] if empty else [])]


def join(columns: Sequence[Column]) -> Column:
    """One column out of those of several segments, in order.

    Returns
    -------
    numpy.ndarray or torch.Tensor of shape (n_rows, *shape), or list
        The very object that came when it is the only one; else a new one (one copy).
    """
    if isinstance(columns[0], list):
        return columns[0] if len(columns) == 1 else [item for column in columns for item in column]
    joined: Column = concatenate(columns)
    return joined


def fresh(column: Column, parts: Sequence[Column]) -> Column:
    """The column, copied where it is (part of) what a request brought: then a second call sees it unchanged."""
    if isinstance(column, list):
        return copy.deepcopy(column)
    if len(parts) > 1:
        return column
    array: Any = column
    copied: Column = array.clone() if is_torch(array) else array.copy()
    return copied


def spread_default(field: Field, default: Any, n_rows: int) -> Any:
    """A Python default in a joined call: one per item, as the input itself would come; None stays None."""
    if default is None:
        return None
    if field.listed:
        return [default] * n_rows
    if field.kind == "number":
        return np.full(n_rows, default, field.numpy_dtype)
    return default


def cut(column: Column, start: int, stop: int) -> Column:
    """A part of a column: a view, and the column itself where the part is all of it."""
    return column if start == 0 and stop == len(column) else column[start:stop]


def split(column: Column, counts: Sequence[int]) -> List[Column]:
    """Cut a joined column back into one per segment.

    Parameters
    ----------
    column : array of shape (n_rows, *shape), or list of length n_rows
    counts : sequence of int
        How many items each segment brought; their sum is n_rows, which the caller has checked.

    Returns
    -------
    list of arrays or lists
        Views of `column` where it is an array.

    Examples
    --------
    >>> [part.shape for part in split(np.zeros((3, 2)), [2, 1])]
    [(2, 2), (1, 2)]
    """
    parts: List[Column] = []
    start = 0
    for count in counts:
        parts.append(cut(column, start, start + count))
        start += count
    return parts


def stack_pictures(field: Field, pictures: List[Any]) -> Column:
    """Pictures of one size as one array."""
    if not pictures:
        gray = field.options.get("mode") == "GRAY"
        return np.zeros((0, 0, 0) if gray else (0, 0, 0, 3), np.uint8)
    stacked: Column = np.stack(pictures)
    return stacked


def check_sizes(signature: Signature, received: Received, model_name: str) -> None:
    """Refuse a request whose items cannot become one array by the step's own rules.

    Raises
    ------
    InputError
        When a stacked input brings pictures of several sizes without ``ragged="bucket"``, or an item is longer
        than ``pad_to``.
    """
    if signature.batch == "pad":
        check_longest(signature, received, model_name)
    if signature.batch not in ("stack", "request") or signature.options.get("ragged") == "bucket":
        return
    for field in stacked_pictures(signature):
        column = received.columns.get(field.argument, [])
        if not isinstance(column, list):
            continue
        sizes = sorted({picture.shape[:2] for picture in column if picture is not None})
        if len(sizes) > 1:
            raise InputError(
                "TPB227",
                f"input '{field.name}' brings pictures of several sizes in one request: "
                + ", ".join(f"{width} x {height}" for height, width in sizes),
                f"model '{model_name}'",
                "send one picture per request, or pictures of one size",
            )


def stacked_pictures(signature: Signature) -> List[Field]:
    """Encoded pictures that the function wants as one array."""
    return [field for field in signature.inputs if field.kind == "image" and not field.listed]


def _segments(signature: Signature, index: int, received: Received) -> Iterable[Tuple[Any, Segment]]:
    """Keyed runs of one request's items, without those that could not be decoded."""
    common = _request_key(signature, received), index if signature.batch == "request" else None
    per_item = _needs_item_keys(signature, received)
    if not per_item and not received.failed:
        yield common, Segment(index, 0, received.n_items)
        return
    for item in range(received.n_items):
        if item not in received.failed:
            yield (common, _item_key(signature, received, item)), Segment(index, item, item + 1)


def _request_key(signature: Signature, received: Received) -> Any:
    shapes = []
    for field in signature.inputs:
        column = received.columns.get(field.argument)
        if column is not None and not isinstance(column, list):
            shape = tuple(column.shape[1:])
            shapes.append((field.argument, len(shape) if signature.batch == "pad" else shape))
    parameter = signature.options.get("group_by")
    value = None
    if parameter is not None and signature.input(parameter) is None:
        value = _hashable(received.info.parameters.get(parameter))
    return tuple(sorted(received.columns)), tuple(shapes), value


def _needs_item_keys(signature: Signature, received: Received) -> bool:
    by_input = signature.input(signature.options.get("group_by", "")) is not None
    return by_input or (signature.batch == "stack" and bool(stacked_pictures(signature)))


def _item_key(signature: Signature, received: Received, item: int) -> Any:
    key: List[Any] = []
    if signature.batch == "stack":
        for field in stacked_pictures(signature):
            column = received.columns.get(field.argument)
            if isinstance(column, list):
                key.append(column[item].shape)
    field_by = signature.input(signature.options.get("group_by", ""))
    if field_by is not None and field_by.argument in received.columns:
        value = received.columns[field_by.argument][item]
        key.append(_hashable(value.tolist() if hasattr(value, "tolist") else value))
    return tuple(key)


def _hashable(value: Any) -> Any:
    """Type and value: 1, True and "1" do not meet."""
    if isinstance(value, (dict, list)):
        return "json", json.dumps(value, sort_keys=True, default=str)
    return type(value).__name__, value
