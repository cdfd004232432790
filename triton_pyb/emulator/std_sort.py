"""The order in which the server's ``std::sort`` leaves equal elements.

Source: bits/stl_algo.h of libstdc++: quicksort down to runs of 16, then one insertion sort, which is stable.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_RUN = 16


def descending(values: NDArray[Any], count: int) -> list[int]:
    """The indices of the `count` largest values, the largest first."""
    upwards = np.argsort(values[::-1], kind="stable")
    order = (len(values) - 1 - upwards[::-1])[: count + 1]
    found: list[int] = order[:count].tolist()
    if len(values) <= _RUN or not (values[order[:-1]] == values[order[1:]]).any():
        return found
    indices = list(range(len(values)))
    _partition(indices, values.tolist(), 0, len(values))
    return sorted(indices, key=values.tolist().__getitem__, reverse=True)[:count]


def _partition(indices: list[int], keys: list[Any], first: int, last: int) -> None:
    """Quicksort by descending key until the runs are short."""
    while last - first > _RUN:
        _median_to_first(indices, keys, first, (first + 1, first + (last - first) // 2, last - 1))
        pivot, low, high = keys[indices[first]], first + 1, last
        while True:
            while keys[indices[low]] > pivot:
                low += 1
            high -= 1
            while pivot > keys[indices[high]]:
                high -= 1
            if low >= high:
                break
            indices[low], indices[high] = indices[high], indices[low]
            low += 1
        _partition(indices, keys, low, last)
        last = low


def _median_to_first(indices: list[int], keys: list[Any], first: int, places: tuple[int, int, int]) -> None:
    a, b, c = (keys[indices[place]] for place in places)
    if a > b:
        chosen = 1 if b > c else 2 if a > c else 0
    else:
        chosen = 0 if a > c else 2 if b > c else 1
    place = places[chosen]
    indices[first], indices[place] = indices[place], indices[first]
