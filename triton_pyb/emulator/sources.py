"""Where built files came from: a traceback names the author's file, not the copy in a temporary repository."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

_FILE = re.compile(r'(?<=File ")[^"\n]+(?=", line \d)')
# A copy keeps name and content wherever it is staged, published or given a new version.
_sources: dict[tuple[str, bytes], str] = {}


def remember(source: Path) -> None:
    """`source` travels into a model folder that this process builds."""
    _sources[_key(source)] = str(source)


def restored(text: str) -> str:
    """`text` with each ``File "..."`` of a traceback that is such a copy replaced by the author's file."""
    return _FILE.sub(lambda found: _source_of(found.group()), text) if _sources else text


def _source_of(file: str) -> str:
    if not any(name == os.path.basename(file) for name, _ in _sources):
        return file
    try:
        return _sources.get(_key(Path(file)), file)
    except OSError:  # the copy is gone, or it is no file: "<string>"
        return file


def _key(file: Path) -> tuple[str, bytes]:
    return file.name, hashlib.sha256(file.read_bytes()).digest()
