"""An author's unit tests: the functions are called as they are, with a Context made for the test."""

from __future__ import annotations

import logging
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from triton_pyb import Context, Reject


def test_detect(app: ModuleType) -> None:
    assert [app.detect(text) for text in ("안녕", "hi", "こんにちは", "привет")] == ["ko", "en", "ja", "unknown"]
    with pytest.raises(Reject, match="the text is empty"):
        app.detect("  ")


def fake_detect(language: str) -> Any:
    """A model for ctx.call: inputs by name in, a dict of arrays out."""
    return lambda text: {"language": np.array([[language.encode()]], object)}


def test_greet_counts(app: ModuleType) -> None:
    ctx = Context.for_test(models={"detect": fake_detect("ko")}, settings={"default": "en"})
    assert app.greet("안녕", greetings=app.GREETINGS, ctx=ctx) == "안녕하세요"
    assert ctx.metrics.counter("greetings", labels={"language": "ko"}).value == 1


def test_an_unknown_language_is_logged(app: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
    ctx = Context.for_test(models={"detect": fake_detect("unknown")}, settings={"default": "ja"})
    with caplog.at_level(logging.WARNING):
        assert app.greet("привет", greetings=app.GREETINGS, ctx=ctx) == "こんにちは"
    assert "no greeting in 'unknown', taking 'ja'" in caplog.text


def test_spell_stops_when_the_client_goes(app: ModuleType) -> None:
    letters = app.spell("abc", ctx=Context.for_test(cancelled=lambda: True))
    assert list(letters) == []
    assert list(app.spell("abc", ctx=Context.for_test())) == ["a", "b", "c"]


def test_served(app: ModuleType, triton: Any) -> None:
    server = triton.load([app.detect, app.greet, app.spell])
    answer = server.infer("greet", {"text": ["안녕", "hi", "привет"]})
    assert [text.decode() for text in answer["greeting"][:, 0]] == ["안녕하세요", "hello", "hello"]
    assert [part["letter"][0, 0] for part in server.stream_infer("spell", {"text": "한a"})] == ["한".encode(), b"a"]
