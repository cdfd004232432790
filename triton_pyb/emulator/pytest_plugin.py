"""The fixture `triton`: an emulated Triton for each test that asks for one.

    def test_answers(triton):
        server = triton.load("model_repository")
        result = server.infer("preprocessing", {"image": open("cat.jpg", "rb").read()})

Imported by every pytest session of an environment that has this package: nothing heavy may be imported here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from triton_pyb.emulator.triton import EmulatedTriton


class TritonFixture:
    """What the fixture `triton` gives: loads models, and stops them after the test."""

    def __init__(self) -> None:
        self._servers: list[EmulatedTriton] = []

    def load(self, target: Any, **options: Any) -> EmulatedTriton:
        """Start an emulated Triton with `target`; it stops when the test ends.

        Parameters
        ----------
        target : path, decorated function or Pipeline
            A model repository, one model's folder, or something that is built first. Decorated functions
            run in this process (``inline=False``: in a child, as packaged), folders in child processes.
        **options
            As `EmulatedTriton` takes them, e.g. ``mode="faithful"``, ``release="21.10"``.
        """
        from triton_pyb.emulator.triton import EmulatedTriton

        server = EmulatedTriton(target, **options)
        self._servers.append(server)
        server.start()
        return server

    def close(self) -> None:
        """Stop every server, the newest first."""
        while self._servers:
            self._servers.pop().stop()


@pytest.fixture
def triton() -> Iterator[TritonFixture]:
    """Loads models into an emulated Triton: ``server = triton.load(target)``, ``server.infer(...)``."""
    fixture = TritonFixture()
    yield fixture
    fixture.close()
