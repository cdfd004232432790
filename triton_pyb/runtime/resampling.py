"""Resampling as Pillow does it, in numpy, for models that run where there is no Pillow."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Tuple

import numpy as np

from .dtypes import Array

_HAMMING = (float(np.float32(0.54)), float(np.float32(0.46)))  # single precision there too
_PRECISION_BITS = 22  # of the whole-number weights with which Pillow resizes 8 bit pictures


def resample(image: Array, height: int, width: int, how: str, columns_first: bool) -> Array:
    """Pillow's ``resize``, bit for bit: one direction, rounded, then the other.

    Parameters
    ----------
    image : numpy.ndarray of uint8 or float32, shape (old height, old width) or (old height, old width, channels)
    how : {"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"}
    columns_first : bool
        Which direction is resized first.

    Returns
    -------
    numpy.ndarray of the dtype of `image`, shape (height, width) or (height, width, channels)

    Notes
    -----
    Source: the algorithm as Pillow documents it (concepts, filters) and, for the number of bits, its results.
    """
    if how == "nearest":
        rows, columns = _nearest(image.shape[0], height), _nearest(image.shape[1], width)
        nearest: Array = image[rows[:, np.newaxis], columns]
        return nearest
    passes = ((0, height), (1, width)) if columns_first else ((1, width), (0, height))
    for axis, length in passes:
        if image.shape[axis] != length:
            first, weights = _weights(image.shape[axis], length, how)
            image = _weighted(image, axis, first, weights)
    return image


def _nearest(old: int, new: int) -> Array:
    steps = np.full(new, old / new)
    steps[0] /= 2
    places: Array = np.minimum(np.cumsum(steps).astype(np.intp), old - 1)
    return places


def _weights(old: int, new: int, how: str) -> Tuple[Array, Array]:
    """(first pixel of each new one, weights): shapes (new,) and (new, taps)."""
    reach, shape = _FILTERS[how]
    scale = old / new
    stretch = max(scale, 1.0)
    support = reach * stretch
    centers = (np.arange(new) + 0.5) * scale
    first = np.maximum((centers - support + 0.5).astype(np.int64), 0)
    last = np.minimum((centers + support + 0.5).astype(np.int64), old)
    taps = first[:, np.newaxis] + np.arange(math.ceil(support) * 2 + 1)
    weights = shape((taps - centers[:, np.newaxis] + 0.5) * (1.0 / stretch))
    weights = np.where(taps < last[:, np.newaxis], weights, 0.0)
    normalized: Array = weights / np.cumsum(weights, axis=1)[:, -1:]  # summed one by one, as in a loop
    return first, normalized


def _weighted(image: Array, axis: int, first: Array, weights: Array) -> Array:
    whole = image.dtype == np.uint8
    if whole:
        weights = np.trunc(weights * (1 << _PRECISION_BITS) + np.copysign(0.5, weights)).astype(np.int32)
    shape = list(image.shape)
    shape[axis] = len(first)
    total: Any = np.full(shape, 1 << _PRECISION_BITS - 1 if whole else 0, np.int32 if whole else np.float64)
    along = [-1 if at == axis else 1 for at in range(image.ndim)]
    for tap in range(weights.shape[1]):
        index = np.minimum(first + tap, image.shape[axis] - 1)
        total += np.take(image, index, axis=axis) * weights[:, tap].reshape(along)
    if whole:
        total = np.clip(total >> _PRECISION_BITS, 0, 255)
    weighted: Array = total.astype(image.dtype)
    return weighted


def _triangle(x: Array) -> Array:
    return np.maximum(1.0 - np.abs(x), 0.0)


def _cubic(x: Array) -> Array:
    a, x = -0.5, np.abs(x)
    near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1.0, near, np.where(x < 2.0, far, 0.0))


def _box(x: Array) -> Array:
    return np.where((x > -0.5) & (x <= 0.5), 1.0, 0.0)


def _hamming(x: Array) -> Array:
    x = np.abs(x)
    angle = np.where(x == 0.0, 1.0, x * np.pi)
    bell = np.sin(angle) / angle * (_HAMMING[0] + _HAMMING[1] * np.cos(angle))
    return np.where(x == 0.0, 1.0, np.where(x >= 1.0, 0.0, bell))


def _lanczos(x: Array) -> Array:
    return np.where((x >= -3.0) & (x < 3.0), np.sinc(x) * np.sinc(x / 3), 0.0)


_FILTERS: Dict[str, Tuple[float, Callable[[Array], Array]]] = {
    "box": (0.5, _box),
    "bilinear": (1.0, _triangle),
    "hamming": (1.0, _hamming),
    "bicubic": (2.0, _cubic),
    "lanczos": (3.0, _lanczos),
}
