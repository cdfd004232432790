"""Inference requests to other models: `exec`, `async_exec` and `ResponseIterator`."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Iterator, List, Optional

from . import parameters as parameter_texts
from .casters import instance_of
from .errors import EmulatorError, TritonModelException
from .messages import WireError, WireRequest, WireResponse
from .pybind import PybindClass, wrap
from .response import from_wire
from .signatures import Parameter

_NO_GPU = (
    "BackendMemory::Create, all allocation types failed:\n\tGPU: failed to get device: CUDA driver version is "
    "insufficient for CUDA runtime version\n\tGPU_POOL: CudaMemoryManager has no preallocated CUDA memory"
)


def execute(stub: Any, state: Any, decoupled: bool) -> Any:
    """Run the request and give what `exec` gives; errors of inference are responses, never exceptions."""
    if stub.phase != "execute" and stub.release.has("BLS outside execute is refused"):
        raise TritonModelException("BLS is only supported during the 'execute' function.")
    request = _to_wire(state)
    responses = _refused(stub, request) or stub.link.infer(request, decoupled)
    if decoupled:
        return wrap(stub, "ResponseIterator", Responses(stub, request, responses))
    with stub.watching():
        return _response(stub, request, _only(responses))


def _refused(stub: Any, request: WireRequest) -> Optional[Iterator[WireResponse]]:
    """The answer to parameters that the server cannot read; it looks at the model's readiness first."""
    version = "" if request.model_version == -1 else str(request.model_version)
    if parameter_texts.sendable(request.parameters) or not stub.link.control(
        "is_model_ready", request.model_name, version
    ):
        return None
    refused = WireError("INTERNAL", "Unsupported value type on parameters", "request")
    return iter([WireResponse([], refused)])


def execute_in_executor(stub: Any, request: Any, decoupled: bool) -> Any:
    """`async_exec`: a Future of the running loop, worked on by its default executor."""
    loop = asyncio.get_running_loop()
    return loop.run_in_executor(None, lambda: execute(stub, request._pb, decoupled))


def _to_wire(state: Any) -> WireRequest:
    return WireRequest(
        inputs=[tensor._pb.to_wire() for tensor in state.inputs if tensor is not None],
        requested_outputs=sorted(set(state.requested)),
        request_id=state.request_id,
        correlation_id=state.correlation_id,
        flags=state.flags,
        timeout_us=state.timeout,
        parameters=dict(state.parameters),
        model_name=state.model_name.split("\0")[0],  # a C string on its way to the server
        model_version=state.model_version,
        preferred_memory=state.preferred_memory and state.preferred_memory._pb,
        trace=state.trace and state.trace._pb,
    )


def _only(responses: Iterator[WireResponse]) -> WireResponse:
    found = list(responses)
    return found[0]


def _response(stub: Any, request: WireRequest, wire: WireResponse) -> Any:
    """The InferenceResponse for `wire`, its error worded and coded as the release does."""
    if wire.fault is not None:
        raise EmulatorError(*wire.fault)
    if wire.error is None:
        refused = _refused_memory(stub, request, wire)
        if refused is None:
            return from_wire(stub, wire)
        wire = WireResponse([], refused, {}, wire.final)
    error = wire.error
    assert error is not None
    if error.stage == "request":
        message = f"Model {request.model_name} - Error when running inference: {error.message}"
        return from_wire(stub, wire, "INTERNAL", message)
    code = error.code if stub.release.has("BLS keeps the code of an error") else "INTERNAL"
    return from_wire(stub, wire, code)


def _refused_memory(stub: Any, request: WireRequest, wire: WireResponse) -> Optional[WireError]:
    wants_gpu = request.preferred_memory is not None and request.preferred_memory[0] == "GPU"
    if wants_gpu and not stub.gpu and any(output.array.size for output in wire.outputs):
        return WireError("INTERNAL", _NO_GPU)
    return None


class Responses:
    """What lies behind a ResponseIterator: the responses so far, and the stream of those to come."""

    def __init__(self, stub: Any, request: WireRequest, stream: Iterator[WireResponse]) -> None:
        self.stub, self.request = stub, request
        self.stream = stream
        self.kept: List[Any] = []
        self.position = 0
        self.finished = False
        self.lost = False
        self.lock = threading.Lock()

    def next(self) -> Any:
        if self.finished:
            if self.position < len(self.kept):
                self.position += 1
                return self.kept[self.position - 1]
            raise StopIteration("Iteration is done for the responses.")
        with self.lock, self.stub.watching():
            wire = self._receive()
            response = _response(self.stub, self.request, wire)
        self.kept.append(response)
        self.finished = wire.final
        self.position = len(self.kept)
        return response

    def _receive(self) -> WireResponse:
        """The next response the stub would see. Before 25.04 an error response carries no id of its stream."""
        for wire in self.stream:
            by_id = self.stub.release.has("error responses of decoupled BLS arrive")
            if by_id or wire.fault is not None or (wire.error is None and not self.lost):
                return wire
            if not self.kept and not self.lost:
                # The first response comes with the call itself; what follows is looked for under no id.
                self.lost = not wire.final
                return wire
            self.lost = self.lost or wire.final
        raise EmulatorError(
            "TPB505",
            f"'{self.request.model_name}' sent an error response to a decoupled BLS request: up to 25.03 the "
            "iterator then waits for ever",
            f"BLS of '{self.stub.instance_name}'",
            "Send the failure as an output tensor, or ask for release='25.04' or later where the model will run on it.",
        )


RESPONSE_ITERATOR = PybindClass("ResponseIterator")


@RESPONSE_ITERATOR.init(Parameter(None, instance_of("InferenceResponse")))
def _construct(stub: Any, response: Any) -> Responses:
    made = Responses(stub, WireRequest([]), iter(()))
    made.kept, made.finished = [response], True
    return made


@RESPONSE_ITERATOR.method("__iter__", returns="c_python_backend_utils.ResponseIterator")
def _iter(stub: Any, self: Any) -> Any:
    responses: Responses = self._pb
    if responses.finished and responses.position >= len(responses.kept):
        responses.position = 0
    return self


@RESPONSE_ITERATOR.method("__next__", returns="c_python_backend_utils.InferenceResponse")
def _next(stub: Any, self: Any) -> Any:
    return self._pb.next()


@RESPONSE_ITERATOR.method("cancel")
def _cancel(stub: Any, self: Any) -> None:
    responses: Responses = self._pb
    if not responses.finished:
        stub.link.cancel(responses.request.key)
