from __future__ import annotations

from typing import Any

import pytest

from triton_pyb.cli.errors import UsageError
from triton_pyb.cli.request_options import read_options


def test_nothing_given_says_nothing() -> None:
    assert read_options((), "", "") == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("true", True),
        ("text", "text"),
        ('"3"', "3"),
        ("[1]", "[1]"),
        ("null", "null"),
        ("", ""),
    ],
)
def test_a_parameter_is_a_number_a_bool_or_a_text(text: str, value: Any) -> None:
    parameters = read_options((f"a={text}", "b=x=y"), "", "")["parameters"]
    assert parameters == {"a": value, "b": "x=y"} and type(parameters["a"]) is type(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", (7, False, False)), ("7:start", (7, True, False)), ("s-1:start:end", ("s-1", True, True))],
)
def test_a_sequence(text: str, expected: tuple[Any, bool, bool]) -> None:
    options = read_options((), "r1", text)
    assert options.pop("request_id") == "r1"
    assert tuple(options.values()) == expected


def test_a_parameter_without_value() -> None:
    with pytest.raises(UsageError) as refusal:
        read_options(("k",), "", "")
    assert (refusal.value.code, refusal.value.what) == ("TPB714", "got 'k', expected name=value")


@pytest.mark.parametrize("text", ["0:start", ":start", "7:begin"])
def test_a_sequence_without_id(text: str) -> None:
    with pytest.raises(UsageError) as refusal:
        read_options((), "", text)
    assert refusal.value.code == "TPB715"
    assert refusal.value.what == f"got '{text}', expected ID, ID:start, ID:end or ID:start:end, and an id that is not 0"
