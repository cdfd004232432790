"""What differs between two model folders or repositories, so that a person sees what a publish would change."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .inspection import Inspected, inspect_folder, model_files, model_folders
from .manifest import MANIFEST_FILE, OLD_CONFIG, sha256_of

#: What travels with every model is one difference, not thirty.
_RUNTIME = "VERSION/triton_pyb/"

#: A text file that is larger is compared by its hash only.
SHOWN_BYTES = 200_000


class Change(NamedTuple):
    """One difference.

    Attributes
    ----------
    kind : str
        ``"model"``, ``"tensor"``, ``"requirement"``, ``"build"`` or ``"file"``.
    what : str
        One line.
    lines : tuple of str
        Of a file: a unified diff.
    """

    model: str
    kind: str
    what: str
    lines: tuple[str, ...] = ()


def differences(a: Path, b: Path) -> list[Change]:
    """Everything that differs, model by model.

    Two model folders are compared with each other whatever they are called; of repositories, models of one name.

    Raises
    ------
    BuildError
        When one of the two holds no model folder.
    """
    left, right = model_folders(a), model_folders(b)
    if left == [a] and right == [b]:
        return list(_model_changes(inspect_folder(a), inspect_folder(b)))
    ours, theirs = ({folder.name: folder for folder in folders} for folders in (left, right))
    changes: list[Change] = []
    for name in sorted({*ours, *theirs}):
        if name not in theirs:
            changes.append(Change(name, "model", "only in the first"))
        elif name not in ours:
            changes.append(Change(name, "model", "only in the second"))
        else:
            changes += _model_changes(inspect_folder(ours[name]), inspect_folder(theirs[name]))
    return changes


def _model_changes(a: Inspected, b: Inspected) -> Iterator[Change]:
    for side in ("inputs", "outputs"):
        yield from _tensor_changes(a, b, side)
    if a.manifest and b.manifest:
        for what, old, new in (
            ("source", str(a.manifest.source), str(b.manifest.source)),
            ("triton_pyb", a.manifest.tool, b.manifest.tool),
            ("release", a.manifest.release or "any", b.manifest.release or "any"),
        ):
            if old != new:
                yield Change(b.name, "build", f"{what}: {old} -> {new}")
        old_lines, new_lines = set(a.manifest.requirements), set(b.manifest.requirements)
        for line in sorted(old_lines - new_lines):
            yield Change(b.name, "requirement", f"- {line}")
        for line in sorted(new_lines - old_lines):
            yield Change(b.name, "requirement", f"+ {line}")
    yield from _file_changes(a, b)


def _tensor_changes(a: Inspected, b: Inspected, side: str) -> Iterator[Change]:
    old = {tensor.name: tensor for tensor in getattr(a, side)}
    new = {tensor.name: tensor for tensor in getattr(b, side)}
    word = side.removesuffix("s")
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new:
            yield Change(b.name, "tensor", f"{word} {old[name]} is gone")
        elif name not in old:
            yield Change(b.name, "tensor", f"{word} {new[name]} is new")
        elif old[name] != new[name]:
            yield Change(b.name, "tensor", f"{word} {old[name]} -> {new[name]}")


def _file_changes(a: Inspected, b: Inspected) -> Iterator[Change]:
    """Of several versions the newest are compared, and shown below one name."""
    old, new = _newest_files(a), _newest_files(b)
    runtime = [
        name
        for name in {*old, *new}
        if name.startswith(_RUNTIME)
        and (name not in old or name not in new or sha256_of(old[name]) != sha256_of(new[name]))
    ]
    if runtime:
        yield Change(b.name, "build", f"triton_pyb's runtime: {len(runtime)} files differ")
    old, new = ({name: path for name, path in files.items() if not name.startswith(_RUNTIME)} for files in (old, new))
    for name in sorted({*old, *new}):
        if name not in new:
            yield Change(b.name, "file", f"{name} is gone")
        elif name not in old:
            yield Change(b.name, "file", f"{name} is new")
        elif sha256_of(old[name]) != sha256_of(new[name]):
            yield Change(b.name, "file", f"{name} differs", tuple(_unified(old[name], new[name], name)))


def _newest_files(model: Inspected) -> dict[str, Path]:
    newest = model.versions[-1] if model.versions else ""
    found = {}
    for name, path in model_files(model.folder).items():
        top, _, rest = name.partition("/")
        if rest in (MANIFEST_FILE, OLD_CONFIG) or (top in model.versions and top != newest):
            continue
        found[f"VERSION/{rest}" if top == newest and rest else name] = path
    return found


def _unified(old: Path, new: Path, name: str) -> Iterator[str]:
    if max(old.stat().st_size, new.stat().st_size) > SHOWN_BYTES:
        return
    try:
        before, after = (path.read_text(encoding="utf-8").splitlines() for path in (old, new))
    except UnicodeDecodeError:
        return
    yield from difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")
