"""Boxes on a picture: overlap, non-maximum suppression, other ways to write them."""

from __future__ import annotations

from typing import List, Optional, Tuple

import numpy as np

from .dtypes import Array


def from_center(boxes: Array) -> Array:
    """``(center_x, center_y, width, height)`` to ``(x1, y1, x2, y2)``, shape (..., 4); a new array.

    >>> from_center(np.array([[10.0, 10.0, 4.0, 2.0]])).tolist()
    [[8.0, 9.0, 12.0, 11.0]]
    """
    half = boxes[..., 2:] / 2
    return np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], axis=-1)


def from_corner(boxes: Array) -> Array:
    """``(x1, y1, width, height)`` to ``(x1, y1, x2, y2)``, shape (..., 4); a new array.

    >>> from_corner(np.array([[8, 9, 4, 2]])).tolist()
    [[8, 9, 12, 11]]
    """
    return np.concatenate([boxes[..., :2], boxes[..., :2] + boxes[..., 2:]], axis=-1)


def clip_boxes(boxes: Array, size: Tuple[int, int]) -> Array:
    """Boxes ``(x1, y1, x2, y2)``, shape (..., 4), cut at the edges of a picture of `size` (height, width).

    >>> clip_boxes(np.array([[-5, 2, 30, 40]]), (20, 25)).tolist()
    [[0, 2, 25, 20]]
    """
    height, width = size
    clipped: Array = np.clip(boxes, 0, np.array([width, height, width, height], boxes.dtype))
    return clipped


def iou(one: Array, other: Array) -> Array:
    """Intersection over union of every box with every other.

    Parameters
    ----------
    one, other : numpy.ndarray, shapes (n, 4) and (m, 4)
        ``(x1, y1, x2, y2)``, edges.

    Returns
    -------
    numpy.ndarray of float, shape (n, m)
        0 for two boxes without area.

    Examples
    --------
    >>> iou(np.array([[0.0, 0.0, 2.0, 2.0]]), np.array([[1.0, 0.0, 3.0, 2.0], [5.0, 5.0, 6.0, 6.0]])).round(3).tolist()
    [[0.333, 0.0]]
    """
    one, other = _as_boxes(one), _as_boxes(other)
    both = _shared_areas(one[:, np.newaxis], other)
    either: Array = _areas(one)[:, np.newaxis] + _areas(other) - both
    overlap: Array = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    return overlap


def nms(
    boxes: Array,
    scores: Array,
    iou_threshold: float = 0.5,
    *,
    classes: Optional[Array] = None,
    score_threshold: float = -np.inf,
    limit: Optional[int] = None,
) -> Array:
    """Non-maximum suppression: of boxes that overlap, the one with the highest score.

    Parameters
    ----------
    boxes : numpy.ndarray, shape (n, 4)
        ``(x1, y1, x2, y2)``, edges.
    scores : numpy.ndarray, shape (n,)
    iou_threshold : float
        A box goes when its overlap with a kept one is larger.
    classes : numpy.ndarray, shape (n,), optional
        Only boxes of one class suppress each other.
    score_threshold : float
        Boxes below it go at once.
    limit : int, optional
        At most so many are kept.

    Returns
    -------
    numpy.ndarray of int64, shape (kept,)
        Places in `boxes`, by falling score; of equal scores the first comes first.

    Notes
    -----
    The choice of ``torchvision.ops.nms`` and ``batched_nms``.  Time grows with n times kept, memory with n.

    Examples
    --------
    >>> boxes = np.array([[0, 0, 10, 10], [1, 0, 11, 10], [50, 50, 60, 60]], np.float32)
    >>> nms(boxes, np.array([0.8, 0.9, 0.3])).tolist()
    [1, 2]
    """
    boxes = _as_boxes(boxes)
    if scores.shape != boxes.shape[:1] or (classes is not None and classes.shape != scores.shape):
        raise ValueError(f"boxes, scores and classes differ in length: {boxes.shape}, {scores.shape}, {classes!r}")
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] >= score_threshold]
    areas = _areas(boxes)
    kept: List[int] = []
    while order.size and (limit is None or len(kept) < limit):
        first, order = order[0], order[1:]
        kept.append(first)
        overlap = _shared_areas(boxes[first], boxes[order])
        # Divided, as torchvision does: at the very threshold a product rounds differently.
        with np.errstate(invalid="ignore"):
            gone = overlap / (areas[first] + areas[order] - overlap) > iou_threshold
        if classes is not None:
            gone &= classes[order] == classes[first]
        order = order[~gone]
    return np.array(kept, np.int64)


def _as_boxes(boxes: Array) -> Array:
    boxes = np.asarray(boxes)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"boxes have the shape (n, 4), not {boxes.shape}")
    return boxes if boxes.dtype.kind == "f" else boxes.astype(np.float64)


def _areas(boxes: Array) -> Array:
    areas: Array = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return areas


def _shared_areas(one: Array, other: Array) -> Array:
    sides = np.minimum(one[..., 2:], other[..., 2:]) - np.maximum(one[..., :2], other[..., :2])
    sides = np.maximum(sides, 0)
    areas: Array = sides[..., 0] * sides[..., 1]
    return areas
