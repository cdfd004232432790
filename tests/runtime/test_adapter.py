"""``TritonPythonModel``: what Triton calls, on a stand-in for its module with the names of release 21.10."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.py38 import triton_python_backend_utils as stand_in
from triton_pyb import (
    Annotated,
    DeclarationError,
    NotFound,
    Reject,
    Tensor,
    TritonPybError,
    preprocess,
    triton_python_model,
)

Array = np.ndarray[Any, Any]


@preprocess
def doubling(
    x: Annotated[Array, Tensor("FP32", (2,))], text: str = ""
) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
    if x[0] == 1:
        raise Reject("one is not wanted")
    if x[0] == 2:
        raise NotFound("two is not there")
    if x[0] == 3:
        raise ValueError("three is broken")
    return 2 * x


def config(max_batch_size: int = 8, **changes: Any) -> dict[str, Any]:
    dims = ["2"] if max_batch_size else ["-1", "2"]
    return {
        "name": "doubling",
        "max_batch_size": max_batch_size,
        "input": [
            {"name": "x", "data_type": "TYPE_FP32", "dims": dims},
            {"name": "text", "data_type": "TYPE_STRING", "dims": ["1"] if max_batch_size else ["-1"]},
        ],
        "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": dims}],
        **changes,
    }


@pytest.fixture
def pb_utils(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The stand-in under Triton's own name; a copy, so that a test may add what a later release has."""
    module = ModuleType("triton_python_backend_utils")
    vars(module).update({name: value for name, value in vars(stand_in).items() if not name.startswith("__")})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def load(step: Any = doubling, model_config: dict[str, Any] | None = None) -> Any:
    model = triton_python_model(step)()
    model.initialize(
        {
            "model_config": json.dumps(model_config or config()),
            "model_name": "doubling",
            "model_instance_name": "doubling_0",
            "model_instance_kind": "CPU",
            "model_instance_device_id": "0",
            "model_repository": "/models/doubling",
            "model_version": "1",
        }
    )
    return model


def request(*rows: float, requested: list[str] | None = None) -> Any:
    array = np.array([[row, row] for row in rows], np.float32)
    return stand_in.InferenceRequest({"x": array}, ["y"] if requested is None else requested)


def test_as_many_responses_as_requests_each_its_own(pb_utils: ModuleType) -> None:
    model = load()
    responses = model.execute([request(5), request(1, 6), request(6, 7)])
    assert [response.has_error() for response in responses] == [False, True, False]
    (output,) = responses[2].output_tensors()
    assert output.name() == "y" and output.as_numpy().tolist() == [[12, 12], [14, 14]]
    assert "one is not wanted" in responses[1].error().message()
    assert responses[1].output_tensors() == []
    model.finalize()


def test_only_requested_outputs_are_sent(pb_utils: ModuleType) -> None:
    (response,) = load().execute([request(5, requested=[])])
    assert response.output_tensors() == [] and not response.has_error()


def test_a_status_is_sent_where_the_release_has_codes(pb_utils: ModuleType) -> None:
    class Coded(stand_in.TritonError):
        INVALID_ARG, NOT_FOUND, INTERNAL = 1, 2, 3

        def __init__(self, message: str, code: int = 3) -> None:
            super().__init__(message)
            self.code = code

    pb_utils.TritonError = Coded  # type: ignore[attr-defined]
    responses = load().execute([request(1), request(2), request(3)])
    assert [response.error().code for response in responses] == [1, 2, 3]


def test_the_log_is_the_servers_where_the_release_has_one(pb_utils: ModuleType) -> None:
    lines: list[str] = []

    class Logger:
        log_error = lines.append

    pb_utils.Logger = Logger  # type: ignore[attr-defined]
    load().execute([request(3)])
    assert len(lines) == 1 and "ValueError: three is broken" in lines[0]


def test_the_log_is_stderr_before(pb_utils: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    load().execute([request(3)])
    written = capsys.readouterr()
    assert "ValueError: three is broken" in written.err and written.out == ""


def test_a_hand_kept_model_file_reads_as_triton_wants_it() -> None:
    TritonPythonModel = triton_python_model(doubling)
    assert TritonPythonModel.__name__ == "TritonPythonModel"
    assert {"initialize", "execute", "finalize"} <= set(vars(TritonPythonModel))
    assert "doubling() (" in (TritonPythonModel.__doc__ or "")


def test_what_is_no_step_has_no_class() -> None:
    with pytest.raises(DeclarationError) as caught:
        triton_python_model(print)
    error = caught.value
    assert (error.code, error.where) == ("TPB126", "triton_python_model()")
    assert error.what == "<built-in function print> is not marked as a step"
    assert error.fix == "decorate it with @preprocess, @postprocess or @model"


def test_the_explicit_form_loads_too(pb_utils: ModuleType) -> None:
    (response,) = load(model_config=config(max_batch_size=0)).execute([request(5)])
    assert response.output_tensors()[0].as_numpy().tolist() == [[10, 10]]


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"input": config()["input"][1:]}, "input 'x': config.pbtxt says nothing, the function TYPE_FP32 [2]"),
        (
            {"output": [{"name": "y", "data_type": "TYPE_FP64", "dims": ["2"]}]},
            "output 'y': config.pbtxt says TYPE_FP64 [2]",
        ),
        (
            {"output": [{"name": "y", "data_type": "TYPE_FP32", "dims": ["3"]}]},
            "says TYPE_FP32 [3], the function TYPE_FP32 [2]",
        ),
        ({"max_batch_size": 0}, "input 'x': config.pbtxt says TYPE_FP32 [2], the function TYPE_FP32 [-1, 2]"),
    ],
)
def test_an_edited_configuration_is_refused_when_it_loads(
    pb_utils: ModuleType, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(TritonPybError) as caught:
        load(model_config={**config(), **changes})
    error = caught.value
    assert error.code == "TPB230" and said in error.what and error.where == "model 'doubling'"
    assert error.fix == "build the model again, or correct config.pbtxt"
