"""The scheduler of a model without sequences: one request at a time, or dynamic batching.

Source: DynamicBatchScheduler::GetDynamicBatch and PriorityQueue of Triton's core 24.10. Requests are never
concatenated: a batch is the list of requests that one `execute` gets.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from triton_pyb.emulator.lending import lent
from triton_pyb.emulator.pending import Pending

_STOPPED = "Server is stopping, scheduler for model has stopped accepting new inference requests"

Runner = Callable[[list[Pending]], None]


@dataclass(frozen=True)
class BatchRules:
    """What the configuration says about joining requests."""

    max_batch_size: int = 0
    preferred: frozenset[int] = frozenset()
    delay_ns: int = 0
    enabled: bool = False
    same_shape: frozenset[str] = frozenset()  # inputs whose shapes must be equal
    same_inputs: bool = False  # some input is optional: requests must bring the same inputs

    @classmethod
    def of(cls, config: dict[str, Any]) -> BatchRules:
        batching = config.get("dynamic_batching")
        enabled = batching is not None and config["max_batch_size"] > 0
        return cls(
            max_batch_size=config["max_batch_size"],
            preferred=frozenset(batching["preferred_batch_size"] if batching else ()),
            delay_ns=(batching["max_queue_delay_microseconds"] if batching else 0) * 1000,
            enabled=enabled,
            same_shape=frozenset(
                tensor["name"]
                for tensor in config["input"]
                if -1 in tensor["dims"] and not tensor["allow_ragged_batch"]
            ),
            same_inputs=any(tensor.get("optional") for tensor in config["input"]),
        )


def next_batch(queue: list[Pending], rules: BatchRules, age_ns: int) -> tuple[int, int]:
    """How many requests of the queue's head go now, and else how long to wait.

    Parameters
    ----------
    age_ns : int
        How long the oldest request has waited.

    Returns
    -------
    count, wait_ns
        `count` is 0 when it is better to wait `wait_ns` for more requests.
    """
    if not rules.enabled:
        return 1, 0
    size = count = marked = 0
    largest = max(rules.preferred, default=rules.max_batch_size)
    full = False
    for pending in queue:
        if count:
            grown = size + pending.size
            if grown > largest and not marked:
                marked = count
            if grown > rules.max_batch_size or not alike(queue[0], pending, rules):
                full = True
                break
        size += pending.size
        count += 1
        if size in rules.preferred:
            marked = count
    expired = rules.delay_ns > 0 and age_ns >= rules.delay_ns
    if marked and not expired:
        return marked, 0
    if full or expired or size >= largest or rules.delay_ns == 0:
        return count, 0
    return 0, rules.delay_ns - age_ns


def alike(first: Pending, other: Pending, rules: BatchRules) -> bool:
    """Whether two requests may share a batch."""
    shapes = {tensor.name: tensor.shape for tensor in first.request.inputs}
    others = {tensor.name: tensor.shape for tensor in other.request.inputs}
    if rules.same_inputs and set(shapes) != set(others):
        return False
    # The batch axis is no part of the comparison.
    skip = 1 if rules.max_batch_size else 0
    return all(
        shapes[name][skip:] == others[name][skip:] for name in rules.same_shape if name in shapes and name in others
    )


@dataclass
class QueuePolicy:
    """How long and how many requests of one priority level may wait."""

    delay_expired: bool = False  # timeout_action DELAY: they go last; else they are rejected
    timeout_us: int = 0
    allow_override: bool = False
    max_size: int = 0
    queue: list[Pending] = field(default_factory=list)
    expired: list[Pending] = field(default_factory=list)

    @classmethod
    def of(cls, policy: dict[str, Any] | None) -> QueuePolicy:
        if policy is None:
            return cls()
        return cls(
            delay_expired=policy["timeout_action"] == "DELAY",
            timeout_us=policy["default_timeout_microseconds"],
            allow_override=policy["allow_timeout_override"],
            max_size=policy["max_queue_size"],
        )

    def timeout_ns(self, pending: Pending) -> int:
        asked = pending.request.timeout_us
        if self.allow_override and 0 < asked < self.timeout_us:
            return asked * 1000
        return self.timeout_us * 1000

    def expire(self, now_ns: int) -> list[Pending]:
        """Take out what has waited too long; what is to be rejected is returned."""
        late = [
            pending
            for pending in self.queue
            if self.timeout_ns(pending) and now_ns >= pending.enqueued_ns + self.timeout_ns(pending)
        ]
        if late:
            self.queue = [pending for pending in self.queue if pending not in late]
        if self.delay_expired:
            self.expired += late
            return []
        return late

    def next_expiry_ns(self) -> int | None:
        """The moment at which the first waiting request becomes late."""
        return min((p.enqueued_ns + self.timeout_ns(p) for p in self.queue if self.timeout_ns(p)), default=None)


class Batcher:
    """Queues requests and feeds each instance, one thread per instance, with batches.

    Parameters
    ----------
    runners : list of callable
        One per instance; runs one batch and returns when the instance can take the next.
    """

    def __init__(self, config: dict[str, Any], runners: list[Runner]) -> None:
        self.rules = BatchRules.of(config)
        self._at_once = not self.rules.enabled or not self.rules.delay_ns  # a single request never waits for others
        self._levels = _priority_levels(config.get("dynamic_batching"))
        self._default_level = (config.get("dynamic_batching") or {}).get("default_priority_level", 0)
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._stopped = False
        self._idle: set[int] = set()
        self._borrowed: set[int] = set()  # idle ones that run on a caller's thread
        self.runners = list(runners)
        self._threads = [
            threading.Thread(target=self._serve, args=(index, runner), name=f"{config['name']} {index}", daemon=True)
            for index, runner in enumerate(runners)
        ]
        for thread in self._threads:
            thread.start()

    def enqueue(self, pendings: list[Pending]) -> None:
        """Several requests at one instant: no batch is formed in between."""
        if len(pendings) == 1 and self._borrow(pendings[0]):
            return
        refused = []
        stopped = False
        with self._changed:
            for pending in pendings:
                level = self._level(pending)
                stopped = self._stopped
                if stopped or (level.max_size and len(level.queue) >= level.max_size):
                    refused.append(pending)
                    continue
                pending.enqueued_ns = time.monotonic_ns()
                level.queue.append(pending)
            self._changed.notify_all()
        for pending in refused:
            prefix = f"[request id: {pending.request.request_id or '<id_unknown>'}] "
            reason = _STOPPED if stopped else f"{prefix}Exceeds maximum queue size"
            pending.fail(reason, "UNAVAILABLE", "request")

    def _borrow(self, pending: Pending) -> bool:
        """Whether the request runs on this thread, which its owner lends: when it could start at once anyway."""
        jobs = lent()
        if jobs is None:
            return False
        with self._lock:
            free = self._idle - self._borrowed
            if self._stopped or not free or self._waiting() or not (self._at_once or self._goes_alone(pending)):
                return False
            pending.enqueued_ns = time.monotonic_ns()
            index = min(free)
            jobs.append(_Borrowed(self, index, pending))  # first: an interrupt then gives the instance back
            self._borrowed.add(index)
        return True

    def give_back(self, index: int) -> None:
        """An instance is its own thread's again."""
        with self._lock:
            self._borrowed.discard(index)
            if self._stopped or self._waiting():
                self._changed.notify_all()

    def _waiting(self) -> bool:
        for level in self._levels.values():
            if level.queue or level.expired:
                return True
        return False

    def waiting(self) -> int:
        """How many requests no instance has taken yet."""
        with self._lock:
            return sum(len(level.queue) + len(level.expired) for level in self._levels.values())

    def _goes_alone(self, pending: Pending) -> bool:
        """Whether the rules let this request go at once, by itself."""
        return next_batch([pending], self.rules, 0)[0] > 0

    def stop(self) -> None:
        """Finish what is queued, then end the threads."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _level(self, pending: Pending) -> QueuePolicy:
        asked = pending.request.priority
        return self._levels[asked if asked in self._levels else self._default_level]

    def _serve(self, index: int, runner: Runner) -> None:
        while True:
            batch, rejected = self._take(index)
            for pending in rejected:
                pending.fail("Request timeout expired", "UNAVAILABLE", "request")
            if batch:
                runner(batch)
            elif not rejected:
                return

    def _take(self, index: int) -> tuple[list[Pending], list[Pending]]:
        """The next batch, or requests to reject; two empty lists once stopped and drained.

        Of the instances that wait, the first one takes: which one serves is no matter of luck.
        """
        with self._changed:
            self._idle.add(index)
            try:
                return self._wait(index)
            finally:
                self._idle.discard(index)
                self._changed.notify_all()

    def _wait(self, index: int) -> tuple[list[Pending], list[Pending]]:
        while True:
            if index in self._borrowed or (index != min(self._idle - self._borrowed) and not self._stopped):
                self._changed.wait()
                continue
            now = time.monotonic_ns()
            rejected = [late for level in self._levels.values() for late in level.expire(now)]
            if rejected:
                return [], rejected
            queue = self._in_order()
            if queue:
                count, wait_ns = self._count(queue, now)
                if count:
                    self._remove(queue[:count])
                    return queue[:count], []
            elif self._stopped:
                return [], []
            else:
                wait_ns = 0
            self._changed.wait(self._patience(now, wait_ns))

    def _count(self, queue: list[Pending], now: int) -> tuple[int, int]:
        count, wait_ns = next_batch(queue, self.rules, now - queue[0].enqueued_ns)
        if not count and (queue[0].meeting is not None or self._stopped):
            return next_batch(queue, self.rules, self.rules.delay_ns)  # nobody else will come
        return count, wait_ns

    def _in_order(self) -> list[Pending]:
        queue = [pending for _, level in sorted(self._levels.items()) for pending in level.queue]
        return queue + [pending for _, level in sorted(self._levels.items()) for pending in level.expired]

    def _remove(self, batch: list[Pending]) -> None:
        taken = {id(pending) for pending in batch}
        for level in self._levels.values():
            level.queue = [pending for pending in level.queue if id(pending) not in taken]
            level.expired = [pending for pending in level.expired if id(pending) not in taken]

    def _patience(self, now: int, wait_ns: int) -> float | None:
        moments = [level.next_expiry_ns() for level in self._levels.values()]
        waits = [moment - now for moment in moments if moment is not None] + ([wait_ns] if wait_ns else [])
        return max(min(waits), 0) / 1e9 if waits else None


class _Borrowed:
    """A request that runs on its caller's thread."""

    def __init__(self, batcher: Batcher, index: int, pending: Pending) -> None:
        self._batcher, self._index, self._pending = batcher, index, pending
        self._over = False

    def run(self) -> None:
        self._batcher.runners[self._index]([self._pending])
        self._batcher.give_back(self._index)
        self._over = True

    def abandon(self) -> None:
        """Ctrl-C in the caller's thread: the server goes on."""
        if not self._over:
            self._pending.fail("the caller was interrupted", "CANCELLED")
            self._batcher.give_back(self._index)
            self._over = True


def _priority_levels(batching: dict[str, Any] | None) -> dict[int, QueuePolicy]:
    if not batching or not batching["priority_levels"]:
        return {0: QueuePolicy.of((batching or {}).get("default_queue_policy"))}
    policies = batching["priority_queue_policy"]
    default = batching.get("default_queue_policy")
    return {
        level: QueuePolicy.of(policies.get(str(level), default)) for level in range(1, batching["priority_levels"] + 1)
    }
