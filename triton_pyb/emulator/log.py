"""The server's log: kept for tests to read, written in tritonserver's own form."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TextIO

from triton_pyb.emulator import sources

#: The code that the log has in front of what the client is told.
_OURS = re.compile(r"\bTPB\d+ ")


@dataclass(frozen=True)
class Record:
    """One entry.

    Attributes
    ----------
    level : str
        "INFO", "WARNING", "ERROR" or "VERBOSE".
    file, line : str, int
        The author's file for `pb_utils.Logger`; the emulator's own entries name themselves.
    by_model : bool
        It came through `pb_utils.Logger`, or from the model's process, not from the server.
    """

    level: str
    file: str
    line: int
    message: str
    by_model: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.level[0]} {self.file}:{self.line}] {json.dumps(self.message, ensure_ascii=False)}"

    def may_concern(self, failure: str) -> bool:
        """False when it tells of another exception than the message `failure` does: of another request's."""
        if "Traceback (most recent call last):" not in self.message and not _OURS.search(self.message):
            return True
        lines = [_OURS.sub("", line) for line in self.message.splitlines() if line[:1].strip() and line[-1] != ":"]
        return any(line in failure for line in lines)


class ServerLog:
    """Collects what models and server say.

    Attributes
    ----------
    records : list of Record
        Everything logged since the start, oldest first.
    outputs : list of (str, str)
        ``("stdout" | "stderr", line)`` as the models' processes wrote them.
    output_listeners : list of callable
        Each gets ``stream, line``; the first one passes the lines on to this process's own streams.
    """

    def __init__(self, verbose: bool = False) -> None:
        self.records: list[Record] = []
        self.outputs: list[tuple[str, str]] = []
        self.listeners: list[Callable[[Record], None]] = []
        self.output_listeners: list[Callable[[str, str], None]] = [pass_on]
        self.settings: dict[str, object] = {
            "log_file": "",
            "log_info": True,
            "log_warning": True,
            "log_error": True,
            "log_verbose_level": int(verbose),
            "log_format": "default",
        }
        self._lock = threading.Lock()

    def model(self, level: str, file: str, line: int, message: str) -> Record | None:
        """An entry from `pb_utils.Logger`; verbose ones are dropped unless asked for, as on the server."""
        if level == "VERBOSE" and not self.settings["log_verbose_level"]:
            return None
        record = Record(level, file, line, sources.restored(message), by_model=True)
        self._add(record)
        return record

    def server(self, level: str, message: str) -> None:
        """An entry of the server's own."""
        frame = sys._getframe(1)
        self._add(Record(level, os.path.basename(frame.f_code.co_filename), frame.f_lineno, message))

    def output(self, model: str, stream: str, text: str) -> None:
        """A line that a model's process printed."""
        with self._lock:
            self.outputs.append((stream, text))
        for listener in self.output_listeners:
            listener(stream, text)

    def _add(self, record: Record) -> None:
        with self._lock:
            self.records.append(record)
        for listener in self.listeners:
            listener(record)


def readable(records: Iterable[Record]) -> str:
    """What the models logged, and the server's warnings and errors, with the line breaks that they have."""
    return "\n".join(
        f"{record.level[0]} {record.file}:{record.line}] {record.message}"
        for record in records
        if record.by_model or record.level in ("WARNING", "ERROR")
    )


def pass_on(stream: str, text: str) -> None:
    """Print a line of a model's process where this process prints now: ``capsys``, ``-s`` and a terminal show it."""
    target = sys.stderr if stream == "stderr" else sys.stdout
    encoding = getattr(target, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=target, flush=True)
    except (ValueError, OSError):
        pass  # it is closed, or a pipe that nobody reads: a late line has no reader, and no request suffers from it


def writer(stream: TextIO) -> Callable[[Record], None]:
    """A listener that writes ``I1130 00:24:22.123456 4711 model.py:12] "message"`` lines."""
    lock = threading.Lock()

    def write(record: Record) -> None:
        now = datetime.now(timezone.utc)
        letter = "I" if record.level == "VERBOSE" else record.level[0]
        message = json.dumps(record.message, ensure_ascii=False)
        with lock:
            stream.write(f"{letter}{now:%m%d %H:%M:%S.%f} {os.getpid()} {record.file}:{record.line}] {message}\n")
            stream.flush()

    return write
