"""Model folders into a repository, each exchanged whole: a server sees the old folder or the new one."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .manifest import version_folders
from .model_folder import ModelFolder
from .staging import Staging, exchange, unwritable

#: Inside a model folder, where no folder outside the repository can be used.  Triton skips it, since it is no number.
INNER_STAGING = ".triton_pyb-staging"


def publish(folders: Sequence[ModelFolder], repository: Path) -> tuple[str, ...]:
    """Write `folders` in order; all are staged before the first one is exchanged.

    Parameters
    ----------
    folders : sequence of ModelFolder
        A pipeline's steps first, the ensemble that names them last.
    repository : Path
        Made when it does not exist.  The staging folder lies beside it, on the same file system: a half
        folder inside it would be loaded as a model.

    Returns
    -------
    tuple of str
        What the author should know: which guarantee did not hold there.

    Raises
    ------
    BuildError
        When the repository cannot be written; then it is as it was.
    """
    with Staging(repository) as staging:
        try:
            if staging.whole:
                _exchange_all(folders, staging)
                return ()
            for folder in folders:
                _publish_inside(folder, staging.repository / folder.name)
        except OSError as error:
            raise unwritable(staging.repository, error) from None
        return (
            f"'{staging.repository}' does not take whole folders, because {staging.why}: each version folder appeared "
            "whole, and config.pbtxt after it",
        )


def _exchange_all(folders: Sequence[ModelFolder], staging: Staging) -> None:
    for folder in folders:
        folder.write(staging.folder / folder.name)
    put_in_place([(staging.folder / folder.name, staging.repository / folder.name) for folder in folders])


class Move(NamedTuple):
    """One change of name inside a publish."""

    new: Path
    old: Path
    replaces: bool


def put_in_place(pairs: Sequence[tuple[Path, Path]]) -> None:
    """Move every (new, old) in order, exchanging where there is an old one; when one fails, all go back.

    Raises
    ------
    OSError
        Then every old folder is in its place again.
    """
    done: list[Move] = []
    try:
        for new, old in pairs:
            move = Move(new, old, os.path.lexists(old))
            _move(move)
            done.append(move)
    except OSError:
        for move in reversed(done):
            with contextlib.suppress(OSError):
                _move(move if move.replaces else Move(move.old, move.new, False))
        raise


def _move(move: Move) -> None:
    if move.replaces:
        exchange(move.new, move.old)
    else:
        os.rename(move.new, move.old)


def _publish_inside(folder: ModelFolder, place: Path) -> None:
    """Without exchanging: the version folder under a new number, then config.pbtxt, then the old versions go."""
    made = not place.exists()
    old = [] if made else version_folders(place)
    number = str(int(old[-1].name) + 1) if old else folder.version
    staging = place / INNER_STAGING
    shutil.rmtree(staging, ignore_errors=True)  # left by a build that was killed
    try:
        folder.at_version(number).write(staging)
        if (staging / number).is_dir():
            os.rename(staging / number, place / number)
        for entry in sorted(staging.rglob("*")):
            if entry.is_file():
                target = place / entry.relative_to(staging)
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(entry, target)
    except OSError:
        shutil.rmtree(place if made else staging, ignore_errors=True)
        raise
    shutil.rmtree(staging)
    for version in old:
        shutil.rmtree(version)
