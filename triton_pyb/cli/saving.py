"""``--save FOLDER``: pictures, and other bytes that are no text, from an answer to files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_pyb.cli.errors import UsageError

#: How pictures begin -> kind; the kind in lower case is the file's suffix.
IMAGE_STARTS = {b"\xff\xd8\xff": "JPEG", b"\x89PNG": "PNG", b"GIF8": "GIF", b"BM": "BMP", b"RIFF": "WebP"}


def image_kind(raw: bytes) -> str:
    """``"JPEG"``, ...; empty when these bytes begin as no picture."""
    return next((kind for start, kind in IMAGE_STARTS.items() if raw.startswith(start)), "")


class Saving:
    """Writes items into a folder, which is made when the first one comes.

    Raises
    ------
    UsageError
        When a file cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._counts: dict[str, int] = {}

    def save(self, outputs: dict[str, NDArray[Any]]) -> dict[tuple[str, int], Path]:
        """(output, item) -> file, for each item that is a picture or no text; items of later answers count on."""
        files: dict[tuple[str, int], Path] = {}
        for name, array in outputs.items():
            for index, item in enumerate(array.ravel().tolist() if array.dtype == np.object_ else ()):
                suffix = _suffix(item) if isinstance(item, bytes) else ""
                if suffix:
                    files[name, index] = self._write(name, item, suffix)
        return files

    def _write(self, name: str, item: bytes, suffix: str) -> Path:
        number = self._counts[name] = self._counts.get(name, -1) + 1
        path = self.folder / f"{re.sub(r'[^0-9A-Za-z_.-]', '_', name)}_{number}{suffix}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(item)
        except OSError as error:
            raise UsageError(
                "TPB716", f"'{path}' cannot be written: {error.strerror or error}", "--save", "name another folder"
            ) from None
        return path


def _suffix(item: bytes) -> str:
    kind = image_kind(item)
    if kind:
        return "." + kind.lower().replace("jpeg", "jpg")
    try:
        item.decode()
    except UnicodeDecodeError:
        return ".bin"
    return ""
