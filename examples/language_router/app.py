"""Answer a text in its own language: one model calls another, keeps state, counts, logs and streams."""

from __future__ import annotations

from collections.abc import Iterator

from triton_pyb import Annotated, Context, Name, Reject, State, model

GREETINGS = {"ko": "안녕하세요", "en": "hello", "ja": "こんにちは"}


@model
def detect(text: str) -> Annotated[str, Name("language")]:
    """The language of a text, by its script."""
    if not text.strip():
        raise Reject("the text is empty")
    if any("\uac00" <= letter <= "\ud7a3" for letter in text):
        return "ko"
    if any("\u3040" <= letter <= "\u30ff" for letter in text):
        return "ja"
    return "en" if text.isascii() else "unknown"


@model(settings={"default": "en"})
def greet(text: str, greetings: State[dict[str, str]], ctx: Context) -> Annotated[str, Name("greeting")]:
    """A greeting in the language of the text; an unknown one gets the default, and a line in the log."""
    answer = ctx.call("detect", text=[[text]])
    language = answer["language"][0, 0].decode()
    ctx.metrics.counter("greetings", "greetings given", labels={"language": language}).increment()
    if language not in greetings:
        ctx.logger.warning("no greeting in %r, taking %r", language, ctx.settings["default"])
        language = ctx.settings["default"]
    return greetings[language]


@greet.setup
def load_greetings(ctx: Context) -> dict[str, str]:
    """Once per instance; a model would load its weights here."""
    return dict(GREETINGS)


@model
def spell(text: str, ctx: Context) -> Iterator[Annotated[str, Name("letter")]]:
    """One response per letter, until the client goes away."""
    for letter in text:
        if ctx.cancelled:
            return
        yield letter
