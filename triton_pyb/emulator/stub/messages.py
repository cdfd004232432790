"""What the server half and the stub half say to each other: plain data, no behaviour.

A BYTES tensor is an object array of `bytes`, a BF16 tensor a uint16 array of its raw bits; every other
datatype is its numpy dtype. Arrays are C-contiguous and belong to whoever received the message.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union

import numpy as np

#: `respond` flags. FINAL closes the request; RESCHEDULE hands it back to an iterative scheduler unanswered.
FINAL = 1
RESCHEDULE = 2

DATATYPES: Dict[str, Any] = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
    "BYTES": np.object_,
    "BF16": np.uint16,  # the raw bits: numpy has no such type
}

_keys = itertools.count(1)

Message = TypeVar("Message")


def altered(message: Message, /, **changes: Any) -> Message:
    """A copy with other values: `dataclasses.replace` at a tenth of its cost, for it runs many times per request."""
    copy = object.__new__(type(message))
    copy.__dict__.update(message.__dict__, **changes)
    return copy


@dataclass
class WireTensor:
    """One tensor on its way; `memory` is "CPU" or "GPU" (emulated: the array lies in host memory all the same)."""

    name: str
    datatype: str
    shape: Tuple[int, ...]
    array: np.ndarray[Any, Any]
    memory: str = "CPU"
    device_id: int = 0


@dataclass
class WireRequest:
    """One inference request, from a client or from another model.

    Attributes
    ----------
    correlation_id : int or str
        0 when there is none.
    flags : int
        1 starts a sequence, 2 ends it.
    timeout_us : int
        Microseconds, 0 for none.
    parameters : dict
        Values are bool, int, float or str.
    requested_outputs : list of str
        For a request to a model: what the client asked for, or every configured output when it asked for
        none. For a request from a model (`Host.infer`): as the author wrote it, maybe empty.
    model_version : int
        -1 for the newest.
    preferred_memory : tuple of (str, int)
        Only in requests from a model: ("CPU" or "GPU", device id), or None.
    trace : str
        The context of an OpenTelemetry trace as JSON text, or None.
    key : int
        Names this request in `ModelInstance.cancel`; unique in this process.
    """

    inputs: List[WireTensor]
    requested_outputs: List[str] = field(default_factory=list)
    request_id: str = ""
    correlation_id: Union[int, str] = 0
    flags: int = 0
    timeout_us: int = 0
    priority: int = 0
    parameters: Dict[str, Any] = field(default_factory=dict)
    model_name: str = ""
    model_version: int = -1
    preferred_memory: Optional[Tuple[str, int]] = None
    trace: Optional[str] = None
    cancelled: bool = False
    key: int = field(default_factory=lambda: next(_keys))


@dataclass
class WireError:
    """An error for one client.

    Attributes
    ----------
    code : str
        A name of Triton's status codes, e.g. "INVALID_ARG".
    stage : str
        "request" when the server refused the request before any model ran it (not ready, bad input),
        else "execution". BLS words the two differently. Source: measured on 24.10.
    of_execute : bool
        `execute` itself failed (it raised, or returned what is no list of responses). The statistics count that as
        a failure, and an error that the model answered as a success. Source: measured on 24.10.
    """

    code: str
    message: str
    stage: str = "execution"
    of_execute: bool = False


class WireFault(NamedTuple):
    """Something that kills or hangs a real server, as the arguments of a `TritonPybError`."""

    code: str
    what: str
    where: str
    fix: str


class Origin(NamedTuple):
    """The execution that an error came out of; known to the server half alone, it never travels.

    Attributes
    ----------
    log : tuple
        The records of level ERROR that were logged during it.
    """

    model: str
    log: Tuple[Any, ...]


@dataclass
class WireResponse:
    """One response.

    Attributes
    ----------
    outputs : list of WireTensor
        In the author's order, only those that were requested; empty beside an error.
    parameters : dict
        Response parameters (25.02 and later).
    final : bool
        Nothing follows for this request.
    fault : WireFault
        A real client would now wait for ever, or find the server dead; `outputs` and `error` mean nothing then.
    dropped : list of str
        Tensors the author put in and nobody asked for: an undeclared name ends here without a word.
    origin : Origin
        Of an error or a fault; None when no model ran.
    """

    outputs: List[WireTensor] = field(default_factory=list)
    error: Optional[WireError] = None
    parameters: Dict[str, Any] = field(default_factory=dict)
    final: bool = True
    fault: Optional[WireFault] = None
    dropped: List[str] = field(default_factory=list)
    origin: Optional[Origin] = None


def wire_tensor(name: str, datatype: str, data: Any, shape: Optional[Sequence[int]] = None) -> WireTensor:
    """A WireTensor from anything numpy takes; `str` elements of a BYTES tensor become UTF-8."""
    if datatype != "BYTES":
        array = np.ascontiguousarray(np.asarray(data, dtype=DATATYPES[datatype]))
        array = array if shape is None else array.reshape(tuple(shape))
        return WireTensor(name, datatype, tuple(array.shape), array)
    source = np.asarray(data, dtype=object)
    array = np.empty(source.size, dtype=object)
    for index, element in enumerate(source.reshape(-1)):
        array[index] = element if type(element) is bytes else str(element).encode("utf-8")
    array = array.reshape(source.shape if shape is None else tuple(shape))
    return WireTensor(name, datatype, tuple(array.shape), array)


def unhealthy(instance_name: str) -> WireResponse:
    """What every request gets from a stub process that ended."""
    return WireResponse([], WireError("INTERNAL", f"Stub process '{instance_name}' is not healthy."))
