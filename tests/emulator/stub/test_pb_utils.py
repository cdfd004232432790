"""The stand-in without a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import triton_pyb.emulator.pb_utils as stand_in
from tests.emulator.stub.kit import execute, launch, pb_utils, request
from triton_pyb.emulator.instance import ModelInstance

shown: Any = stand_in


def test_every_name_of_24_10() -> None:
    expected = {name for name in vars(pb_utils().module) if not name.startswith("__")}
    assert {name for name in dir(stand_in) if not name.startswith("__")} == expected


def test_objects_work() -> None:
    tensor = shown.Tensor("a", np.ones(2))
    response = shown.InferenceResponse([tensor], shown.TritonError("m", shown.TritonError.NOT_FOUND))
    assert shown.get_output_tensor_by_name(response, "a") is tensor
    assert response.error().code() == shown.TritonError.NOT_FOUND


def test_there_is_no_other_model() -> None:
    asked = shown.InferenceRequest(model_name="x", inputs=[], requested_output_names=[])
    assert asked.exec().error().message() == (
        "Model x - Error when running inference: Failed for execute the inference request. Model 'x' is not ready."
    )
    assert not shown.is_model_ready("x")


def test_inside_an_inline_model_it_is_that_models(start: Callable[..., ModelInstance], tmp_path: Path) -> None:
    class Model:
        def execute(self, requests: list[Any]) -> list[Any]:
            assert isinstance(requests[0].inputs()[0], shown.Tensor)
            return [shown.InferenceResponse([shown.Tensor("OUT", np.ones(1, "f4"))])]

    instance = start(launch(tmp_path, inline=True, factory=Model))
    assert execute(instance, request()).only().outputs[0].array.tolist() == [1.0]
