"""One body, two servers: the fixture `side` is the emulator once and the real Triton of the wheel once.

Both start from the model folders that `build` writes.  What a module deploys stays loaded until its last test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest

from triton_pyb import Pipeline
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.repository import build
from triton_pyb.runtime.steps import mark_of
from triton_pyb.server import RealTriton, ServerNotFound

Answer = dict[str, Any] | InferenceFailed


class Server(Protocol):
    """What a test body may use; `server` is the EmulatedTriton or RealTriton itself."""

    server: Any

    def deploy(self, target: Any) -> str:
        """Build `target` once, load its models, and give the name of the one that a client calls."""

    def deploy_step(self, step: Any, *, max_batch_size: int = 8, delay_ms: int = 300) -> str:
        """The same for one step, whose requests wait for each other `delay_ms`; the step itself is called."""

    def infer(self, model: str, inputs: dict[str, Any], **options: Any) -> dict[str, Any]: ...

    def together(self, model: str, requests: Sequence[dict[str, Any]], **options: Any) -> list[Answer]:
        """Send requests that meet in one batch as far as the server's rules allow."""

    def log(self) -> str:
        """The server's log so far."""


class Deployments:
    """What was built and loaded already."""

    def __init__(self, repository: Path) -> None:
        repository.mkdir(parents=True, exist_ok=True)
        self.repository = repository
        self.deployed: dict[int, str] = {}
        self.kept: list[Any] = []  # an id is only good while its object lives
        self.server: Any = None

    def deploy(self, target: Any) -> str:
        if id(target) not in self.deployed:
            built = build(target, self.repository, overwrite=True)
            for model in built.models:
                self.server.load_model(model)
            self.deployed[id(target)] = built.entry
            self.kept.append(target)
        return self.deployed[id(target)]

    def deploy_step(self, step: Any, *, max_batch_size: int = 8, delay_ms: int = 300) -> str:
        mark = mark_of(step)
        assert mark is not None
        if id(step) not in self.deployed:
            around = Pipeline(
                f"around_{mark.name}",
                [step],
                max_batch_size=max_batch_size,
                max_queue_delay_microseconds=delay_ms * 1000 if max_batch_size else 0,
            )
            build(around, self.repository, overwrite=True)
            self.server.load_model(mark.name)
            self.deployed[id(step)] = mark.name
            self.kept.append(step)
        return self.deployed[id(step)]


class Emulated(Deployments):
    """The emulator in explicit mode."""

    def __init__(self, repository: Path, **options: Any) -> None:
        super().__init__(repository)
        self.server = EmulatedTriton(repository, model_control_mode="explicit", **options)
        self.server.start()

    def infer(self, model: str, inputs: dict[str, Any], **options: Any) -> dict[str, Any]:
        return dict(self.server.infer(model, inputs, **options))

    def together(self, model: str, requests: Sequence[dict[str, Any]], **options: Any) -> list[Answer]:
        answers: list[Answer] = self.server.infer_many(model, list(requests), **options)
        return answers

    def log(self) -> str:
        return "\n".join(record.message for record in self.server.log)

    def stop(self) -> None:
        self.server.stop()


class Real(Deployments):
    """A real Triton in explicit mode."""

    def __init__(self, repository: Path, **options: Any) -> None:
        super().__init__(repository)
        self.server = RealTriton(repository, model_control_mode="explicit", **options)
        try:
            self.server.start()
        except ServerNotFound as error:
            pytest.skip(error.what)

    def infer(self, model: str, inputs: dict[str, Any], **options: Any) -> dict[str, Any]:
        return dict(self.server.infer(model, inputs, **options))

    def together(self, model: str, requests: Sequence[dict[str, Any]], **options: Any) -> list[Answer]:
        answers: list[Answer] = self.server.infer_many(model, list(requests), **options)
        return answers

    def log(self) -> str:
        text: str = self.server.log
        return text

    def forget(self) -> None:
        """Unload everything; the next module begins with an empty server."""
        loaded = [entry["name"] for entry in self.server.repository_index() if entry.get("state") == "READY"]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(self.server.unload_model, loaded))
        self.deployed.clear()
        self.kept.clear()


@pytest.fixture(scope="session")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    real = Real(tmp_path_factory.mktemp("real") / "repository")
    yield real
    real.server.stop()


@pytest.fixture(scope="module", params=["emulated", pytest.param("real", marks=pytest.mark.real_triton)])
def side(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The emulator, then the real Triton."""
    if request.param == "real":
        real: Real = request.getfixturevalue("real_server")
        yield real
        real.forget()
    else:
        emulated = Emulated(tmp_path_factory.mktemp("emulated") / "repository")
        yield emulated
        emulated.stop()


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulated]:
    """The emulator alone, for what is too much for a real server."""
    server = Emulated(tmp_path_factory.mktemp("emulated") / "repository")
    yield server
    server.stop()


def strings(*values: bytes | str) -> Any:
    """A TYPE_STRING tensor of shape (n, 1)."""
    array = np.empty((len(values), 1), object)
    for index, value in enumerate(values):
        array[index, 0] = value if isinstance(value, bytes) else value.encode()
    return array


def failure(answer: object) -> InferenceFailed:
    """The error that an answer is."""
    assert isinstance(answer, InferenceFailed), answer
    return answer


def answered(answer: Answer) -> dict[str, Any]:
    """The outputs of an answer that is no error."""
    assert not isinstance(answer, InferenceFailed), answer.message
    return answer
