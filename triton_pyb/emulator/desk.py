"""Answering what a model asks of its server, the same for a child process and inline."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from .messages import WireRequest, WireResponse
from .stub.errors import HostError


class Desk:
    """Calls a model makes, turned into calls of its `Host`."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def answer(self, call: str, details: tuple[Any, ...]) -> tuple[bool, Any]:
        """(True, value), or (False, the server's message)."""
        try:
            return True, getattr(self, call)(*details)
        except HostError as error:
            return False, str(error)

    def control(self, name: str, *arguments: Any) -> Any:
        """load_model, unload_model, is_model_ready; HostError with the server's message."""
        outcome = getattr(self._host, name)(*arguments)
        if name == "is_model_ready":
            return outcome
        if outcome is not None:
            raise HostError(outcome)
        return None

    def metric(self, operation: str, *arguments: Any) -> Any:
        return getattr(self._host.metrics, operation)(*arguments)

    def infer(self, request: WireRequest, decoupled: bool) -> Iterator[WireResponse]:
        """The responses as they come."""
        return self._host.infer(request, decoupled)  # type: ignore[no-any-return]

    def cancel(self, key: int) -> None:
        """A model cancelled a request it made (25.04); hosts without BLS cancellation ignore it."""
        cancel = getattr(self._host, "cancel_infer", None)
        if cancel is not None:
            cancel(key)


class DirectLink:
    """The stub's link to a server in the same process."""

    def __init__(self, host: Any) -> None:
        self._host = host
        self._desk = Desk(host)

    def control(self, *call: Any) -> Any:
        return self._desk.control(*call)

    def metric(self, *call: Any) -> Any:
        return self._desk.metric(*call)

    def log(self, level: str, file: str, line: int, message: str) -> None:
        self._host.log(level, file, line, message)

    def cancel(self, key: int) -> None:
        self._desk.cancel(key)

    def infer(self, request: WireRequest, decoupled: bool) -> Iterator[WireResponse]:
        """Start the request now, also when the host answers by a generator; yield the responses as they come."""
        if not decoupled:
            return iter(list(self._desk.infer(request, decoupled)))
        responses: queue.SimpleQueue[WireResponse | None] = queue.SimpleQueue()
        failures: list[BaseException] = []

        def run() -> None:
            try:
                for response in self._desk.infer(request, decoupled):
                    responses.put(response)
            except BaseException as error:
                failures.append(error)
            responses.put(None)

        threading.Thread(target=run, daemon=True).start()
        return self._drain(responses, failures)

    @staticmethod
    def _drain(
        responses: queue.SimpleQueue[WireResponse | None], failures: list[BaseException]
    ) -> Iterator[WireResponse]:
        while True:
            response = responses.get()
            if response is None:
                break
            yield response
        if failures:
            raise failures[0]
