"""May this build replace that folder?  Only what the same declaration built, unless the author insists."""

from __future__ import annotations

from pathlib import Path

from .manifest import MANIFEST_FILE, OLD_CONFIG, Manifest, is_version, read_manifest, sha256_of, version_folders
from .model_folder import ModelFolder
from .publish import INNER_STAGING
from .source import may_be_same
from .target import BuildError

#: Below it two files of one name are two applications.
LEAST_LIKENESS = 0.4


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
    check_edits(manifest, old, new.name)
    alike = _likeness(manifest, old, new)
    if alike < LEAST_LIKENESS:
        raise BuildError(
            "TPB413",
            f"'{old}' was built from another {manifest.source} (it shares {alike:.0%} of its lines with this one), "
            f"and {new.source} would replace it",
            f"model '{new.name}'",
            "give the model another name, build into another repository, or build with --overwrite",
        )


def _likeness(manifest: Manifest, old: Path, new: ModelFolder) -> float:
    """The share of lines that the declaring module of a step has in common with what stands there; else 1.

    Only where a source says no more than a file's name: two applications that are both called ``app.py`` and lie in
    no marked project would else be taken for one.
    """
    name = f"/{manifest.source.file}"
    content = new.files.get(f"{new.version}{name}")
    path = old / f"{manifest.version}{name}"
    if "/" in manifest.source.file or not isinstance(content, Path) or not path.is_file() or new.as_it_is:
        return 1.0
    before, after = (
        {line.strip() for line in file.read_text("utf-8", "replace").splitlines()} for file in (path, content)
    )
    return len(before & after) / max(len(before), len(after), 1)


def check_repository(repository: Path) -> None:
    """Refuse to put model folders into a model folder, where no server would find them.

    Raises
    ------
    BuildError
        When `repository` itself holds a config.pbtxt.
    """
    if (repository / "config.pbtxt").is_file():
        raise BuildError(
            "TPB448",
            f"'{repository}' is a model folder: it holds a config.pbtxt",
            f"repository '{repository}'",
            f"name the folder that holds model folders: '{repository.parent}'",
        )


def check_kept(new: ModelFolder, old: Path) -> None:
    """Refuse an exchange of the whole folder where versions were kept to go back to.

    Raises
    ------
    BuildError
        When `old` holds an older version that ``--new-version`` published or kept.
    """
    if new.as_it_is or not old.is_dir():
        return
    kept = [version.name for version in version_folders(old)[:-1] if (version / OLD_CONFIG).is_file()]
    if kept:
        versions = f"version{'s' if len(kept) > 1 else ''} {', '.join(kept)}"
        raise BuildError(
            "TPB446",
            f"'{old}' keeps {versions} to go back to, and a build without --new-version deletes what is kept",
            f"model '{new.name}'",
            "publish with --new-version, or build with --overwrite to lose the kept versions",
        )


def check_edits(manifest: Manifest, old: Path, model: str) -> None:
    """A file that somebody edited or added by hand would be lost.

    Raises
    ------
    BuildError
        With the first such file.
    """
    for path in sorted(old.rglob("*")):
        inside = path.relative_to(old).as_posix()
        if path.is_dir() or path.name == MANIFEST_FILE or {"__pycache__", INNER_STAGING} & set(path.parts):
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
                f"model '{model}'",
                "take the change into the source (config= for config.pbtxt), or say --overwrite to lose it",
            )


def _holds_only(old: Path, new: ModelFolder) -> bool:
    """Whether every file of `old` is in `new` with the same content: then nothing can be lost."""
    if not old.is_dir():
        return False
    for path in old.rglob("*"):
        if path.is_dir() or path.name == MANIFEST_FILE or INNER_STAGING in path.parts:
            continue
        content = new.files.get(path.relative_to(old).as_posix())
        if content is None or sha256_of(content) != sha256_of(path):
            return False
    return True
