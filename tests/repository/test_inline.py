"""Functions that the emulator calls in this process: no code travels, so none has to be able to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from triton_pyb import Annotated, Name, Pipeline, Tensor, TritonPybError, model, preprocess
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.repository.inline import build_inline

Array = np.ndarray[Any, Any]


def test_a_step_local_to_a_test() -> None:
    factor = 3

    @model
    def times(x: Annotated[Array, Tensor("FP32", (2,))]) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        return factor * x

    with EmulatedTriton(times) as triton:
        assert triton.infer("times", {"x": np.ones((2, 2), np.float32)})["y"].tolist() == [[3, 3], [3, 3]]


def test_a_pipeline_local_to_a_test() -> None:
    @preprocess
    def words(text: str) -> Annotated[int, Name("count")]:
        return len(text.split())

    @model
    def double(count: int) -> Annotated[int, Name("doubled")]:
        return 2 * count

    with EmulatedTriton(Pipeline("counting", [words, double])) as triton:
        assert triton.infer("counting", {"text": ["a b", ""]})["doubled"].tolist() == [[4], [0]]


def test_what_is_no_step(tmp_path: Path) -> None:
    with pytest.raises(TritonPybError) as caught:
        build_inline(print, tmp_path)
    assert caught.value.code == "TPB407" and "is neither a pipeline nor a step" in caught.value.what
    assert not list(tmp_path.iterdir())
