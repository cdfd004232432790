"""`Tensor`: which array is a view, which a copy, and when the bytes are frozen.

`array` is what `as_numpy()` shows, `memory` what travels; they part company for every tensor that was
received, for BYTES at construction, and for numbers at the first send.
"""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import numpy as np

from . import dlpack
from .casters import INT32, INT64, NDARRAY, OBJECT, STR, Caster, Refused, text_of
from .datatypes import datatype_of, datatype_of_dlpack, dlpack_type, elements_of
from .errors import TritonModelException
from .messages import DATATYPES, WireTensor
from .pybind import PybindClass, wrap
from .signatures import Parameter

_GPU_TO_NUMPY = "Tensor is stored in GPU and cannot be converted to NumPy."
_BF16_TO_NUMPY = "Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack() and from_dlpack() instead."
# Two source lines of the stub joined with their indentation.
_NO_DLPACK = (
    "Provided tensor is not supported. Tensor must be a DLPack capsule "
    "        or have `__dlpack__` and `__dlpack_device__` attributes"
)


class TensorState:
    """What lies behind one Tensor.

    Attributes
    ----------
    array : ndarray or None
        What `as_numpy()` gives; None for BF16 and for tensors on a GPU.
    memory : ndarray or list of bytes
        The true content: a C array, or for BYTES the elements in C order.
    owner : object
        Keeps foreign memory alive.
    """

    def __init__(self, name: str, datatype: str, shape: List[int], array: Any, memory: Any) -> None:
        self.name, self.datatype, self.shape = name, datatype, shape
        self.array, self.memory = array, memory
        self.frozen = False
        self.device: Tuple[str, int] = ("CPU", 0)
        self.on_gpu = False
        self.owner: Any = None

    def freeze(self) -> None:
        """Copy the numbers once, at the first send; later sends repeat them."""
        if not self.frozen and self.datatype != "BYTES":
            self.memory = self.memory.copy()
        self.frozen = True

    def to_wire(self) -> WireTensor:
        """The tensor as it leaves this model; freezes it."""
        self.freeze()
        shape = tuple(self.shape)
        if self.datatype == "BYTES":
            array = np.empty(len(self.memory), dtype=object)
            array[:] = self.memory
        else:
            array = self.memory
        return WireTensor(self.name, self.datatype, shape, array.reshape(shape), *self.device)


def received(wire: WireTensor) -> TensorState:
    """The tensor of a request or of a BLS response; `wire.array` becomes its memory."""
    shape = list(wire.shape)
    state = TensorState(wire.name, wire.datatype, shape, None, wire.array)
    state.device, state.on_gpu = (wire.memory, wire.device_id), wire.memory == "GPU"
    if wire.datatype == "BYTES":
        state.memory = wire.array.reshape(-1).tolist()
    if not state.on_gpu and wire.datatype != "BF16":
        state.array = wire.array.copy().view() if wire.array.shape == wire.shape else wire.array.copy().reshape(shape)
    return state


TENSOR = PybindClass("Tensor")


@TENSOR.init(Parameter(None, STR), Parameter(None, NDARRAY))
def _construct(stub: Any, name: str, array: Any) -> TensorState:
    if name == "" and stub.release.has("an empty tensor name is refused"):
        raise TritonModelException("Tensor name cannot be an empty string.")
    datatype = datatype_of(array.dtype)
    if not array.data.c_contiguous:  # of a masked array too, whose `data` has no such attribute: as the stub
        array = np.ascontiguousarray(array)
    memory: Any = array
    if datatype == "BYTES":
        memory = _elements(stub, array)
    return TensorState(name, datatype, list(array.shape), array, memory)


def _elements(stub: Any, array: Any) -> List[bytes]:
    try:
        return elements_of(array)
    except Exception:
        # The stub calls the Python function of pb_utils; what fails in it shows that frame.
        stub.serialize(array)
        raise


@TENSOR.method("name", returns="str")
def _name(stub: Any, self: Any) -> str:
    name: str = self._pb.name
    return name if name.isascii() else text_of(name)


@TENSOR.method("as_numpy", returns="numpy.ndarray")
def _as_numpy(stub: Any, self: Any) -> Any:
    state: TensorState = self._pb
    if state.on_gpu:
        raise TritonModelException(_GPU_TO_NUMPY)
    if state.datatype == "BF16":
        raise TritonModelException(_BF16_TO_NUMPY)
    return state.array


@TENSOR.method("triton_dtype", returns="TRITONSERVER_datatype_enum")
def _triton_dtype(stub: Any, self: Any) -> None:
    # The enum was never registered with pybind11, in no release.
    raise TypeError(
        "Unable to convert function return value to a Python type! The signature was\n\t"
        "(self: c_python_backend_utils.Tensor) -> TRITONSERVER_datatype_enum"
    )


@TENSOR.method("to_dlpack", returns="capsule")
def _to_dlpack(stub: Any, self: Any) -> Any:
    state: TensorState = self._pb
    if state.datatype == "BYTES":
        raise TritonModelException("DLPack does not have support for string tensors.")
    address = state.memory.ctypes.data
    kind = dlpack_type(state.datatype)
    # Two owners: the tensor, and the memory it has now (a later send gives it another).
    owners = (self, state.memory, state.owner)
    refusable = state.on_gpu or state.datatype == "BF16"
    return dlpack.export(owners, address, state.shape, kind, _dlpack_device(state), refusable)


def _dlpack_device(state: TensorState) -> Tuple[int, int]:
    return (dlpack.CUDA if state.on_gpu else dlpack.CPU, state.device[1])


@TENSOR.method("is_cpu", returns="bool")
def _is_cpu(stub: Any, self: Any) -> bool:
    return not self._pb.on_gpu


@TENSOR.method("shape", returns="List[int]")
def _shape(stub: Any, self: Any) -> List[int]:
    return list(self._pb.shape)


def _load_capsule(stub: Any, value: Any) -> Any:
    if not dlpack.is_capsule(value):
        raise Refused
    return value


@TENSOR.method(
    "from_dlpack",
    Parameter(None, STR),
    Parameter(
        None,
        OBJECT,
        caster_before=("from_dlpack takes objects with __dlpack__", Caster("capsule", _load_capsule)),
    ),
    returns="c_python_backend_utils.Tensor",
    kind="unbound",
)
def _from_dlpack(stub: Any, name: str, source: Any) -> Any:
    if name == "" and stub.release.has("an empty tensor name is refused"):
        raise TritonModelException("Tensor name cannot be an empty string.")
    if dlpack.is_capsule(source):
        return _from_capsule(stub, name, source)
    if not hasattr(source, "__dlpack__") or not hasattr(source, "__dlpack_device__"):
        raise TritonModelException(_NO_DLPACK)
    device = _device_of(source)
    stream: Optional[int] = None
    if device == dlpack.CUDA:
        if not stub.gpu:
            raise TritonModelException("Failed to get current CUDA device id.")
        stream = 1
    elif device not in (dlpack.CPU, dlpack.CUDA_HOST):
        raise TritonModelException(f"DLDevice type {device} is not support by Python backend.")
    capsule = source.__dlpack__(stream=stream)
    if not dlpack.is_capsule(capsule):
        raise TypeError(f"Object of type '{type(capsule).__name__}' is not an instance of 'capsule'")
    return _from_capsule(stub, name, capsule)


def _device_of(source: Any) -> int:
    pair = source.__dlpack_device__()
    try:
        kind, index = pair
        INT64.load(None, index)
        return int(INT32.load(None, kind))
    except Exception:
        raise RuntimeError(stub_cast_text()) from None


def stub_cast_text() -> str:
    """The text of a failed cast inside the C++ code of the stub."""
    return (
        "Unable to cast Python instance to C++ type (#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in "
        "debug mode for details)"
    )


def _from_capsule(stub: Any, name: str, capsule: Any) -> Any:
    with stub.watching():
        managed, shape, kind, device = dlpack.inspect(capsule)
    if device[0] not in (dlpack.CPU, dlpack.CUDA, dlpack.CUDA_HOST):
        raise TritonModelException(f"DLDevice type {device[0]} is not support by Python backend.")
    datatype = datatype_of_dlpack(*kind, bf16=stub.release.has("BF16 through DLPack"))
    if datatype is None:
        dlpack.mark_used(capsule)
        raise TritonModelException("Dtype is invalid.")
    taken = dlpack.take(capsule, managed, shape, kind, device)
    memory = taken.memory.view(DATATYPES[datatype]).reshape(shape)
    state = TensorState(name, datatype, shape, None, memory)
    state.owner = taken.owner
    if device[0] == dlpack.CUDA:
        state.device, state.on_gpu = ("GPU", device[1]), True
    elif datatype != "BF16":
        state.array = memory.copy().view()
    return wrap(stub, "Tensor", state)


@TENSOR.method("__dlpack__", Parameter("stream", OBJECT, None), returns="capsule")
def _dunder_dlpack(stub: Any, self: Any, stream: Any) -> Any:
    return _to_dlpack(stub, self)


@TENSOR.method("__dlpack_device__", returns="Tuple[int, int]")
def _dunder_dlpack_device(stub: Any, self: Any) -> Tuple[int, int]:
    return _dlpack_device(self._pb)
