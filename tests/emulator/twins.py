"""The same models on the emulator and on a real Triton, for tests that ask both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.emulator.models import ensemble, execute, tensors, write
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.endpoints import Endpoints
from triton_pyb.server import RealTriton

OUT = ("output", "OUT", "STRING", [1])
#: Counts its inputs, whatever they are.
COUNT = execute(
    """
answers = []
for r in requests:
    rows = r.inputs()[0].shape()[0] if r.inputs() and r.inputs()[0].shape() else 1
    text = np.array([[b"ok"]] * rows, dtype=object)
    answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", text)]))
return answers
"""
)
#: Model to its inputs and further configuration.
MODELS: dict[str, tuple[list[tuple[str, str, list[int]]], str]] = {
    "plain": ([("IN", "FP32", [2])], "max_batch_size: 8"),
    "several": ([("A", "FP32", [2]), ("B", "INT32", [1]), ("C", "STRING", [-1])], "max_batch_size: 8"),
    "text": ([("IN", "STRING", [2])], "max_batch_size: 4"),
    "unbatched": ([("IN", "FP32", [2]), ("S", "STRING", [-1])], "max_batch_size: 0"),
    "batched": ([("IN", "BOOL", [-1, 2])], "max_batch_size: 4 dynamic_batching { }"),
    "sequence": ([("IN", "FP32", [2])], "max_batch_size: 4 sequence_batching { direct { } }"),
}


def write_repository(repository: Path) -> None:
    for name, (inputs, config) in MODELS.items():
        declared = tensors(*(("input", *each) for each in inputs), OUT)
        write(repository, name, f"{config}\n{declared}", COUNT)
    shaped = 'input [ { name: "IN" data_type: TYPE_INT64 dims: [2, 2] reshape { shape: [4] } } ]\n'
    write(repository, "shaped", "max_batch_size: 4\n" + shaped + tensors(OUT), COUNT)
    optional = 'input [ { name: "X" data_type: TYPE_FP32 dims: [1] optional: true } ]\n'
    needed = tensors(("input", "IN", "FP32", [2]), OUT)
    write(repository, "optional", "max_batch_size: 8\n" + optional + needed, COUNT)
    ends = tensors(("input", "X", "FP32", [2]), ("output", "Y", "STRING", [1]))
    write(repository, "whole", ensemble(ends, [("plain", {"IN": "X"}, {"OUT": "Y"})], 8), None)


INPUTS = {name: inputs for name, (inputs, _) in MODELS.items()} | {
    "shaped": [("IN", "INT64", [2, 2])],
    "optional": [("X", "FP32", [1]), ("IN", "FP32", [2])],
    "whole": [("X", "FP32", [2])],
}


@contextmanager
def twin_ports(folder: Path) -> Iterator[dict[str, tuple[int, int]]]:
    """``"http"`` and ``"grpc"`` to the ports of the emulator and of a real Triton."""
    repository = folder / "repository"
    repository.mkdir()
    write_repository(repository)
    with (
        EmulatedTriton(repository, mode="faithful", inline=True) as triton,
        RealTriton(repository, extra_args=["--strict-readiness=false"]) as real,
    ):
        endpoints = Endpoints(triton.store, grpc_port=0)
        endpoints.start()
        urls = {"http": real.http_url, "grpc": real.grpc_url}
        yield {kind: (endpoints.ports[kind], int(url.rpartition(":")[2])) for kind, url in urls.items()}
        endpoints.stop()
