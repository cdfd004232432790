"""Scores of classes: probabilities, and the best few with their labels."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from .dtypes import Array


def softmax(logits: Array, axis: int = -1) -> Array:
    """Probabilities along `axis`, of the dtype of `logits` (float32 at least); large logits do not overflow.

    >>> softmax(np.array([1000.0, 1000.0])).tolist()
    [0.5, 0.5]
    """
    logits = np.asarray(logits)
    if logits.dtype.kind != "f" or logits.dtype.itemsize < 4:
        logits = logits.astype(np.float32)
    powers = np.exp(logits - logits.max(axis=axis, keepdims=True))
    probabilities: Array = powers / powers.sum(axis=axis, keepdims=True)
    return probabilities


def sigmoid(logits: Array) -> Array:
    """``1 / (1 + exp(-logits))`` of the dtype of `logits` (float32 at least), without overflow.

    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    logits = np.asarray(logits)
    if logits.dtype.kind != "f" or logits.dtype.itemsize < 4:
        logits = logits.astype(np.float32)
    powers = np.exp(-np.abs(logits))
    return np.where(logits >= 0, 1 / (1 + powers), powers / (1 + powers)).astype(logits.dtype)


def top_k(scores: Array, k: int = 5, labels: Optional[Sequence[str]] = None) -> List[Dict[str, Any]]:
    """The `k` highest scores of one item, as values that ``Json()`` can send.

    Parameters
    ----------
    scores : numpy.ndarray, shape (classes,)
    k : int
        Fewer come back when there are fewer classes.
    labels : sequence of str, optional
        One per class.

    Returns
    -------
    list of dict
        ``{"index": int, "score": float}`` and, with `labels`, ``"label"``; by falling score, of equal scores the
        lower index first.

    Raises
    ------
    ValueError
        When `scores` has another shape or holds NaN, `k` is below 1, or the number of labels differs.

    Examples
    --------
    >>> top_k(np.array([0.25, 0.5, 0.25]), 2, ["cat", "dog", "cow"])
    [{'index': 1, 'score': 0.5, 'label': 'dog'}, {'index': 0, 'score': 0.25, 'label': 'cat'}]
    """
    scores = np.asarray(scores)
    if scores.ndim != 1:
        raise ValueError(f"the scores of one item have the shape (classes,), not {scores.shape}")
    if k < 1:
        raise ValueError(f"k={k!r}: at least 1")
    if labels is not None and len(labels) != len(scores):
        raise ValueError(f"{len(labels)} labels for {len(scores)} scores")
    if scores.dtype.kind == "f" and np.isnan(scores).any():
        raise ValueError(f"{int(np.isnan(scores).sum())} of {len(scores)} scores are NaN")
    best: List[Dict[str, Any]] = []
    # From the back of a rising, stable order of the reversed scores: unlike a minus sign, right for UINT8 too.
    rising = len(scores) - 1 - np.argsort(scores[::-1], kind="stable")
    for index in rising[::-1][:k].tolist():
        entry = {"index": index, "score": scores[index].item()}
        if labels is not None:
            entry["label"] = labels[index]
        best.append(entry)
    return best
