"""The way back: an older version of an entry model published again, as a new version."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from triton_pyb.runtime.errors import did_you_mean

from .manifest import MANIFEST_FILE, OLD_CONFIG, Manifest, parse_manifest, read_manifest, sha256_of, version_folders
from .ownership import check_edits
from .publish import put_in_place
from .staging import Staging, unwritable
from .target import BuildError
from .versions import KEEP, drop_unpinned, needs_exchange, pinned


class RolledBack(NamedTuple):
    """What was published again.

    Attributes
    ----------
    version : int
        The number under which it is published.
    was : int
        The version that it is: of a copy that an earlier rollback made, the one that was copied.
    dropped : tuple of int
        Versions that are no longer kept.
    """

    version: int
    was: int
    dropped: tuple[int, ...]


def rollback(
    repository: str | os.PathLike[str], model: str, to: int = 0, *, keep: int = KEEP, overwrite: bool = False
) -> RolledBack:
    """Publish an older version of an entry model again, as a new version.

    Parameters
    ----------
    model : str
        The ensemble, or the step built alone.
    to : int
        Which version; 0: the one before the newest, or where that is itself a copy of an older version, the one
        before that: a second rollback goes further back.
    keep : int
        How many old versions stay, and what they pin; the one that is now published again goes first.
    overwrite : bool
        Also where a file was edited by hand after the newest version was published.

    Raises
    ------
    BuildError
        When there is no such repository, model or version, what it pins is gone, or edits made by hand would be.
    """
    _check_model(Path(repository), model)
    with Staging(Path(repository)) as staging:
        needs_exchange(staging)
        place = staging.repository / model
        versions = version_folders(place)
        chosen = _choose(versions, model, to, repository)
        _check_pinned(chosen, staging.repository)
        newest = read_manifest(place)
        if newest is not None and not overwrite:
            check_edits(newest, place, model)
        number = str(int(versions[-1].name) + 1)
        was = _origin(chosen)
        surplus = _surplus(versions, was, keep)
        gone = set().union(*(pinned(version) for version in surplus))
        _exchange_folder(place, staging.folder / model, number, chosen)
        for version in surplus:
            shutil.rmtree(staging.folder / model / version.name)
        try:
            put_in_place([(staging.folder / model, place)])
            drop_unpinned(gone, place, staging)
        except OSError as error:
            raise unwritable(staging.repository, error) from None
    return RolledBack(int(number), was, tuple(sorted(int(version.name) for version in surplus)))


def _choose(versions: Sequence[Path], model: str, to: int, repository: str | os.PathLike[str]) -> Path:
    """The version to go back to; of the versions of a model, oldest first."""
    kept = [version for version in versions[:-1] if (version / OLD_CONFIG).is_file()]
    newest = int(versions[-1].name) if versions else 0
    is_now = _origin(versions[-1]) if versions else 0
    if to:
        fitting = [version for version in kept if int(version.name) == to]
        fitting = fitting or [version for version in kept if _origin(version) == to]
    else:
        fitting = [version for version in kept if int(version.name) < is_now]
    if fitting:
        return fitting[-1]
    known = ", ".join(version.name for version in kept) or "none"
    missing = str(to) if to else "before its newest"
    if not to and newest != is_now:
        missing = f"before version {is_now}, which its newest is,"
    raise BuildError(
        "TPB423",
        f"model '{model}' has no version {missing} to go back to; kept: {known}",
        f"repository '{repository}'",
        "publish with `triton-pyb build --new-version`, which keeps some, or build the old source again",
    )


def _origin(version: Path) -> int:
    """What a version folder is: its own number, or for a copy that a rollback made, that of the original."""
    manifest = parse_manifest(version / MANIFEST_FILE)
    return int(manifest.was) if manifest is not None and manifest.was else int(version.name)


def _surplus(versions: Sequence[Path], was: int, keep: int) -> list[Path]:
    """Old versions that go: first what the new one is a copy of, then the oldest."""
    old = [version for version in versions if (version / OLD_CONFIG).is_file()]
    order = sorted(old, key=lambda version: (_origin(version) != was, int(version.name)))
    return order[: max(len(old) - keep, 0)]


def _check_model(repository: Path, model: str) -> None:
    if not repository.is_dir():
        raise BuildError(
            "TPB439", f"there is no folder '{repository}'", "rollback", "name the folder that holds the model folders"
        )
    if not (repository / model).is_dir() or "/" in model or model in ("", ".", ".."):
        known = sorted(place.name for place in repository.iterdir() if place.is_dir() and version_folders(place))
        raise BuildError(
            "TPB444",
            f"there is no model '{model}'{did_you_mean(model, known)}",
            f"repository '{repository}'",
            f"it has {', '.join(map(repr, known)) or 'no model'}",
        )


def _exchange_folder(place: Path, staged: Path, number: str, chosen: Path) -> None:
    """Stage the folder at `place` with `chosen` once more under a new number, and its configuration."""
    shutil.copytree(place, staged)
    shutil.copytree(chosen, staged / number)
    manifest = parse_manifest(chosen / MANIFEST_FILE)
    if manifest is not None:
        renumbered = _renumbered(manifest, chosen.name, number)._replace(was=str(_origin(chosen)))
        renumbered.files["config.pbtxt"] = sha256_of(chosen / OLD_CONFIG)
        (staged / number / MANIFEST_FILE).write_bytes(renumbered.to_json())
    (staged / "config.pbtxt").unlink()
    shutil.copyfile(chosen / OLD_CONFIG, staged / "config.pbtxt")


def _renumbered(manifest: Manifest, old: str, number: str) -> Manifest:
    files = {
        f"{number}/{name.partition('/')[2]}" if name.startswith(f"{old}/") else name: value
        for name, value in manifest.files.items()
    }
    return manifest._replace(files=files, version=number)


def _check_pinned(version: Path, repository: Path) -> None:
    for model, number in sorted(pinned(version)):
        if number > 0 and not (repository / model / str(number)).is_dir():
            raise BuildError(
                "TPB424",
                f"version {version.name} names version {number} of '{model}', which is gone",
                f"repository '{repository}'",
                "build the old source again, and keep more versions: --keep 5",
            )
