"""TCP ports on the loopback address."""

from __future__ import annotations

import socket

from triton_pyb.server.errors import ServerError

HOST = "127.0.0.1"


def choose_ports(wanted: dict[str, int | None]) -> dict[str, int]:
    """The wanted ports, checked; a free one for every None or 0.

    Raises
    ------
    ServerError
        If a wanted port is in use, or wanted twice.
    """
    sockets: list[socket.socket] = []
    chosen: dict[str, int] = {}
    try:
        for name, port in sorted(wanted.items(), key=lambda item: not item[1]):  # the wanted ones first
            if port and port in chosen.values():
                raise _in_use(name, port, "another port of this server")
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sockets.append(listener)
            try:
                listener.bind((HOST, port or 0))
            except OSError as error:
                raise _in_use(name, port or 0, error.strerror or str(error)) from error
            chosen[name] = listener.getsockname()[1]
    finally:
        for listener in sockets:
            listener.close()
    return {name: chosen[name] for name in wanted}


def _in_use(name: str, port: int, reason: str) -> ServerError:
    return ServerError(
        "TPB608",
        f"the {name} port {port} is not free: {reason}",
        f"{HOST}:{port}",
        f"stop what listens there, or choose another with {name}_port= (command line: --{name}-port; 0: any free one)",
    )
