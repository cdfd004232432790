"""What a function returned -> the tensors of a response, checked against the Signature."""

from __future__ import annotations

from typing import Any, Collection, Dict, List, Mapping, Optional, Sequence

import numpy as np

from .arrays import fits, is_torch
from .casting import as_array
from .codecs import Unwritable, write_item
from .dtypes import Array
from .errors import ItemError, OutputError, did_you_mean
from .signature import Field, Signature

#: Kinds that travel as one TYPE_STRING element per item.
_ELEMENTS = ("text", "bytes", "json", "image")


def named_values(signature: Signature, value: Any, where: str) -> Dict[str, Any]:
    """The returned value by output name.

    Parameters
    ----------
    value : object
        The one output itself, or a dict, a tuple in declared order, a NamedTuple or a dataclass.

    Raises
    ------
    OutputError
        When an output is missing, misspelled or not declared, or the container is none of these.
    """
    fields = signature.item_outputs
    if value is None and not (signature.bare and fields[0].kind == "json"):
        raise OutputError(
            "TPB210", "the function returned None", where, f"is a `return` missing? return {_names(fields)}"
        )
    if signature.bare:
        field = fields[0]
        if isinstance(value, dict) and field.kind != "json" and list(value) == [field.name]:
            return dict(value)
        return {field.name: value}
    if isinstance(value, dict):
        by_key = value
    elif isinstance(value, tuple) and not hasattr(value, "_fields"):
        if len(value) != len(fields):
            raise OutputError(
                "TPB201",
                f"the function returned a tuple of {len(value)}, expected {len(fields)}",
                where,
                f"return {_names(fields)} in this order",
            )
        by_key = {field.argument: part for field, part in zip(fields, value)}
    else:
        by_key = {field.argument: getattr(value, field.argument) for field in fields if hasattr(value, field.argument)}
        if not by_key:
            raise OutputError(
                "TPB209",
                f"the function returned {type(value).__name__}, which holds none of its outputs",
                where,
                f"return a dict with the keys {_names(fields)}",
            )
    _check_keys(fields, by_key, where)
    return {field.name: by_key[field.argument] for field in fields}


def _check_keys(fields: Collection[Field], by_key: Dict[str, Any], where: str) -> None:
    keys = [field.argument for field in fields]
    missing = [key for key in keys if key not in by_key]
    extra = [key for key in by_key if key not in keys]
    if missing:
        raise OutputError(
            "TPB201",
            f"output '{missing[0]}' is missing from what the function returned{did_you_mean(missing[0], extra)}",
            where,
            f"return {_names(fields)}",
        )
    if extra:
        raise OutputError(
            "TPB201",
            f"the function returned '{extra[0]}', which is no declared output",
            where,
            f"return {_names(fields)} only, or declare it",
        )


def item_value(field: Field, value: Any, where: str, symbols: Mapping[str, int]) -> Any:
    """One returned item as an array of shape `field.shape`, checked.

    Raises
    ------
    OutputError
        When it is not what was declared.
    RequestError
        When it is an ItemError.
    """
    if isinstance(value, ItemError):
        raise value.error
    try:
        if field.kind in _ELEMENTS:
            return _element(write_item(field, value))
        array = as_array(field, value)
    except Unwritable as bad:
        raise OutputError(bad.code, f"output '{field.name}': {bad.reason}", where, bad.fix) from None
    if array.shape == (0,):
        array = _nothing(array, field.fixed_shape)
    check_shape(field, array.shape, where, symbols)
    return array


def joined_column(
    field: Field,
    value: Any,
    n_rows: int,
    where: str,
    failed: Dict[int, Exception],
    symbols: Mapping[str, int],
    per_row: Sequence[Mapping[str, int]],
) -> Any:
    """One output of a joined call as an array of shape (n_rows, *shape); the very array returned where it fits.

    Parameters
    ----------
    symbols : mapping of str to int
        The named sizes of this call's arrays.
    per_row : sequence of mapping of str to int, length n_rows
        The named sizes of every item.

    Raises
    ------
    OutputError
        When it has another number of rows, or is not what was declared.
    """
    item_errors = isinstance(value, (list, tuple)) and any(isinstance(entry, ItemError) for entry in value)
    if field.listed or field.kind in _ELEMENTS or item_errors:
        return _listed_column(field, value, n_rows, where, failed, per_row if field.listed else [symbols] * n_rows)
    try:
        array = as_array(field, value)
    except Unwritable as bad:
        raise OutputError(bad.code, f"output '{field.name}': {bad.reason}", where, bad.fix) from None
    array = _nothing(array, (n_rows, *field.fixed_shape))
    rows = array.shape[0] if array.ndim else None
    if rows != n_rows:
        raise OutputError(
            "TPB203",
            f"output '{field.name}' has {'no axis 0' if rows is None else f'{rows} rows'}, expected {n_rows} "
            f"(shape {list(array.shape)})",
            where,
            "return one row per input row, in the same order",
        )
    check_shape(field, array.shape[1:], where, symbols)
    return array


def _listed_column(
    field: Field,
    value: Any,
    n_rows: int,
    where: str,
    failed: Dict[int, Exception],
    per_row: Sequence[Mapping[str, int]],
) -> Any:
    """Entries one by one: a bad one fails its item only; None stands in its place, and in those of ItemErrors."""
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__len__") or not hasattr(value, "__iter__"):
        raise OutputError(
            "TPB209",
            f"output '{field.name}' is a {type(value).__name__}, expected a list with one entry per item",
            where,
            "return a list",
        )
    if len(value) != n_rows:
        raise OutputError(
            "TPB203",
            f"output '{field.name}' has {len(value)} entries, expected {n_rows}",
            where,
            "return one entry per item, in the same order",
        )
    items: List[Any] = []
    for index, entry in enumerate(value):
        items.append(None)
        if isinstance(entry, ItemError):
            failed.setdefault(index, entry.error)
        elif index not in failed:
            try:
                items[index] = item_value(field, entry, where, per_row[index])
            except OutputError as error:
                failed[index] = error
    return items


def _nothing(array: Any, shape: Sequence[int]) -> Any:
    """``[]`` where the declared shape leaves no question what it is: no boxes of ``("N", 4)`` is (0, 4)."""
    is_empty_list = tuple(array.shape) == (0,)
    if is_empty_list and len(shape) > 1 and shape[0] in (-1, 0) and all(size >= 0 for size in shape[1:]):
        return array.reshape(0, *shape[1:])
    return array


class Assembly:
    """The output tensors of one request, put together from the calls that served its items.

    Parameters
    ----------
    requested : collection of str or None
        Names the client asked for; None for all.  Only these are made.
    """

    def __init__(self, signature: Signature, n_items: int, requested: Optional[Collection[str]], where: str) -> None:
        self.n_items = n_items
        self.where = where
        self.fields = [f for f in signature.item_outputs if requested is None or f.name in requested]
        status = signature.status_output
        self.status = status if status is not None and (requested is None or status.name in requested) else None
        self.arrays: Dict[str, Any] = {}

    def put_item(self, index: int, items: Mapping[str, Any]) -> None:
        """Copy one item in: a function may return the same buffer for every item."""
        for field in self.fields:
            self._room(field, items[field.name].shape, items[field.name], index)[index] = _assignable(items[field.name])

    def put_rows(self, start: int, stop: int, columns: Mapping[str, Any], copies: bool = False) -> None:
        """Take rows of a joined call: a view when they are all of the request and nothing follows, else copied in."""
        for field in self.fields:
            rows = columns[field.name]
            if isinstance(rows, list):
                for offset, item in enumerate(rows):
                    if item is not None:
                        self._room(field, item.shape, item, start + offset)[start + offset] = _assignable(item)
            elif start == 0 and stop == self.n_items and not copies:
                self.arrays[field.name] = rows
            else:
                self._room(field, rows.shape[1:], rows, start)[start:stop] = rows

    def tensors(self, batching: bool, failed: Mapping[int, int]) -> Dict[str, Any]:
        """The response's tensors.

        Parameters
        ----------
        failed : mapping of int to int
            Item -> number of a Triton status, where items are masked.
        """
        tensors = {}
        for field in self.fields:
            if field.name not in self.arrays:
                shape = tuple(max(size, 0) for size in field.fixed_shape)
                self.arrays[field.name] = self._empty(field, shape, None)
            tensors[field.name] = on_wire(field, self.arrays[field.name], batching)
        if self.status is not None:
            codes = np.zeros(self.n_items, np.int32)
            for index, code in failed.items():
                codes[index] = code
            tensors[self.status.name] = on_wire(self.status, codes, batching)
        return tensors

    def _room(self, field: Field, shape: Any, like: Any, index: int) -> Any:
        """The output's whole array, made when its first item comes; a second shape in one tensor is an error."""
        array = self.arrays.get(field.name)
        if array is None:
            array = self.arrays[field.name] = self._empty(field, tuple(shape), like)
        if tuple(array.shape[1:]) != tuple(shape):
            raise OutputError(
                "TPB207",
                f"output '{field.name}' has the shape {list(shape)} in item {index} and {list(array.shape[1:])} "
                "in an item before it: one tensor holds one shape",
                self.where,
                "send one item per request, pad the output, or return Json()",
            )
        return array

    def _empty(self, field: Field, shape: Any, like: Any) -> Any:
        """Zeros or empty text: what a masked item shows."""
        if is_torch(like):
            return like.new_zeros((self.n_items, *shape))
        if field.dtype == "BYTES":
            return np.full((self.n_items, *shape), b"", object)
        if field.dtype == "BF16":
            import torch

            return torch.zeros((self.n_items, *shape), dtype=torch.bfloat16)
        return np.zeros((self.n_items, *shape), field.numpy_dtype)


def _assignable(item: Any) -> Any:
    """A 0-d object array as the object in it: numpy would otherwise try to spread it."""
    return item if item.ndim else item[()]


def check_shape(field: Field, shape: Any, where: str, symbols: Mapping[str, int]) -> None:
    """Rank, fixed sizes, and symbols of one item; `symbols` are those that the inputs have set."""
    expected = field.fixed_shape
    if shape == expected and not field.symbols:
        return
    if not fits(expected, shape):
        raise OutputError(
            "TPB204",
            f"output '{field.name}' has the shape {list(shape)} per item, declared {list(field.shape)}",
            where,
            "return what was declared; the batch axis is not part of it",
        )
    if not field.symbols:
        return
    sizes = dict(symbols)
    for symbol, size in zip(field.shape, shape):
        if isinstance(symbol, str) and sizes.setdefault(symbol, size) != size:
            raise OutputError(
                "TPB204",
                f"output '{field.name}' has the shape {list(shape)} per item: "
                f"{symbol} cannot be {sizes[symbol]} and {size}",
                where,
                f"return equal sizes where the shape says {symbol}",
            )


def on_wire(field: Field, column: Any, batching: bool) -> Any:
    """A value is ``(n, 1)`` with batching and ``(n,)`` in the explicit form; everything else goes as it is."""
    if batching and field.shape == ():
        return column.reshape(column.shape[0], 1)
    return column


def _element(data: bytes) -> Array:
    item = np.empty((), object)
    item[()] = data
    return item


def _names(fields: Collection[Field]) -> str:
    return ", ".join(f"'{field.argument or field.name}'" for field in fields)
