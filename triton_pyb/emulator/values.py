"""Plain Python values to the arrays that a model's configuration asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_pyb.runtime.arrays import fits
from triton_pyb.runtime.dtypes import NUMPY_DTYPES, wire_name
from triton_pyb.runtime.errors import TritonPybError


class ValueRefused(TritonPybError):
    """A plain value cannot become the array that an input declares."""


def to_arrays(model_config: dict[str, Any], inputs: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays to send, one per entry of `inputs`.

    Arrays go as they are (their shape and dtype are the client's business, and the server's to
    refuse); anything else, such as ``b"..."``, ``"text"``, ``1.5`` or a list of them, is fitted to
    the declared dtype and shape. Where the model batches (``max_batch_size > 0``) the batch axis is
    added: one value is one row, a list of `n` values for ``dims: [1]`` has shape ``(n, 1)``. A name
    that the model does not declare goes through untouched: the server answers it.

    Raises
    ------
    ValueRefused
        When a value does not fit the dtype without loss, or fits no shape of the declared rank.
    """
    declared = {tensor["name"]: tensor for tensor in model_config.get("input", [])}
    batching = model_config.get("max_batch_size", 0) > 0
    arrays = {}
    for name, value in inputs.items():
        if isinstance(value, np.ndarray) or name not in declared:
            arrays[name] = _as_sent(np.asarray(value))
            continue
        tensor = declared[name]
        where = f"input '{name}' of model '{model_config.get('name', '')}'"
        array = _with_dtype(value, wire_name(tensor["data_type"]), where)
        arrays[name] = _with_shape(array, [int(dim) for dim in tensor["dims"]], batching, where)
    return arrays


def _as_sent(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind == "U":  # numpy's own text arrays have no wire form: they go as UTF-8
        return np.array([item.encode() for item in array.ravel().tolist()] + [None], object)[:-1].reshape(array.shape)
    return array


def _with_dtype(value: Any, datatype: str, where: str) -> NDArray[Any]:
    if datatype == "BYTES":
        return _as_bytes(value, where)
    if datatype == "BF16":
        raise ValueRefused(
            "TPB550", "BF16 has no numpy dtype", where, "pass an array of ml_dtypes.bfloat16 instead of plain values"
        )
    wanted = NUMPY_DTYPES[datatype]
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueRefused(
            "TPB551", f"the rows differ in length ({error})", where, "send rows of one shape, or one request each"
        ) from None
    if array.size == 0:
        return array.astype(wanted)
    if array.dtype.kind not in "biuf" or not _lossless(array, wanted):
        raise ValueRefused(
            "TPB552",
            f"got {_described(value, array)}, expected values that {datatype} can hold",
            where,
            f"send {datatype} values, or convert them where they are made",
        )
    return array.astype(wanted)


def _lossless(array: NDArray[Any], wanted: np.dtype[Any]) -> bool:
    if wanted.kind == "b" or array.dtype.kind == "b":
        return wanted.kind == array.dtype.kind
    if wanted.kind == "f":
        if array.dtype.kind == "f":
            limit = np.finfo(wanted).max
            finite = array[np.isfinite(array)]
            return bool((np.abs(finite) <= limit).all())
        return bool((array.astype(wanted).astype(array.dtype) == array).all())
    if array.dtype.kind == "f":
        return False
    limits = np.iinfo(wanted)
    return int(array.min()) >= limits.min and int(array.max()) <= limits.max


def _described(value: Any, array: NDArray[Any]) -> str:
    if array.ndim == 0 or array.size == 1:
        return f"{value!r} ({type(value).__name__})"
    kinds = {"b": "bools", "i": "integers", "u": "integers", "f": "floats", "U": "text", "S": "bytes"}
    what = kinds.get(array.dtype.kind, f"{array.dtype} values")
    if array.dtype.kind in "iuf":
        return f"{what} from {array.min()} to {array.max()}"
    return what


def _as_bytes(value: Any, where: str) -> NDArray[Any]:
    shape = _shape_of(value)
    items = list(_leaves(value))
    if len(items) != int(np.prod(shape)):
        raise ValueRefused("TPB551", "the rows differ in length", where, "send rows of one shape, or one request each")
    array = np.empty(len(items), object)
    for index, item in enumerate(items):
        if isinstance(item, str):
            array[index] = item.encode()
        elif isinstance(item, (bytes, bytearray, memoryview)):
            array[index] = bytes(item)
        else:
            raise ValueRefused(
                "TPB553",
                f"got {item!r} ({type(item).__name__}), expected str or bytes",
                where,
                "send text or bytes; for structured data send json.dumps(value)",
            )
    return array.reshape(shape)


def _shape_of(value: Any) -> tuple[int, ...]:
    if isinstance(value, (list, tuple)):
        return (len(value), *(_shape_of(value[0]) if value else ()))
    return ()


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _with_shape(array: NDArray[Any], dims: list[int], batching: bool, where: str) -> NDArray[Any]:
    full = [-1, *dims] if batching else dims
    for shape in _candidate_shapes(array.shape, full):
        if fits(full, shape):
            return array.reshape(shape)
    raise ValueRefused(
        "TPB554",
        f"got a value of shape {list(array.shape)}, expected {full}"
        + (" (-1 first is the batch axis)" if batching else ""),
        where,
        "send one item, a list of items, or an array of the full shape",
    )


def _candidate_shapes(shape: tuple[int, ...], full: list[int]) -> Iterator[tuple[int, ...]]:
    missing = len(full) - len(shape)
    yield shape
    if missing > 0:
        yield (1,) * missing + shape  # one item: the leading axes are 1
        yield shape + (1,) * missing  # a list of items whose own dims are 1
        yield shape[:1] + (1,) * missing + shape[1:]
