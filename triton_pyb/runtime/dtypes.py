"""The one table of Triton's data types: config name, wire name, numpy dtype.

Source: ``model_config.proto`` (DataType) and ``TRITON_STRING_TO_NUMPY`` of triton_python_backend_utils.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]
    Dtype = np.dtype[Any]
else:  # an old numpy cannot be subscripted
    Array = np.ndarray
    Dtype = np.dtype

#: Wire name -> numpy dtype of the array that Triton's Python backend hands over.  BF16 has none:
#: it travels through DLPack only (24.08 and later).
NUMPY_DTYPES: Dict[str, Dtype] = {
    "BOOL": np.dtype(np.bool_),
    "UINT8": np.dtype(np.uint8),
    "UINT16": np.dtype(np.uint16),
    "UINT32": np.dtype(np.uint32),
    "UINT64": np.dtype(np.uint64),
    "INT8": np.dtype(np.int8),
    "INT16": np.dtype(np.int16),
    "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64),
    "FP16": np.dtype(np.float16),
    "FP32": np.dtype(np.float32),
    "FP64": np.dtype(np.float64),
    "BYTES": np.dtype(np.object_),
}

#: Wire names in the order of the protobuf enum; BF16 stands last there too.
NAMES = (*NUMPY_DTYPES, "BF16")

_WIRE_NAMES = {dtype: name for name, dtype in NUMPY_DTYPES.items()}


def config_name(dtype: str) -> str:
    """``"FP32"`` -> ``"TYPE_FP32"``; BYTES is spelled ``TYPE_STRING`` in a model configuration."""
    return "TYPE_STRING" if dtype == "BYTES" else "TYPE_" + dtype


def wire_name(config: str) -> str:
    """``"TYPE_FP32"`` -> ``"FP32"``, ``"TYPE_STRING"`` -> ``"BYTES"``."""
    return "BYTES" if config == "TYPE_STRING" else config[len("TYPE_") :]


def canonical(spelling: object) -> str:
    """The wire name behind any usual spelling of a dtype, or an empty string when there is none.

    Examples
    --------
    >>> [canonical(s) for s in ("FP32", "fp32", "float32", "TYPE_STRING", "string", np.uint8, "FP31")]
    ['FP32', 'FP32', 'FP32', 'BYTES', 'BYTES', 'UINT8', '']
    """
    if isinstance(spelling, str):
        name = spelling.upper()
        name = name[len("TYPE_") :] if name.startswith("TYPE_") else name
        if name == "STRING":
            return "BYTES"
        if name in NAMES:
            return name
        if name == "BFLOAT16":
            return "BF16"
        spelling = spelling.lower()
    try:
        dtype = np.dtype(spelling)  # type: ignore[call-overload]  # anything numpy itself takes
    except TypeError:
        return ""
    if dtype.kind in "SU":
        return "BYTES"
    return _WIRE_NAMES.get(dtype.newbyteorder("="), "")
