"""What one model's instances ask of the server: BLS, model control, metrics, logs."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from triton_pyb.emulator import fake_models
from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.emulator.lending import keeping
from triton_pyb.emulator.log import Record
from triton_pyb.emulator.messages import WireError, WireFault, WireRequest, WireResponse
from triton_pyb.emulator.validation import RequestRefused

if TYPE_CHECKING:
    from triton_pyb.emulator.model_store import ModelStore

_DECOUPLED = (
    "Model {} is using the decoupled. The current BLS request call doesn't support models using the decoupled"
    " transaction policy. Please use 'decoupled=True' argument to the 'exec' or 'async_exec' calls for decoupled"
    " models.'"
)


class ModelHost:
    """The server as the instances of `caller` see it (see `instance.Host`)."""

    def __init__(self, store: ModelStore, caller: str) -> None:
        self._store, self.caller = store, caller
        self.chain: tuple[str, ...] = ()
        self.metrics: Any = store.metrics
        self.listening: dict[int, list[Record]] = {}

    def infer(self, request: WireRequest, decoupled: bool) -> Iterator[WireResponse]:
        responses: queue.SimpleQueue[WireResponse] = queue.SimpleQueue()
        fake = self._store.machine.fakes.get(request.model_name)
        try:
            if fake is not None:
                if fake_models.is_decoupled(fake) and not decoupled:
                    raise RequestRefused(_DECOUPLED.format(request.model_name))
                yield from fake_models.answer(fake, request, self._store.machine.broken_fakes)
                return
            model = self._store.find(request.model_name, request.model_version)
            if model is None:
                raise RequestRefused(
                    f"Failed for execute the inference request. Model '{request.model_name}' is not ready."
                )
            if model.decoupled and not decoupled:
                raise RequestRefused(_DECOUPLED.format(model.name))
            with keeping():
                model.submit(request, responses.put, chain=self.chain)
        except RequestRefused as error:
            yield WireResponse(error=WireError(error.code, error.message, "request"))
            return
        if decoupled:
            final = False
            while not final:
                response = responses.get()
                final = response.final
                self._hear_of(response)
                yield response
        else:
            answer = _one_answer(responses)
            self._hear_of(answer)
            yield answer

    def load_model(self, name: str, config: str, files: dict[str, bytes]) -> str | None:
        try:
            self._store.control_load(name, config, files)
        except InferenceFailed as error:
            return error.message
        return None

    def unload_model(self, name: str, unload_dependents: bool) -> str | None:
        try:
            self._store.control_unload(name, unload_dependents)
        except InferenceFailed as error:
            return error.message
        return None

    def is_model_ready(self, name: str, version: str) -> bool:
        if name in self._store.machine.fakes:
            return True
        model = self._store.find(name, int(version) if version else -1)
        return model is not None and model.ready()[0]

    def log(self, level: str, file: str, line: int, message: str) -> None:
        record = self._store.log.model(level, file, line, message)
        if record is not None and level == "ERROR":
            self._hear(record)

    def tell(self, fault: WireFault) -> None:
        self._store.log.server("ERROR", f"{fault.code} {fault.what}; where: {fault.where}; fix: {fault.fix}")

    def output(self, stream: str, text: str) -> None:
        self._store.log.output(self.caller, stream, text)

    def _hear_of(self, response: WireResponse) -> None:
        """What was logged by a model that this one called belongs to its own executions too."""
        for record in response.origin.log if response.origin is not None else ():
            self._hear(record)

    def _hear(self, record: Record) -> None:
        for heard in list(self.listening.values()):
            heard.append(record)


def _one_answer(responses: queue.SimpleQueue[WireResponse]) -> WireResponse:
    """The answer of a model that is not decoupled, also when its final flag came by itself."""
    answer = responses.get()
    last = answer
    while not last.final:
        last = responses.get()
    if last is not answer and last.fault is not None:
        return last
    answer.final = True
    return answer
