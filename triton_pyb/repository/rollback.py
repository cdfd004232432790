"""The way back: an older version of an entry model published again, as a new version."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from triton_pyb.runtime.errors import did_you_mean

from .manifest import MANIFEST_FILE, OLD_CONFIG, Manifest, parse_manifest, read_manifest, sha256_of, version_folders
from .ownership import check_edits
from .publish import put_in_place
from .staging import Staging, unwritable
from .target import BuildError
from .versions import needs_exchange, pinned


def rollback(repository: str | os.PathLike[str], model: str, to: int = 0, *, overwrite: bool = False) -> int:
    """Publish an older version of an entry model again, as a new version.

    Parameters
    ----------
    model : str
        The ensemble, or the step built alone.
    to : int
        Which version; 0: the one before the newest.
    overwrite : bool
        Also where a file was edited by hand after the newest version was published.

    Returns
    -------
    int
        The number under which it is published.

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
        kept = [version for version in versions[:-1] if (version / OLD_CONFIG).is_file()]
        chosen = next((version for version in reversed(kept) if to in (0, int(version.name))), None)
        if chosen is None:
            known = ", ".join(version.name for version in kept) or "none"
            raise BuildError(
                "TPB423",
                f"model '{model}' has no version {to or 'before its newest'} to go back to; kept: {known}",
                f"repository '{repository}'",
                "publish with `triton-pyb build --new-version`, which keeps some, or build the old source again",
            )
        _check_pinned(chosen, staging.repository)
        newest = read_manifest(place)
        if newest is not None and not overwrite:
            check_edits(newest, place, model)
        number = str(int(versions[-1].name) + 1)
        _exchange_folder(place, staging.folder / model, number, chosen)
        try:
            put_in_place([(staging.folder / model, place)])
        except OSError as error:
            raise unwritable(staging.repository, error) from None
    return int(number)


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
        renumbered = _renumbered(manifest, chosen.name, number)
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
