"""Exceptions as pybind11 words them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from triton_pyb.emulator.stub.lifecycle import enter
from triton_pyb.emulator.stub.tracebacks import describe, formatted


def _caught(function: Callable[[], object]) -> BaseException:
    with pytest.raises(BaseException) as caught:
        enter(function)
    return caught.value


def _line(function: Callable[..., object], offset: int) -> int:
    return function.__code__.co_firstlineno + offset


def test_frames_innermost_first_and_none_of_the_caller() -> None:
    def inner() -> None:
        raise ValueError("boom")

    def outer() -> None:
        inner()

    assert describe(_caught(outer)) == (
        f"ValueError: boom\n\nAt:\n  {__file__}({_line(inner, 1)}): inner\n  {__file__}({_line(outer, 1)}): outer\n"
    )


def test_an_empty_message() -> None:
    assert describe(ValueError()) == "ValueError: <EMPTY MESSAGE>"


def test_no_frames_when_the_call_itself_failed() -> None:
    def takes_one(value: int) -> None:
        pass

    assert "\n\nAt:" not in describe(_caught(takes_one))  # type: ignore[arg-type]


def test_a_message_that_cannot_be_made() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    text = describe(Broken())
    assert text.startswith("Broken: <MESSAGE UNAVAILABLE DUE TO ANOTHER EXCEPTION>")
    assert "MESSAGE UNAVAILABLE DUE TO EXCEPTION: RuntimeError: no text" in text


def test_lone_surrogates_are_escaped() -> None:
    assert describe(ValueError("a\udc80")) == "ValueError: a\\udc80"


def test_the_line_is_where_the_frame_stands_now() -> None:
    def stands() -> None:
        try:
            raise ValueError("x")
        finally:
            len("later")

    assert f"({_line(stands, 4)}): stands" in describe(_caught(stands))


def test_the_printed_form_has_causes_and_no_frames_of_ours() -> None:
    def fails() -> None:
        try:
            raise KeyError("first")
        except KeyError as error:
            raise ValueError("second") from error

    text = formatted(_caught(fails))
    assert "KeyError: 'first'" in text
    assert text.endswith("ValueError: second\n")
    assert "lifecycle.py" not in text
