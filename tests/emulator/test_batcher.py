"""Which requests share an `execute`."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triton_pyb.emulator.batcher import Batcher, BatchRules, next_batch
from triton_pyb.emulator.meeting import Meeting
from triton_pyb.emulator.messages import WireRequest, WireResponse, wire_tensor
from triton_pyb.emulator.pending import Pending


def _set(event: threading.Event, response: WireResponse) -> None:
    event.set()


def pending(rows: int = 1, columns: int = 2, extra: bool = False, **request: Any) -> Pending:
    inputs = [wire_tensor("x", "FP32", np.zeros((rows, columns)))]
    if extra:
        inputs.append(wire_tensor("y", "FP32", np.zeros((rows, 1))))
    return Pending(WireRequest(inputs, **request), rows, lambda response: None)


def rules(**options: Any) -> BatchRules:
    return BatchRules(**{"max_batch_size": 8, "preferred": frozenset({8}), "enabled": True, **options})


@pytest.mark.parametrize(
    ("rows", "options", "count"),
    [
        ([1, 1, 1], {"enabled": False}, 1),
        ([2, 1, 3], {}, 3),  # six rows, one execute
        ([5, 5], {}, 1),  # ten are too many
        ([1, 1, 1], {"preferred": frozenset({2})}, 2),
        ([1, 1, 1, 1, 1], {"preferred": frozenset({2, 4})}, 4),
        ([3, 3], {"preferred": frozenset({4})}, 1),  # what passes the largest preferred size waits
        ([8], {}, 1),
    ],
)
def test_batches_without_a_delay(rows: list[int], options: dict[str, Any], count: int) -> None:
    assert next_batch([pending(each) for each in rows], rules(**options), 0) == (count, 0)


def test_a_delay_waits_for_more_until_it_is_over() -> None:
    waiting = [pending(), pending()]
    delayed = rules(delay_ns=100)
    assert next_batch(waiting, delayed, 40) == (0, 60)
    assert next_batch(waiting, delayed, 100) == (2, 0)


def test_a_preferred_size_does_not_wait() -> None:
    assert next_batch([pending(), pending()], rules(preferred=frozenset({2}), delay_ns=100), 0) == (2, 0)


def test_another_shape_ends_the_batch_only_where_shapes_may_vary() -> None:
    queue = [pending(columns=5), pending(columns=5), pending(columns=6)]
    assert next_batch(queue, rules(same_shape=frozenset({"x"})), 0) == (2, 0)
    assert next_batch(queue, rules(), 0) == (3, 0)  # allow_ragged_batch


def test_an_optional_input_ends_the_batch() -> None:
    queue = [pending(), pending(extra=True), pending(extra=True)]
    assert next_batch(queue, rules(same_inputs=True), 0) == (1, 0)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.sets(st.integers(1, 8), max_size=3))
def test_no_batch_is_larger_than_allowed(rows: list[int], preferred: set[int]) -> None:
    queue = [pending(min(each, 8)) for each in rows]
    limits = rules(preferred=frozenset(preferred or {8}))
    while queue:
        count, wait_ns = next_batch(queue, limits, 0)
        assert count >= 1 and wait_ns == 0
        assert sum(each.rows for each in queue[:count]) <= 8
        queue = queue[count:]


class Recorder:
    """A runner that notes its batches and answers everything; `gate` holds it up."""

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.batches: list[list[Pending]] = []
        self.gate = gate

    def __call__(self, batch: list[Pending]) -> None:
        self.batches.append(batch)
        if self.gate is not None:
            self.gate.wait(5)
        for each in batch:
            each.deliver(WireResponse())

    def ids(self) -> list[list[str]]:
        return [[each.request.request_id for each in batch] for batch in self.batches]


def config(**batching: Any) -> dict[str, Any]:
    defaults = {
        "preferred_batch_size": [4],
        "max_queue_delay_microseconds": 0,
        "priority_levels": 0,
        "default_priority_level": 0,
        "priority_queue_policy": {},
    }
    return {"name": "m", "max_batch_size": 4, "input": [], "dynamic_batching": {**defaults, **batching}}


def policy(**values: Any) -> dict[str, Any]:
    return {
        "timeout_action": "REJECT",
        "default_timeout_microseconds": 0,
        "allow_timeout_override": False,
        "max_queue_size": 0,
        **values,
    }


class Collected:
    """Requests with ids, and what they were answered."""

    def __init__(self) -> None:
        self.answers: dict[str, WireResponse] = {}

    def request(self, name: str, **request: Any) -> Pending:
        each = pending(request_id=name, **request)
        each.receiver = lambda response: self.answers.__setitem__(name, response)
        return each


def test_requests_that_meet_share_a_batch_whatever_the_delay() -> None:
    recorder, meeting, collected = Recorder(), Meeting(), Collected()
    batcher = Batcher(config(max_queue_delay_microseconds=60_000_000), [recorder])
    for name in "abc":
        each = collected.request(name)
        each.meeting = meeting
        meeting.hold(batcher, each)
    assert not recorder.batches
    meeting.leave()
    batcher.stop()
    assert recorder.ids() == [["a", "b", "c"]]
    assert sorted(collected.answers) == ["a", "b", "c"]


def test_a_full_queue_refuses() -> None:
    gate, collected = threading.Event(), Collected()
    recorder = Recorder(gate)
    batcher = Batcher(config(default_queue_policy=policy(max_queue_size=1)), [recorder])
    batcher.enqueue([collected.request("first")])
    while not recorder.batches:
        time.sleep(0.001)
    batcher.enqueue([collected.request("waits"), collected.request("refused")])
    error = collected.answers["refused"].error
    assert error is not None and error.message == "[request id: refused] Exceeds maximum queue size"
    assert error.code == "UNAVAILABLE"
    gate.set()
    batcher.stop()
    assert recorder.ids() == [["first"], ["waits"]]


@pytest.mark.parametrize("action", ["REJECT", "DELAY"])
def test_a_request_that_waits_too_long(action: str) -> None:
    gate, collected = threading.Event(), Collected()
    recorder = Recorder(gate)
    default = policy(timeout_action=action, default_timeout_microseconds=20_000)
    batcher = Batcher({**config(default_queue_policy=default), "max_batch_size": 1}, [recorder])
    batcher.enqueue([collected.request("first")])
    while not recorder.batches:
        time.sleep(0.001)
    batcher.enqueue([collected.request("late")])
    time.sleep(0.05)
    gate.set()
    batcher.stop()
    if action == "DELAY":
        assert recorder.ids() == [["first"], ["late"]]
    else:
        error = collected.answers["late"].error
        assert error is not None and error.message == "Request timeout expired"
        assert recorder.ids() == [["first"]]


def test_higher_priorities_go_first() -> None:
    gate, collected = threading.Event(), Collected()
    recorder = Recorder(gate)
    batcher = Batcher({**config(priority_levels=3, default_priority_level=2), "max_batch_size": 1}, [recorder])
    batcher.enqueue([collected.request("running")])
    while not recorder.batches:
        time.sleep(0.001)
    priorities = {"low": 3, "unsaid": 0, "high": 1, "unknown": 9}
    batcher.enqueue([collected.request(name, priority=number) for name, number in priorities.items()])
    gate.set()
    batcher.stop()
    assert recorder.ids() == [["running"], ["high"], ["unsaid"], ["unknown"], ["low"]]


def test_the_first_free_instance_serves() -> None:
    first, second = Recorder(), Recorder()
    batcher = Batcher(config(), [first, second])
    for _ in range(5):
        answered = threading.Event()
        each = pending()
        each.receiver = partial(_set, answered)
        batcher.enqueue([each])
        assert answered.wait(5)
        time.sleep(0.01)
    batcher.stop()
    assert len(first.batches) == 5 and not second.batches


def test_after_the_end_nothing_is_taken() -> None:
    collected = Collected()
    batcher = Batcher(config(), [Recorder()])
    batcher.stop()
    batcher.enqueue([collected.request("late")])
    error = collected.answers["late"].error
    assert error is not None and error.message.startswith("Server is stopping")
