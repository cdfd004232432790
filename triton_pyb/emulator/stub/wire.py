"""Messages between the two processes: pickle protocol 5, large arrays beside it, nothing that needs equal numpys."""

from __future__ import annotations

import pickle
import select
import socket
import struct
import threading
from dataclasses import astuple
from typing import Any, List, Optional, Tuple

import numpy as np

from .messages import DATATYPES, WireError, WireFault, WireRequest, WireResponse, WireTensor

_HEAD = struct.Struct("<II")
_LENGTH = struct.Struct("<Q")
_PARTS = 512  # Linux takes 1024 in one call
_CHUNK = 65536
_BESIDE = 32768  # bytes from which on an array travels beside the pickle: below, one piece is cheaper than no copy


class Channel:
    """One end of a socket pair; sends from any thread, receives in one at a time."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._lock = threading.Lock()
        self._rest = b""  # what came behind the last message
        self._poll = select.poll()
        self._poll.register(end, select.POLLIN)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, *message: Any) -> None:
        """Send a tuple of plain data; PickleBuffers in it travel uncopied. OSError when the other end is gone."""
        buffers: List[pickle.PickleBuffer] = []
        body = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        head = _HEAD.pack(len(buffers), len(body))
        if not buffers and len(body) < _CHUNK:
            with self._lock:
                self._socket.sendall(head + body)
            return
        views = [buffer.raw() for buffer in buffers]
        head += b"".join(_LENGTH.pack(view.nbytes) for view in views)
        with self._lock:
            self._write([memoryview(head), memoryview(body), *views])

    @property
    def has_rest(self) -> bool:
        """Whether a part of the next message was read already: it lies here, no longer in the socket."""
        return bool(self._rest)

    def wait(self, timeout_s: Optional[float] = None) -> bool:
        """Whether there is something to receive, or the end, before the time is over."""
        return bool(self._rest) or bool(self._poll.poll(None if timeout_s is None else 1000 * timeout_s))

    def receive(self) -> Tuple[Any, ...]:
        """The next message; EOFError when the other end is gone."""
        data = self._more(self._rest, _HEAD.size)
        count, size = _HEAD.unpack_from(data)
        begin = _HEAD.size + _LENGTH.size * count
        end = begin + size
        if len(data) < end:
            data = self._more(data, end)
        lengths = [_LENGTH.unpack_from(data, _HEAD.size + _LENGTH.size * index)[0] for index in range(count)]
        buffers = []
        position = end
        for length in lengths:
            buffers.append(self._buffer(data[position : position + length], length))
            position += length
        self._rest = data[position:]
        message: Tuple[Any, ...] = pickle.loads(memoryview(data)[begin:end], buffers=buffers)
        return message

    def _more(self, data: bytes, size: int) -> bytes:
        """`data` and what follows, at least `size` bytes of it."""
        if size - len(data) > _CHUNK:
            return bytes(self._buffer(data, size))
        while len(data) < size:
            data += self._got(self._socket.recv, _CHUNK)
        return data

    def _buffer(self, begun: bytes, size: int) -> bytearray:
        """So many bytes in a buffer of their own: arrays must lie on addresses that suit them."""
        buffer = bytearray(size)
        buffer[: len(begun)] = begun
        left = memoryview(buffer)[len(begun) :]
        while left:
            left = left[self._got(self._socket.recv_into, left) :]
        return buffer

    def _got(self, receive: Any, argument: Any) -> Any:
        try:
            got = receive(argument)
        except OSError:
            got = None
        if not got:
            raise EOFError
        return got

    def _write(self, parts: List[memoryview]) -> None:
        """All parts in one call where the socket takes them: the other end wakes up once."""
        while parts:
            done = self._socket.sendmsg(parts[:_PARTS])
            while parts and done >= len(parts[0]):
                done -= len(parts.pop(0))
            if done:
                parts[0] = parts[0][done:]

    def close(self) -> None:
        self._socket.close()


def tensor_out(tensor: WireTensor) -> Tuple[Any, ...]:
    """A tensor as plain data."""
    payload: Any
    if tensor.datatype == "BYTES":
        payload = tensor.array.reshape(-1).tolist()
    else:
        payload = bytearray(tensor.array.tobytes()) if tensor.array.nbytes < _BESIDE else _beside(tensor.array)
    return (tensor.name, tensor.datatype, tensor.shape, payload, tensor.memory, tensor.device_id)


def _beside(array: Any) -> pickle.PickleBuffer:
    flat: Any = np.ascontiguousarray(array).reshape(-1)
    return pickle.PickleBuffer(flat.view(np.uint8))


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
    """A request as plain data, in the order of its fields."""
    return (
        [tensor_out(tensor) for tensor in request.inputs],
        request.requested_outputs,
        request.request_id,
        request.correlation_id,
        request.flags,
        request.timeout_us,
        request.priority,
        request.parameters,
        request.model_name,
        request.model_version,
        request.preferred_memory,
        request.trace,
        request.cancelled,
        request.key,
    )


def request_in(plain: Tuple[Any, ...]) -> WireRequest:
    inputs, *fields = plain
    return WireRequest([tensor_in(tensor) for tensor in inputs], *fields)


def response_out(response: Optional[WireResponse]) -> Optional[Tuple[Any, ...]]:
    """A response as plain data, None for a bare final flag."""
    if response is None:
        return None
    error = response.error and astuple(response.error)
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
