"""Views, copies, and when bytes are frozen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emulator.stub.kit import pb_utils, same
from triton_pyb.emulator.messages import WireTensor, wire_tensor
from triton_pyb.emulator.stub.pybind import wrap
from triton_pyb.emulator.stub.tensor import received


@pytest.fixture
def pb() -> Any:
    return pb_utils()


def _received(pb: Any, wire: WireTensor) -> Any:
    return wrap(pb.stub, "Tensor", received(wire))


def test_a_c_array_is_kept(pb: Any) -> None:
    array = np.arange(6, dtype="f4").reshape(2, 3)
    tensor = pb.Tensor("n", array)
    assert tensor.as_numpy() is array
    assert tensor.shape() == [2, 3]
    assert tensor.shape() is not tensor.shape()


@pytest.mark.parametrize("make", [lambda a: a[:, ::2], lambda a: a.T, np.asfortranarray, lambda a: a[::-1]])
def test_any_other_layout_is_copied_to_c_order(pb: Any, make: Any) -> None:
    array = make(np.arange(12, dtype="f4").reshape(3, 4))
    kept = pb.Tensor("n", array).as_numpy()
    assert kept.flags.c_contiguous
    assert not np.shares_memory(kept, array)
    assert same(kept, array)


@pytest.mark.parametrize("dtype", ["U3", ">f4", "c8", "M8[s]", "V4", "i4,f4", "float128"])
def test_dtypes_refused(pb: Any, dtype: str) -> None:
    with pytest.raises(pb.TritonModelException, match=r"NumPy dtype is not supported\."):
        pb.Tensor("n", np.zeros(2, dtype))


def test_masked_arrays_fail_as_they_do(pb: Any) -> None:
    masked: Any = np.ma.masked_equal(np.ones(1), 0)  # type: ignore[no-untyped-call]
    with pytest.raises(AttributeError, match="'numpy.ndarray' object has no attribute 'c_contiguous'"):
        pb.Tensor("n", masked)


def test_an_empty_name_is_refused(pb: Any) -> None:
    with pytest.raises(pb.TritonModelException, match=r"Tensor name cannot be an empty string\."):
        pb.Tensor("", np.zeros(1))
    assert pb_utils("22.04").Tensor("", np.zeros(1)).name() == ""


def test_elements_are_frozen_at_construction(pb: Any) -> None:
    array = np.array([b"old", "é", 3, None, bytearray(b"q"), np.bytes_(b"z")], dtype=object)
    tensor = pb.Tensor("n", array)
    array[0] = b"new"
    assert tensor.as_numpy()[0] == b"new"
    sent = tensor._pb.to_wire()
    assert sent.datatype == "BYTES"
    assert sent.array.tolist() == [b"old", "é".encode(), b"3", b"None", b"bytearray(b'q')", b"b'z'"]


def test_numbers_are_frozen_at_the_first_send(pb: Any) -> None:
    array = np.zeros(2, "f4")
    tensor = pb.Tensor("n", array)
    array[:] = 1
    assert same(tensor._pb.to_wire().array, np.ones(2, "f4"))
    array[:] = 9
    assert same(tensor._pb.to_wire().array, np.ones(2, "f4"))
    assert tensor.as_numpy() is array


def test_s_arrays_lose_trailing_nuls(pb: Any) -> None:
    assert pb.Tensor("n", np.array([b"ab\0", b"c"]))._pb.to_wire().array.tolist() == [b"ab", b"c"]


def test_received_numbers_are_a_writable_copy(pb: Any) -> None:
    tensor = _received(pb, wire_tensor("n", "FP32", [1.0, 2.0]))
    array = tensor.as_numpy()
    assert tensor.as_numpy() is array
    assert (array.flags.writeable, array.flags.owndata, type(array.base)) == (True, False, np.ndarray)
    array[0] = 99
    assert same(tensor._pb.to_wire().array, np.array([1, 2], "f4"))


def test_received_bytes_are_an_object_array_of_their_shape(pb: Any) -> None:
    array = _received(pb, wire_tensor("n", "BYTES", [["a", "é"]])).as_numpy()
    assert array.shape == (1, 2)
    assert array.tolist() == [[b"a", "é".encode()]]


def test_a_gpu_tensor_has_no_numpy(pb: Any) -> None:
    wire = wire_tensor("n", "FP32", [1.0])
    wire.memory, wire.device_id = "GPU", 1
    tensor = _received(pb, wire)
    assert not tensor.is_cpu()
    assert tensor.__dlpack_device__() == (2, 1)
    with pytest.raises(pb.TritonModelException, match="Tensor is stored in GPU and cannot be converted to NumPy"):
        tensor.as_numpy()


def test_bf16_has_no_numpy(pb: Any) -> None:
    with pytest.raises(pb.TritonModelException, match="Tensor dtype is BF16 and cannot be converted to NumPy"):
        _received(pb, wire_tensor("n", "BF16", [0x3F80])).as_numpy()


def test_triton_dtype_was_never_registered(pb: Any) -> None:
    with pytest.raises(TypeError, match="Unable to convert function return value to a Python type!"):
        pb.Tensor("n", np.zeros(1)).triton_dtype()
