"""`Logger`: where a line comes from, and where it goes before and after the log service runs."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Dict, Tuple

from .casters import STR, instance_of
from .enums import LOG_LEVELS
from .pybind import PybindClass
from .signatures import Parameter, StubDefault

_LEVEL_NAMES = {value: name for name, value in LOG_LEVELS.items()}
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_STATIC = "static"

LOGGER = PybindClass("Logger")


def prefix(level: str, file: str, line: int, pid: int) -> str:
    """``E1130 00:24:22.123456 4711 model.py:12]``: the head of every line of Triton's log."""
    now = time.time()
    stamp = time.strftime("%m%d %H:%M:%S", time.gmtime(now))
    letter = {"WARNING": "W", "ERROR": "E"}.get(level, "I")
    return f"{letter}{stamp}.{int(now % 1 * 1e6):06d} {pid} {file}:{line}]"


def server_line(level: str, file: str, line: int, message: str, pid: int) -> str:
    """A line of the server's log: the message quoted, line ends and quotes escaped, UTF-8 kept."""
    quoted = message
    for raw, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        quoted = quoted.replace(raw, escaped)
    return f'{prefix(level, file, line, pid)} "{quoted}"'


def _caller() -> Tuple[str, int]:
    frame = sys._getframe(2)
    while os.path.dirname(frame.f_code.co_filename) == _FOLDER and frame.f_back is not None:
        frame = frame.f_back
    return os.path.basename(frame.f_code.co_filename), frame.f_lineno


def _log(stub: Any, message: str, level: str) -> None:
    file, line = _caller()
    text = message.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if stub.phase in ("initialize", "execute", "finalize"):
        stub.link.log(level, file, line, text)
    else:
        sys.stderr.write(f"{prefix(level, file, line, os.getpid())}  {text}\n")
        sys.stderr.flush()


@LOGGER.method(
    "log",
    Parameter("message", STR),
    Parameter("level", instance_of("Logger.LogLevel"), StubDefault("INFO")),
    kind=_STATIC,
)
def _log_at(stub: Any, message: str, level: Any) -> None:
    _log(stub, message, _LEVEL_NAMES.get(int(level), "INFO"))


@LOGGER.method("log_info", Parameter("message", STR), kind=_STATIC)
def _log_info(stub: Any, message: str) -> None:
    _log(stub, message, "INFO")


@LOGGER.method("log_warn", Parameter("message", STR), kind=_STATIC)
def _log_warn(stub: Any, message: str) -> None:
    _log(stub, message, "WARNING")


@LOGGER.method("log_error", Parameter("message", STR), kind=_STATIC)
def _log_error(stub: Any, message: str) -> None:
    _log(stub, message, "ERROR")


@LOGGER.method("log_verbose", Parameter("message", STR), kind=_STATIC)
def _log_verbose(stub: Any, message: str) -> None:
    _log(stub, message, "VERBOSE")


def level_attributes(level_class: Any) -> Dict[str, Any]:
    """``Logger.INFO`` and its like, and the enum itself."""
    attributes: Dict[str, Any] = {name: level_class.__members__[name] for name in LOG_LEVELS}
    attributes["LogLevel"] = level_class
    return attributes
