"""Messages between the processes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from tests.emulator.stub.kit import request, same
from triton_pyb.emulator.messages import WireError, WireFault, WireResponse, wire_tensor
from triton_pyb.emulator.stub.wire import Channel, request_in, request_out, response_in, response_out


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    left, right = socket.socketpair()
    with left, right:
        yield Channel(left), Channel(right)


def test_a_request_crosses_whole(ends: tuple[Channel, Channel]) -> None:
    sent = request(1.0, 2.0, request_id="é", correlation_id="s", parameters={"a": 1.5}, preferred_memory=("GPU", 1))
    sent.inputs.append(wire_tensor("B", "BYTES", [["x", "é"]]))
    sent.inputs.append(wire_tensor("E", "FP32", np.zeros((0, 3))))
    ends[0].send("k", request_out(sent))
    kind, plain = ends[1].receive()
    got = request_in(plain)
    assert kind == "k"
    assert (got.request_id, got.correlation_id, got.parameters) == ("é", "s", {"a": 1.5})
    assert (got.preferred_memory, got.key) == (("GPU", 1), sent.key)
    assert [tensor.shape for tensor in got.inputs] == [(2,), (1, 2), (0, 3)]
    assert got.inputs[1].array.tolist() == [[b"x", "é".encode()]]
    assert got.inputs[0].array.flags.writeable


def test_responses_cross_with_errors_and_faults(ends: tuple[Channel, Channel]) -> None:
    sent = WireResponse(error=WireError("NOT_FOUND", "m", "request"), final=False, fault=WireFault("a", "b", "c", "d"))
    ends[0].send(response_out(sent), response_out(None))
    one, none = ends[1].receive()
    assert response_in(one) == sent
    assert response_in(none) is None


def test_large_arrays_cross_both_ways_at_once(ends: tuple[Channel, Channel]) -> None:
    tensor = wire_tensor("A", "FP64", np.arange(500_000))
    sending = [threading.Thread(target=end.send, args=(response_out(WireResponse([tensor])),)) for end in ends]
    for thread in sending:
        thread.start()
    for end in ends:
        (plain,) = end.receive()
        got = response_in(plain)
        assert got is not None
        assert same(got.outputs[0].array, tensor.array)
    for thread in sending:
        thread.join()


def test_a_closed_end_is_the_end(ends: tuple[Channel, Channel]) -> None:
    ends[0].close()
    with pytest.raises(EOFError):
        ends[1].receive()
