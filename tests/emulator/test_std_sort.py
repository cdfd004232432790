"""The order of equal elements; test_http_answers asks a real server for it."""

from __future__ import annotations

import numpy as np
import pytest

from triton_pyb.emulator import std_sort

#: Source: measured on 24.10, classes of 40 numbers.
ORDER = [
    19,
    30,
    8,
    27,
    16,
    38,
    5,
    35,
    13,
    24,
    2,
    10,
    21,
    32,
    7,
    29,
    18,
    26,
    15,
    37,
    4,
    12,
    34,
    23,
    1,
    31,
    20,
    9,
    28,
    17,
    6,
    39,
    25,
    14,
    36,
    3,
    22,
    0,
    33,
    11,
]


def test_equal_elements_stand_as_the_server_leaves_them() -> None:
    values = np.arange(40) * 37 % 11
    assert std_sort.descending(values, 40) == ORDER
    assert std_sort.descending(values, 7) == ORDER[:7]


def test_up_to_16_elements_keep_their_order() -> None:
    assert std_sort.descending(np.array([1, 3, 1, 3, 2] * 3), 15) == [1, 3, 6, 8, 11, 13, 4, 9, 14, 0, 2, 5, 7, 10, 12]


@pytest.mark.parametrize("kind", ["<i8", "<u8", "<f4"])
def test_any_numbers_come_out_sorted(kind: str) -> None:
    rng = np.random.default_rng(2)
    for length in (0, 1, 16, 17, 33, 200, 1000):
        for top in (2, 50, 2**62):
            values = rng.integers(0, top, length).astype(kind)
            order = std_sort.descending(values, length)
            assert sorted(order) == list(range(length))
            assert values[order].tolist() == sorted(values.tolist(), reverse=True)
