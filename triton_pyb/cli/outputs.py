"""Show what a model answered: to a person, or as JSON to a program."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, Group, RenderableType
from rich.highlighter import JSONHighlighter
from rich.panel import Panel
from rich.text import Text

from triton_pyb.cli.saving import image_kind
from triton_pyb.runtime.dtypes import canonical

#: How many rows of text, and how many numbers, are shown of one output; arrays up to SMALL numbers are shown whole.
SHOWN_ROWS, SHOWN_NUMBERS, SMALL = 20, 8, 16

#: (output, item) -> the file it was saved in.
Files = Mapping[tuple[str, int], Path]


def show(outputs: dict[str, NDArray[Any]], console: Console, files: Files | None = None) -> None:
    """One panel for each output: texts whole, JSON indented, arrays as dtype, shape and a few numbers."""
    for name, array in outputs.items():
        title = Text(f"{name}  {canonical(array.dtype) or array.dtype} {list(array.shape)}")
        body = _texts(array) if array.dtype == np.object_ else Text(_preview(array))
        console.print(Panel(body, title=title, title_align="left"))
        for path in [path for (saved, _), path in (files or {}).items() if saved == name]:
            console.print(Text(f"saved {path}"), soft_wrap=True)


def as_json(model: str, outputs: dict[str, NDArray[Any]], files: Files | None = None) -> str:
    """One JSON object; bytes that are no UTF-8 become ``{"base64": "..."}``, saved ones ``{"file": "..."}``."""
    saved = files or {}
    shown = {
        name: {
            "datatype": canonical(array.dtype) or str(array.dtype),
            "shape": list(array.shape),
            "data": [
                {"file": str(saved[name, index])} if (name, index) in saved else _plain(item)
                for index, item in enumerate(array.ravel().tolist())
            ],
        }
        for name, array in outputs.items()
    }
    return json.dumps({"model": model, "outputs": shown}, ensure_ascii=False)


def _plain(item: Any) -> Any:
    if not isinstance(item, bytes):
        return item
    try:
        return item.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(item).decode("ascii")}


def _texts(array: NDArray[Any]) -> RenderableType:
    items = array.ravel().tolist()
    parts = [_text(item) for item in items[:SHOWN_ROWS]]
    if len(items) > SHOWN_ROWS:
        parts.append(Text(f"... and {len(items) - SHOWN_ROWS} more"))
    return Group(*parts) if parts else Text("(no rows)")


def _text(item: Any) -> RenderableType:
    raw = item if isinstance(item, bytes) else str(item).encode()
    kind = image_kind(raw)
    if kind:
        return Text(f"<{kind} image, {len(raw):,} bytes>")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return Text(f"<{len(raw):,} bytes, not text: {raw[:8].hex(' ')} ...>")
    if text.startswith(("{", "[")):
        try:
            return JSONHighlighter()(Text(_indented(json.loads(text))))
        except ValueError:
            pass
    return Text(text)


def _indented(value: Any, margin: str = "") -> str:
    """JSON with an entry per line, but lists of numbers and texts on one line: they are rows, not structure."""
    inner = margin + "  "
    if isinstance(value, dict) and value:
        entries = [f"{json.dumps(key, ensure_ascii=False)}: {_indented(entry, inner)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(inner + entry for entry in entries) + f"\n{margin}}}"
    if isinstance(value, list) and any(isinstance(entry, (dict, list)) for entry in value):
        return "[\n" + ",\n".join(inner + _indented(entry, inner) for entry in value) + f"\n{margin}]"
    return json.dumps(value, ensure_ascii=False)


def _preview(array: NDArray[Any]) -> str:
    if array.size <= SMALL:
        return _nested(array)
    numbers = array.ravel()
    shown = ", ".join(map(_number, numbers[:SHOWN_NUMBERS]))
    return f"[{shown}, ...]  from {numbers.min():.6g} to {numbers.max():.6g}, mean {numbers.mean():.6g}"


def _nested(array: NDArray[Any]) -> str:
    """A small array whole, a row on a line."""
    if not array.size or array.ndim < 2:
        return f"[{', '.join(map(_number, array.ravel()))}]"
    return np.array2string(array, separator=", ", formatter={"all": _number})


def _number(number: Any) -> str:
    return f"{number:.6g}" if number.dtype.kind == "f" else str(number)
