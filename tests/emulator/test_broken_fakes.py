"""A fake model that breaks fails the test, even when the model under test has a fallback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from triton_pyb.emulator import EmulatedTriton, InferenceFailed

MODEL = """
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            x = request.inputs()[0]
            call = pb_utils.InferenceRequest(model_name="scorer", requested_output_names=["y"], inputs=[x])
            answer = call.exec()
            y = x.as_numpy() if answer.has_error() else answer.output_tensors()[0].as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("y", y)]))
        return responses
"""
CONFIG = """
backend: "python"
input { name: "x" data_type: TYPE_FP32 dims: 1 }
output { name: "y" data_type: TYPE_FP32 dims: 1 }
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "model.py").write_text(MODEL)
    (tmp_path / "m" / "config.pbtxt").write_text(CONFIG)
    return tmp_path


ONE = {"x": np.ones(1, np.float32)}


def test_an_assertion_in_a_fake_fails_the_test(repository: Path) -> None:
    def scorer(x: Any) -> dict[str, Any]:
        assert x.sum() == 99, "not what was expected"
        return {"y": x}

    with EmulatedTriton(repository, fake_models={"scorer": scorer}) as triton:
        with pytest.raises(AssertionError, match="not what was expected"):
            triton.infer("m", ONE)
        with pytest.raises(AssertionError, match="not what was expected"):
            triton.infer_many("m", [ONE, ONE])


def test_a_misspelled_argument_of_a_fake(repository: Path) -> None:
    with EmulatedTriton(repository, fake_models={"scorer": lambda X: {"y": X}}) as triton:
        with pytest.raises(TypeError, match="unexpected keyword argument 'x'"):
            triton.infer("m", ONE)


def test_a_failure_that_a_fake_means(repository: Path) -> None:
    def scorer(x: Any) -> dict[str, Any]:
        raise InferenceFailed("busy", "UNAVAILABLE", "scorer")

    with EmulatedTriton(repository, fake_models={"scorer": scorer}) as triton:
        assert triton.infer("m", ONE)["y"].tolist() == [1.0]
