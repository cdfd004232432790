"""What lies in a model folder or a repository: built from what, for what, and whether it was touched since."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from triton_pyb.config.model_config import TensorConfig, tensors_of

from .config_text import why_unreadable
from .litter import is_litter
from .manifest import MANIFEST_FILE, OLD_CONFIG, Manifest, is_version, read_manifest, sha256_of, version_folders
from .target import BuildError
from .versions import read_config


class Inspected(NamedTuple):
    """One model folder.

    Attributes
    ----------
    runs_on : str
        Backend or platform; empty when there is no readable config.pbtxt.
    versions : tuple of str
        Oldest first.
    manifest : Manifest or None
        None when it was not built by us.
    edited, missing, added : tuple of str
        Files that are no longer what the manifest of the newest version says.
    steps : tuple of str
        For an ensemble: ``"preprocessing:2"``, the version -1 left out.
    unreadable : str
        ``"FILE:LINE: REASON"`` when config.pbtxt does not parse: Triton refuses it.
    """

    folder: Path
    runs_on: str
    max_batch_size: int
    inputs: tuple[TensorConfig, ...]
    outputs: tuple[TensorConfig, ...]
    versions: tuple[str, ...]
    manifest: Manifest | None
    edited: tuple[str, ...]
    missing: tuple[str, ...]
    added: tuple[str, ...]
    steps: tuple[str, ...]
    unreadable: str = ""

    @property
    def name(self) -> str:
        return self.folder.name

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        manifest = self.manifest
        return {
            "model": self.name,
            "runs_on": self.runs_on,
            "max_batch_size": self.max_batch_size,
            "inputs": [{"name": t.name, "dtype": t.dtype, "dims": list(t.dims)} for t in self.inputs],
            "outputs": [{"name": t.name, "dtype": t.dtype, "dims": list(t.dims)} for t in self.outputs],
            "versions": list(self.versions),
            "steps": list(self.steps),
            "built_from": str(manifest.source) if manifest else None,
            "triton_pyb": manifest.tool if manifest else None,
            "release": manifest.release if manifest else None,
            "requirements": list(manifest.requirements) if manifest else [],
            "edited": list(self.edited),
            "missing": list(self.missing),
            "added": list(self.added),
            "is_what_version_was": int(manifest.was) if manifest and manifest.was else None,
            "unreadable": self.unreadable or None,
        }


def is_model_folder(folder: Path) -> bool:
    """A folder with a configuration, or with a version folder that holds files.

    A repository whose models are called 1 and 2 is none.
    """
    if (folder / "config.pbtxt").is_file():
        return True
    return any(any(entry.is_file() for entry in version.iterdir()) for version in version_folders(folder)) and not any(
        (entry / "config.pbtxt").is_file() for entry in folder.iterdir()
    )


def model_folders(place: Path) -> list[Path]:
    """The model folders of a repository, or the one that `place` is.

    Raises
    ------
    BuildError
        When there is none.
    """
    if not place.is_dir():
        raise BuildError("TPB460", f"there is no folder '{place}'", str(place), "name a model folder or a repository")
    if is_model_folder(place):
        return [place]
    found = [entry for entry in sorted(place.iterdir()) if entry.is_dir() and is_model_folder(entry)]
    if not found:
        raise BuildError(
            "TPB460",
            f"'{place}' holds no model folder",
            str(place),
            "name a folder with a config.pbtxt, or one that holds such folders",
        )
    return found


def inspect_folder(folder: Path) -> Inspected:
    """Look at one model folder."""
    config = read_config(folder / "config.pbtxt")
    manifest = read_manifest(folder)
    edited, missing, added = _changes(folder, manifest) if manifest is not None else ((), (), ())
    steps = config.ensemble_scheduling.step if config is not None else []
    return Inspected(
        folder,
        (config.backend or config.platform) if config is not None else "",
        config.max_batch_size if config is not None else 0,
        tensors_of(config, "input") if config is not None else (),
        tensors_of(config, "output") if config is not None else (),
        tuple(version.name for version in version_folders(folder)),
        manifest,
        edited,
        missing,
        added,
        tuple(step.model_name + (f":{step.model_version}" if step.model_version > 0 else "") for step in steps),
        why_unreadable(folder / "config.pbtxt"),
    )


def _changes(folder: Path, manifest: Manifest) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    present = model_files(folder)
    edited = [name for name, known in manifest.files.items() if name in present and sha256_of(present[name]) != known]
    missing = [name for name in manifest.files if name not in present]
    others = {name for name in present if is_version(name.partition("/")[0]) and _top(name) != manifest.version}
    own = {f"{manifest.version}/{MANIFEST_FILE}", f"{manifest.version}/{OLD_CONFIG}"}
    added = sorted(set(present) - set(manifest.files) - others - own)
    return tuple(sorted(edited)), tuple(sorted(missing)), tuple(added)


def _top(name: str) -> str:
    return name.partition("/")[0]


def model_files(folder: Path) -> dict[str, Path]:
    """Path inside the folder -> file; caches left out."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not is_litter(path.relative_to(folder))
    }
