"""What a function returned -> the tensors of a response, checked against the Signature."""

from __future__ import annotations

from typing import Any, Collection, Dict, List, Optional

import numpy as np

from .casting import as_array
from .codecs import Unwritable, write_item
from .dtypes import Array
from .errors import OutputError, did_you_mean
from .signature import Field, Signature

#: Kinds that travel as one TYPE_STRING element per item.
_ELEMENTS = ("text", "bytes", "json")


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
    fields = signature.outputs
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


class ItemOutputs:
    """Collects the outputs of one request item by item, in the mode "each".

    Every item is copied in as it comes, so a function may return the same buffer again and again.
    """

    def __init__(self, signature: Signature, n_items: int, requested: Optional[Collection[str]], where: str) -> None:
        self.signature = signature
        self.n_items = n_items
        self.where = where
        self.fields = [field for field in signature.outputs if requested is None or field.name in requested]
        self.arrays: Dict[str, Array] = {}

    def add(self, index: int, value: Any) -> None:
        """Take what the function returned for item `index`."""
        values = named_values(self.signature, value, self.where)
        for field in self.fields:
            item = self._item(field, values[field.name])
            array = self.arrays.get(field.name)
            if array is None:
                array = np.empty((self.n_items,) + item.shape, item.dtype)
                self.arrays[field.name] = array
            if array.shape[1:] != item.shape:
                raise OutputError(
                    "TPB207",
                    f"output '{field.name}' has the shape {list(item.shape)} here and {list(array.shape[1:])} in item 0: "
                    "one tensor holds one shape",
                    self.where,
                    "send one item per request, pad the output, or return Json()",
                )
            array[index] = item if item.shape else item[()]

    def tensors(self, batching: bool) -> Dict[str, Array]:
        """The response's tensors; of shape (0, ...) where the request had no item."""
        for field in self.fields:
            if field.name not in self.arrays:
                shape = tuple(max(size, 0) for size in field.fixed_shape)
                self.arrays[field.name] = np.empty((0,) + shape, field.numpy_dtype)
        return {field.name: on_wire(field, self.arrays[field.name], batching) for field in self.fields}

    def _item(self, field: Field, value: Any) -> Array:
        try:
            if field.kind in _ELEMENTS:
                return _element(write_item(field, value))
            array = as_array(field, value)
        except Unwritable as bad:
            raise OutputError(bad.code, f"output '{field.name}': {bad.reason}", self.where, bad.fix) from None
        check_shape(field, array.shape, self.where)
        return array


def joined_outputs(
    signature: Signature, value: Any, n_rows: int, requested: Optional[Collection[str]], where: str
) -> Dict[str, Array]:
    """The outputs of one joined call, each of shape (n_rows, *shape); views of what was returned where possible.

    Raises
    ------
    OutputError
        When an output has another number of rows, or an item is not what was declared.
    """
    values = named_values(signature, value, where)
    columns = {}
    for field in signature.outputs:
        if requested is None or field.name in requested:
            columns[field.name] = _column(field, values[field.name], n_rows, where)
    return columns


def _column(field: Field, value: Any, n_rows: int, where: str) -> Array:
    try:
        if field.listed or field.kind in _ELEMENTS:
            return _listed_column(field, value, n_rows, where)
        array = as_array(field, value)
    except Unwritable as bad:
        raise OutputError(bad.code, f"output '{field.name}': {bad.reason}", where, bad.fix) from None
    rows = array.shape[0] if array.ndim else None
    if rows != n_rows:
        raise OutputError(
            "TPB203",
            f"output '{field.name}' has {'no axis 0' if rows is None else f'{rows} rows'}, expected {n_rows} "
            f"(shape {list(array.shape)})",
            where,
            "return one row per input row, in the same order",
        )
    check_shape(field, array.shape[1:], where)
    return array


def _listed_column(field: Field, value: Any, n_rows: int, where: str) -> Array:
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
    items: List[Array] = []
    for entry in value:
        item = _element(write_item(field, entry)) if field.kind in _ELEMENTS else as_array(field, entry)
        if field.kind not in _ELEMENTS:
            check_shape(field, item.shape, where)
        items.append(item)
    shape = items[0].shape if items else tuple(max(size, 0) for size in field.fixed_shape)
    column = np.empty((n_rows,) + shape, field.numpy_dtype)
    for index, item in enumerate(items):
        if item.shape != shape:
            raise OutputError(
                "TPB207",
                f"output '{field.name}' has the shape {list(item.shape)} in entry {index} and {list(shape)} in entry 0: "
                "one tensor holds one shape",
                where,
                "pad the output, or return Json()",
            )
        column[index] = item if item.shape else item[()]
    return column


def check_shape(field: Field, shape: Any, where: str) -> None:
    """Rank, fixed sizes and symbols of one item."""
    expected = field.fixed_shape
    if len(shape) != len(expected) or any(want not in (-1, got) for want, got in zip(expected, shape)):
        raise OutputError(
            "TPB204",
            f"output '{field.name}' has the shape {list(shape)} per item, declared {list(field.shape)}",
            where,
            "return what was declared; the batch axis is not part of it",
        )
    sizes: Dict[str, int] = {}
    for symbol, size in zip(field.shape, shape):
        if isinstance(symbol, str) and sizes.setdefault(symbol, size) != size:
            raise OutputError(
                "TPB204",
                f"output '{field.name}' has the shape {list(shape)} per item: {symbol} cannot be {sizes[symbol]} and {size}",
                where,
                f"return equal sizes where the shape says {symbol}",
            )


def on_wire(field: Field, column: Array, batching: bool) -> Array:
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
