"""Where a model folder comes from, in words that are the same in every checkout."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

#: What marks the root of a project.
PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")


class Source(NamedTuple):
    """The declaration behind a model folder.

    Attributes
    ----------
    file : str
        Path from the root of the project, ``"services/ocr/app.py"``; where no folder above the file is marked
        as a project, the file's name alone.
    declared : str
        ``"preprocessing"``, or ``"Pipeline('ensemble')"``.
    pipeline : str
        The pipeline for which it was built; empty for a step built alone.
    """

    file: str
    declared: str
    pipeline: str = ""

    def __str__(self) -> str:
        said = not self.pipeline or self.declared.startswith("Pipeline(")
        of_pipeline = "" if said else f" of pipeline '{self.pipeline}'"
        return f"{self.file}:{self.declared}{of_pipeline}"


def project_root(file: Path) -> Path | None:
    """The nearest folder above `file` that is marked as a project; None when there is none."""
    for folder in file.resolve().parents:
        if any((folder / mark).exists() for mark in PROJECT_MARKS):
            return folder
    return None


def label(file: Path) -> str:
    """`file` from the root of its project."""
    root = project_root(file)
    return file.resolve().relative_to(root).as_posix() if root is not None else file.name


def file_of(where: str) -> Path:
    """The file in a declaration's ``where``: ``"Pipeline('x') (/path/app.py:12)"``."""
    return Path(where.rpartition("(")[2].rpartition(":")[0])


def may_be_same(old: Source, new: Source) -> bool:
    """Whether `new` may replace what `old` built.

    A bare file name, as it is said where no project is marked, fits every path that ends in it.  A step built
    alone may become one of a pipeline; a step of one pipeline may not become one of another, whose
    max_batch_size may differ.
    """
    if old.declared != new.declared or (old.pipeline != new.pipeline and old.pipeline and new.pipeline):
        return False
    shorter, longer = sorted((old.file, new.file), key=len)
    return old.file == new.file or ("/" not in shorter and longer.endswith("/" + shorter))
