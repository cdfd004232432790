"""A caller's thread runs idle instances: same answers, and nobody waits who need not."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.emulator.models import ECHO, execute, tensors, write
from triton_pyb import Annotated, Tensor, model
from triton_pyb.emulator import EmulatedTriton, InferenceFailed

IO = tensors(("input", "IN", "FP32", [1]), ("output", "OUT", "FP32", [1]))
THREAD = execute(
    """
import threading
name = np.array([float(threading.get_ident() % 2**24)], "f4")
return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", name)]) for r in requests]
"""
)
CALLS = execute(
    """
answers = []
for r in requests:
    inputs = [pb_utils.Tensor("IN", r.inputs()[0].as_numpy())]
    call = pb_utils.InferenceRequest(model_name="echo", requested_output_names=["OUT"], inputs=inputs).exec()
    answers.append(pb_utils.InferenceResponse(call.output_tensors()))
return answers
"""
)
ROOT = Path(__file__).parents[2]


@model
def twice(x: Annotated[Any, Tensor("FP32", (2,))]) -> Annotated[Any, Tensor("FP32", (2,), name="y")]:
    return x * 2


def mine() -> float:
    return float(np.float32(threading.get_ident() % 2**24))


def served(server: EmulatedTriton, name: str, value: float) -> float:
    return float(server.infer(name, {"IN": [value]})["OUT"][0])


def wait_until_idle(server: EmulatedTriton, name: str) -> None:
    """An instance's thread needs a moment after the load before it waits for work."""
    scheduler = server._model(name)._scheduler
    until = time.monotonic() + 5
    while not scheduler._idle and time.monotonic() < until:  # type: ignore[union-attr]
        time.sleep(0.01)


def test_infer_runs_on_the_callers_thread(tmp_path: Path) -> None:
    with EmulatedTriton(write(tmp_path, "thread", IO, THREAD), inline=True) as server:
        wait_until_idle(server, "thread")
        assert served(server, "thread", 0) == mine()
        assert server.async_infer("thread", {"IN": [0]}).result()["OUT"][0] != mine()

        async def inside_a_loop() -> float:
            return served(server, "thread", 0)

        assert asyncio.run(inside_a_loop()) != mine()


def test_a_call_of_another_model_is_not_lent_the_thread(tmp_path: Path) -> None:
    write(tmp_path, "echo", IO, ECHO)
    write(tmp_path, "calls", IO, CALLS)
    with EmulatedTriton(tmp_path, inline=True) as server:
        for value in (1.0, 2.0, 3.0):
            assert served(server, "calls", value) == value


@pytest.mark.parametrize("inline", [True, False])
def test_many_callers_of_one_instance(tmp_path: Path, inline: bool) -> None:
    with EmulatedTriton(write(tmp_path, "echo", IO, ECHO), inline=inline) as server, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda value: served(server, "echo", value), map(float, range(200))))
    assert answers == list(map(float, range(200)))


def test_an_interrupted_caller_leaves_a_server_that_works(tmp_path: Path) -> None:
    source = execute(
        """
if requests[0].inputs()[0].as_numpy()[0] < 0:
    raise KeyboardInterrupt
return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy())]) for r in requests]
"""
    )
    with EmulatedTriton(write(tmp_path, "echo", IO, source), inline=True) as server:
        wait_until_idle(server, "echo")
        with pytest.raises((KeyboardInterrupt, InferenceFailed)):
            served(server, "echo", -1)
        assert served(server, "echo", 2) == 2
        begun = time.monotonic()
    assert time.monotonic() - begun < 5


@pytest.mark.real_triton
def test_a_request_costs_less_than_on_a_real_server() -> None:
    """The best of a few short runs, for the machine may do other things too; docs/emulator.md has the figures."""
    spec = importlib.util.spec_from_file_location("bench_emulator", ROOT / "scripts" / "bench_emulator.py")
    assert spec is not None and spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = bench  # the steps are built from their module
    try:
        spec.loader.exec_module(bench)
        runs = [bench.measure(500) for _ in range(3)]
    finally:
        del sys.modules[spec.name]
    assert min(run["inline"] / run["real"] for run in runs) < 0.3
    assert min(run["folders"] / run["real"] for run in runs) < 0.8


def test_a_request_leaves_nothing_to_the_garbage_collector() -> None:
    """What belongs to a request dies with it: a cycle would keep its arrays, and the sender that nobody used."""
    with EmulatedTriton(twice) as triton:
        triton.infer("twice", {"x": np.ones((1, 2), np.float32)})
        gc.collect()
        gc.disable()
        try:
            for _ in range(20):
                triton.infer("twice", {"x": np.ones((1, 2), np.float32)})
            assert gc.collect() == 0
        finally:
            gc.enable()
