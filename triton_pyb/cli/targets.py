"""What a command is pointed at: a model repository, or something to build one from."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from triton_pyb.cli.errors import UsageError


@contextmanager
def repository_of(target: str) -> Iterator[tuple[Path, str | None]]:
    """The model repository, and its entry when that is known because it was built here, for as long as needed."""
    if Path(target).is_dir():
        yield Path(target), None
        return
    if ":" not in target and not target.endswith(".py"):
        raise UsageError(
            "TPB708",
            f"'{target}' is no folder, and not app.py:pipeline",
            "TARGET",
            "give a model repository, or a file or module and the name of its pipeline",
        )
    from triton_pyb.repository import build

    with tempfile.TemporaryDirectory(prefix="triton_pyb_") as folder:
        repository = Path(folder, "models")
        yield repository, build(target, repository).entry or None
