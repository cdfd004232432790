"""Starts model instances and ends them with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.emulator.stub.kit import FakeHost
from triton_pyb.emulator.instance import Launch, ModelInstance


@pytest.fixture
def start() -> Iterator[Callable[..., ModelInstance]]:
    """``start(launch, host=None)``: a running instance."""
    instances: list[ModelInstance] = []

    def starter(launch: Launch, host: Any = None) -> ModelInstance:
        instance = ModelInstance(launch, host or FakeHost())
        instances.append(instance)
        instance.start()
        return instance

    yield starter
    for instance in instances:
        instance.finalize()
