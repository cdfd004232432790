"""Parameters as text."""

from __future__ import annotations

from typing import Any

import pytest

from triton_pyb.emulator.stub import parameters
from triton_pyb.emulator.stub.errors import TritonModelException


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([1], r"Expect N8pybind114dictE, got <class 'list'>"),
        ({1: 1}, r"Expect parameters keys to have type str, found type <class 'int'>"),
        ({"a": 1.5}, r"Expect parameters values to have type bool/int/str, found type <class 'float'>"),
    ],
)
def test_refused(given: Any, text: str) -> None:
    with pytest.raises(TritonModelException, match=text):
        parameters.checked(given)


def test_constructed_and_received_texts_differ() -> None:
    assert parameters.text({"é": 1, "b": True}) == '{"\\u00e9": 1, "b": true}'
    assert parameters.server_text({"é": 1, "b": True}) == '{"é":1,"b":true}'


def test_integers_beyond_64_bits_cannot_be_sent() -> None:
    assert parameters.sendable({"a": 2**63 - 1, "b": "x"})
    assert not parameters.sendable({"a": 2**63})
