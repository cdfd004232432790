"""``batch="pad"``: variable axes padded to one size on the way in, cut back on the way out."""

from __future__ import annotations

from typing import Any, Mapping, Sequence, Tuple

import numpy as np

from .arrays import is_torch
from .dtypes import Array
from .errors import InputError
from .received import Received
from .signature import Field, Signature


def variable_axes(field: Field) -> Tuple[int, ...]:
    """Axes of one item that may differ between items; a picture's height and width."""
    if field.kind == "image":
        return (0, 1)
    return tuple(axis for axis, size in enumerate(field.fixed_shape) if size == -1)


def pad_rows(field: Field, parts: Sequence[Any], options: Mapping[str, Any]) -> Tuple[Any, Array]:
    """Stack items of different sizes.

    Parameters
    ----------
    parts : sequence
        Arrays of shape (n_items, *shape), or lists of arrays of shape (*shape), in order.
    options : mapping
        ``pad_value``, ``pad_to``, ``multiple_of``.

    Returns
    -------
    padded : numpy.ndarray or torch.Tensor of shape (n_rows, *padded shape)
        The very array that came when it is alone and needs no padding.
    sizes : numpy.ndarray of int64, shape (n_rows, n_variable)
        The true sizes of the variable axes.

    """
    axes = variable_axes(field)
    shapes = [tuple(item.shape) for part in parts for item in part]
    sizes = np.array([[shape[axis] for axis in axes] for shape in shapes], np.int64).reshape(len(shapes), len(axes))
    target = list(shapes[0]) if shapes else [max(size, 0) for size in field.fixed_shape]
    for position, axis in enumerate(axes):
        longest = int(sizes[:, position].max()) if shapes else 0
        target[axis] = _padded_size(longest, options)
    if len(parts) == 1 and not isinstance(parts[0], list) and list(parts[0].shape[1:]) == target:
        return parts[0], sizes
    first = next((item for part in parts for item in part), None)
    padded = _filled(first, field, (len(shapes), *target), options.get("pad_value", 0))
    row = 0
    for part in parts:
        for item in part:
            padded[row][tuple(slice(0, size) for size in item.shape)] = item
            row += 1
    return padded, sizes


def unpad(field: Field, rows: Any, symbols: Mapping[str, int]) -> Any:
    """Cut the axes of an output that are named like a padded axis of an input.

    Parameters
    ----------
    rows : array of shape (n, *padded shape)
    symbols : mapping of str to int
        True size of each named axis in these rows.
    """
    cuts = [slice(None)] + [
        slice(0, symbols[size]) if isinstance(size, str) and size in symbols else slice(None) for size in field.shape
    ]
    return rows[tuple(cuts)]


def check_longest(signature: Signature, received: Received, model_name: str) -> None:
    """Refuse a request with an item that no padding makes fit.

    Raises
    ------
    InputError
        When a variable axis is longer than ``pad_to``.
    """
    target = signature.options.get("pad_to")
    for field in signature.inputs:
        column = received.columns.get(field.argument)
        if target is None or column is None or field.listed:
            continue
        items = [item for item in column if item is not None] if isinstance(column, list) else column[:1]
        for item in items:
            longest = max((int(item.shape[axis]) for axis in variable_axes(field)), default=0)
            if longest > target:
                raise InputError(
                    "TPB231",
                    f"input '{field.name}' has an axis of {longest}, above pad_to={target}",
                    f"model '{model_name}'",
                    "send shorter items, or truncate before",
                )


def _padded_size(longest: int, options: Mapping[str, Any]) -> int:
    multiple = options.get("multiple_of", 1)
    return int(-(-options.get("pad_to", longest) // multiple) * multiple)


def _filled(like: Any, field: Field, shape: Tuple[int, ...], value: Any) -> Any:
    if is_torch(like):
        return like.new_full(shape, value)
    dtype = like.dtype if like is not None else (np.dtype(np.uint8) if field.kind == "image" else field.numpy_dtype)
    if dtype.kind == "O":
        return np.full(shape, b"", object)
    return np.full(shape, value, dtype)
