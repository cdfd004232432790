"""Doubles as text. Source: JSON answers measured on 24.10; test_http_answers asks a real server for thousands."""

from __future__ import annotations

import math

import numpy as np
import pytest

from triton_pyb.emulator.stub.doubles import number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "1.5"),
        (2.0, "2.0"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1e16, "10000000000000000.0"),
        (1e20, "100000000000000000000.0"),
        (1e22, "1e22"),
        (1e30, "1e30"),
        (-2.5e-9, "-2.5e-9"),
        (1.5e-5, "0.000015"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (123456789012345678.0, "123456789012345680.0"),
        (float(np.float32(0.2)), "0.20000000298023225"),
        (float(np.float32(3.4e38)), "3.3999999521443644e38"),
        (2.0**64, "18446744073709553000.0"),
        (3.2621, "3.2621"),
        (5e-324, "5e-324"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_texts(value: float, text: str) -> None:
    assert number(value) == text


def test_every_text_reads_as_the_same_number() -> None:
    bits = np.random.default_rng(1).integers(0, 2**63, 20_000, dtype=np.uint64)
    for value in bits.view(np.float64).tolist():
        assert math.isnan(value) or float(number(value)) == value
