"""One request as it came: checked against the Signature, counted in items, decoded to columns."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple

import numpy as np

from .batching import Column
from .codecs import Unreadable, read_item
from .dtypes import Array
from .errors import InputError
from .signature import Field, Signature


class Received(NamedTuple):
    """One readable request.

    Attributes
    ----------
    columns : dict of str to numpy.ndarray of shape (n_items, *shape), or list of length n_items
        By argument name; an optional input that did not come has no entry.
    n_items : int
    """

    columns: Dict[str, Column]
    n_items: int


def receive(signature: Signature, tensors: Mapping[str, Array], model_name: str) -> Received:
    """Read the tensors of one request.

    Parameters
    ----------
    tensors : mapping of str to numpy.ndarray of shape (n_items, *dims)
        By tensor name, as Triton handed them over.

    Raises
    ------
    InputError
        When an input is missing, does not have the declared shape, disagrees with another input in its number
        of items, or holds an item that cannot be decoded.
    """
    counts: Dict[str, int] = {}
    columns: Dict[str, Column] = {}
    for field in signature.inputs:
        array = tensors.get(field.name)
        if array is None:
            if field.optional:
                continue
            raise _error("TPB224", f"input '{field.name}' is missing", model_name, f"send '{field.name}'")
        items = _items(field, array, model_name)
        counts[field.name] = len(items)
        column = _decode(field, items, model_name)
        if field.kind == "image" and not field.listed and signature.batch != "each":
            column = _stack_pictures(field, column, model_name)
        columns[field.argument] = column
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"'{name}' {count}" for name, count in counts.items())
        raise _error(
            "TPB225", f"the inputs disagree in their number of items: {shown}", model_name, "send one entry per item"
        )
    return Received(columns, next(iter(counts.values()), 1))


def _items(field: Field, array: Array, model_name: str) -> Array:
    """The tensor with the item's own shape behind axis 0; ``(n, 1)`` of a value becomes ``(n,)``."""
    if field.shape == () and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    expected = field.fixed_shape
    fits = array.ndim == len(expected) + 1 and all(want in (-1, got) for want, got in zip(expected, array.shape[1:]))
    if not fits:
        raise _error(
            "TPB226",
            f"input '{field.name}' has shape {list(array.shape)}, expected [items, "
            + ", ".join(map(str, field.shape))
            + "]",
            model_name,
            "send axis 0 as the items of the request, then the shape of one item",
        )
    sizes: Dict[str, int] = {}
    for symbol, size in zip(field.shape, array.shape[1:]):
        if isinstance(symbol, str) and sizes.setdefault(symbol, size) != size:
            raise _error(
                "TPB226",
                f"input '{field.name}' has shape {list(array.shape)}: {symbol} cannot be {sizes[symbol]} and {size}",
                model_name,
                f"send equal sizes where the shape says {symbol}",
            )
    return array


def _decode(field: Field, items: Array, model_name: str) -> Column:
    if field.kind == "tensor" or (field.kind == "number" and not field.listed):
        return list(items) if field.listed else items
    decoded: List[Any] = []
    for index, element in enumerate(items):
        try:
            decoded.append(read_item(field, element))
        except Unreadable as bad:
            raise InputError(
                bad.code,
                f"{item_words(index, len(items))}, input '{field.name}': {bad.reason}",
                f"model '{model_name}'",
                f"send {_WANTED[field.kind]} in every item",
            ) from None
    return decoded


def _stack_pictures(field: Field, pictures: Column, model_name: str) -> Array:
    """The pictures of one request as one array; a function that asked for one array cannot take several sizes."""
    sizes = sorted({picture.shape[:2] for picture in pictures})
    if len(sizes) > 1:
        raise _error(
            "TPB227",
            f"input '{field.name}' brings pictures of several sizes in one request: "
            + ", ".join(f"{width} x {height}" for height, width in sizes),
            model_name,
            "send one picture per request, or pictures of one size",
        )
    if not len(pictures):
        return np.zeros((0, 0, 0) if field.options["mode"] == "GRAY" else (0, 0, 0, 3), np.uint8)
    return np.stack(list(pictures))


_WANTED = {
    "image": "the bytes of a JPEG or PNG file",
    "text": "UTF-8 text",
    "json": "JSON text",
    "bytes": "bytes",
    "number": "a number",
}


def item_words(index: int, n_items: int) -> str:
    """``"item 2 of 5"``, counted from 0 as the client's own array is."""
    return f"item {index} of {n_items}"


def _error(code: str, what: str, model_name: str, fix: str) -> InputError:
    return InputError(code, what, f"model '{model_name}'", fix)
