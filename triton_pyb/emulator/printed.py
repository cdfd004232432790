"""What a model's process prints, handed to the host line by line, before the answers that it printed it for."""

from __future__ import annotations

import os
import select
import subprocess
import threading
from typing import Any

_PIPE_BYTES = 65536  # all that a pipe holds


class Printed:
    """Both output streams of a process."""

    def __init__(self, process: subprocess.Popen[bytes], host: Any) -> None:
        self.streams = [
            PrintedStream(name, pipe, host) for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr))
        ]
        self._lock, self._poll = threading.Lock(), select.poll()
        for stream in self.streams:
            self._poll.register(stream.pipe, select.POLLIN)

    def catch_up(self) -> None:
        """Who has an answer also finds what was printed before it."""
        with self._lock:
            something = self._poll.poll(0)
        for stream in self.streams:
            if something:
                stream.catch_up()
            else:
                stream.settle()

    def close(self) -> None:
        for stream in self.streams:
            stream.pipe.close()


class PrintedStream:
    """One stream."""

    def __init__(self, name: str, pipe: Any, host: Any) -> None:
        self._name, self.pipe, self._host = name, pipe, host
        os.set_blocking(pipe.fileno(), False)
        self._lock = threading.Lock()
        self._rest = b""

    def copy(self) -> None:
        """Until the stream ends."""
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        while self.catch_up():
            poll.poll()

    def settle(self) -> None:
        """Wait for what the other thread has just read and not handed on yet."""
        with self._lock:
            pass

    def catch_up(self) -> bool:
        """Hand on the lines that are there now; False when the stream has ended."""
        with self._lock:
            if self.pipe.closed:
                return False
            try:
                chunk = os.read(self.pipe.fileno(), _PIPE_BYTES)
            except BlockingIOError:
                return True
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            if not chunk and self._rest:
                lines, self._rest = [self._rest], b""
            for line in lines:
                self._host.output(self._name, line.decode("utf-8", "replace"))
            return bool(chunk)
