"""What the checker reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, order=True)
class Place:
    """A spot that can be clicked: line and column from 1, or 0 when the file as a whole is meant."""

    file: str
    line: int = 0
    column: int = 0
    end_column: int = 0
    text: str = ""

    def __str__(self) -> str:
        file = printable(self.file)
        return f"{file}:{self.line}:{self.column}" if self.line else file


@dataclass(frozen=True)
class Finding:
    """One fault or trap.

    Attributes
    ----------
    code : str
        The rule, e.g. ``"TPB1201"``; ``triton-pyb check --explain`` tells all about it.
    severity : "error" or "warning"
        *error*: the server refuses, hangs or dies, or an ensemble cannot work.  *warning*: it loads, and
        will surprise you.
    model : str
        The model that the server would name; empty for the repository as a whole.
    said : str
        The server's own message, when it has one; ``<REPO>`` stands for the repository.
    related : tuple of (str, Place)
        The other end of a mismatch.
    drawing : str
        An ensemble with the broken edge marked.
    """

    code: str
    severity: Severity
    model: str
    message: str
    fix: str
    place: Place
    said: str = ""
    related: tuple[tuple[str, Place], ...] = ()
    drawing: str = ""
    stage: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON values."""
        return {
            "code": self.code,
            "severity": self.severity,
            "model": printable(self.model),
            "message": self.message,
            "fix": self.fix,
            "file": printable(self.place.file),
            "line": self.place.line,
            "column": self.place.column,
            "text": printable(self.place.text),
            "triton": self.said,
            "related": [
                {
                    "message": message,
                    "file": printable(place.file),
                    "line": place.line,
                    "column": place.column,
                }
                for message, place in self.related
            ],
            "drawing": self.drawing,
        }


def printable(text: str) -> str:
    """A name from the file system as one line of valid text: a newline in it is shown as ``\\n``."""
    if text.isprintable():
        return text
    shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in shown)
