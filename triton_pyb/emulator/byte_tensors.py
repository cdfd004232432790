"""Tensors as raw bytes: what the binary extension of HTTP and gRPC's raw contents carry."""

from __future__ import annotations

import struct
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_pyb.emulator.messages import DATATYPES, WireTensor


def array_of(raw: bytes, datatype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """The array that `raw` holds; where it does not hold one of this shape, the bytes as they are (uint8).

    The server looks at the byte count only after names, types and shapes: so does `validation`.
    """
    if datatype == "BYTES":
        elements, _ = elements_of(raw)
        if elements is None or len(elements) != prod(shape):
            return np.frombuffer(raw, np.uint8)
        return np.array([*elements, None], object)[:-1].reshape(shape)
    dtype = np.dtype(DATATYPES[datatype])
    if len(raw) != prod(shape) * dtype.itemsize:
        return np.frombuffer(raw, np.uint8)
    return np.frombuffer(raw, dtype).reshape(shape)


def elements_of(raw: bytes) -> tuple[list[bytes] | None, str]:
    """The elements of a BYTES tensor; None and the server's complaint when the bytes do not add up."""
    elements, position = [], 0
    while position < len(raw):
        left = len(raw) - position
        if left < 4:
            return None, (
                f"expecting 4 bytes but only {left} bytes available. Please make sure the string length indicator"
                " is in one buffer."
            )
        (length,) = struct.unpack_from("<I", raw, position)
        position += 4
        if position + length > len(raw):
            available = len(raw) - position
            return None, f"expecting string of length {length} but only {available} bytes available"
        elements.append(raw[position : position + length])
        position += length
    return elements, ""


def bytes_of(tensor: WireTensor) -> bytes:
    """The wire form of a tensor; each element of a BYTES tensor stands behind its length."""
    if tensor.datatype == "BYTES":
        return b"".join(struct.pack("<I", len(item)) + item for item in tensor.array.ravel().tolist())
    return np.ascontiguousarray(tensor.array).tobytes()
