"""DLPack capsules by ctypes: what Tensor gives away, what it takes, and which capsules kill a real stub."""

from __future__ import annotations

import ctypes
import gc
from typing import Any, Dict, List, NamedTuple, Tuple

import numpy as np

from .errors import EmulatorError, TritonModelException

CPU, CUDA, CUDA_HOST = 1, 2, 3


class _ManagedTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


# A handle of our own: prototypes set on ctypes.pythonapi would be shared with the model's code.
_api = ctypes.PyDLL(None)
_new = _api.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_get_name = _api.PyCapsule_GetName
_get_name.restype, _get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_set_name = _api.PyCapsule_SetName
_set_name.restype, _set_name.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_get_pointer = _api.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_get_destructor = _api.PyCapsule_GetDestructor
_get_destructor.restype, _get_destructor.argtypes = ctypes.c_void_p, [ctypes.py_object]
_set_destructor = _api.PyCapsule_SetDestructor
_set_destructor.restype, _set_destructor.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_void_p]

_FRESH, _USED = b"dltensor", b"used_dlpack"

# What each exported tensor keeps alive, by the address of its struct.
_exported: Dict[int, Tuple[Any, ...]] = {}

_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


# Defaults hold what both need: globals are gone when capsules die at interpreter exit.
def _delete(address: int, exported: Dict[int, Tuple[Any, ...]] = _exported) -> None:
    exported.pop(address, None)


_delete_now = _Deleter(_delete)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_delete_now))  # capsules may outlive this module at exit

# A consumer that refuses a tensor gives it back while its exception is on its way, and a deleter in Python
# would lose that exception. So what is likely to be refused gets a deleter in C: `sigemptyset`, a function of
# one pointer, clears the struct (up to 128 bytes of it), and `sweep` lets go of cleared structs.
_clear = ctypes.cast(_api.sigemptyset, ctypes.c_void_p).value
_STRUCT_BYTES = 256


def sweep(*_: Any, exported: Dict[int, Tuple[Any, ...]] = _exported) -> None:
    """Let go of what consumers have cleared; runs at every export and every garbage collection."""
    for address, kept in list(exported.items()):
        if not kept[-1].deleter:
            exported.pop(address, None)


def _numpy_destructor() -> Any:
    if not hasattr(np.ndarray, "__dlpack__"):  # before numpy 1.22
        return None
    return _get_destructor(np.zeros(1).__dlpack__())


# A capsule nobody consumes calls the deleter itself: numpy's destructor does that, in C.
_of_numpy = _numpy_destructor()
gc.callbacks.append(sweep)


def export(
    owner: Any, address: int, shape: List[int], kind: Tuple[int, int, int], device: Tuple[int, int], refusable: bool
) -> Any:
    """A capsule "dltensor" on memory that lives as long as `owner`; C order, no strides.

    `refusable`: consumers may well say no (see `_clear`); such an export is let go a little later.
    """
    sweep()
    dims = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    block = ctypes.create_string_buffer(_STRUCT_BYTES)
    managed = _ManagedTensor.from_buffer(block)
    managed.data, managed.device_type, managed.device_id = address, *device
    managed.ndim, managed.shape = len(shape), ctypes.cast(dims, ctypes.POINTER(ctypes.c_int64))
    managed.code, managed.bits, managed.lanes = kind
    managed.deleter = _clear if refusable else ctypes.cast(_delete_now, ctypes.c_void_p).value
    place = ctypes.addressof(managed)
    _exported[place] = (owner, dims, block, managed)
    return _new(place, _FRESH, _of_numpy)


class Imported(NamedTuple):
    """A foreign tensor; `owner` calls its deleter when it dies."""

    owner: Any
    memory: Any  # a flat uint8 array on the foreign memory
    shape: List[int]
    kind: Tuple[int, int, int]
    device: Tuple[int, int]


class _Owner:
    def __init__(self, managed: _ManagedTensor) -> None:
        self._managed = managed

    def __del__(self) -> None:
        if self._managed.deleter and _Deleter is not None:  # None at interpreter exit
            _Deleter(self._managed.deleter)(ctypes.addressof(self._managed))
            sweep()


def is_capsule(value: Any) -> bool:
    return type(value).__name__ == "PyCapsule"


def inspect(capsule: Any) -> Tuple[Any, List[int], Tuple[int, int, int], Tuple[int, int]]:
    """The struct of `capsule`, its shape, its type and its device; nothing is taken over yet.

    Raises EmulatorError for a capsule that kills a real stub, TritonModelException for a layout that is not
    C order. The stride of the first dimension is never looked at.
    Source: `dlpack_from_ndarray_kills_stub`, `dlpack_capsule_twice` and the layouts measured on 24.10.
    """
    name = _get_name(capsule)
    if name != _FRESH:
        raise EmulatorError(
            "TPB501",
            f"from_dlpack got the capsule '{(name or b'').decode(errors='replace')}', not a fresh 'dltensor': "
            "the stub process dies of it",
            "Tensor.from_dlpack",
            "Make a new capsule for each from_dlpack; one that was consumed is no longer yours.",
        )
    pointer = _get_pointer(capsule, _FRESH)
    if _of_numpy and _get_destructor(capsule) == _of_numpy and pointer not in _exported:
        raise EmulatorError(
            "TPB502",
            "from_dlpack got a numpy array: numpy's capsule destructor recurses for ever once the stub has "
            "renamed the capsule, and the stub process dies",
            "Tensor.from_dlpack",
            "Build the tensor with Tensor(name, array).",
        )
    managed = _ManagedTensor.from_address(pointer)
    shape = [managed.shape[index] for index in range(managed.ndim)]
    _check_layout(managed, shape)
    kind = (managed.code, managed.bits, managed.lanes)
    return managed, shape, kind, (managed.device_type, managed.device_id)


def take(capsule: Any, managed: Any, shape: List[int], kind: Tuple[int, int, int], device: Tuple[int, int]) -> Imported:
    """Take the tensor over: the capsule is renamed, its deleter runs with the returned owner."""
    mark_used(capsule)
    owner = _Owner(managed)
    size = (kind[1] + 7) // 8
    for dim in shape:
        size *= dim
    if size == 0 or not managed.data:
        return Imported(owner, np.empty(0, np.uint8), shape, kind, device)
    block: Any = (ctypes.c_uint8 * size).from_address(managed.data + managed.byte_offset)
    return Imported(owner, np.frombuffer(block, np.uint8), shape, kind, device)


def _check_layout(managed: _ManagedTensor, shape: List[int]) -> None:
    if not managed.strides:
        return
    expected = 1
    for index in range(len(shape) - 1, 0, -1):
        if shape[index] == 1:
            continue
        if managed.strides[index] != expected:
            raise TritonModelException(
                "DLPack tensor is not contiguous. Only contiguous DLPack tensors that are stored in C-Order "
                "are supported."
            )
        expected *= shape[index]


def mark_used(capsule: Any) -> None:
    """Rename a consumed capsule; the destructor we gave ours would not stand the name."""
    if _get_pointer(capsule, _FRESH) in _exported:
        _set_destructor(capsule, None)
    _set_name(capsule, _USED)
