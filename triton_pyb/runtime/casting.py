"""Casts that lose nothing: what a function returned -> an array of the declared dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from .codecs import Unwritable, string_element
from .dtypes import Array
from .signature import Field


def as_array(field: Field, value: Any) -> Array:
    """`value` as an array of the declared dtype; the same array when it has it already.

    Raises
    ------
    Unwritable
        When it is no array, or the cast would lose something: 257 to UINT8, a float to an int, FP64 beyond
        FP32's range.  Rounding a float to fewer digits loses nothing that counts here.
    """
    if field.dtype == "BYTES":
        return _strings(value)
    try:
        array = np.asarray(value)
    except Exception as error:  # a ragged list, a tensor that lives on a device
        raise Unwritable("TPB205", f"no array: {type(error).__name__}: {error}", "return a numpy array") from None
    if array.dtype.kind not in "biuf":
        raise Unwritable(
            "TPB205",
            f"{type(value).__name__} of dtype {array.dtype} is no {field.dtype}",
            f"return an array of {field.numpy_dtype.name}",
        )
    return _cast(array, field)


def _cast(array: Array, field: Field) -> Array:
    target = field.numpy_dtype
    if array.dtype == target:
        return array
    kinds = array.dtype.kind + target.kind
    if kinds == "ff":
        with np.errstate(over="ignore"):
            cast = array.astype(target)
        lost = np.isinf(cast) & ~np.isinf(array)
    elif kinds[1] == "b" or (kinds[0] == "f" and kinds[1] in "iu"):
        raise Unwritable(
            "TPB202",
            f"{array.dtype} cannot become {field.dtype} without loss",
            f"convert it in the function: .astype(np.{target.name})" + (" after rounding" if kinds[0] == "f" else ""),
        )
    elif kinds[1] == "f":
        cast = array.astype(target)
        lost = ~_same_numbers(cast, array)
    else:
        low, high = (0, 1) if target.kind == "b" else (np.iinfo(target).min, np.iinfo(target).max)
        cast = array.astype(target)
        lost = (array < low) | (array > high) if array.dtype.kind != "b" else np.zeros(array.shape, bool)
    if lost.any():
        first = tuple(int(i) for i in np.argwhere(lost)[0])
        raise Unwritable(
            "TPB202",
            f"{array[first]!s} ({array.dtype}) at {list(first)} does not fit {field.dtype}",
            "declare a wider dtype, or clip in the function",
        )
    return cast


def _same_numbers(cast: Array, integers: Array) -> Array:
    """Where a float holds the integer exactly; the comparison itself must not round."""
    if integers.dtype.kind == "b":
        return np.ones(integers.shape, bool)
    limit = 2 ** (np.finfo(cast.dtype).nmant + 1)
    small = (integers <= limit) & (integers >= -limit if integers.dtype.kind == "i" else True)
    exact = np.asarray(small)
    for index in np.argwhere(~exact):
        place = tuple(index)
        value = float(cast[place])
        exact[place] = np.isfinite(value) and int(value) == int(integers[place])
    return exact


def _strings(value: Any) -> Array:
    array = value if isinstance(value, np.ndarray) else _object_array(value)
    if array.dtype.kind not in "OSU":
        raise Unwritable("TPB205", f"an array of {array.dtype} holds no strings", "return str or bytes elements")
    encoded = np.empty(array.shape, object)
    for index, element in np.ndenumerate(array):
        encoded[index] = string_element(element)
    return encoded


def _object_array(value: Any) -> Array:
    """Lists to an object array; numpy would make bytes an `S` array and drop trailing zero bytes."""
    if isinstance(value, (str, bytes, bytearray, memoryview)) or value is None:
        array = np.empty((), object)
        array[()] = value
        return array
    try:
        return np.array(value, dtype=object)
    except ValueError as error:
        raise Unwritable("TPB205", f"no array of strings: {error}", "return nested lists of equal length") from None
