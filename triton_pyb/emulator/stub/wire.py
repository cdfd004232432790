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
_PARTS = 512  # Linux takes 1024 in one call
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
            self._write([memoryview(head), memoryview(body), *views])

    def receive(self) -> Tuple[Any, ...]:
        """The next message; EOFError when the other end is gone."""
        count, size = _HEAD.unpack(self._read([_HEAD.size])[0])
        lengths = [length for (length,) in _LENGTH.iter_unpack(self._read([_LENGTH.size * count])[0])]
        body, *buffers = self._read([size, *lengths])
        message: Tuple[Any, ...] = pickle.loads(body, buffers=buffers)
        return message

    def _write(self, parts: List[memoryview]) -> None:
        """All parts in one call where the socket takes them: the other end wakes up once."""
        while parts:
            done = self._socket.sendmsg(parts[:_PARTS])
            while parts and done >= len(parts[0]):
                done -= len(parts.pop(0))
            if done:
                parts[0] = parts[0][done:]

    def _read(self, sizes: List[int]) -> List[bytearray]:
        """So many bytes each, in buffers of their own: arrays must lie on addresses that suit them."""
        buffers = [bytearray(size) for size in sizes]
        left = [memoryview(buffer) for buffer in buffers if buffer]
        while left:
            try:
                got = self._socket.recvmsg_into(left[:_PARTS])[0]
            except OSError:
                got = 0
            if not got:
                raise EOFError
            while left and got >= len(left[0]):
                got -= len(left.pop(0))
            if got:
                left[0] = left[0][got:]
        return buffers

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
