"""May this build replace that folder?  Only what the same declaration built, unless the author insists."""

from __future__ import annotations

from pathlib import Path

from .folders import ModelFolder
from .manifest import MANIFEST_FILE, OLD_CONFIG, Manifest, is_version, read_manifest, sha256_of
from .source import may_be_same
from .target import BuildError


def check_ownership(new: ModelFolder, old: Path) -> None:
    """Refuse to put `new` in the place of a folder that something else made.

    Raises
    ------
    BuildError
        When `old` holds no manifest of ours, or one of another source, and its content differs from `new`.
    """
    if not old.exists() or _holds_only(old, new):
        return
    if not old.is_dir():
        raise BuildError("TPB412", f"'{old}' is a file", f"model '{new.name}'", "move it away")
    manifest = read_manifest(old)
    if manifest is None:
        raise BuildError(
            "TPB412",
            f"'{old}' was not built by triton_pyb, and {new.source} would replace it",
            f"model '{new.name}'",
            "give the model another name, build into another repository, or build with --overwrite",
        )
    if not may_be_same(manifest.source, new.source):
        raise BuildError(
            "TPB413",
            f"'{old}' was built from {manifest.source}, and {new.source} would replace it",
            f"model '{new.name}'",
            "give the model another name, build into another repository, or build with --overwrite",
        )
    _check_edits(manifest, old, new)


def _check_edits(manifest: Manifest, old: Path, new: ModelFolder) -> None:
    """A file that somebody edited or added by hand would be lost."""
    for path in sorted(old.rglob("*")):
        inside = path.relative_to(old).as_posix()
        if path.is_dir() or path.name == MANIFEST_FILE or "__pycache__" in path.parts:
            continue
        known = manifest.files.get(inside)
        top = inside.partition("/")[0]
        if known is None and (is_version(top) and top != manifest.version or inside.endswith("/" + OLD_CONFIG)):
            continue  # another version: it has a manifest of its own
        if known != sha256_of(path):
            how = "was added" if known is None else "was edited"
            raise BuildError(
                "TPB414",
                f"'{path}' {how} after it was built from {manifest.source}",
                f"model '{new.name}'",
                "take the change into the source (config= for config.pbtxt), or build with --overwrite to lose it",
            )


def _holds_only(old: Path, new: ModelFolder) -> bool:
    """Whether every file of `old` is in `new` with the same content: then nothing can be lost."""
    if not old.is_dir():
        return False
    for path in old.rglob("*"):
        if path.is_dir() or path.name == MANIFEST_FILE:
            continue
        content = new.files.get(path.relative_to(old).as_posix())
        if content is None or sha256_of(content) != sha256_of(path):
            return False
    return True
