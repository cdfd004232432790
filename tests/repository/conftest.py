"""An application in a folder of its own, as an author writes it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

#: Write files below a folder; ``.py`` texts may be indented like the test around them.
Write = Callable[..., Path]

STEP = """
    from __future__ import annotations
    from triton_pyb import Annotated, Name, preprocess

    @preprocess
    def shout(text: str) -> Annotated[str, Name("loud")]:
        return text.upper()
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """``write(**{"app.py": "..."})`` writes below ``tmp_path/author`` (or `into`), and returns the folder."""

    def writing(into: str = "author", **files: str) -> Path:
        folder = tmp_path / into
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        return folder

    return writing
