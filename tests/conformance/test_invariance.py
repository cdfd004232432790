"""Batch invariance in every mode: any split of the same items into requests gives the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from triton_pyb import Pipeline
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.repository import build
from triton_pyb.runtime.steps import mark_of

from . import mode_steps
from .conftest import Emulated, Server, answered
from .splits import Split, check, fixed, splits, wire

unhurried = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)


@pytest.mark.parametrize("mode", mode_steps.MODES)
@unhurried
@given(split=splits())
def test_any_split_on_the_emulator(emulated: Emulated, mode: str, split: Split) -> None:
    entry = emulated.deploy_step(mode_steps.MODES[mode])
    requests = split.requests()
    check(requests, emulated.together(entry, [wire(part) for part in requests]))


@pytest.mark.parametrize("mode", ["each, workers", "stack", "stack, limit", "list", "pad"])
def test_some_splits(side: Server, mode: str) -> None:
    entry = side.deploy_step(mode_steps.MODES[mode], delay_ms=20)
    for split in fixed(seed=len(mode), n_items=12):
        requests = split.requests()
        check(requests, side.together(entry, [wire(part) for part in requests]))


@unhurried
@given(
    parts=st.lists(st.lists(st.lists(st.integers(-9, 9), max_size=5), min_size=1, max_size=3), min_size=1, max_size=5)
)
def test_lengths_are_the_true_ones(emulated: Emulated, parts: list[list[list[int]]]) -> None:
    entry = emulated.deploy_step(mode_steps.in_pad_with_lengths)
    alike = [[row for row in part if len(row) == len(part[0])] for part in parts]
    answers = emulated.together(
        entry, [{"vector": np.array(part, np.float32).reshape(len(part), -1)} for part in alike]
    )
    for part, answer in zip(alike, answers, strict=True):
        means = [[np.float32(np.mean(row)) if row else 0] for row in part]
        assert answered(answer)["mean"].tolist() == means


# Faults planted into the runtime of a packaged model: each must turn the property red.

_SPLIT = """
from triton_pyb.runtime import joined_call
_split = joined_call.split
def split(column, counts):
    parts = list(_split(column, counts))
    {fault}
    return parts
joined_call.split = split
"""
_RUN = """
from triton_pyb.runtime import execution
_run = execution.Execution.run
def run(self, *arguments, **options):
    answers = list(_run(self, *arguments, **options))
    {fault}
    return answers
execution.Execution.run = run
"""
_SHIFT = "if len(parts) > 1: parts[1] = column[counts[0] - 1 : counts[0] - 1 + counts[1]]"
FAULTS = {
    "off by one in scatter": _SPLIT.format(fault=_SHIFT),
    "dropped row": _SPLIT.format(fault="parts[-1] = parts[-1][:-1]"),
    "two responses swapped": _RUN.format(fault="answers[:1], answers[-1:] = answers[-1:], answers[:1]"),
    "none": "",
}


@pytest.fixture(scope="module", params=FAULTS)
def faulty(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    """A server whose models carry one fault in their own copy of the runtime."""
    repository: Path = tmp_path_factory.mktemp("faulty") / "repository"
    for step in mode_steps.MODES.values():
        mark = mark_of(step)
        assert mark is not None
        around = Pipeline(f"around_{mark.name}", [step], max_queue_delay_microseconds=300_000)
        build(around, repository, overwrite=True)
        model_py = repository / mark.name / "1" / "model.py"
        model_py.write_text(model_py.read_text(encoding="utf-8") + FAULTS[request.param], encoding="utf-8")
    with EmulatedTriton(repository, model_control_mode="explicit") as server:
        yield request.param, server


@pytest.mark.parametrize("mode", mode_steps.MODES)
def test_a_planted_fault_is_noticed(faulty: tuple[str, Any], mode: str) -> None:
    fault, server = faulty
    # Nothing is cut where every call is one item, or one request.
    harmless = {"off by one in scatter": ("each", "each, workers", "request"), "dropped row": ("each", "each, workers")}
    mark = mark_of(mode_steps.MODES[mode])
    assert mark is not None
    server.load_model(mark.name)

    @settings(unhurried, max_examples=60, derandomize=True, database=None, phases=[Phase.generate])
    @given(splits())
    def the_property(split: Split) -> None:
        requests = split.requests()
        check(requests, server.infer_many(mark.name, [wire(part) for part in requests]))

    if fault == "none" or mode in harmless.get(fault, ()):
        the_property()
    else:
        with pytest.raises(AssertionError):
            the_property()
