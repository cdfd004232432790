"""A ``config.pbtxt`` that somebody wrote: read, or said where it cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.protobuf import text_format

from triton_pyb.config.model_config import ModelConfig

from .target import BuildError


def parse_config(content: bytes | Path, name: str = "config.pbtxt") -> Any:
    """The configuration in a file, or in the bytes that will be written as `name`.

    Fields that are not known here are left out.

    Raises
    ------
    BuildError
        When it does not parse; ``where`` is the file and the line.
    OSError
        When the file cannot be opened.
    """
    where = str(content) if isinstance(content, Path) else name
    data = content.read_bytes() if isinstance(content, Path) else content
    try:
        return text_format.Parse(data.decode("utf-8"), ModelConfig(), allow_unknown_field=True)
    except UnicodeDecodeError as error:
        line, why = data.count(b"\n", 0, error.start) + 1, f"byte {data[error.start]:#04x} is no UTF-8"
    except text_format.ParseError as error:
        line, why = error.GetLine() or 1, str(error).partition(" : ")[2] or str(error)
    raise BuildError(
        "TPB445",
        f"'{where}' cannot be read: {why}",
        f"{where}:{line}",
        "correct that line; Triton cannot read it either",
    )


def why_unreadable(path: Path) -> str:
    """``"FILE:LINE: REASON"``; empty when the file can be read, or there is none."""
    if not path.is_file():
        return ""
    try:
        parse_config(path)
    except BuildError as error:
        return f"{error.where}: {error.what.partition(' cannot be read: ')[2]}"
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""
