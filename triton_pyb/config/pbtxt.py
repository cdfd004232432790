"""Read ``config.pbtxt`` as Triton's own parser does, keeping the position of every value.

Python's ``google.protobuf.text_format`` gives another verdict than the server in 23 known places (escapes
such as ``"C:\\models"``, ``1_000``, a no-break space, ``- 1``, bytes that are no UTF-8 ...), stops at the
first fault and forgets positions.  So the grammar is read here, from protobuf's descriptors; the tests hold
it against the verdicts of a real server and against ``text_format``.

Source: protobuf ``text_format.cc``, ``io/tokenizer.cc``; verdicts and messages measured on Triton 24.10.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from triton_pyb.config.document import Document, Entry, Message, Problem, walk
from triton_pyb.config.text_parser import TextParser, type_named
from triton_pyb.runtime.errors import TritonPybError

__all__ = [
    "ConfigSyntaxError",
    "Document",
    "Entry",
    "Message",
    "Problem",
    "load",
    "parse",
    "read",
    "type_named",
    "walk",
]

#: A configuration has a few kilobytes; of a larger file only this much is read.
MOST_BYTES = 4 * 1024 * 1024


class ConfigSyntaxError(TritonPybError):
    """A text is no ``config.pbtxt`` that Triton would read."""


def parse(text: str | bytes) -> Document:
    """Read a configuration; whatever the text is, the answer is a document."""
    problems: list[Problem] = []
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    if text.startswith("\ufeff"):
        problems.append(Problem("bom", 0, 1, "Interpreting non ascii codepoint 239.", "\ufeff"))
        text = " " + text[1:]  # columns stay as an editor shows them
    return TextParser(text, problems).document()


def read(file: str | os.PathLike[str]) -> Document:
    """Read a configuration file, at most `MOST_BYTES` of it.

    Raises
    ------
    OSError
        If the file cannot be opened or read.
    """
    with open(file, "rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    document = parse(data[:MOST_BYTES])
    if len(data) > MOST_BYTES:
        document.truncated = True
        last = len(document.text) - 1000  # what the cut itself broke is no fault of the file
        document.problems[:] = [problem for problem in document.problems if problem.end < last]
    return document


def load(file: str | os.PathLike[str]) -> Any:
    """The ``ModelConfig`` of a file.

    Raises
    ------
    ConfigSyntaxError
        If Triton would not read it; the first fault is in the message.
    """
    document = read(file)
    if document.problems:
        first = document.problems[0]
        line, column = document.position(first.start)
        raise ConfigSyntaxError(
            "TPB190",
            f"{Path(file).name} is no model configuration: {first.said}",
            f"{os.fspath(file)}:{line}:{column}",
            "run `triton-pyb check` on the repository: it lists every fault with its repair",
        )
    return document.to_protobuf()
