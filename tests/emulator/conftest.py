from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def twin_ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[int, int]]]:
    """``"http"`` and ``"grpc"`` to the ports of the emulator and of a real Triton with the same models."""
    from tests.emulator import twins

    with twins.twin_ports(tmp_path_factory.mktemp("twins")) as ports:
        yield ports
