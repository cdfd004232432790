"""Which numpy dtype is which Triton datatype for the C++ side (the Python helpers have their own table)."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import numpy as np

from .errors import TritonModelException

_NUMERIC = {
    np.dtype(np.bool_): "BOOL",
    np.dtype(np.uint8): "UINT8",
    np.dtype(np.uint16): "UINT16",
    np.dtype(np.uint32): "UINT32",
    np.dtype(np.uint64): "UINT64",
    np.dtype(np.int8): "INT8",
    np.dtype(np.int16): "INT16",
    np.dtype(np.int32): "INT32",
    np.dtype(np.int64): "INT64",
    np.dtype(np.float16): "FP16",
    np.dtype(np.float32): "FP32",
    np.dtype(np.float64): "FP64",
}

_DLPACK_CODES = {"INT": 0, "UINT": 1, "FP": 2, "BF": 4, "BOOL": 6}


def datatype_of(dtype: Any) -> str:
    """The datatype of an array given to Tensor(); anything unknown raises TritonModelException."""
    if dtype == np.object_ or dtype.type is np.bytes_:
        return "BYTES"
    if dtype in _NUMERIC:
        return _NUMERIC[dtype]
    for known, datatype in _NUMERIC.items():
        if dtype == known:  # equal also for aliases such as longlong; never for another byte order
            return datatype
    raise TritonModelException("NumPy dtype is not supported.")


def dlpack_type(datatype: str) -> Tuple[int, int, int]:
    """The (code, bits, lanes) of a numeric datatype."""
    if datatype == "BOOL":
        return _DLPACK_CODES["BOOL"], 8, 1
    word = datatype.rstrip("0123456789")
    return _DLPACK_CODES[word], int(datatype[len(word) :]), 1


def datatype_of_dlpack(code: int, bits: int, lanes: int, bf16: bool) -> Optional[str]:
    """The datatype of a DLPack tensor, None where there is none."""
    if lanes != 1:
        return None
    if code == _DLPACK_CODES["BF"] and bf16:
        if bits != 16:
            raise TritonModelException(f"Expected BF16 tensor to have 16 bits, but had: {bits}")
        return "BF16"
    for datatype in _NUMERIC.values():
        if dlpack_type(datatype) == (code, bits, lanes):
            return datatype
    return None


def elements_of(array: Any) -> List[bytes]:
    """The bytes of each element of an object or S array, in C order, as the stub serialises them.

    Source: `serialize_byte_tensor`: exact `bytes` go as they are, everything else as the UTF-8 of its `str()`.
    """
    return [item if type(item) is bytes else str(item).encode("utf-8") for item in array.ravel(order="C").tolist()]
