"""Capsules given and taken."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from tests.emulator.stub.kit import pb_utils, same
from tests.probes import probe_cases
from triton_pyb.emulator.messages import wire_tensor
from triton_pyb.emulator.stub import dlpack
from triton_pyb.emulator.stub.errors import EmulatorError
from triton_pyb.emulator.stub.pybind import wrap
from triton_pyb.emulator.stub.tensor import received

Producer: Any = probe_cases.Cap  # a DLPack producer made with ctypes


@pytest.fixture
def pb() -> Any:
    return pb_utils()


def test_an_export_shares_the_memory(pb: Any) -> None:
    array = np.arange(4, dtype="f4")
    view = np.from_dlpack(pb.Tensor("n", array))
    assert np.shares_memory(view, array)
    assert not view.flags.writeable


def test_an_export_outlives_its_tensor(pb: Any) -> None:
    view = np.from_dlpack(pb.Tensor("n", np.arange(4, dtype="i8")))
    gc.collect()
    assert view.tolist() == [0, 1, 2, 3]


def test_nothing_is_kept_once_all_is_given_back(pb: Any) -> None:
    before = len(dlpack._exported)
    tensor = pb.Tensor("n", np.zeros(3))
    for _ in range(3):
        tensor.to_dlpack()
        np.from_dlpack(tensor)
        pb.Tensor.from_dlpack("m", tensor)
    assert len(dlpack._exported) == before


def test_a_refusing_consumer_keeps_its_exception(pb: Any) -> None:
    tensor = wrap(pb.stub, "Tensor", received(wire_tensor("n", "BF16", [0x3F80, 0])))
    with pytest.raises((RuntimeError, BufferError)):  # numpy's own words, which differ by version
        np.from_dlpack(tensor)


def test_bytes_have_no_dlpack(pb: Any) -> None:
    with pytest.raises(pb.TritonModelException, match=r"DLPack does not have support for string tensors\."):
        pb.Tensor("n", np.array(["a"], dtype=object)).to_dlpack()


def test_an_import_copies_for_numpy_and_shares_for_the_rest(pb: Any) -> None:
    source = np.ones(3, "f4")
    producer = Producer(source)
    tensor = pb.Tensor.from_dlpack("n", producer)
    source[0] = 5
    assert same(tensor.as_numpy(), np.ones(3, "f4"))
    assert same(tensor._pb.to_wire().array, np.array([5, 1, 1], "f4"))
    assert producer.deleted == 0
    del tensor
    assert producer.deleted == 1


def test_the_first_stride_is_never_looked_at(pb: Any) -> None:
    wrong = pb.Tensor.from_dlpack("n", Producer(np.arange(8, dtype="f4")[::2]))
    assert wrong.as_numpy().tolist() == [0, 1, 2, 3]


def test_other_strides_are(pb: Any) -> None:
    with pytest.raises(pb.TritonModelException, match="DLPack tensor is not contiguous"):
        pb.Tensor.from_dlpack("n", Producer(np.zeros((2, 3), "f4").T))


@pytest.mark.parametrize(
    ("producer", "text"),
    [
        (Producer(np.zeros(2, "f4"), code=5, bits=64), "Dtype is invalid."),
        (Producer(np.zeros(2, "f4"), code=4, bits=32), "Expected BF16 tensor to have 16 bits, but had: 32"),
        (Producer(np.zeros(2, "f4"), device=(10, 0)), "DLDevice type 10 is not support by Python backend."),
        (Producer(np.zeros(2, "f4"), device=(2, 0)), "Failed to get current CUDA device id."),
        ([1], "Provided tensor is not supported. Tensor must be a DLPack capsule         or have "),
    ],
)
def test_refused(pb: Any, producer: Any, text: str) -> None:
    with pytest.raises(pb.TritonModelException) as caught:
        pb.Tensor.from_dlpack("n", producer)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("make", [lambda array: array, lambda array: array.__dlpack__()])
def test_a_numpy_capsule_kills_the_stub(pb: Any, make: Any) -> None:
    with pytest.raises(EmulatorError, match=r"TPB502 from_dlpack got a numpy array") as caught:
        pb.Tensor.from_dlpack("n", make(np.ones(2)))
    assert caught.value.fix == "Build the tensor with Tensor(name, array)."
    assert pb.stub.fault.code == "TPB502"


def test_a_capsule_used_twice_kills_the_stub(pb: Any) -> None:
    capsule = pb.Tensor("n", np.ones(2)).to_dlpack()
    pb.Tensor.from_dlpack("m", capsule)
    with pytest.raises(EmulatorError, match=r"TPB501 from_dlpack got the capsule 'used_dlpack'"):
        pb.Tensor.from_dlpack("m", capsule)


def test_before_23_05_only_capsules(pb: Any) -> None:
    old = pb_utils("23.04")
    assert same(old.Tensor.from_dlpack("m", old.Tensor("n", np.ones(2)).to_dlpack()).as_numpy(), np.ones(2))
    with pytest.raises(TypeError, match=r"from_dlpack\(\): incompatible"):
        old.Tensor.from_dlpack("m", old.Tensor("n", np.ones(2)))
