"""Python's ``logging``, an author's tracebacks and prints into the server's log."""

from __future__ import annotations

import io
import logging
import sys
from typing import Any, Callable, Optional


def server_log(pb_utils: Any) -> Callable[[str], None]:
    """A function that writes one error to the server's log."""
    logger: Optional[Any] = getattr(pb_utils, "Logger", None)
    if logger is not None:
        log_error: Callable[[str], None] = logger.log_error
        return log_error

    def to_stderr(text: str) -> None:  # before 22.09 there is no Logger, and the stub's stdout is block-buffered
        print(text, file=sys.stderr, flush=True)

    return to_stderr


def print_at_once() -> None:
    """Let what is printed reach the server's output line by line, whatever letters it has.

    The stub's Python is isolated from the environment: where its stdout is no terminal it holds lines back until
    8 KiB are full, and in the C locale a letter beyond ASCII is an exception.  Source: measured on 24.10.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)


def route_logging(pb_utils: Any) -> TritonHandler:
    """Send the records of Python's root logger to the server's log.

    A logger that nobody configured also lets INFO through: that is what people expect of ``logging.info`` on a
    server.  In a process where somebody configured logging (a test, the author's module) levels stay as they are.
    """
    handler = TritonHandler(getattr(pb_utils, "Logger", None))
    root = logging.getLogger()
    if not root.handlers and root.level == logging.WARNING:
        handler.level_before = root.level
        root.setLevel(logging.INFO)
    root.addHandler(handler)
    return handler


class TritonHandler(logging.Handler):
    """A logging handler over ``pb_utils.Logger``."""

    def __init__(self, logger: Optional[Any]) -> None:
        super().__init__()
        self.logger = logger
        self.level_before: Optional[int] = None
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
            if self.logger is None:
                print(f"{record.levelname} {text}", file=sys.stderr, flush=True)
            elif record.levelno >= logging.ERROR:
                self.logger.log_error(text)
            elif record.levelno >= logging.WARNING:
                self.logger.log_warn(text)
            elif record.levelno >= logging.INFO:
                self.logger.log_info(text)
            else:
                self.logger.log_verbose(text)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        root = logging.getLogger()
        root.removeHandler(self)
        if self.level_before is not None:
            root.setLevel(self.level_before)
        super().close()
