"""What a function returned -> an array of the declared dtype; by default nothing is lost on the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import is_torch, to_numpy
from .codecs import Unwritable, string_element
from .dtypes import Array
from .signature import Field


def as_array(field: Field, value: Any) -> Any:
    """`value` as an array of the declared dtype; the same array when it has it already.

    Returns
    -------
    numpy.ndarray
        Or, for BF16, a contiguous torch.Tensor on the CPU: numpy has no such dtype.

    Raises
    ------
    Unwritable
        When it is no array, or the cast would lose something: 257 to UINT8, a float to an int, FP64 beyond
        FP32's range.  Rounding a float to fewer digits loses nothing that counts here.
    """
    if field.dtype == "BF16":
        return _bfloat16(value)
    if field.dtype == "BYTES":
        return _strings(value)
    if type(value) is np.ndarray and value.dtype is field.numpy_dtype:
        return value
    try:
        array = to_numpy(value) if is_torch(value) else np.asarray(value)
    except Exception as error:  # a ragged list, a torch.bfloat16
        if isinstance(value, tuple):
            raise Unwritable(
                "TPB205",
                f"a tuple of {len(value)} is no array",
                "return one array; several outputs are declared in outputs= or a NamedTuple",
            ) from None
        raise Unwritable("TPB205", f"no array: {type(error).__name__}: {error}", "return a numpy array") from None
    if isinstance(value, np.ma.MaskedArray) and np.any(value.mask):
        raise Unwritable(
            "TPB205", "a masked array hides values, and a tensor cannot", "fill it in the function: .filled(0)"
        )
    if array.dtype.kind not in "biuf":
        raise Unwritable(
            "TPB205",
            f"{type(value).__name__} of dtype {array.dtype} is no {field.dtype}",
            f"return an array of {field.numpy_dtype.name}",
        )
    if array.dtype == field.numpy_dtype:
        return array
    if array.size == 0:
        return array.astype(field.numpy_dtype)  # an empty list is float64 to numpy
    cast = field.options.get("cast", "safe")
    if cast == "unsafe" or (cast == "same_kind" and np.can_cast(array.dtype, field.numpy_dtype, "same_kind")):
        with np.errstate(over="ignore", invalid="ignore"):
            return array.astype(field.numpy_dtype)
    return _cast(array, field)


def _cast(array: Array, field: Field) -> Array:
    """The cast that loses nothing, or Unwritable."""
    target = field.numpy_dtype
    source_kind, target_kind = array.dtype.kind, target.kind
    if target_kind == "b" or (source_kind == "f" and target_kind in "iu"):
        hint = " after rounding" if source_kind == "f" and target_kind != "b" else ""
        raise Unwritable(
            "TPB202",
            f"{array.dtype} cannot become {field.dtype} without loss",
            f'convert it in the function: .astype(np.{target.name}){hint}, or say cast="unsafe"',
        )
    with np.errstate(over="ignore"):
        cast = array.astype(target)
    if source_kind == "f":
        lost = np.isinf(cast) & ~np.isinf(array)
    elif target_kind == "f":
        lost = ~_same_numbers(cast, array)
    elif source_kind == "b":
        return cast
    else:
        limits = np.iinfo(target)
        lost = (array < limits.min) | (array > limits.max)
    if lost.any():
        first = tuple(int(i) for i in np.argwhere(lost)[0])
        raise Unwritable(
            "TPB202",
            f"{array[first]!s} ({array.dtype}) at {list(first)} does not fit {field.dtype}",
            'declare a wider dtype, clip in the function, or say cast="unsafe"',
        )
    return cast


def _same_numbers(cast: Array, integers: Array) -> Array:
    """Where a float holds the integer exactly; the comparison itself must not round."""
    if integers.dtype.kind == "b":
        return np.ones(integers.shape, bool)
    limit = 2 ** (np.finfo(cast.dtype).nmant + 1)
    exact: Array = np.asarray(integers <= limit)
    if integers.dtype.kind == "i":
        exact = exact & np.asarray(integers >= -limit)
    exact = np.array(exact)
    for index in np.argwhere(~exact):
        place = tuple(index)
        value = float(cast[place])
        exact[place] = np.isfinite(value) and int(value) == int(integers[place])
    return exact


def _bfloat16(value: Any) -> Any:
    if not is_torch(value) or str(value.dtype) != "torch.bfloat16":
        got = value.dtype if hasattr(value, "dtype") else type(value).__name__
        raise Unwritable("TPB205", f"{got} is no torch.bfloat16", "return a torch.Tensor: .to(torch.bfloat16)")
    return value.detach().cpu().contiguous()


def _strings(value: Any) -> Array:
    array = value if isinstance(value, np.ndarray) else _object_array(value)
    if array.dtype.kind not in "OSU":
        raise Unwritable("TPB205", f"an array of {array.dtype} holds no strings", "return str or bytes elements")
    if array.dtype.kind == "S":
        _check_padding(array)
    encoded = np.empty(array.shape, object)
    for index, element in np.ndenumerate(array):
        encoded[index] = string_element(element)
    return encoded


def _check_padding(array: Array) -> None:
    """An `S` array pads with zero bytes, so it cannot say whether trailing ones are content."""
    width = array.dtype.itemsize
    short = [index for index, element in np.ndenumerate(array) if len(element) < width]
    if short and width:
        raise Unwritable(
            "TPB206",
            f"an array of dtype S{width} cannot say whether the zero bytes at the end of {list(short[0])} are content",
            "return a list of bytes, or an array of dtype=object",
        )


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
