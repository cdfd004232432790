"""TritonError and InferenceResponse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emulator.stub.kit import pb_utils


@pytest.fixture
def pb() -> Any:
    return pb_utils()


def test_error_keeps_message_and_code(pb: Any) -> None:
    error = pb.TritonError("m", pb.TritonError.INVALID_ARG)
    assert (error.message(), error.code()) == ("m", pb.TritonError.INVALID_ARG)
    assert pb.TritonError("m").code() == pb.TritonError.INTERNAL


def test_before_23_09_errors_have_no_code_and_no_keyword() -> None:
    old = pb_utils("23.08")
    assert not hasattr(old.TritonError("m"), "code")
    with pytest.raises(TypeError, match=r"1\. c_python_backend_utils\.TritonError\(arg0: str\)"):
        old.TritonError(message="m")


def test_error_is_no_exception(pb: Any) -> None:
    with pytest.raises(TypeError, match="exceptions must derive from BaseException"):
        raise pb.TritonError("x")


def test_outputs_beside_an_error_stay_but_are_not_sent(pb: Any) -> None:
    error = pb.TritonError("a\0b", pb.TritonError.NOT_FOUND)
    response = pb.InferenceResponse([pb.Tensor("a", np.zeros(1))], error)
    assert response.error() is error
    assert len(response.output_tensors()) == 1
    wire = response._pb.to_wire(pb.stub, True)
    assert wire.outputs == []
    assert (wire.error.code, wire.error.message) == ("NOT_FOUND", "a")


def test_none_among_the_tensors(pb: Any) -> None:
    with pytest.raises(pb.TritonModelException, match="Output tensor for inference response should not be empty"):
        pb.InferenceResponse([None])


def test_output_tensors_are_required_up_to_23_05() -> None:
    with pytest.raises(TypeError):
        pb_utils("23.05").InferenceResponse()
    assert pb_utils("23.06").InferenceResponse().output_tensors() == []


def test_parameters_since_25_02() -> None:
    response = pb_utils("25.02").InferenceResponse([], parameters={"a": 1, "b": True})
    assert response.parameters() == '{"a": 1, "b": true}'
    old = pb_utils("25.01")
    assert not hasattr(old.InferenceResponse([]), "parameters")
    with pytest.raises(TypeError, match="kwargs: parameters="):
        old.InferenceResponse([], parameters={})
