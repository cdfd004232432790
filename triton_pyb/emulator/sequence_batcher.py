"""The scheduler of a model with sequences: every request of a sequence goes to the same slot, in order.

Source: sequence_batch_scheduler.cc of Triton's core 24.10, and what a 24.10 server did with several
sequences at once. Implicit state (``state``) is not emulated: such a model does not load here.
"""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Protocol

from triton_pyb.emulator.batcher import BatchRules, next_batch
from triton_pyb.emulator.controls import Controls
from triton_pyb.emulator.messages import WireFault, WireRequest, WireResponse, WireTensor, altered
from triton_pyb.emulator.pending import Pending
from triton_pyb.emulator.validation import RequestRefused

START, END = 1, 2


class SequenceRunner(Protocol):
    """Runs one batch; `reschedule` takes what the model hands back."""

    reschedule: Any

    def __call__(self, batch: list[Pending]) -> None: ...


@dataclass(eq=False)
class Sequence:
    """One sequence that began and has not ended."""

    id: int | str
    queue: list[Pending] = field(default_factory=list)
    lane: Lane | None = None
    running: bool = False
    touched_ns: int = field(default_factory=time.monotonic_ns)  # when its last request came


@dataclass(eq=False)
class Lane:
    """One instance and its slots; a slot holds a sequence or nothing."""

    runner: SequenceRunner
    slots: list[Sequence | None]

    def free_slot(self) -> int | None:
        return self.slots.index(None) if None in self.slots else None


class SequenceBatcher:
    """Direct or oldest strategy, one thread per instance, one more that ends idle sequences."""

    def __init__(self, config: dict[str, Any], runners: list[Any]) -> None:
        sequences = config["sequence_batching"]
        self._name = config["name"]
        self._batching = config["max_batch_size"] > 0
        self._direct = sequences.get("direct")
        self._oldest = sequences.get("oldest")
        self._iterative = bool(sequences.get("iterative_sequence"))
        self._idle_ns = sequences["max_sequence_idle_microseconds"] * 1000
        self._controls = Controls.of(config)
        self._rules = _rules(config)
        places = max(1, config["max_batch_size"])
        if self._oldest is not None:
            places = max(1, self._oldest["max_candidate_sequences"])
        self._lanes = [Lane(runner, [None] * places) for runner in runners]
        self._known: dict[int | str, Sequence] = {}
        self._generated = itertools.count(1)  # ids of iterative sequences. Source: measured on 24.10
        self._backlog: list[Sequence] = []
        self._changed = threading.Condition()
        self._stopped = False
        self._threads = [threading.Thread(target=self._reap, name=f"{self._name} idle", daemon=True)]
        for index, lane in enumerate(self._lanes):
            lane.runner.reschedule = self._reschedule
            name = f"{self._name} {index}"
            self._threads.append(threading.Thread(target=self._serve, args=(lane,), name=name, daemon=True))
        for thread in self._threads:
            thread.start()

    def enqueue(self, pendings: list[Pending]) -> None:
        refused: list[tuple[Pending, str]] = []
        with self._changed:
            for pending in pendings:
                try:
                    self._accept(pending)
                except RequestRefused as error:
                    refused.append((pending, error.message))
            self._changed.notify_all()
        for pending, message in refused:
            pending.fail(message, "INVALID_ARG", "request")

    def stop(self) -> None:
        """Finish what is queued in slots, then end the threads."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def waiting(self) -> int:
        """How many requests no instance has taken yet."""
        with self._changed:
            return sum(len(sequence.queue) for sequence in {*self._known.values(), *self._backlog})

    # -- taking requests in

    def _accept(self, pending: Pending) -> None:
        request = pending.request
        prefix = "inference request"
        if self._iterative and request.correlation_id in (0, ""):
            # A sequence of its own, whose id is unlike any that a client may use at the same time.
            pending.sequence = -request.key
            request.correlation_id, request.flags = next(self._generated), START
        if self._batching and pending.rows != 1:
            raise RequestRefused(
                f"{prefix} to model '{self._name}' must specify batch-size 1 due to requirements of sequence batcher"
            )
        if request.correlation_id in (0, ""):
            raise RequestRefused(
                f"{prefix} to model '{self._name}' must specify a non-zero or non-empty correlation ID"
            )
        self._controls.check()
        key = pending.sequence or request.correlation_id
        sequence = self._known.get(key)
        if sequence is None:
            if not request.flags & START:
                raise RequestRefused(
                    f"{prefix} for sequence {request.correlation_id} to model '{self._name}' must specify the START"
                    " flag on the first request of the sequence"
                )
            sequence = self._known[key] = Sequence(key)
            self._place(sequence)
        sequence.queue.append(pending)
        sequence.touched_ns = pending.enqueued_ns = time.monotonic_ns()
        if request.flags & END:
            del self._known[key]  # the id may start anew at once

    def _place(self, sequence: Sequence) -> None:
        """The lowest free slot of all instances, or the end of the backlog."""
        free = [(lane.free_slot(), index) for index, lane in enumerate(self._lanes)]
        open_slots = sorted((slot, index) for slot, index in free if slot is not None)
        if not open_slots:
            self._backlog.append(sequence)
            return
        slot, index = open_slots[0]
        self._lanes[index].slots[slot] = sequence
        sequence.lane = self._lanes[index]

    def _release(self, sequence: Sequence) -> None:
        lane = sequence.lane
        if lane is not None:
            lane.slots[lane.slots.index(sequence)] = None
            sequence.lane = None
        if self._backlog:
            self._place(self._backlog.pop(0))

    def _reschedule(self, pending: Pending) -> None:
        with self._changed:
            sequence = self._known.get(pending.sequence or pending.request.correlation_id)
            if sequence is not None:
                pending.request = altered(pending.request, flags=0)
                sequence.queue.insert(0, pending)
                self._changed.notify_all()
                return
        what = "the model hands back a request whose sequence has ended: it is never executed again"
        fix = "leave the END flag out while the request is to come back"
        pending.deliver(WireResponse(fault=WireFault("TPB566", what, f"model '{self._name}'", fix)))

    # -- forming batches

    def _serve(self, lane: Lane) -> None:
        while True:
            taken = self._take(lane)
            if not taken:
                return
            lane.runner([pending for _, pending in taken])
            with self._changed:
                for sequence, pending in taken:
                    if sequence is None:
                        continue
                    sequence.running = False
                    ended = pending.request.flags & END or (self._iterative and not sequence.queue)
                    if ended and not sequence.queue:
                        if self._iterative:
                            self._known.pop(sequence.id, None)
                        self._release(sequence)
                self._changed.notify_all()

    def _take(self, lane: Lane) -> list[tuple[Sequence | None, Pending]]:
        with self._changed:
            while True:
                now = time.monotonic_ns()
                batch, wait_ns = (
                    self._oldest_batch(lane, now) if self._oldest is not None else self._direct_batch(lane, now)
                )
                if batch:
                    return batch
                if self._stopped and not wait_ns:
                    return []
                self._changed.wait(wait_ns / 1e9 if wait_ns else None)

    def _direct_batch(self, lane: Lane, now: int) -> tuple[list[tuple[Sequence | None, Pending]], int]:
        """One request per slot up to the last one in use; slots without a request get an empty stand-in."""
        ready = [sequence for sequence in lane.slots if sequence is not None and sequence.queue]
        if not ready:
            return [], 0
        heads = [sequence.queue[0] for sequence in ready]
        age = now - min(pending.enqueued_ns for pending in heads)
        options = self._direct or {}
        delay = options.get("max_queue_delay_microseconds", 0) * 1000
        wanted = options.get("minimum_slot_utilization", 0.0) * len(lane.slots)
        together = self._stopped or any(pending.meeting is not None for pending in heads)
        if len(ready) < wanted and age < delay and not together:
            return [], delay - age
        last = max(index for index, sequence in enumerate(lane.slots) if sequence is not None)
        first = heads[0].request
        batch: list[tuple[Sequence | None, Pending]] = []
        for sequence in lane.slots[: last + 1]:
            if sequence is not None and sequence.queue and _same_shapes(sequence.queue[0].request, first):
                batch.append(self._started(sequence))
            else:
                batch.append((None, self._stand_in(first)))
        return batch, 0

    def _oldest_batch(self, lane: Lane, now: int) -> tuple[list[tuple[Sequence | None, Pending]], int]:
        """A dynamic batch of the first request of each candidate that has none running."""
        ready = [s for s in lane.slots if s is not None and s.queue and not s.running]
        ready.sort(key=lambda sequence: sequence.queue[0].enqueued_ns)
        if not ready:
            return [], 0
        heads = [sequence.queue[0] for sequence in ready]
        age = now - heads[0].enqueued_ns
        if self._stopped or heads[0].meeting is not None:
            age = max(age, self._rules.delay_ns)
        count, wait_ns = next_batch(heads, self._rules, age)
        return [self._started(sequence) for sequence in ready[:count]], wait_ns

    def _started(self, sequence: Sequence) -> tuple[Sequence, Pending]:
        pending = sequence.queue.pop(0)
        sequence.running = True
        request = self._controls.applied(pending.request, ready=True)
        pending.request = request
        return sequence, pending

    def _stand_in(self, like: WireRequest) -> Pending:
        names = self._controls.names
        inputs = [_zeroed(tensor) for tensor in like.inputs if tensor.name not in names]
        request = altered(like, inputs=inputs, request_id="", correlation_id=0, flags=0, parameters={})
        return Pending(self._controls.applied(request, ready=False), 1, lambda response: None, stand_in=True)

    # -- ending idle sequences

    def _reap(self) -> None:
        with self._changed:
            while not self._stopped:
                now = time.monotonic_ns()
                waits = []
                for sequence in list(self._known.values()):
                    if sequence.lane is None or sequence.running or sequence.queue:
                        continue
                    left = sequence.touched_ns + self._idle_ns - now
                    if left > 0:
                        waits.append(left)
                        continue
                    del self._known[sequence.id]
                    self._release(sequence)
                    self._changed.notify_all()
                self._changed.wait(min(waits) / 1e9 if waits else None)


def _rules(config: dict[str, Any]) -> BatchRules:
    oldest = config["sequence_batching"].get("oldest") or {}
    return altered(
        BatchRules.of(config),
        enabled=config["max_batch_size"] > 0,
        preferred=frozenset(oldest.get("preferred_batch_size", ())),
        delay_ns=oldest.get("max_queue_delay_microseconds", 0) * 1000,
    )


def _same_shapes(one: WireRequest, other: WireRequest) -> bool:
    return {t.name: t.shape for t in one.inputs} == {t.name: t.shape for t in other.inputs}


def _zeroed(tensor: WireTensor) -> WireTensor:
    array = tensor.array.copy()
    array[...] = b"" if tensor.datatype == "BYTES" else 0
    return altered(tensor, array=array)
