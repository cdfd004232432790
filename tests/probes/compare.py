"""Leaf by leaf: what a real Triton answered to a probe against what the emulator did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: Keys of an entry that are no answer: server logs (compared apart) and notes of the recording.
_NOT_AN_ANSWER = ("log", "crashed_in_other_runs", "death_log")
_CRASHED = ("client_exception", "runner_exception", "server_died", "stub_died")


def flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested dicts and lists with their paths; empty containers are leaves."""
    items: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        items = [(f"{path}.{key}", item) for key, item in value.items()]
    elif isinstance(value, list):
        items = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    if not items:
        yield path, value
    for name, item in items:
        yield from flat(item, name)


def crashed(entry: dict[str, Any]) -> bool:
    """Whether the real server died or hung, so that there is no answer to compare with."""
    return any(key in entry for key in _CRASHED)


def differences(real: Any, ours: Any) -> list[tuple[str, Any, Any]]:
    """The leaves that differ: (path, real, ours)."""
    theirs, mine = dict(flat(_answer(real))), dict(flat(_answer(ours)))
    absent = "<absent>"
    return [
        (path, theirs.get(path, absent), mine.get(path, absent))
        for path in sorted(set(theirs) | set(mine))
        if theirs.get(path, absent) != mine.get(path, absent)
    ]


def _answer(entry: Any) -> Any:
    if isinstance(entry, dict):
        return {key: value for key, value in entry.items() if key not in _NOT_AN_ANSWER}
    return entry
