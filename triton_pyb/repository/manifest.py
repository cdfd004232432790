"""``triton_pyb.json`` in a version folder: what was built from what, for people and for the next build."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from .source import Source

#: Inside the version folder: there Triton looks at nothing but the model file, and each version has its own.
MANIFEST_FILE = "triton_pyb.json"

#: Copy of config.pbtxt in a version folder of an entry model: what a rollback brings back.
OLD_CONFIG = "config.pbtxt"

FORMAT = 1


class Manifest(NamedTuple):
    """What the file says.

    Attributes
    ----------
    tool : str
        Version of this package that wrote the folder.
    model : str
        The model as it is declared; the folder may have another name after a change of interface.
    version : str
        The version folder in which it lies.
    files : dict of str to str
        Path inside the model folder -> sha256; the manifest itself aside.
    requirements : tuple of str
        ``"opencv-python-headless==4.10.0.84"``: what must be installed where the model runs.
    release : str
        The Triton release it was built for; empty: any.
    was : str
        For a version that a rollback published: the version that it is a copy of, which may be gone.
    """

    tool: str
    model: str
    version: str
    source: Source
    files: dict[str, str]
    requirements: tuple[str, ...] = ()
    release: str = ""
    was: str = ""

    def to_json(self) -> bytes:
        data = {
            "format": FORMAT,
            "triton_pyb": self.tool,
            "model": self.model,
            "version": self.version,
            "source": self.source._asdict(),
            "release": self.release,
            "requirements": list(self.requirements),
            "files": dict(sorted(self.files.items())),
        }
        if self.was:
            data["was"] = self.was
        return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()


def sha256_of(content: bytes | Path) -> str:
    """Hexadecimal sha256 of bytes, or of a file read in pieces."""
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as stream:
        digest = hashlib.sha256()
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def version_folders(folder: Path) -> list[Path]:
    """Version folders of a model folder, oldest first; names that Triton ignores are left out."""
    found = [entry for entry in folder.iterdir() if entry.is_dir() and is_version(entry.name)]
    return sorted(found, key=lambda entry: int(entry.name))


def is_version(name: str) -> bool:
    """Triton takes positive numbers without leading zeros.

    Source: core, ``model_config_utils.cc``, ``GetNormalizedModelConfig`` and ``VersionsToLoad``.
    """
    return name.isascii() and name.isdigit() and not name.startswith("0")


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of the newest version in a model folder; None when that was not built by us."""
    for version in reversed(version_folders(folder)):
        path = version / MANIFEST_FILE
        if path.is_file():
            return parse_manifest(path)
    return None


def parse_manifest(path: Path) -> Manifest | None:
    """One manifest; None when the file is none of ours."""
    try:
        return manifest_of(path.read_bytes())
    except OSError:
        return None


def manifest_of(content: bytes) -> Manifest | None:
    """The manifest in these bytes; None when they are none of ours."""
    try:
        data: dict[str, Any] = json.loads(content)
        return Manifest(
            data["triton_pyb"],
            data["model"],
            data["version"],
            Source(**data["source"]),
            dict(data["files"]),
            tuple(data["requirements"]),
            data["release"],
            str(data.get("was", "")),
        )
    except (ValueError, KeyError, TypeError):
        return None
