"""Join the items of several requests and cut a joined result back; pure numpy."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Union

import numpy as np

from .dtypes import Array

Column = Union[Array, List[Any]]


def join(columns: Sequence[Column]) -> Column:
    """One column out of those of several requests, in request order.

    Parameters
    ----------
    columns : sequence of numpy.ndarray of shape (n_items, *shape), or of list
        All of one kind; the arrays agree in `shape`.

    Returns
    -------
    numpy.ndarray of shape (n_rows, *shape), or list
        The very object that came when it is the only one; else a new one (one copy).
    """
    if len(columns) == 1:
        return columns[0]
    if isinstance(columns[0], list):
        return [item for column in columns for item in column]
    return np.concatenate(columns)


def split(column: Column, counts: Sequence[int]) -> List[Column]:
    """Cut a joined column back into one per request.

    Parameters
    ----------
    column : numpy.ndarray of shape (n_rows, *shape), or list of length n_rows
    counts : sequence of int
        How many items each request brought; their sum is n_rows, which the caller has checked.

    Returns
    -------
    list of numpy.ndarray or list
        Views of `column` where it is an array.

    Examples
    --------
    >>> [part.shape for part in split(np.zeros((3, 2)), [2, 1])]
    [(2, 2), (1, 2)]
    """
    parts: List[Column] = []
    start = 0
    for count in counts:
        parts.append(column[start : start + count])
        start += count
    return parts


def group_by_shape(columns: Sequence[Dict[str, Column]]) -> List[List[int]]:
    """Indexes of requests that can be joined: those whose arrays agree in item shape, in order of arrival.

    Triton's own batcher joins equal shapes only, but pictures are all of one shape on the wire and differ once
    decoded; a request must not fail because of the company it keeps.
    """
    groups: Dict[Any, List[int]] = {}
    for index, column in enumerate(columns):
        key = tuple(
            (name, part.shape[1:] if isinstance(part, np.ndarray) else None) for name, part in sorted(column.items())
        )
        groups.setdefault(key, []).append(index)
    return list(groups.values())
