"""`InferenceResponseSender` and the life of one request inside the stub: who answered it, how, and when."""

from __future__ import annotations

import threading
from typing import Any, Callable, List, Optional

from .casters import UINT32, instance_of
from .errors import TritonModelException
from .messages import FINAL, WireFault, WireResponse
from .pybind import PybindClass
from .signatures import Parameter

Respond = Callable[[int, Optional[WireResponse], int], None]


class Exchange:
    """The answering side of one received request.

    It outlives `execute`: the sender may be used from a thread later. When the last reference to it dies
    unfinished, a real client would wait for ever, which is reported as a fault.

    Attributes
    ----------
    closed : bool
        The sender's own view: nothing more may be sent.
    finished : bool
        The client has its last message.
    """

    def __init__(
        self, stub: Any, index: int, key: int, requested: List[str], decoupled: bool, respond: Respond
    ) -> None:
        self.stub, self.index, self.key = stub, index, key
        self.requested, self.decoupled = requested, decoupled
        self.respond = respond
        self.lock = threading.Lock()
        self.sent = 0
        self.closed = False
        self.finished = False
        self.returned = ""  # what execute returned for it, when that was no answer

    def admit(self, response: Any, flags: int) -> None:
        """Check the sender's rules in the stub's order and count the message."""
        with self.lock:
            if not self.decoupled:
                if response is not None and self.sent:
                    raise TritonModelException(
                        "Unable to send response. Non-decoupled model cannot send more than one response."
                    )
                if response is None and flags == FINAL and not self.sent:
                    raise TritonModelException(
                        "Unable to send response. Non-decoupled model cannot send complete final before "
                        "sending a response."
                    )
            if self.closed:
                raise TritonModelException("Unable to send response. Response sender has been closed.")
            self.closed = flags == FINAL
            self.sent += 1

    def deliver(self, response: Any, flags: int) -> None:
        """Prune and send a response that was admitted, or a bare final flag."""
        wire: Optional[WireResponse] = None
        if response is not None:
            if self.stub.release.has("unrequested outputs are pruned"):
                response._pb.prune(self.requested)
                wire = response._pb.to_wire(self.stub, flags == FINAL)
            else:
                wire = response._pb.to_wire(self.stub, flags == FINAL)
                wire.outputs = [output for output in wire.outputs if output.name in self.requested]
        self.finished = flags == FINAL
        self.respond(self.index, wire, flags)

    def finish(self) -> bool:
        """Close without a word to the client; True when it still waits for one."""
        with self.lock:
            waiting, self.closed, self.finished = not self.finished, True, True
            return waiting

    def fail(self, wire: WireResponse) -> None:
        """Answer with an error of the stub, unless the request is finished."""
        if self.finish():
            self.respond(self.index, wire, FINAL)

    def abandon(self) -> None:
        """Report that the client of an unfinished request waits for ever."""
        if self.finish():
            _report(self.stub, self.respond, self.index, self.sent, self.returned)

    def __del__(self) -> None:
        if not self.finished and not self.stub.ended:
            stub, respond, index, sent, returned = self.stub, self.respond, self.index, self.sent, self.returned
            stub.undertaker.leave(lambda: _report(stub, respond, index, sent, returned))


def _report(stub: Any, respond: Respond, index: int, sent: int, returned: str) -> None:
    what = "sent a response without the final flag" if sent else f"was never answered{returned}"
    fault = WireFault(
        "TPB503",
        f"a request to '{stub.instance_name}' {what}: its client waits for ever",
        f"execute of '{stub.instance_name}'",
        "Return one InferenceResponse per request, or end each request with "
        "send(flags=TRITONSERVER_RESPONSE_COMPLETE_FINAL).",
    )
    respond(index, WireResponse(fault=fault), FINAL)


SENDER = PybindClass("InferenceResponseSender")


@SENDER.method(
    "send",
    Parameter("response", instance_of("InferenceResponse", none=True), None),
    Parameter("flags", UINT32, 0),
)
def _send(stub: Any, self: Any, response: Any, flags: int) -> None:
    exchange: Optional[Exchange] = self._pb
    if flags not in (0, FINAL):
        raise TritonModelException("Unable to send response. Unsupported flag provided.")
    if flags == 0 and response is None:
        raise TritonModelException("Inference Response object must be provided when the response flags is set to zero.")
    if exchange is None:
        raise TritonModelException(
            "Unable to send response. Response sender has no reference to the decoupled state of the model."
        )
    exchange.admit(response, flags)
    exchange.deliver(response, flags)


@SENDER.method("is_cancelled", returns="bool")
def _is_cancelled(stub: Any, self: Any) -> bool:
    return bool(stub.is_cancelled(self._pb))
