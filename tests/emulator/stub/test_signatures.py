"""Argument checks and the texts of their TypeErrors."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tests.emulator.stub.kit import pb_utils

_REQUEST = {"inputs": [], "requested_output_names": [], "model_name": "m"}


@pytest.fixture
def pb() -> Any:
    return pb_utils()


def _text(call: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(TypeError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


def test_constructor_text(pb: Any) -> None:
    assert _text(pb.Tensor, "n", [1.0]) == (
        "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
        "    1. c_python_backend_utils.Tensor(arg0: str, arg1: numpy.ndarray)\n\nInvoked with: 'n', [1.0]"
    )


def test_method_text_shows_the_object_and_keywords(pb: Any) -> None:
    text = _text(pb.Tensor("n", np.zeros(1)).as_numpy, copy=True)
    assert text.startswith(
        "as_numpy(): incompatible function arguments. The following argument types are supported:\n"
        "    1. (self: c_python_backend_utils.Tensor) -> numpy.ndarray\n\n"
        "Invoked with: <c_python_backend_utils.Tensor object at 0x"
    )
    assert text.endswith("; kwargs: copy=True")


def test_a_repr_that_raises_is_named(pb: Any) -> None:
    class Bad:
        def __repr__(self) -> str:
            raise ValueError

    assert _text(pb.Tensor, "n", Bad()).endswith("Invoked with: 'n', <repr raised Error>")


def test_docstrings_are_signatures(pb: Any) -> None:
    assert pb.is_model_ready.__doc__ == "is_model_ready(model_name: str, model_version: str = '') -> bool\n"
    assert pb.Tensor.shape.__doc__ == "shape(self: c_python_backend_utils.Tensor) -> List[int]\n"
    newer = pb_utils("24.11")
    assert newer.Tensor.shape.__doc__ == "shape(self: c_python_backend_utils.Tensor) -> list[int]\n"


@pytest.mark.parametrize(
    ("value", "taken"),
    [(7, 7), (True, 1), (np.int8(5), 5), (np.float32(1.9), 1), (Decimal("3.7"), 3), (2**64 - 1, 2**64 - 1)],
)
def test_integers_taken(pb: Any, value: Any, taken: int) -> None:
    assert pb.InferenceRequest(**_REQUEST, timeout=value).timeout() == taken


@pytest.mark.parametrize("value", [1.0, np.float64(1), None, "3", -1, 2**64, 1j, b"3"])
def test_integers_refused(pb: Any, value: Any) -> None:
    assert f"timeout={value!r}" in _text(pb.InferenceRequest, **_REQUEST, timeout=value)


@pytest.mark.parametrize("value", ["s", b"s", bytearray(b"s"), np.str_("s")])
def test_text_taken(pb: Any, value: Any) -> None:
    assert pb.TritonError(value).message() == "s"


@pytest.mark.parametrize("value", [None, 5, ValueError("x"), "\udc80", memoryview(b"a")])
def test_text_refused(pb: Any, value: Any) -> None:
    _text(pb.TritonError, value)


@pytest.mark.parametrize("value", [(), [], range(0), np.array([], dtype=object)])
def test_any_sequence_is_a_list(pb: Any, value: Any) -> None:
    assert pb.InferenceResponse(value).output_tensors() == []


@pytest.mark.parametrize("value", ["", b"", {}, set(), None, iter(())])
def test_no_list(pb: Any, value: Any) -> None:
    _text(pb.InferenceResponse, value)


def test_bytes_that_are_not_utf8_fail_where_they_are_read(pb: Any) -> None:
    error = pb.TritonError(b"\xff")
    with pytest.raises(UnicodeDecodeError):
        error.message()


@pytest.mark.parametrize(
    "arguments", [((), {}), (("a",), {"message": "b"}), (("a", None), {}), (("a", 1, 2), {}), ((), {"nope": 1})]
)
def test_binding_refuses(pb: Any, arguments: Any) -> None:
    args, kwargs = arguments
    assert "TritonError(message: str, code:" in _text(pb.TritonError, *args, **kwargs)
