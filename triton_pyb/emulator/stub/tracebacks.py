"""The text of a Python exception as the stub's C++ code writes it."""

from __future__ import annotations

import os
import traceback
from types import CodeType, FrameType
from typing import Any, Callable, List, Optional, Set, TypeVar

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_BOUNDARIES: Set[CodeType] = set()


Function = TypeVar("Function", bound=Callable[..., Any])


def boundary(function: Function) -> Function:
    """Mark `function` as a place where C++ calls into Python: no frame from it on is shown."""
    _BOUNDARIES.add(function.__code__)
    return function


def describe(error: BaseException) -> str:
    """``ValueError: boom\\n\\nAt:\\n  model.py(9): execute\\n``, innermost frame first.

    Source: `error_string` of pybind11 2.10: not the traceback but the callers of its innermost frame, each
    with the line it stands at now; no "At:" part when no Python frame of the model was entered.
    """
    try:
        message = str(error)
        trouble = ""
    except BaseException as second:
        message, trouble = "<MESSAGE UNAVAILABLE DUE TO ANOTHER EXCEPTION>", describe(second)
    message = message.encode("utf-8", "backslashreplace").decode("utf-8") or "<EMPTY MESSAGE>"
    frames = _frames(error)
    text = f"{type(error).__name__}: {message}"
    if frames:
        text += "\n\nAt:\n" + "".join(f"  {frame}\n" for frame in frames)
    if trouble:
        text += ("" if frames else "\n") + f"\nMESSAGE UNAVAILABLE DUE TO EXCEPTION: {trouble}"
    return text


def formatted(error: BaseException) -> str:
    """What `traceback` prints, without frames of ours: in a real stub C++ has none."""
    exception: Optional[traceback.TracebackException] = traceback.TracebackException.from_exception(error)
    whole = exception
    while exception is not None:
        kept = [frame for frame in exception.stack if os.path.dirname(frame.filename) != _FOLDER]
        exception.stack[:] = kept
        exception = exception.__cause__ or exception.__context__
    assert whole is not None
    return "".join(whole.format())


def _frames(error: BaseException) -> List[str]:
    trace = error.__traceback__
    if trace is None:
        return []
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame: Optional[FrameType] = trace.tb_frame
    lines = []
    while frame is not None and frame.f_code not in _BOUNDARIES:
        code = frame.f_code
        if os.path.dirname(code.co_filename) != _FOLDER:
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines
