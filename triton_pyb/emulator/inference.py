"""Requests on the wire to a server's models, and what comes back."""

from __future__ import annotations

import asyncio
import queue
import re
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future

from triton_pyb.emulator import classification
from triton_pyb.emulator.contract import BrokenRule
from triton_pyb.emulator.errors import ContractBroken, InferenceFailed, NeverAnswered, fix_for
from triton_pyb.emulator.lending import lending
from triton_pyb.emulator.loaded_model import LoadedModel
from triton_pyb.emulator.meeting import Meeting
from triton_pyb.emulator.messages import WireRequest, WireResponse
from triton_pyb.emulator.model_store import ModelStore
from triton_pyb.emulator.pending import Deliver
from triton_pyb.emulator.validation import RequestRefused
from triton_pyb.runtime.errors import TritonPybError

#: What a decoupled model answers to a request for one response, by protocol.
DECOUPLED = {
    "http": "HTTP end point doesn't support models with decoupled transaction policy",
    "grpc": "ModelInfer RPC doesn't support models with decoupled transaction policy",
}


def find_model(store: ModelStore, name: str, version: int = -1) -> LoadedModel:
    """The loaded model.

    Raises
    ------
    InferenceFailed
        NOT_FOUND, as every protocol words it.
    """
    model = store.find(name, version)
    if model is not None:
        return model
    entry = store.entries.get(name)
    if entry is None or not (entry.loaded or entry.unloaded):
        what = f"'{name}' is not found"
    elif version != -1:
        what = f"'{name}' version {version} is not found"
    else:
        what = f"'{name}' has no available versions"
    raise InferenceFailed(f"Request for unknown model: {what}", "NOT_FOUND", f"model '{name}'")


def version_number(text: str) -> int:
    """The version that a request names; -1, the newest, for an empty text.

    Raises
    ------
    InferenceFailed
        INVALID_ARG, in the server's words.
    """
    if not text:
        return -1
    match = re.match(r"\s*[+-]?\d+", text)
    if match is None:
        raise InferenceFailed(
            f"failed to get model version from specified version string '{text}' (details: stol), version should be"
            " an integral value > 0",
            "INVALID_ARG",
        )
    if int(match.group()) < 0:
        raise InferenceFailed(
            f"invalid model version specified '{text}' , version should be an integral value > 0", "INVALID_ARG"
        )
    return int(match.group())


def submit(
    model: LoadedModel, request: WireRequest, meeting: Meeting | None = None, protocol: str = "grpc"
) -> Future[list[WireResponse]]:
    """Send a request that wants one response; the future holds what came, the final one last.

    Raises
    ------
    InferenceFailed
        When the request is refused before it is queued.
    """
    _refuse_decoupled(model, protocol)
    answer: Future[list[WireResponse]] = Future()
    answer.set_running_or_notify_cancel()  # a waiter that gives up leaves it alone
    responses: list[WireResponse] = []

    def deliver(response: WireResponse) -> None:
        responses.append(response)
        if response.final:
            answer.set_result(responses)

    _refusable(model, request, deliver, meeting)
    return answer


def answer(model: LoadedModel, request: WireRequest) -> list[WireResponse]:
    """Send a request that wants one response and wait on this thread, which is lent to its models; see `submit`."""
    _refuse_decoupled(model, "grpc")
    responses: list[WireResponse] = []
    done = threading.Lock()
    done.acquire()

    def deliver(response: WireResponse) -> None:
        responses.append(response)
        if response.final:
            done.release()

    with lending():
        _refusable(model, request, deliver, None)
    done.acquire()
    return responses


def _refuse_decoupled(model: LoadedModel, protocol: str) -> None:
    if model.decoupled:
        raise InferenceFailed(
            DECOUPLED[protocol], "UNSUPPORTED", f"model '{model.name}'", "use a stream (stream_infer)"
        )


def stream(model: LoadedModel, request: WireRequest) -> Iterator[WireResponse]:
    """Send a request and yield each response as it comes, errors as responses; the last has `final` set.

    Raises
    ------
    InferenceFailed
        When the request is refused before it is queued.
    """
    responses: queue.SimpleQueue[WireResponse] = queue.SimpleQueue()
    _refusable(model, request, responses.put, None)
    return _until_final(model, request, responses)


async def stream_async(model: LoadedModel, request: WireRequest) -> AsyncIterator[WireResponse]:
    """`stream` for a running event loop; a consumer that is cancelled cancels the request.

    Raises
    ------
    InferenceFailed
        With the first item, when the request is refused before it is queued.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[WireResponse] = asyncio.Queue()

    def deliver(response: WireResponse) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(arrived.put_nowait, response)

    _refusable(model, request, deliver, None)
    try:
        final = False
        while not final:
            response = await arrived.get()
            final = response.final
            yield response
    except (asyncio.CancelledError, GeneratorExit):
        model.cancel(request)
        raise


def _until_final(
    model: LoadedModel, request: WireRequest, responses: queue.SimpleQueue[WireResponse]
) -> Iterator[WireResponse]:
    """One response after the other; who stops reading before the last one has gone away."""
    final = False
    try:
        while not final:
            response = responses.get()
            final = response.final
            yield response
    finally:
        if not final:
            model.cancel(request)


def _refusable(model: LoadedModel, request: WireRequest, deliver: Deliver, meeting: Meeting | None) -> None:
    try:
        model.submit(request, deliver, meeting)
    except RequestRefused as error:
        raise InferenceFailed(error.message, error.code, f"model '{model.name}'") from None


def one_response(responses: list[WireResponse], model: str) -> WireResponse:
    """The response that answers a request for one.

    Raises
    ------
    InferenceFailed
        What `failure_of` finds.
    """
    for response in responses:
        failure = failure_of(response, model)
        if failure is not None:
            raise failure
    return responses[0]


def classified(store: ModelStore, model: LoadedModel, response: WireResponse, counts: dict[str, int]) -> WireResponse:
    """The response with the outputs in `counts` as their top classes."""
    return classification.apply(response, counts, model.config, store.entries[model.name].folder)


def failure_of(response: WireResponse, model: str) -> InferenceFailed | None:
    """The exception that a response stands for, or None."""
    failure: InferenceFailed
    if response.fault is not None:
        finding = TritonPybError(*response.fault)
        rule = response.fault.rule if isinstance(response.fault, BrokenRule) else None
        failure = NeverAnswered(finding) if rule is None else ContractBroken(rule, finding)
        failure.log = _log(response)
        return failure
    if response.error is None:
        return None
    message, code, log = response.error.message, response.error.code, _log(response)
    fix = fix_for(message, code, log, from_model=response.origin is not None)
    return InferenceFailed(message, code, f"model '{model}'", fix, log)


def _log(response: WireResponse) -> str:
    """The records behind a failure, less what its message says already."""
    if response.origin is None:
        return ""
    said = response.error.message if response.error is not None else ""
    return "\n".join(record.message for record in response.origin.log if record.message not in said)
