"""The life of one model in a stub: import, auto-complete, initialize, execute, finalize."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import weakref
from typing import Any, Callable, Dict, List, Optional

from . import request as requests_module
from . import surface
from .errors import EmulatorError, TritonModelException
from .event_loop import EventLoop
from .messages import FINAL, RESCHEDULE, WireError, WireFault, WireRequest, WireResponse, unhealthy
from .request import RELEASE_ALL, RELEASE_RESCHEDULE, RequestState
from .sender import Exchange, Respond
from .stub import Stub
from .tracebacks import boundary, describe

# Where the stub logs from. Source: lines of r24.10, seen in its log.
_FAILED, _FINALIZE = ("pb_stub.cc", 714), ("pb_stub.cc", 978)


#: Faults that spoil one answer; all others leave no stub process to ask.
_SURVIVED = ("TPB507",)


class ModelFailed(Exception):
    """The model did not load; the message is the stub's text."""


class Refusal(Exception):
    """The stub itself refuses what `execute` returned: a message without type and frames."""


@boundary
def enter(function: Callable[..., Any], *args: Any) -> Any:
    """Call into the model as the C++ code does."""
    return function(*args)


def _c_text(error: BaseException) -> str:
    """The text of a load error, which crosses a C string."""
    return describe(error).split("\0")[0]


class Model:
    """One model in one stub. `importer` finds its module: see `child` and `inline`."""

    def __init__(self, stub: Stub, importer: Any) -> None:
        self.stub = stub
        self.importer = importer
        stub.undertaker.start()
        self.c_module = surface.build_c_module(stub)
        self.pb_utils = surface.load_python_module(stub)
        self._loop = EventLoop(stub, importer.own_process)
        self.module: Any = None
        self.instance: Any = None
        self._open: weakref.WeakSet[Exchange] = weakref.WeakSet()
        #: `execute` returned: what is answered now, on its thread, need not be sent before the rest.
        self.returned = False
        #: A client was given the fault; the others find the process dead.
        self._told = False
        self._may_send = stub.release.has("responses may be sent in non-decoupled models")

    def _import(self) -> None:
        self.stub.phase = "import"
        self.module = self.importer.load(self.pb_utils, self.c_module)
        surface.add_c_names(self.c_module, self.pb_utils)

    @boundary
    def auto_complete(self, config: Dict[str, Any]) -> Dict[str, Any]:
        """The configuration as `auto_complete_config` leaves it. Raises ModelFailed."""
        try:
            self._import()
            self.stub.phase = "auto_complete"
            model_config_class = getattr(self.pb_utils, "ModelConfig", None)
            if model_config_class is None:
                return config
            model_config = model_config_class(json.dumps(config))
            surface.add_get_model_dir(self.stub, self.pb_utils)
            model_class = self.module.TritonPythonModel
            if hasattr(model_class, "auto_complete_config"):
                model_config = enter(model_class.auto_complete_config, model_config)
            if not isinstance(model_config, model_config_class):
                raise Refusal(
                    f"auto_complete_config function in model '{self.stub.instance_name}' must return a valid "
                    "pb.ModelConfig object."
                )
            completed: Dict[str, Any] = json.loads(json.dumps(model_config._model_config))
            return completed
        except Refusal as refusal:
            raise ModelFailed(str(refusal)) from None
        except EmulatorError:
            raise
        except BaseException as error:
            raise ModelFailed(_c_text(error)) from error

    @boundary
    def initialize(self, args: Dict[str, str]) -> None:
        """Import, build the model, run `initialize`. Raises ModelFailed."""
        try:
            self._import()
            surface.add_get_model_dir(self.stub, self.pb_utils)
            self.stub.phase = "create"
            self.instance = enter(self.module.TritonPythonModel)
            self.stub.phase = "initialize"
            if hasattr(self.instance, "initialize"):
                enter(self.instance.initialize, args)
            self.stub.phase = "execute"
        except EmulatorError:
            raise
        except BaseException as error:
            raise ModelFailed(_c_text(error)) from error

    def execute(self, wires: List[WireRequest], respond: Respond) -> Optional[WireFault]:
        """Run one batch; what is left unanswered at the end may still be answered by a sender."""
        stub = self.stub
        if stub.fault is not None:
            if stub.fault.code not in _SURVIVED:
                if not self._told:
                    self._told = True
                    return stub.fault
                for index in range(len(wires)):
                    respond(index, unhealthy(stub.instance_name), FINAL)
                return None
            stub.fault = None
        exchanges: List[Exchange] = []
        requests: List[Any] = []
        states: List[RequestState] = []
        for index, wire in enumerate(wires):
            exchanges.append(Exchange(stub, index, wire.key, list(wire.requested_outputs), stub.decoupled, respond))
            requests.append(requests_module.from_wire(stub, wire, exchanges[-1]))
            states.append(requests[-1]._pb)
        self.returned = False
        failure = self._run(requests, exchanges)
        self.returned = True
        if stub.fault is None:
            if failure is not None:
                self._fail(requests, states, exchanges, failure)
            else:
                self._reschedule(states, exchanges)
        if stub.fault is not None:
            for exchange in exchanges:
                self._told |= exchange.finish()
            return stub.fault
        unfinished = [exchange for exchange in exchanges if not exchange.finished]
        self._open.update(unfinished)
        unanswered = not stub.decoupled and bool(unfinished)
        exchanges, unfinished, requests, states = [], [], [], []  # the list itself may live on in a coroutine
        if unanswered:
            gc.collect()  # a sender that only a cycle keeps will never be used: report its request now
            stub.undertaker.attend()
        return None

    @boundary
    def _run(self, requests: List[Any], exchanges: List[Exchange]) -> Optional[str]:
        """Run the model's `execute`; None, or the text of its failure."""
        try:
            if not hasattr(self.instance, "execute"):
                path = f"{self.stub.version_dir}/model.py"
                raise Refusal(f"Python model {path} does not implement `execute` method.")
            returned = enter(self.instance.execute, requests)
            self.returned = True
            if self.stub.fault is not None:
                return ""
            if type(returned) is not list and asyncio.iscoroutine(returned):
                if self.stub.decoupled and self.stub.release.has("execute may be a coroutine in decoupled models"):
                    self._loop.start(returned)
                    return None
                self.returned = False
                returned = enter(self._loop.run, returned)
                self.returned = True
            self._take(requests, exchanges, returned)
            return None
        except Refusal as refusal:
            return str(refusal)
        except EmulatorError:
            return ""
        except BaseException as error:
            self._check_text(error)
            return describe(error)

    def _check_text(self, error: BaseException) -> None:
        """A message that is no UTF-8 kills the stub while it copies it."""
        try:
            str(error).encode("utf-8")
        except UnicodeEncodeError:
            with contextlib.suppress(EmulatorError):
                self.stub.fail(
                    "TPB511",
                    f"an exception whose message has a lone surrogate, {ascii(str(error))}, kills the stub process",
                    f"execute of '{self.stub.instance_name}'",
                    "Keep text that is no UTF-8 out of exception messages; show it with ascii() or repr() of bytes.",
                )
        except BaseException:
            pass  # `describe` tells of a message that cannot be made

    def _take(self, requests: List[Any], exchanges: List[Exchange], returned: Any) -> None:
        """Check what `execute` returned, then send it: one bad element fails the whole batch.

        Responses go by position, whatever `execute` did to its list of requests: one that it turned round gives
        each client another's answer.  Source: ProcessReturnedResponses of pb_stub.cc; measured on 24.10.
        """
        has, optional = self.stub.release.has, self._may_send
        if self.stub.decoupled:
            if returned is not None:
                raise Refusal(
                    f"Python model '{self.stub.instance_name}' is using the decoupled mode and the execute "
                    "function must return None."
                )
            return
        if returned is None and optional:
            for request in requests:
                request._pb.exchange.returned = " (execute returned None)"
            return
        if not isinstance(returned, list):
            if has("the return value of execute is checked"):
                raise Refusal(f"Expected a list in the execute return, found type '{type(returned)}'.")
            returned = list(returned)
        if len(returned) != len(requests):
            raise Refusal(
                "Number of InferenceResponse objects do not match the number of InferenceRequest objects. "
                f"InferenceRequest(s) size is:{len(requests)}, and InferenceResponse(s) size is:{len(returned)}\n"
            )
        for request, response in zip(requests, returned):
            self._admit(request, response, optional)
        if any([request._pb.exchange is not exchange for request, exchange in zip(requests, exchanges)]):
            names = [request._pb.exchange.requested for request in requests]
            for exchange, requested in zip(exchanges, names):
                exchange.requested = requested
        for exchange, response in zip(exchanges, returned):
            if response is not None:
                exchange.deliver(response, FINAL)

    def _admit(self, request: Any, response: Any, optional: bool) -> None:
        rescheduled = request._pb.release_flags == RELEASE_RESCHEDULE
        if response is None and (optional or rescheduled):
            request._pb.exchange.returned = " (None stands for it in the list that execute returned)"
            return
        if rescheduled:
            raise Refusal(
                "Expected a None object in the execute function return list for reschduled request, found type "
                f"'{type(response)}'."
            )
        if not isinstance(response, self.stub.classes["InferenceResponse"]):
            raise Refusal(
                "Expected an 'InferenceResponse' object in the execute function return list, found type "
                f"'{type(response)}'."
            )
        exchange: Exchange = request._pb.exchange
        if exchange.sent and not exchange.closed:
            self.stub.fail(
                "TPB507",
                "execute sent a response without the final flag and returned another: the client gets two bodies",
                f"execute of '{self.stub.instance_name}'",
                "Either send or return the response of a request, not both.",
            )
        try:
            exchange.admit(response, FINAL)
        except TritonModelException as refused:
            raise Refusal(str(refused)) from None

    def _fail(self, requests: List[Any], states: List[RequestState], exchanges: List[Exchange], failure: str) -> None:
        """Give every unfinished request of the batch the same error."""
        text = f"Failed to process the request(s) for model '{self.stub.instance_name}', message: {failure}"
        self.stub.link.log("ERROR", *_FAILED, text)
        if not self._check_kept(requests, states):
            return
        if not self.stub.decoupled and not failure.startswith("Unable to send response."):
            self._check_answered(exchanges)
        for state in states:
            state.release_flags = RELEASE_ALL
        for exchange in exchanges:
            exchange.fail(WireResponse([], WireError("INTERNAL", text.split("\0")[0], of_execute=True)))

    def _check_kept(self, requests: List[Any], states: List[RequestState]) -> bool:
        """A request that left the list frees its response factory itself; after a failure the server does too."""
        kept = [request._pb for request in requests if hasattr(request, "_pb")]
        gone = sum(not any(state is one for one in kept) for state in states)
        if not gone:
            return True
        with contextlib.suppress(EmulatorError):  # kept by the stub, reported by execute
            self.stub.fail(
                "TPB512",
                f"execute failed after it took {gone} of {len(states)} requests out of its list: the server frees"
                " memory twice, and sooner or later dies of it",
                f"execute of '{self.stub.instance_name}'",
                "Leave the list that execute gets as it is; make a list of your own.",
            )
        return False

    def _check_answered(self, exchanges: List[Exchange]) -> None:
        """A failure after an answer: the server frees the same response factory twice, or answers twice."""
        where = f"execute of '{self.stub.instance_name}'"
        fix = "Do not let execute raise, or return a wrong list, once a sender was used."
        try:
            if any(exchange.finished for exchange in exchanges):
                self.stub.fail("TPB508", "execute failed after a final response: the server dies of it", where, fix)
            if any(exchange.sent and not exchange.closed for exchange in exchanges):
                self.stub.fail("TPB507", "execute failed after a response: the client gets two bodies", where, fix)
        except EmulatorError:
            pass  # kept by the stub, reported by execute

    @staticmethod
    def _reschedule(states: List[RequestState], exchanges: List[Exchange]) -> None:
        for state, exchange in zip(states, exchanges):
            if state.release_flags == RELEASE_RESCHEDULE and exchange.finish():
                exchange.respond(exchange.index, None, RESCHEDULE)

    def is_ready(self) -> Optional[str]:
        """None, or why the user-defined check says no; only asked of releases that have it."""
        check = getattr(self.instance, "is_ready", None)
        if check is None:
            return None
        try:
            answer = enter(check)
            if asyncio.iscoroutine(answer):
                answer = enter(self._loop.run, answer)
            if not isinstance(answer, bool):
                return "is_ready() must return a boolean value"
            return None if answer else ""
        except BaseException as error:
            return describe(error)

    def finalize(self) -> None:
        """Run `finalize`; an exception is only logged. Requests still open are reported as hanging."""
        if self.stub.ended:
            return
        self.stub.phase = "finalize"
        self._loop.stop()
        if hasattr(self.instance, "finalize"):
            try:
                enter(self.instance.finalize)
            except BaseException as error:
                self.stub.link.log("INFO", *_FINALIZE, describe(error))
        for exchange in list(self._open):
            if not exchange.finished:
                exchange.abandon()
        self.stub.undertaker.attend()
        self.stub.undertaker.stop()
        self.stub.ended = True
        self.instance = self.module = None
        self.importer.unload()
