"""What a function returns becomes the declared dtype without loss, or the request is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from triton_pyb import Tensor, model
from triton_pyb.runtime.dtypes import NUMPY_DTYPES
from triton_pyb.runtime.execution import Answer

from .requests import answered, refused, run

NUMBERS = {name: dtype for name, dtype in NUMPY_DTYPES.items() if name != "BYTES"}
MODES = ["each", "stack"]


def give(value: Any, dtype: str, shape: Any = (), batch: str = "each") -> Answer:
    """The answer of a step that returns `value` for one item."""
    returned = value if batch == "each" else np.asarray(value)[np.newaxis]
    step = model.wrap(
        lambda x: returned, inputs={"x": Tensor("INT8", ())}, outputs={"y": Tensor(dtype, shape)}, name="m", batch=batch
    )
    (answer,) = run(step, {"x": np.zeros((1, 1), np.int8)})
    return answer


def given_back(value: Any, dtype: str, batch: str = "each") -> Any:
    """The one number that arrives."""
    array = answered(give(value, dtype, batch=batch))["y"]
    assert array.dtype == NUMPY_DTYPES[dtype] and array.shape == (1, 1)
    return array[0, 0]


def kind_of(name: str) -> str:
    return "b" if name == "BOOL" else "f" if name.startswith("FP") else "i"


@pytest.mark.parametrize("batch", MODES)
@pytest.mark.parametrize("target", NUMBERS)
@pytest.mark.parametrize("source", NUMBERS)
def test_every_pair_of_dtypes_for_a_number_that_both_can_hold(source: str, target: str, batch: str) -> None:
    value = np.asarray(1, NUMBERS[source])
    refused_kinds = {("f", "i"), ("f", "b"), ("i", "b")}
    if (kind_of(source), kind_of(target)) in refused_kinds:
        message = refused(give(value, target, batch=batch), "INTERNAL")
        assert f"output 'y': {NUMBERS[source]} cannot become {target} without loss [TPB202]" in message
    else:
        assert given_back(value, target, batch) == NUMBERS[target].type(1)


FITS = [
    (np.uint8(255), "INT16"),
    (np.int64(-128), "INT8"),
    (np.int64(2**63 - 1), "UINT64"),
    (np.uint64(2**63 - 1), "INT64"),
    (np.int64(-(2**63)), "INT64"),
    (np.int64(2048), "FP16"),
    (np.int64(65504), "FP16"),
    (np.int64(2**24), "FP32"),
    (np.int64(2**40), "FP32"),
    (np.int64(-(2**63)), "FP32"),
    (np.int64(2**53), "FP64"),
    (np.uint64(2**63), "FP64"),
    (np.float64(3.4e38), "FP32"),
    (np.float64("inf"), "FP32"),
    (np.float64("-inf"), "FP16"),
    (np.float64(1e-60), "FP32"),
    (np.float64(0.1), "FP16"),
    (True, "UINT8"),
    (False, "FP16"),
    (3, "UINT8"),
    (1.5, "FP32"),
]


@pytest.mark.parametrize("batch", MODES)
@pytest.mark.parametrize("value, target", FITS)
def test_what_fits_arrives(value: Any, target: str, batch: str) -> None:
    assert given_back(value, target, batch) == NUMBERS[target].type(value)


LOSSY = [
    (np.int64(257), "UINT8"),
    (np.int64(-1), "UINT8"),
    (np.int8(-1), "UINT64"),
    (np.int64(128), "INT8"),
    (np.uint64(2**64 - 1), "INT64"),
    (np.uint64(2**63), "INT64"),
    (np.uint32(2**31), "INT32"),
    (np.int64(2049), "FP16"),
    (np.int64(65505), "FP16"),
    (np.int64(2**24 + 1), "FP32"),
    (np.int64(-(2**24) - 1), "FP32"),
    (np.int64(2**53 + 1), "FP64"),
    (np.int64(2**63 - 1), "FP64"),
    (np.uint64(2**64 - 1), "FP32"),
    (np.float64(1e39), "FP32"),
    (np.float32(70000), "FP16"),
    (-1e300, "FP32"),
    (300, "UINT8"),
]


@pytest.mark.parametrize("batch", MODES)
@pytest.mark.parametrize("value, target", LOSSY)
def test_what_does_not_fit_is_refused_and_quoted(value: Any, target: str, batch: str) -> None:
    message = refused(give(value, target, batch=batch), "INTERNAL")
    assert f"{np.asarray(value)[()]!s} ({np.asarray(value).dtype}) at [" in message
    assert f"does not fit {target} [TPB202]" in message


def test_an_integer_beyond_half_precision_is_refused_without_a_warning() -> None:
    assert "does not fit FP16 [TPB202]" in refused(give(np.int64(10**6), "FP16"), "INTERNAL")


def test_not_a_number_stays_one() -> None:
    assert np.isnan(given_back(np.float64("nan"), "FP16"))


@given(st.data(), st.sampled_from(sorted(NUMBERS)), st.sampled_from(sorted(NUMBERS)))
def test_a_cast_is_exact_or_refused(data: st.DataObject, source: str, target: str) -> None:
    """Whatever arrives equals what was returned; a float that is only rounded is the one exception."""
    array = data.draw(st_numpy.arrays(NUMBERS[source], (3,)))
    answer = give(array, target, (3,))
    if not isinstance(answer, dict):
        assert "[TPB202]; " in refused(answer, "INTERNAL")
        return
    arrived = answer["y"][0]
    assert arrived.dtype == NUMBERS[target]
    if kind_of(source) == "f":
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(arrived, array.astype(NUMBERS[target]))
        np.testing.assert_array_equal(np.isinf(arrived), np.isinf(array))
    else:
        assert [int(number) for number in arrived] == [int(number) for number in array]


def test_the_place_of_the_lost_number_is_said() -> None:
    message = refused(give(np.array([[1, 2], [3, 400]]), "UINT8", (2, 2)), "INTERNAL")
    assert "400 (int64) at [1, 1] does not fit UINT8" in message


@pytest.mark.parametrize("value", [[1.0, 2.0], (1.0, 2.0), np.array([1.0, 2.0]), np.array([1.0, 2.0], ">f4")])
def test_lists_and_foreign_byte_order_are_arrays_too(value: Any) -> None:
    array = answered(give(value, "FP32", (2,)))["y"]
    assert array.dtype == np.float32 and array.dtype.isnative and array.tolist() == [[1.0, 2.0]]


def test_slices_and_fortran_order_arrive_as_they_look() -> None:
    whole = np.arange(12, dtype=np.float32).reshape(3, 4)
    array = answered(give(whole[::-1, ::2], "FP32", (3, 2)))["y"]
    np.testing.assert_array_equal(array[0], whole[::-1, ::2])
    array = answered(give(np.asfortranarray(whole), "FP32", (3, 4)))["y"]
    np.testing.assert_array_equal(array[0], whole)


@pytest.mark.parametrize(
    "value, said",
    [
        ("text", "str of dtype <U4 is no FP32"),
        ((1, [2, 3]), "a tuple of 2 is no array"),
        (np.array([object()]), "ndarray of dtype object is no FP32"),
        (np.array([1j]), "ndarray of dtype complex128 is no FP32"),
        (np.array(["2020-01-01"], "datetime64[D]"), "is no FP32"),
        ({"a": 1}, "is no FP32"),
        ([[1, 2], [3]], "no array: ValueError: "),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(value: Any, said: str) -> None:
    message = refused(give(value, "FP32", (-1,)), "INTERNAL")
    assert said in message and "[TPB205]; " in message


# --- strings


def strings(value: Any, shape: Any = (-1,), batch: str = "each") -> Any:
    return answered(give(value, "BYTES", shape, batch))["y"][0]


@pytest.mark.parametrize(
    "value, expected",
    [
        (["a", b"b"], [b"a", b"b"]),
        (np.array(["한글", "x"]), ["한글".encode(), b"x"]),
        (np.array([b"ab\x00", b"\x00\x00"], object), [b"ab\x00", b"\x00\x00"]),
        ([b"ab\x00", b""], [b"ab\x00", b""]),
        ([bytearray(b"\x01\x00"), memoryview(b"m")], [b"\x01\x00", b"m"]),
        ([np.bytes_(b"np"), np.str_("str")], [b"np", b"str"]),
        ((), []),
    ],
)
def test_string_elements_arrive_as_bytes(value: Any, expected: list[bytes]) -> None:
    array = strings(value)
    assert array.dtype == object and array.tolist() == expected
    assert all(type(element) is bytes for element in array)


def test_one_string_of_shape_nothing() -> None:
    assert strings(b"ab\x00", ())[0] == b"ab\x00"
    assert strings("한글", ())[0] == "한글".encode()


@pytest.mark.parametrize(
    "value, said",
    [
        (["a", None], "output 'y': None among strings [TPB206]"),
        (["a", 1], "1 among strings [TPB206]"),
        (np.array(["a", float("nan")], object), "nan among strings [TPB206]"),
        (np.array([1, 2]), "an array of int64 holds no strings [TPB205]"),
        ([["a"], ["b", "c"]], "['a'] among strings [TPB206]"),
        ([np.zeros((2, 2), "S1"), np.zeros((2, 3), "S1")], "no array of strings: "),
    ],
)
def test_what_is_no_string_is_refused(value: Any, said: str) -> None:
    assert said in refused(give(value, "BYTES", (-1,)), "INTERNAL")


def test_a_lone_surrogate_is_refused_and_not_a_crash() -> None:
    refused(give(["\ud800"], "BYTES", (-1,)), "INTERNAL")
