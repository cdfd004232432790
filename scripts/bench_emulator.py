"""What a request costs in the emulator, against the same request over HTTP to a real Triton, in one run.

python scripts/bench_emulator.py [CALLS]       # default 10000; prints a table for docs/emulator.md

Three trivial steps in an ensemble, one client, one request after the other. The three servers take turns of a
hundred calls, so that other work on the machine slows all of them alike.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from triton_pyb import Annotated, Pipeline, Tensor, model, postprocess, preprocess

Array = np.ndarray[Any, Any]
TURN = 100


@preprocess
def halve(x: Annotated[Array, Tensor("FP32", (16,))]) -> Annotated[Array, Tensor("FP32", (16,), name="half")]:
    return x / 2


@model
def negate(half: Annotated[Array, Tensor("FP32", (16,))]) -> Annotated[Array, Tensor("FP32", (16,), name="negated")]:
    return -half


@postprocess
def add_one(negated: Annotated[Array, Tensor("FP32", (16,))]) -> Annotated[Array, Tensor("FP32", (16,), name="y")]:
    return negated + 1


pipeline = Pipeline("trivial", [halve, negate, add_one], max_batch_size=8)


def measure(calls: int) -> dict[str, float]:
    """Seconds for `calls` calls: ``inline``, ``folders`` (child processes), ``real`` (HTTP)."""
    # Here, because the steps above travel with all that their module imports.
    from triton_pyb.emulator import EmulatedTriton
    from triton_pyb.repository import build
    from triton_pyb.server import RealTriton

    inputs = {"x": np.arange(16, dtype=np.float32).reshape(1, 16)}
    with ExitStack() as stack:
        repository = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        build(pipeline, repository)
        servers: dict[str, Any] = {
            "inline": stack.enter_context(EmulatedTriton(pipeline)),
            "folders": stack.enter_context(EmulatedTriton(repository)),
            "real": stack.enter_context(RealTriton(repository)),
        }
        seconds = dict.fromkeys(servers, 0.0)
        for server in servers.values():
            answer = server.infer("trivial", inputs)["y"]
            assert np.array_equal(answer, 1 - inputs["x"] / 2)
        for _ in range(calls // TURN):
            for name, server in servers.items():
                begun = time.perf_counter()
                for _ in range(TURN):
                    server.infer("trivial", inputs)
                seconds[name] += time.perf_counter() - begun
    return seconds


def main() -> int:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seconds = measure(calls)
    print("| where | per call | against the real server |\n|---|---|---|")
    for name, spent in seconds.items():
        print(f"| {name} | {1000 * spent / calls:.2f} ms | {spent / seconds['real']:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
