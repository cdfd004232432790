"""An error that a model answers counts as a success, as on a 24.10 server; one that it raises as a failure."""

from __future__ import annotations

from pathlib import Path

from tests.repository.applications import write
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.repository.build import build

APPLICATION = """
from __future__ import annotations
from triton_pyb import Annotated, Name, Reject, model


@model
def refuse(x: int) -> Annotated[int, Name("y")]:
    raise Reject("no")
"""


def test_a_request_answered_with_an_error_counts_as_on_the_server(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": APPLICATION})
    build(f"{tmp_path}/app.py:refuse", tmp_path / "models")
    with EmulatedTriton(tmp_path / "models") as triton:
        triton.infer_many("refuse", [{"x": 1}] * 4)
        counts = triton.statistics("refuse")["inference_stats"]
    assert (int(counts["success"]["count"]), int(counts["fail"]["count"])) == (4, 0)
