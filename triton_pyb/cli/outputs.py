"""Show what a model answered: to a person, or as JSON to a program."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, Group, RenderableType
from rich.highlighter import JSONHighlighter
from rich.panel import Panel
from rich.text import Text

from triton_pyb.runtime.dtypes import canonical

_IMAGE_STARTS = {b"\xff\xd8\xff": "JPEG", b"\x89PNG": "PNG", b"GIF8": "GIF", b"BM": "BMP", b"RIFF": "WebP"}

#: How many rows of text, and how many numbers, are shown of one output.
SHOWN_ROWS, SHOWN_NUMBERS = 20, 8


def show(outputs: dict[str, NDArray[Any]], console: Console) -> None:
    """One panel for each output: texts whole, JSON indented, arrays as dtype, shape and a few numbers."""
    for name, array in outputs.items():
        title = Text(f"{name}  {canonical(array.dtype) or array.dtype} {list(array.shape)}")
        body = _texts(array) if array.dtype == np.object_ else Text(_preview(array))
        console.print(Panel(body, title=title, title_align="left"))


def as_json(model: str, outputs: dict[str, NDArray[Any]]) -> str:
    """One JSON object; bytes that are no UTF-8 become ``{"base64": "..."}``."""
    shown = {
        name: {
            "datatype": canonical(array.dtype) or str(array.dtype),
            "shape": list(array.shape),
            "data": [_plain(item) for item in array.ravel().tolist()],
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
    kind = next((name for start, name in _IMAGE_STARTS.items() if raw.startswith(start)), "")
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
    numbers = array.ravel()
    shown = ", ".join(f"{number:.6g}" if array.dtype.kind == "f" else str(number) for number in numbers[:SHOWN_NUMBERS])
    if array.size <= SHOWN_NUMBERS:
        return f"[{shown}]"
    return f"[{shown}, ...]  from {numbers.min():.6g} to {numbers.max():.6g}, mean {numbers.mean():.6g}"
