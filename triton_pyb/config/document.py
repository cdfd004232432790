"""A ``config.pbtxt`` as it was read: every value with its place in the text."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from triton_pyb.config.schema import FieldType, MessageType, model_config_pb2


@dataclass(frozen=True)
class Problem:
    """One fault in the text.

    Attributes
    ----------
    kind : str
        What is wrong: ``"unknown-field"``, ``"unclosed-string"`` ...: one rule of the checker for each.
    start, end : int
        Offsets into the text.
    said : str
        What libprotobuf prints on the server's stderr, position aside.
    got : str
        The offending text.
    expected : tuple of str
        What could stand there: field names, enum values, a token.
    """

    kind: str
    start: int
    end: int
    said: str
    got: str = ""
    expected: tuple[str, ...] = ()


@dataclass(slots=True)
class Entry:
    """One value as written: where its field name stands, where the value stands, and the value."""

    name_start: int
    start: int
    end: int
    value: Any


@dataclass(slots=True)
class Message:
    """A message as written: for each field the entries in file order."""

    type: MessageType
    start: int
    end: int = 0
    entries: dict[str, list[Entry]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """The value of a field: the default when it is not there, a list when it is repeated."""
        entries = self.entries.get(name)
        declared = self.type.fields.get(name)
        if declared is not None and declared.repeated:
            return [entry.value for entry in entries or ()]
        if entries:
            return entries[-1].value
        return declared.default if declared is not None else None

    def __contains__(self, name: str) -> bool:
        return bool(self.entries.get(name))

    def entry(self, name: str) -> Entry | None:
        """The last entry of a field: where a finding about it should point."""
        entries = self.entries.get(name)
        return entries[-1] if entries else None

    def map(self, name: str) -> dict[Any, Entry]:
        """A map field: key -> the entry of its value, the last of equal keys; a missing value is None."""
        found: dict[Any, Entry] = {}
        for entry in self.entries.get(name, ()):
            value = entry.value.entry("value")
            found[entry.value["key"]] = value or Entry(entry.start, entry.start, entry.end, entry.value["value"])
        return found


@dataclass
class Document:
    """One configuration: the text, what it says, and what is wrong with it."""

    text: str
    root: Message
    problems: list[Problem]
    truncated: bool = False
    _lines: list[int] = field(default_factory=list)

    def damaged(self, message: Message) -> bool:
        """True when a fault stands inside a message: it may lack something for that reason alone."""
        return any(message.start <= problem.start <= message.end for problem in self.problems)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1, the column in characters."""
        if not self._lines:
            at, self._lines = -1, [0]
            while (at := self.text.find("\n", at + 1)) >= 0:
                self._lines.append(at + 1)
        line = bisect.bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, without its end."""
        self.position(0)
        if not 1 <= number <= len(self._lines):
            return ""
        end = self._lines[number] if number < len(self._lines) else len(self.text)
        return self.text[self._lines[number - 1] : end].rstrip("\r\n")

    def to_protobuf(self) -> Any:
        """The ``ModelConfig`` message; where `problems` reports a value, what was meant, or nothing."""
        config = model_config_pb2().ModelConfig()
        _fill(config, self.root)
        return config


def _fill(target: Any, message: Message) -> None:
    for name, entries in message.entries.items():
        declared = message.type.fields[name]
        if declared.message is not None and declared.message.is_map_entry:
            _fill_map(getattr(target, name), message.map(name), declared)
        elif declared.repeated:
            for entry in entries:
                if declared.kind == "message":
                    _fill(getattr(target, name).add(), entry.value)
                else:
                    getattr(target, name).append(_python(declared, entry.value))
        elif entries and declared.kind == "message":
            getattr(target, name).SetInParent()
            _fill(getattr(target, name), entries[-1].value)
        elif entries:
            setattr(target, name, _python(declared, entries[-1].value))


def _fill_map(target: Any, values: dict[Any, Entry], declared: FieldType) -> None:
    assert declared.message is not None
    inner = declared.message.fields["value"]
    for key, entry in values.items():
        key = _python(declared.message.fields["key"], key)
        if inner.kind == "message":
            target[key].SetInParent()
            if isinstance(entry.value, Message):
                _fill(target[key], entry.value)
        else:
            target[key] = _python(inner, entry.value)


def _python(declared: FieldType, value: Any) -> Any:
    if declared.kind == "enum" and isinstance(value, str):
        return declared.enum[value]
    if declared.kind == "string":
        return str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return value


def walk(message: Message) -> Iterator[tuple[Message, str, Entry]]:
    """Every entry of a message and of the messages in it, in file order of each message."""
    for name, entries in message.entries.items():
        for entry in entries:
            yield message, name, entry
            if isinstance(entry.value, Message):
                yield from walk(entry.value)
