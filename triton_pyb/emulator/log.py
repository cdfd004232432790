"""The server's log: kept for tests to read, written in tritonserver's own form."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TextIO


@dataclass(frozen=True)
class Record:
    """One entry.

    Attributes
    ----------
    level : str
        "INFO", "WARNING", "ERROR" or "VERBOSE".
    file, line : str, int
        The author's file for `pb_utils.Logger`; the emulator's own entries name themselves.
    """

    level: str
    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.level[0]} {self.file}:{self.line}] {json.dumps(self.message, ensure_ascii=False)}"


class ServerLog:
    """Collects what models and server say.

    Attributes
    ----------
    records : list of Record
        Everything logged since the start, oldest first.
    outputs : list of (str, str)
        ``("stdout" | "stderr", line)`` as the models' processes wrote them.
    """

    def __init__(self, verbose: bool = False) -> None:
        self.records: list[Record] = []
        self.outputs: list[tuple[str, str]] = []
        self.listeners: list[Callable[[Record], None]] = []
        self.output_listeners: list[Callable[[str, str], None]] = []
        self.settings: dict[str, object] = {
            "log_file": "",
            "log_info": True,
            "log_warning": True,
            "log_error": True,
            "log_verbose_level": int(verbose),
            "log_format": "default",
        }
        self._lock = threading.Lock()

    def model(self, level: str, file: str, line: int, message: str) -> None:
        """An entry from `pb_utils.Logger`; verbose ones are dropped unless asked for, as on the server."""
        if level == "VERBOSE" and not self.settings["log_verbose_level"]:
            return
        self._add(Record(level, file, line, message))

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
