"""What a step keeps: per instance, and per sequence."""

from __future__ import annotations

from typing import Any

import pytest

from triton_pyb import Context
from triton_pyb.runtime.context import RequestInfo
from triton_pyb.runtime.state import Instance, Sequences


class Closing:
    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_class_is_set_up_once_and_closed() -> None:
    class Step(Closing):
        def setup(self, ctx: Context) -> None:
            self.device = ctx.device

        def __call__(self, text: str) -> str:
            return f"{self.device} {text}"

    instance = Instance(Step, None, Context.for_test(device="cuda:1"))
    assert instance.function("a") == "cuda:1 a"
    instance.close()
    made: Any = instance.function
    assert made.closed == 1


@pytest.mark.parametrize("takes", [True, False])
def test_a_functions_setup_makes_its_state(takes: bool) -> None:
    state = Closing()
    instance = Instance(len, (lambda ctx: state) if takes else (lambda: state), Context.for_test())
    assert instance.state is state and instance.function is len
    instance.close()
    assert state.closed == 1


def test_nothing_to_close() -> None:
    Instance(len, None, Context.for_test()).close()
    Instance(len, lambda: 3, Context.for_test()).close()


def request(key: Any, start: bool = False, end: bool = False) -> RequestInfo:
    return RequestInfo(correlation_id=key, sequence_start=start, sequence_end=end)


def test_each_sequence_has_its_own_state_until_it_ends() -> None:
    sequences = Sequences(lambda info: [info.correlation_id], 60, Clock())
    first = sequences.of(request(1, start=True))
    other = sequences.of(request("a", start=True))
    assert sequences.of(request(1)) is first and sequences.of(request("a")) is other and first == [1]
    sequences.served(request(1, end=True))
    assert sequences.of(request(1)) is not first and sequences.of(request("a")) is other


def test_a_sequence_that_starts_again_begins_anew() -> None:
    sequences = Sequences(lambda info: Closing(), 60, Clock())
    first = sequences.of(request(1, start=True))
    assert sequences.of(request(1, start=True)) is not first


def test_the_state_of_a_sequence_that_starts_again_is_closed() -> None:
    sequences = Sequences(lambda info: Closing(), 60, Clock())
    first = sequences.of(request(1, start=True))
    sequences.of(request(1, start=True))
    assert first.closed == 1


def test_an_idle_sequence_is_dropped_and_closed() -> None:
    clock = Clock()
    sequences = Sequences(lambda info: Closing(), 60, clock)
    first = sequences.of(request(1, start=True))
    clock.now = 59.0
    assert sequences.of(request(1)) is first
    clock.now = 130.0
    sequences.of(request(2, start=True))
    assert first.closed == 1 and sequences.of(request(1)) is not first


def test_a_state_is_closed_where_its_sequence_ends() -> None:
    sequences = Sequences(lambda info: Closing(), 60, Clock())
    state = sequences.of(request(1, start=True, end=True))
    sequences.served(request(1, end=True))
    sequences.served(request(1, end=True))
    assert state.closed == 1
