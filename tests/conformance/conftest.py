"""One body, two servers: the fixture `side` is the emulator once and the real Triton of the wheel once.

Both start from the model folders that `build` writes; the real one is shared by all tests, in explicit mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest

from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.repository import build
from triton_pyb.server import RealTriton

Answer = dict[str, Any] | InferenceFailed


class Server(Protocol):
    """What a test body may use."""

    def deploy(self, target: Any) -> str:
        """Build `target`, load its models, and give the name of the one that a client calls."""

    def infer(self, model: str, inputs: dict[str, Any], **options: Any) -> dict[str, Any]: ...

    def together(self, model: str, requests: Sequence[dict[str, Any]]) -> list[Answer]:
        """Send requests that meet in one batch as far as the server's rules allow."""


class Emulated:
    """The emulator over one repository, a new one for every test."""

    def __init__(self, repository: Path) -> None:
        self.repository = repository
        self.servers: list[EmulatedTriton] = []

    def deploy(self, target: Any) -> str:
        built = build(target, self.repository / f"repository-{len(self.servers)}")
        server = EmulatedTriton(built.repository)
        server.start()
        self.servers.append(server)
        return built.entry

    def infer(self, model: str, inputs: dict[str, Any], **options: Any) -> dict[str, Any]:
        return self.servers[-1].infer(model, inputs, **options)

    def together(self, model: str, requests: Sequence[dict[str, Any]]) -> list[Answer]:
        return [
            answer if isinstance(answer, InferenceFailed) else dict(answer)
            for answer in self.servers[-1].infer_many(model, list(requests))
        ]

    def close(self) -> None:
        for server in self.servers:
            server.stop()


class Real:
    """One real Triton in explicit mode; models of different tests have different names."""

    def __init__(self, repository: Path) -> None:
        self.repository = repository
        self.server = RealTriton(repository, model_control_mode="explicit")
        self.loaded: list[str] = []

    def deploy(self, target: Any) -> str:
        built = build(target, self.repository, overwrite=True)
        for model in built.models:
            self.server.load_model(model)
            self.loaded.append(model)
        return built.entry

    def infer(self, model: str, inputs: dict[str, Any], **options: Any) -> dict[str, Any]:
        return self.server.infer(model, inputs, **options)

    def together(self, model: str, requests: Sequence[dict[str, Any]]) -> list[Answer]:
        def one(inputs: dict[str, Any]) -> Answer:
            try:
                return self.server.infer(model, inputs)
            except InferenceFailed as error:
                return error

        with ThreadPoolExecutor(len(requests)) as pool:
            return list(pool.map(one, requests))

    def forget(self) -> None:
        while self.loaded:
            self.server.unload_model(self.loaded.pop())


@pytest.fixture(scope="session")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    repository = tmp_path_factory.mktemp("real") / "repository"
    repository.mkdir()
    real = Real(repository)
    real.server.start()
    yield real
    real.server.stop()


@pytest.fixture(params=["emulated", pytest.param("real", marks=pytest.mark.real_triton)])
def side(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """The emulator, then the real Triton."""
    if request.param == "real":
        real: Real = request.getfixturevalue("real_server")
        yield real
        real.forget()
    else:
        emulated = Emulated(tmp_path)
        yield emulated
        emulated.close()


def strings(*values: bytes | str) -> Any:
    """A TYPE_STRING tensor of shape (n, 1)."""
    array = np.empty((len(values), 1), object)
    for index, value in enumerate(values):
        array[index, 0] = value if isinstance(value, bytes) else value.encode()
    return array
