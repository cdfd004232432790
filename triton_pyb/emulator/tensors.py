"""Between numpy arrays and tensors on the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_pyb.emulator.messages import WireTensor, wire_tensor
from triton_pyb.runtime.dtypes import canonical
from triton_pyb.runtime.errors import TritonPybError


def tensor_of(name: str, array: NDArray[Any]) -> WireTensor:
    """The tensor that a client would send for `array`; its dtype decides the data type.

    Raises
    ------
    TritonPybError
        When Triton has no data type for the array's.
    """
    if array.dtype.isbuiltin != 1 and array.dtype.name == "bfloat16":  # of ml_dtypes
        bits = np.ascontiguousarray(array).view(np.uint16)
        return WireTensor(name, "BF16", tuple(array.shape), bits)
    datatype = canonical(array.dtype)
    if not datatype:
        raise TritonPybError(
            "TPB563",
            f"got an array of {array.dtype}, which Triton has no data type for",
            f"input '{name}'",
            "convert it, e.g. array.astype(numpy.float32)",
        )
    return wire_tensor(name, datatype, array)


def arrays_of(tensors: Iterable[WireTensor]) -> dict[str, NDArray[Any]]:
    """Name to array; of two tensors with one name the first counts, as in tritonclient."""
    arrays: dict[str, NDArray[Any]] = {}
    for tensor in tensors:
        arrays.setdefault(tensor.name, _array(tensor))
    return arrays


def _array(tensor: WireTensor) -> NDArray[Any]:
    if tensor.datatype != "BF16":
        return tensor.array
    # The upper half of a float32: exact, and every numpy can hold it.
    widened = (tensor.array.astype(np.uint32) << 16).view(np.float32)
    return widened.reshape(tensor.shape)
