"""Messages between the two processes: pickle protocol 5, arrays beside it, nothing that needs equal numpys."""

from __future__ import annotations

import pickle
import socket
import struct
import threading
from typing import Any, List, Optional, Tuple

import numpy as np

from .messages import DATATYPES, WireError, WireFault, WireRequest, WireResponse, WireTensor

_HEAD = struct.Struct("<II")
_LENGTH = struct.Struct("<Q")
_REQUEST_FIELDS = (
    "requested_outputs",
    "request_id",
    "correlation_id",
    "flags",
    "timeout_us",
    "priority",
    "parameters",
    "model_name",
    "model_version",
    "preferred_memory",
    "trace",
    "cancelled",
    "key",
)


class Channel:
    """One end of a socket pair; sends from any thread, receives in one."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._lock = threading.Lock()

    def send(self, *message: Any) -> None:
        """Send a tuple of plain data; PickleBuffers in it travel uncopied. OSError when the other end is gone."""
        buffers: List[pickle.PickleBuffer] = []
        body = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        views = [buffer.raw() for buffer in buffers]
        head = _HEAD.pack(len(views), len(body)) + b"".join(_LENGTH.pack(view.nbytes) for view in views)
        with self._lock:
            self._socket.sendall(head + body)
            for view in views:
                self._socket.sendall(view)

    def receive(self) -> Tuple[Any, ...]:
        """The next message; EOFError when the other end is gone."""
        count, size = _HEAD.unpack(self._read(_HEAD.size))
        lengths = [_LENGTH.unpack(self._read(_LENGTH.size))[0] for _ in range(count)]
        body = self._read(size)
        message: Tuple[Any, ...] = pickle.loads(body, buffers=[self._read(length) for length in lengths])
        return message

    def _read(self, size: int) -> bytearray:
        data = bytearray(size)
        view, done = memoryview(data), 0
        while done < size:
            try:
                got = self._socket.recv_into(view[done:])
            except OSError:
                got = 0
            if not got:
                raise EOFError
            done += got
        return data

    def close(self) -> None:
        self._socket.close()


def tensor_out(tensor: WireTensor) -> Tuple[Any, ...]:
    """A tensor as plain data."""
    payload: Any
    if tensor.datatype == "BYTES":
        payload = tensor.array.reshape(-1).tolist()
    else:
        flat: Any = np.ascontiguousarray(tensor.array).reshape(-1)
        payload = pickle.PickleBuffer(flat.view(np.uint8)) if flat.size else b""
    return (tensor.name, tensor.datatype, tuple(tensor.shape), payload, tensor.memory, tensor.device_id)


def tensor_in(plain: Tuple[Any, ...]) -> WireTensor:
    """The tensor again, on memory of its own."""
    name, datatype, shape, payload, memory, device_id = plain
    if datatype == "BYTES":
        array = np.empty(len(payload), dtype=object)
        array[:] = payload
    else:
        array = np.frombuffer(payload, dtype=DATATYPES[datatype])
    return WireTensor(name, datatype, shape, array.reshape(shape), memory, device_id)


def request_out(request: WireRequest) -> Tuple[Any, ...]:
    """A request as plain data."""
    return ([tensor_out(tensor) for tensor in request.inputs], {n: getattr(request, n) for n in _REQUEST_FIELDS})


def request_in(plain: Tuple[Any, ...]) -> WireRequest:
    inputs, fields = plain
    return WireRequest([tensor_in(tensor) for tensor in inputs], **fields)


def response_out(response: Optional[WireResponse]) -> Optional[Tuple[Any, ...]]:
    """A response as plain data, None for a bare final flag."""
    if response is None:
        return None
    error = response.error and (response.error.code, response.error.message, response.error.stage)
    fault = response.fault and tuple(response.fault)
    outputs = [tensor_out(tensor) for tensor in response.outputs]
    return (outputs, error, response.parameters, response.final, fault, response.dropped)


def response_in(plain: Optional[Tuple[Any, ...]]) -> Optional[WireResponse]:
    if plain is None:
        return None
    outputs, error, parameters, final, fault, dropped = plain
    return WireResponse(
        [tensor_in(tensor) for tensor in outputs],
        WireError(*error) if error else None,
        parameters,
        final,
        WireFault(*fault) if fault else None,
        dropped,
    )
