"""Encoded picture -> array, with Pillow or OpenCV, whichever is there; Pillow first, it is the stricter reader."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from .dtypes import Array
from .errors import Unavailable


class NoPicture(Exception):
    """The bytes cannot be read as a picture; the message says what they look like."""


def decode_image(data: bytes, mode: str, max_pixels: int) -> Array:
    """Decode one picture, upright.

    Parameters
    ----------
    data : bytes
        JPEG, PNG, or what the library at hand reads besides.
    mode : {"RGB", "BGR", "GRAY"}
    max_pixels : int
        Checked on the header, before the pixels are decoded.

    Returns
    -------
    numpy.ndarray of uint8, shape (height, width, 3), or (height, width) for GRAY
        C-contiguous and writable.  An EXIF orientation is applied, an alpha channel dropped.

    Raises
    ------
    NoPicture
        When the bytes are empty, no picture, truncated, or larger than `max_pixels`.
    Unavailable
        When neither Pillow nor OpenCV is installed.
    """
    if not data:
        raise NoPicture("it is empty (0 bytes)")
    try:
        import PIL.Image
    except ImportError:
        return _decode_with_opencv(data, mode, max_pixels)
    return _decode_with_pillow(PIL.Image, data, mode, max_pixels)


def _decode_with_pillow(pil: Any, data: bytes, mode: str, max_pixels: int) -> Array:
    from PIL import ImageOps

    try:
        picture = pil.open(io.BytesIO(data))
    except pil.UnidentifiedImageError:
        raise NoPicture(look(data)) from None
    except Exception as error:  # decompression bombs and broken headers, by format
        raise NoPicture(f"{type(error).__name__}: {error}") from None
    _check_size(picture.width, picture.height, max_pixels)
    try:
        picture = ImageOps.exif_transpose(picture)
        if picture.mode in ("I;16", "I;16B", "I;16L", "I"):  # 16 bit grey: convert() would clip, not scale
            picture = pil.fromarray((np.asarray(picture, dtype=np.int64) // 257).astype(np.uint8))
        array = np.array(picture.convert("L" if mode == "GRAY" else "RGB"))
    except Exception as error:
        raise NoPicture(f"it begins like {picture.format or 'a picture'}, then: {error}") from None
    return np.ascontiguousarray(array[:, :, ::-1]) if mode == "BGR" else array


def _decode_with_opencv(data: bytes, mode: str, max_pixels: int) -> Array:
    try:
        import cv2
    except ImportError:
        raise Unavailable("a picture came, and neither Pillow nor OpenCV is installed where this model runs") from None
    if data[:2] == b"\xff\xd8" and b"\xff\xd9" not in data[-64:]:
        raise NoPicture("it begins like JPEG and is truncated: no end marker")  # OpenCV fills the rest with grey
    if data[:4] == b"\x89PNG" and b"IEND" not in data[-64:]:
        raise NoPicture("it begins like PNG and is truncated: no IEND chunk")
    flag = cv2.IMREAD_GRAYSCALE if mode == "GRAY" else cv2.IMREAD_COLOR
    try:
        array = cv2.imdecode(np.frombuffer(data, np.uint8), flag)
    except cv2.error as error:
        raise NoPicture(f"OpenCV: {error}") from None
    if array is None:
        raise NoPicture(look(data))
    _check_size(array.shape[1], array.shape[0], max_pixels)
    return np.ascontiguousarray(array[:, :, ::-1]) if mode == "RGB" else np.asarray(array)


def _check_size(width: int, height: int, max_pixels: int) -> None:
    if width * height > max_pixels:
        raise NoPicture(f"it has {width} x {height} pixels, above the limit of {max_pixels}")


def look(data: bytes) -> str:
    """What bytes that are no picture look like."""
    head = bytes(data[:16])
    return f"no picture that can be read: {len(data)} bytes that begin with {head!r}"
