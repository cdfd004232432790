"""Plain values become the arrays that a configuration asks for, or say why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from triton_pyb.emulator.values import ValueRefused, to_arrays


def config(dtype: str, dims: list[int], max_batch_size: int = 8) -> dict[str, Any]:
    tensor = {"name": "x", "data_type": f"TYPE_{dtype}", "dims": dims}
    return {"name": "m", "max_batch_size": max_batch_size, "input": [tensor]}


@pytest.mark.parametrize(
    ("dtype", "dims", "value", "shape"),
    [
        ("STRING", [1], b"jpeg", (1, 1)),
        ("STRING", [1], "text", (1, 1)),
        ("STRING", [1], ["a", "b", "c"], (3, 1)),
        ("STRING", [1], [["a"], ["b"]], (2, 1)),
        ("STRING", [-1], ["a", "b"], (1, 2)),
        ("STRING", [2], ["a", "b"], (1, 2)),
        ("FP32", [1], 1.5, (1, 1)),
        ("FP32", [1], [1, 2, 3], (3, 1)),
        ("FP32", [3], [1, 2, 3], (1, 3)),
        ("FP32", [3], [[1, 2, 3], [4, 5, 6]], (2, 3)),
        ("FP32", [2, 1], [[1, 2], [3, 4]], (2, 2, 1)),
        ("BOOL", [2], [True, False], (1, 2)),
        ("INT64", [-1], [], (1, 0)),
    ],
)
def test_batching_adds_the_batch_axis(dtype: str, dims: list[int], value: Any, shape: tuple[int, ...]) -> None:
    assert to_arrays(config(dtype, dims), {"x": value})["x"].shape == shape


@pytest.mark.parametrize(
    ("dims", "value", "shape"),
    [
        ([-1], ["a", "b"], (2,)),
        ([-1], "a", (1,)),
        ([1], "a", (1,)),
        ([-1, 3], ["a", "b", "c"], (1, 3)),
    ],
)
def test_explicit_form_has_no_batch_axis(dims: list[int], value: Any, shape: tuple[int, ...]) -> None:
    assert to_arrays(config("STRING", dims, 0), {"x": value})["x"].shape == shape


def test_text_becomes_utf8() -> None:
    array = to_arrays(config("STRING", [1]), {"x": ["한국어", b"\xff"]})["x"]
    assert array.tolist() == [["한국어".encode()], [b"\xff"]]


def test_numbers_take_the_declared_dtype() -> None:
    assert to_arrays(config("UINT8", [1]), {"x": 255})["x"].dtype == np.uint8
    assert to_arrays(config("FP16", [1]), {"x": 1})["x"].dtype == np.float16


def test_an_array_goes_as_it_is() -> None:
    array = np.zeros((7, 3))
    assert to_arrays(config("FP32", [3]), {"x": array})["x"] is array


def test_numpy_text_becomes_bytes() -> None:
    array = to_arrays(config("STRING", [1]), {"x": np.array([["ü"], ["b"]])})["x"]
    assert array.tolist() == [["ü".encode()], [b"b"]]


def test_an_unknown_name_is_the_servers_business() -> None:
    assert to_arrays(config("FP32", [3]), {"y": [1.0]})["y"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("dtype", "dims", "value", "code", "got"),
    [
        ("BF16", [1], 1.0, "TPB550", "BF16 has no numpy dtype"),
        ("FP32", [-1], [[1, 2], [3]], "TPB551", "the rows differ in length"),
        ("STRING", [-1], [["a", "b"], ["c"]], "TPB551", "the rows differ in length"),
        ("UINT8", [1], 256, "TPB552", "got 256 (int), expected values that UINT8 can hold"),
        ("INT32", [2], [1.0, 2.5], "TPB552", "got floats from 1.0 to 2.5"),
        ("FP32", [1], 1e300, "TPB552", "expected values that FP32 can hold"),
        ("FP32", [1], "1.5", "TPB552", "got '1.5' (str)"),
        ("BOOL", [2], [1, 0], "TPB552", "got integers from 0 to 1"),
        ("INT32", [1], True, "TPB552", "got True (bool)"),
        ("STRING", [1], {"a": 1}, "TPB553", "got {'a': 1} (dict), expected str or bytes"),
        ("STRING", [1], 5, "TPB553", "got 5 (int), expected str or bytes"),
        ("FP32", [3], [1, 2], "TPB554", "got a value of shape [2], expected [-1, 3] (-1 first is the batch axis)"),
    ],
)
def test_refusals_quote_got_and_expected(dtype: str, dims: list[int], value: Any, code: str, got: str) -> None:
    with pytest.raises(ValueRefused) as refused:
        to_arrays(config(dtype, dims), {"x": value})
    assert refused.value.code == code
    assert got in refused.value.what
    assert refused.value.where == "input 'x' of model 'm'"
