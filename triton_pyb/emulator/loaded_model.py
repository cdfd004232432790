"""One version of a model as the server holds it: configuration, instances, scheduler, counts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from triton_pyb.emulator.contract import Contract
from triton_pyb.emulator.instance import Host, ModelInstance
from triton_pyb.emulator.log import Record
from triton_pyb.emulator.meeting import Meeting
from triton_pyb.emulator.messages import FINAL, RESCHEDULE, Origin, WireFault, WireRequest, WireResponse
from triton_pyb.emulator.pending import Deliver, Pending
from triton_pyb.emulator.statistics import Statistics
from triton_pyb.emulator.validation import RequestRules, restored


@dataclass(frozen=True)
class Machine:
    """What the emulated server runs on, and how."""

    release: str = "24.10"
    mode: str = "strict"
    strict_off: frozenset[str] = frozenset()
    gpus: int = 0
    python: str | None = None
    inline: bool = False
    auto_complete: bool = True
    cwd: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    factories: dict[str, Callable[[], object]] = field(default_factory=dict)
    fakes: dict[str, Callable[..., Any]] = field(default_factory=dict)
    broken_fakes: list[Exception] = field(default_factory=list)
    execute_timeout_s: float | None = None

    @property
    def clients_wait(self) -> bool:
        """Whether a request that is never answered keeps its client waiting at the ports, as on the server."""
        return self.mode == "faithful" or "unanswered" in self.strict_off


class Scheduler(Protocol):
    """What takes a model's requests in."""

    def enqueue(self, pendings: list[Pending]) -> None: ...
    def waiting(self) -> int: ...
    def stop(self) -> None: ...


def _no_rows(model: str) -> WireFault:
    return WireFault(
        "TPB567",
        f"'{model}' got a batch without a row: the Python backend drops it, and its clients wait for ever",
        f"model '{model}'",
        "send at least one row, or no request",
    )


class CallingHost(Host, Protocol):
    """The server as one instance sees it.

    Attributes
    ----------
    caller : str
        The instance's model.
    chain : tuple of str
        The models that wait while this instance executes, itself last.
    listening : dict of int to list of Record
        Each list gets the records of level ERROR, as long as it is in here.
    """

    caller: str
    chain: tuple[str, ...]
    listening: dict[int, list[Record]]

    def tell(self, fault: WireFault) -> None:
        """Put a finding into the server's log, for those who read that and not the answer."""


class LoadedModel:
    """A version of a model that answers requests.

    Attributes
    ----------
    config : dict
        The complete configuration in its JSON form, the one `initialize` gets.
    """

    def __init__(self, name: str, version: int, config: dict[str, Any], scheduler: Scheduler | None = None) -> None:
        self.name, self.version, self.config = name, version, config
        self.rules = RequestRules(config)
        self.decoupled = bool(config.get("model_transaction_policy", {}).get("decoupled"))
        self.is_ensemble = "ensemble_scheduling" in config
        self.batching = config["max_batch_size"] > 0
        self.input_dims: dict[str, list[int]] = {tensor["name"]: tensor["dims"] for tensor in config["input"]}
        self.statistics = Statistics()
        self.instances: list[ModelInstance] = []
        self._scheduler = scheduler
        self._unanswered = 0
        self._finishing = False
        self._lock = threading.Lock()
        self._answered = threading.Condition(self._lock)

    def serve(self, scheduler: Scheduler) -> None:
        """Take requests from now on."""
        self._scheduler = scheduler

    def submit(
        self,
        request: WireRequest,
        deliver: Deliver,
        meeting: Meeting | None = None,
        chain: tuple[str, ...] = (),
    ) -> None:
        """Check a request and queue it; every answer, errors too, goes to `deliver`. The request is ours from then on.

        Parameters
        ----------
        chain : tuple of str
            The models whose `execute` waits for this request.

        Raises
        ------
        RequestRefused
            When the server would refuse it before queueing.
        """
        assert self._scheduler is not None
        rows = self.rules.normalize(request)
        pending = Pending(request, rows, deliver, self._left, meeting, chain)
        try:
            with self._lock:
                self._unanswered += 1
            if chain and 0 < len(self.instances) <= chain.count(self.name):
                pending.deliver(WireResponse(fault=_ring((*chain, self.name))))
            elif meeting is None or self.is_ensemble:  # an ensemble queues nothing itself: its steps do
                self._scheduler.enqueue([pending])
            else:
                meeting.hold(self._scheduler, pending)
        except BaseException:  # an interrupt: nobody waits for the answer, and nobody may wait for its end
            pending.abandon()
            raise

    def _left(self) -> None:
        with self._lock:
            self._unanswered -= 1
            if self._finishing and not self._unanswered:
                self._answered.notify_all()

    def cancel(self, request: WireRequest) -> None:
        """The client went away; what runs may look at `is_cancelled()`."""
        request.cancelled = True
        for instance in self.instances:
            instance.cancel(request)

    def waiting(self) -> int:
        """How many requests are queued and not yet being executed."""
        return self._scheduler.waiting() if self._scheduler is not None else 0

    def ready(self) -> tuple[bool, str]:
        """Whether every instance says it is ready, and the first message of one that is not."""
        for instance in self.instances:
            ok, message = instance.is_ready()
            if not ok:
                return False, message
        return True, ""

    def stop(self, patience_s: float = 30.0) -> None:
        """Answer what is queued, wait for the answers still due, then finalize the instances.

        Parameters
        ----------
        patience_s : float
            How long a decoupled model may still send, and any `execute` still run: what hangs is ended then.
        """
        hanging = threading.Timer(patience_s, self._give_up, [patience_s])
        hanging.daemon = True
        hanging.start()
        try:
            self._finish(patience_s)
        finally:
            hanging.cancel()

    def _give_up(self, after_s: float) -> None:
        for instance in self.instances:
            instance.give_up(after_s)

    def _finish(self, patience_s: float) -> None:
        if self._scheduler is not None:
            self._scheduler.stop()
        with self._answered:
            self._finishing = True
            self._answered.wait_for(lambda: not self._unanswered, patience_s)
        for instance in self.instances:
            instance.finalize()


def _ring(chain: tuple[str, ...]) -> WireFault:
    return WireFault(
        "TPB565",
        f"{' -> '.join(chain)}: every instance of '{chain[-1]}' waits for this very request, for ever",
        f"model '{chain[-2]}'",
        f"break the ring of BLS calls, or give '{chain[-1]}' more instances",
    )


class InstanceRunner:
    """Runs batches on one instance and passes its answers on."""

    def __init__(self, model: LoadedModel, instance: ModelInstance, host: CallingHost, contract: Contract) -> None:
        self.model, self.instance, self.host, self._contract = model, instance, host, contract
        self._declared = {tensor["name"] for tensor in model.config["output"]}
        self._reshaped = {t["name"]: t for t in model.config["output"] if "reshape" in t}
        self.batching = model.config["max_batch_size"] > 0
        self.reschedule: Callable[[Pending], None] | None = None  # set by an iterative scheduler

    def __call__(self, batch: list[Pending]) -> None:
        _Execution(self, batch).run()

    def outgoing(self, response: WireResponse, pending: Pending, final: bool) -> WireResponse:
        """A response as the client sees it: the model's own, changed in its place."""
        response.outputs = [
            restored(tensor, self._reshaped[tensor.name], self.batching) if tensor.name in self._reshaped else tensor
            for tensor in response.outputs
            if tensor.name in self._declared
        ]
        response.final = final
        return self._contract.checked(response, pending)


class _Execution:
    """One call of `execute`, and the answers that may still come after it."""

    def __init__(self, runner: InstanceRunner, batch: list[Pending]) -> None:
        self._runner, self._batch = runner, batch
        self._open = set(range(len(batch)))
        self._counted = False
        self._logged: list[Record] = []
        self._started_ns = time.monotonic_ns()

    def run(self) -> None:
        requests: list[WireRequest] = []
        rows, chain = 0, self._batch[0].chain
        for pending in self._batch:
            pending.started_ns = self._started_ns
            requests.append(pending.request)
            rows += pending.rows
            if len(pending.chain) > len(chain):
                chain = pending.chain
        if self._runner.batching and not rows:
            # ProcessRequests of python_be.cc returns at a total batch size of 0 and forgets the requests.
            for index in range(len(self._batch)):
                self._finish(index, WireResponse(fault=_no_rows(self._runner.model.name)))
            return
        host = self._runner.host
        host.chain = (*chain, host.caller)
        host.listening[id(self)] = self._logged
        fault = self._runner.instance.execute(requests, self._respond)
        host.chain = ()
        if not self._counted:
            self._count(failed=fault is not None)
        if fault is not None:
            for index in sorted(self._open):
                self._finish(index, WireResponse(fault=fault))

    def _respond(self, index: int, response: WireResponse | None, flags: int) -> None:
        if not self._counted:
            self._count(failed=response is not None and response.error is not None and response.error.of_execute)
        if flags & RESCHEDULE:
            self._close(index)
            self._rescheduled(index)
            return
        final = bool(flags & FINAL)
        outgoing = self._runner.outgoing(response or WireResponse(), self._batch[index], final)
        if final:
            self._finish(index, outgoing)
        else:
            self._batch[index].deliver(self._with_origin(outgoing))

    def _with_origin(self, response: WireResponse) -> WireResponse:
        if response.error is None and response.fault is None:
            return response
        if response.fault is not None:
            self._runner.host.tell(response.fault)
        log = tuple(self._logged)
        if len(self._batch) > 1 and response.error is not None:
            log = tuple(record for record in log if record.may_concern(response.error.message))
        response.origin = Origin(self._runner.model.name, log)
        return response

    def _finish(self, index: int, response: WireResponse) -> None:
        response = self._with_origin(response)
        self._close(index)
        pending = self._batch[index]
        ok = response.fault is None and (response.error is None or not response.error.of_execute)
        if not pending.stand_in:
            self._runner.model.statistics.answered(ok, time.monotonic_ns() - pending.enqueued_ns)
        response.final = True
        pending.deliver(response)

    def _close(self, index: int) -> None:
        self._open.discard(index)
        if not self._open:
            self._runner.host.listening.pop(id(self), None)

    def _rescheduled(self, index: int) -> None:
        if self._runner.reschedule is not None:
            # Counted as served and, as it is handed back unanswered, as failed too. Source: measured on 24.10.
            for ok in (True, False):
                self._runner.model.statistics.answered(ok, time.monotonic_ns() - self._batch[index].enqueued_ns)
            self._runner.reschedule(self._batch[index])
            return
        what = "the model reschedules a request, but its scheduler is not iterative: nobody answers it"
        fix = "add sequence_batching { iterative_sequence: true }, or answer the request"
        self._finish(index, WireResponse(fault=WireFault("TPB560", what, f"model '{self._runner.model.name}'", fix)))

    def _count(self, failed: bool) -> None:
        """Done with the first answer, so that who has an answer also finds it counted."""
        self._counted = True
        compute_ns = time.monotonic_ns() - self._started_ns
        rows, waited_ns = [], []
        for pending in self._batch:
            rows.append(pending.rows)
            if not pending.stand_in:
                waited_ns.append(self._started_ns - pending.enqueued_ns)
        stand_ins = len(rows) - len(waited_ns)
        self._runner.model.statistics.executed(rows, compute_ns, waited_ns, failed, stand_ins)
