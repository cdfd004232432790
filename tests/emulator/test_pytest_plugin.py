"""The fixture `triton`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulator.models import tensors, write
from triton_pyb.emulator import InferenceFailed
from triton_pyb.emulator.pytest_plugin import TritonFixture

pytest_plugins = ["pytester"]

IO = tensors(("input", "IN", "FP32", [2]), ("output", "OUT", "FP32", [2]))
APP = """
from __future__ import annotations

import numpy as np
from triton_pyb import Annotated, Pipeline, Reject, Tensor, postprocess, preprocess


@preprocess
def lengths(text: str) -> Annotated[np.ndarray, Tensor("FP32", (2,), name="x")]:
    if not text:
        raise Reject("empty")
    return np.full(2, len(text), np.float32)


@postprocess
def total(x: Annotated[np.ndarray, Tensor("FP32", (2,))]) -> Annotated[float, Tensor("FP32", (), name="sum")]:
    return float(x.sum())


pipeline = Pipeline("both", [lengths, total], max_batch_size=4)
"""


def test_a_repository_and_a_model_folder(triton: TritonFixture, tmp_path: Path) -> None:
    folder = write(tmp_path, "echo", "max_batch_size: 4\n" + IO)
    write(tmp_path, "other", "max_batch_size: 4\n" + IO)
    whole = triton.load(tmp_path)
    assert whole.model_names() == ["echo", "other"] and whole.entry == ""
    one = triton.load(folder)
    assert one.model_names() == ["echo"] and one.entry == "echo"
    assert one.infer("echo", {"IN": [1, 2]})["OUT"].tolist() == [[1, 2]]


def test_servers_stop_with_the_test(pytester: pytest.Pytester) -> None:
    write(pytester.path, "echo", IO)
    pytester.makepyfile(
        """
        servers = []

        def test_one(triton, request):
            servers.append(triton.load(request.path.parent / "echo"))
            assert servers[0].model_names() == ["echo"]

        def test_two():
            assert servers[0].model_names() == []
        """
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


@pytest.mark.parametrize("inline", [None, False])
def test_a_pipeline_and_a_function(
    inline: bool | None, triton: TritonFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triton_pyb.emulator import targets
    from triton_pyb.repository import build

    name = "app_inline" if inline is None else "app_child"
    (tmp_path / f"{name}.py").write_text(APP)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(targets, "_registered", [build])
    app = __import__(name)
    server = triton.load(app.pipeline, inline=inline)
    assert server.entry == "both"
    good, bad = server.infer_many("both", [{"text": "abc"}, {"text": ""}])
    assert good["sum"].ravel().tolist() == [6.0]
    assert isinstance(bad, InferenceFailed) and bad.code == "INVALID_ARG" and "empty" in bad.message
    assert server.batches("lengths") == [(1, 1)]
    assert triton.load(app.lengths, inline=inline).infer("lengths", {"text": "ab"})["x"].tolist() == [[2, 2]]


def test_importing_the_plugin_is_cheap() -> None:
    code = (
        "import sys, time, triton_pyb, pytest; start = time.perf_counter();"
        "import triton_pyb.emulator.pytest_plugin; print(time.perf_counter() - start);"
        "print([name for name in ('tritonclient', 'google.protobuf', 'grpc', 'aiohttp') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")
    assert float(out[0]) < 0.05
    assert out[1] == "[]"
