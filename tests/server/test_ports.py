from __future__ import annotations

import socket

import pytest

from triton_pyb.server import ServerError
from triton_pyb.server.ports import HOST, choose_ports


def test_a_free_port_for_every_none_and_zero() -> None:
    ports = choose_ports({"http": None, "grpc": 0, "metrics": None})
    assert list(ports) == ["http", "grpc", "metrics"]
    assert len(set(ports.values())) == 3 and all(port > 1023 for port in ports.values())


def test_a_port_in_use_is_named() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ServerError) as refusal:
            choose_ports({"http": None, "grpc": port})
    assert refusal.value.code == "TPB608"
    assert refusal.value.what == f"the grpc port {port} is not free: Address already in use"
    assert refusal.value.fix == (
        "stop what listens there, or choose another with grpc_port= (command line: --grpc-port; 0: any free one)"
    )


def test_one_port_for_two_purposes_is_refused() -> None:
    free = choose_ports({"http": None})["http"]
    with pytest.raises(ServerError, match=f"the metrics port {free} is not free: another port of this server"):
        choose_ports({"http": free, "metrics": free})
