"""Publishing as new versions: steps first, then the ensemble that pins them, so that every answer is of one publish.

Triton has one ``config.pbtxt`` for all versions of a model.  A step whose tensors changed therefore becomes a new
model (``scale_2``), and the old one stays until no kept version of the ensemble names it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import text_format

from triton_pyb.config.model_config import ModelConfig

from .config_text import parse_config
from .manifest import MANIFEST_FILE, OLD_CONFIG, parse_manifest, read_manifest, version_folders
from .model_folder import ModelFolder
from .publish import put_in_place
from .source import may_be_same
from .staging import Staging, unwritable
from .target import BuildError

#: How many old versions stay on disk, and loaded, unless the author says otherwise.
KEEP = 2


class Published(NamedTuple):
    """Where one step of the pipeline is found.

    Attributes
    ----------
    folder : ModelFolder
        What is published: under its name in the repository, at its version.
    is_new : bool
        False when the repository holds exactly this already.
    """

    folder: ModelFolder
    is_new: bool

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def version(self) -> int:
        """What an ensemble names; -1 for an existing model, whose own version policy decides."""
        return -1 if self.folder.as_it_is else int(self.folder.version)


def publish_versions(
    steps: Sequence[ModelFolder],
    make_entry: Callable[[Sequence[Published]], ModelFolder] | None,
    repository: Path,
    keep: int = KEEP,
) -> list[Published]:
    """Publish `steps` as new versions, and the ensemble last.

    Parameters
    ----------
    make_entry : callable or None
        From the published steps to the ensemble that pins them; None for a step built alone.
    keep : int
        How many old versions of the entry stay, and with them what they pin.

    Raises
    ------
    BuildError
        When the repository cannot be written, or does not take whole folders; then it is as it was.
    """
    with Staging(repository) as staging:
        needs_exchange(staging)
        placed = [_place(step, staging.repository) for step in steps]
        if make_entry is not None:
            entry = make_entry(placed).with_config(_latest_only)
            placed.append(_place(entry, staging.repository, entry=True))
        else:
            placed[-1] = _place(steps[-1].with_config(_latest_only), staging.repository, entry=True)
        _apply(placed, staging, keep)
    return placed


# ---- where each model goes


def _place(folder: ModelFolder, repository: Path, entry: bool = False) -> Published:
    """Choose name and version; an interface that changed asks for a new name, except for the entry."""
    if folder.as_it_is:
        return Published(folder, not _is_there(folder, repository / folder.name))
    if folder.config().version_policy.WhichOneof("policy_choice") is None:
        folder = folder.with_config(_all_versions)
    for place in [repository / folder.name] if entry else _candidates(folder, repository):
        if not place.is_dir():
            continue
        if entry or _same_interface(folder.config(), place):
            old = version_folders(place)
            newest = old[-1].name if old else "0"
            again = folder.renamed(place.name).at_version(newest)
            if _is_there(again, place):
                return Published(again, False)
            return Published(folder.renamed(place.name).at_version(str(int(newest) + 1)), True)
    return Published(folder.renamed(_free_name(folder.name, repository)), True)


def _candidates(folder: ModelFolder, repository: Path) -> list[Path]:
    """Folders that hold this step under its own name, or under one that an earlier change of interface gave it."""
    found = [repository / folder.name]
    for place in sorted(repository.iterdir()):
        if place.is_dir() and place.name != folder.name:
            manifest = read_manifest(place)
            if manifest and manifest.model == folder.name and may_be_same(manifest.source, folder.source):
                found.append(place)
    return sorted(found, key=_newest_change, reverse=True)


def _newest_change(place: Path) -> float:
    return place.stat().st_mtime if place.is_dir() else 0.0


def _free_name(name: str, repository: Path) -> str:
    number, free = 1, name
    while (repository / free).exists():
        number += 1
        free = f"{name}_{number}"
    return free


def _same_interface(config: ModelConfig, place: Path) -> bool:
    """Whether the old versions can live with the new configuration."""
    old = read_config(place / "config.pbtxt")
    if old is None:
        return False
    return all(
        [item.SerializeToString(deterministic=True) for item in getattr(old, side)]
        == [item.SerializeToString(deterministic=True) for item in getattr(config, side)]
        for side in ("input", "output")
    ) and (old.max_batch_size, old.backend, old.platform) == (config.max_batch_size, config.backend, config.platform)


def read_config(path: Path) -> Any:
    """A config.pbtxt; None when there is none, or it does not parse."""
    try:
        return parse_config(path)
    except (OSError, BuildError):
        return None


def _is_there(folder: ModelFolder, place: Path) -> bool:
    """Whether the newest version is exactly this."""
    version = place / folder.version
    manifest = parse_manifest(version / MANIFEST_FILE)
    return manifest is not None and manifest._replace(was="") == folder.manifest()


def _all_versions(config: Any) -> None:
    config.version_policy.all.SetInParent()


def _latest_only(config: Any) -> None:
    if config.version_policy.WhichOneof("policy_choice") is None:
        config.version_policy.latest.num_versions = 1


# ---- writing


def needs_exchange(staging: Staging) -> None:
    if not staging.whole:
        raise BuildError(
            "TPB422",
            f"versions cannot be published into '{staging.repository}', because {staging.why}",
            f"repository '{staging.repository}'",
            "build without --new-version, or into a folder that does not stand on a mount of its own",
        )


def _apply(placed: Sequence[Published], staging: Staging, keep: int) -> None:
    pairs: list[tuple[Path, Path]] = []
    try:
        for published in placed:
            if published.is_new:
                pairs += _stage(published, staging, keep if published is placed[-1] else None)
        _keep_plain_build(placed, staging)
        put_in_place(pairs)
        _prune(placed, staging)
    except OSError as error:
        raise unwritable(staging.repository, error) from None


def _stage(published: Published, staging: Staging, keep: int | None) -> list[tuple[Path, Path]]:
    """Write one model below the staging folder; what is to be moved where.

    A version folder that stays is not touched, not even by a hard link: Triton looks at its change time, and
    would load it again.  An ensemble's folder is exchanged whole, since its configuration changes with its version.
    """
    place, new = staging.repository / published.name, staging.folder / published.name
    number = published.folder.version
    published.folder.with_manifest().write(new)
    if keep is not None:
        shutil.copyfile(new / "config.pbtxt", new / number / OLD_CONFIG)
    if not place.is_dir() or published.folder.as_it_is:
        return [(new, place)]
    if keep is not None:
        versions = version_folders(place)
        for version in versions[max(len(versions) - keep, 0) :]:
            shutil.copytree(version, new / version.name)
        return [(new, place)]
    moves = [(new / number, place / number)]
    if (new / "config.pbtxt").read_bytes() != (place / "config.pbtxt").read_bytes():
        moves.append((new / "config.pbtxt", place / "config.pbtxt"))
    return moves


def _keep_plain_build(placed: Sequence[Published], staging: Staging) -> None:
    """Give a version of the entry that a build without --new-version wrote what a published one has: its own
    configuration, with the versions that its steps have now, so that it can be brought back.
    """
    *steps, entry = placed
    place, new = staging.repository / entry.name, staging.folder / entry.name
    old = version_folders(place) if place.is_dir() else []
    kept = new / old[-1].name if old else None
    config = read_config(place / "config.pbtxt")
    if kept is None or not kept.is_dir() or (kept / OLD_CONFIG).exists() or config is None:
        return
    own = {step.folder.name for step in steps if step.folder.as_it_is}
    for step in config.ensemble_scheduling.step:
        versions = version_folders(staging.repository / step.model_name)
        if step.model_version == -1 and versions and step.model_name not in own:
            step.model_version = int(versions[-1].name)
    (kept / OLD_CONFIG).write_text(text_format.MessageToString(config), encoding="utf-8")


# ---- what is no longer needed


def pinned(version: Path) -> set[tuple[str, int]]:
    """What one version of an ensemble names: (model, version), -1 for the newest."""
    config = read_config(version / OLD_CONFIG)
    if config is None:
        return set()
    return {(step.model_name, int(step.model_version)) for step in config.ensemble_scheduling.step}


def _prune(placed: Sequence[Published], staging: Staging) -> None:
    """Take away versions and models of these steps that no kept version of the ensemble names."""
    entry = staging.repository / placed[-1].name
    if len(placed) == 1:
        return
    if not all((version / OLD_CONFIG).is_file() for version in version_folders(entry)):
        return  # one was exchanged, not published as a version: it names the newest of everything
    used = set().union(*(pinned(version) for version in version_folders(entry)))
    for published in placed[:-1]:
        for place in _candidates(
            published.folder._replace(name=published.folder.declared or published.name), staging.repository
        ):
            numbers = {number for name, number in used if name == place.name}
            if not numbers:
                os.rename(place, staging.folder / f"gone-{place.name}")
            elif -1 not in numbers:
                for version in version_folders(place):
                    if int(version.name) not in numbers:
                        os.rename(version, staging.folder / f"gone-{place.name}-{version.name}")


def drop_unpinned(gone: set[tuple[str, int]], entry: Path, staging: Staging) -> None:
    """Take away what `gone` names, steps of versions that are no longer kept, and no kept version of `entry` does."""
    manifest = read_manifest(entry)
    if manifest is None or not all((version / OLD_CONFIG).is_file() for version in version_folders(entry)):
        return
    used = set().union(*(pinned(version) for version in version_folders(entry)))
    names = {name for name, _ in used}
    for name, number in sorted(gone - used):
        place = staging.repository / name
        made = parse_manifest(place / str(number) / MANIFEST_FILE)
        if made is None or made.source.pipeline != manifest.source.pipeline or (name, -1) in used:
            continue
        if name in names:
            os.rename(place / str(number), staging.folder / f"gone-{name}-{number}")
        else:
            os.rename(place, staging.folder / f"gone-{name}")
