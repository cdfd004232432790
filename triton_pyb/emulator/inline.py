"""A model instance in this process: `breakpoint()` works in it, and so does a debugger."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from . import current
from .desk import DirectLink
from .isolation import FactoryImporter, PrivateImporter
from .messages import WireFault, WireRequest, WireResponse
from .stub.lifecycle import Model
from .stub.stub import Stub

Respond = Callable[[int, WireResponse | None, int], None]


class InlineModel:
    """The inline twin of `process.ModelProcess`."""

    def __init__(
        self,
        model_dir: str,
        version: str,
        release: str,
        instance_name: str,
        decoupled: bool,
        gpu: bool,
        model_file: str | None,
        factory: Callable[[], object] | None,
        host: Any,
    ) -> None:
        version_dir = os.path.join(model_dir, version)
        self._stub = Stub(DirectLink(host), release, instance_name, version_dir, decoupled)
        self._stub.gpu = gpu
        importer: Any = FactoryImporter(factory) if factory else PrivateImporter(version_dir, version, model_file)
        self._model = Model(self._stub, importer)
        self._lock = threading.Lock()

    def auto_complete(self, config: dict[str, Any]) -> dict[str, Any]:
        """The configuration as `auto_complete_config` leaves it."""
        current.admit(self._model)
        try:
            with current.running(self._model):
                return self._model.auto_complete(config)
        finally:
            current.dismiss(self._model)

    def initialize(self, args: dict[str, str]) -> None:
        current.admit(self._model)
        try:
            with current.running(self._model):
                self._model.initialize(args)
        except BaseException:
            current.dismiss(self._model)
            raise

    def execute(self, requests: list[WireRequest], respond: Respond) -> WireFault | None:
        """Run a batch on this thread."""
        for request in requests:
            for tensor in request.inputs:
                # Memory of its own: what a model writes through DLPack must not reach the sender's arrays.
                tensor.array = tensor.array.copy()
        with self._lock, current.running(self._model):
            return self._model.execute(requests, respond)

    def cancel(self, key: int) -> None:
        self._stub.cancelled.add(key)

    def readiness(self) -> str | None:
        with current.running(self._model):
            return self._model.is_ready()

    def end(self) -> None:
        with current.running(self._model):
            self._model.finalize()
        current.dismiss(self._model)
