"""What a request says besides its inputs: ``--parameter``, ``--request-id``, ``--sequence``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from triton_pyb.cli.errors import UsageError


def read_options(parameters: Sequence[str], request_id: str, sequence: str) -> dict[str, Any]:
    """The keywords of `infer` and `stream_infer`; only what was given.

    Raises
    ------
    UsageError
        If a parameter has no name, or a sequence no id.
    """
    options: dict[str, Any] = {}
    if parameters:
        options["parameters"] = dict(_parameter(argument) for argument in parameters)
    if request_id:
        options["request_id"] = request_id
    if sequence:
        options.update(_sequence(sequence))
    return options


def _parameter(argument: str) -> tuple[str, Any]:
    """A number, true or false in JSON is one; all else is a text, also what JSON would call a list."""
    name, equals, text = argument.partition("=")
    if not equals or not name:
        raise UsageError("TPB714", f"got '{argument}', expected name=value", "--parameter", "write name=value")
    try:
        value = json.loads(text)
    except ValueError:
        return name, text
    return name, value if isinstance(value, (bool, int, float, str)) else text


def _sequence(text: str) -> dict[str, Any]:
    """``7:start`` -> correlation id 7 and its first request; an id that is no number stays a text."""
    name, *marks = text.split(":")
    if name in ("", "0") or any(mark not in ("start", "end") for mark in marks):
        raise UsageError(
            "TPB715",
            f"got '{text}', expected ID, ID:start, ID:end or ID:start:end, and an id that is not 0",
            "--sequence",
            "write e.g. --sequence 7:start for the first request, --sequence 7 for the next ones",
        )
    return {
        "correlation_id": int(name) if name.isdecimal() else name,
        "sequence_start": "start" in marks,
        "sequence_end": "end" in marks,
    }
