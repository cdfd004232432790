"""One model folder as data: path inside the folder -> bytes, or a file to copy."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import triton_pyb
from triton_pyb.config.model_config import to_pbtxt
from triton_pyb.config.releases import find_release

from .config_text import parse_config
from .manifest import MANIFEST_FILE, Manifest, sha256_of
from .requirements import requirements_of
from .source import Source
from .target import BuildError

Content = bytes | Path

#: A file where Python wants a folder: measured on 24.10, a cache written by the first load makes a server that polls
#: load the model a second time, and ``model.py`` cannot forbid the cache that is written before it runs.
NO_CACHE = "__pycache__"
NO_CACHE_TEXT = b"A file, so that Python writes no cache here: a server that polls would load the model twice.\n"

FILE_MODE, FOLDER_MODE = 0o644, 0o755


class ModelFolder(NamedTuple):
    """One model, ready to be written.

    Attributes
    ----------
    files : dict of str to bytes or Path
        Path inside the model folder -> its bytes, or the file to copy.
    source : Source
        The declaration that it is built from.
    version : str
        The version folder that is written; of several in an existing model, the newest.
    empty : tuple of str
        Folders that stand empty in an existing model.
    third_party : tuple of str
        Packages that must be installed where the model runs.
    imported : tuple of str
        The same, as far as the imports name them: ``"google.protobuf"``.
    notes : tuple of str
        What the author should know about this model.
    declared : str
        The model's name in its declaration, where `name` is another one.
    release : str
        The Triton release it is built for; empty: any.
    as_it_is : bool
        An existing model: its configuration and versions are not ours to change.
    """

    name: str
    files: dict[str, Content]
    source: Source
    version: str = "1"
    empty: tuple[str, ...] = ()
    third_party: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    declared: str = ""
    release: str = ""
    as_it_is: bool = False

    @property
    def requirements(self) -> tuple[str, ...]:
        """What must be installed where the model runs, with the versions in use here; numpy always."""
        if f"{self.version}/model.py" not in self.files:
            return ()
        found = requirements_of(sorted({"numpy", *self.imported}))
        if self.release and find_release(self.release).needs_numpy_1:
            found = tuple("numpy<2" if line.startswith("numpy==") and line >= "numpy==2" else line for line in found)
        return found

    def with_manifest(self) -> ModelFolder:
        """The same folder, and in its version folder what was built from what."""
        return self._replace(files={**self.files, f"{self.version}/{MANIFEST_FILE}": self.manifest().to_json()})

    def manifest(self) -> Manifest:
        """What was built from what."""
        hashes = {
            inside: sha256_of(content)
            for inside, content in self.files.items()
            if inside not in (f"{self.version}/{MANIFEST_FILE}", f"{self.version}/{NO_CACHE}")
        }
        return Manifest(
            triton_pyb.__version__,
            self.declared or self.name,
            self.version,
            self.source,
            hashes,
            self.requirements,
            self.release,
        )

    def config(self) -> Any:
        """The model's configuration.

        Raises
        ------
        BuildError
            When an existing model's does not parse.
        """
        content = self.files.get("config.pbtxt", b"")  # Triton completes what an existing model does not say
        return parse_config(content, f"{self.name}/config.pbtxt")

    def with_config(self, change: Callable[[Any], None]) -> ModelFolder:
        """The same folder with a changed configuration; comments at its top stay."""
        content = self.files["config.pbtxt"]
        text = content.read_text(encoding="utf-8") if isinstance(content, Path) else content.decode()
        header = [line[1:].strip() for line in itertools.takewhile(lambda line: line[:1] == "#", text.splitlines())]
        config = self.config()
        change(config)
        return self._replace(files={**self.files, "config.pbtxt": to_pbtxt(config, "\n".join(header)).encode()})

    def renamed(self, name: str) -> ModelFolder:
        """The same model under another name in the repository."""

        def rename(config: Any) -> None:
            config.name = name

        return self if name == self.name else self.with_config(rename)._replace(name=name, declared=self.name)

    def at_version(self, number: str) -> ModelFolder:
        """The same model as another version."""
        old, new = f"{self.version}/", f"{number}/"
        files = {
            new + inside[len(old) :] if inside.startswith(old) else inside: content
            for inside, content in self.files.items()
            if inside != old + MANIFEST_FILE
        }
        folder = self._replace(files=files, version=number)
        return folder.with_manifest() if old + MANIFEST_FILE in self.files else folder

    def write(self, folder: Path) -> None:
        """Write everything below `folder`, which does not exist yet.

        Raises
        ------
        BuildError
            When a file is no longer what the manifest says.
        """
        for inside in self.empty:
            (folder / inside).mkdir(parents=True, exist_ok=True)
        known = self._known_hashes()
        for inside, content in sorted(self.files.items()):
            path = folder / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copyfile(content, path)
            else:
                path.write_bytes(content)
            path.chmod(FILE_MODE)
            self._check_copy(inside, content, path, known)
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir():
                path.chmod(FOLDER_MODE)  # the server often runs as another user

    def _known_hashes(self) -> dict[str, str]:
        """What the manifest says, where there is one already."""
        manifest = self.files.get(f"{self.version}/{MANIFEST_FILE}")
        return dict(json.loads(manifest)["files"]) if isinstance(manifest, bytes) else {}

    def _check_copy(self, inside: str, content: Content, path: Path, known: dict[str, str]) -> None:
        """An editor may save a file between the look at it and the copy."""
        if inside in known and isinstance(content, Path) and sha256_of(path) != known[inside]:
            raise BuildError(
                "TPB425",
                f"'{content}' changed while it was built",
                f"model '{self.name}'",
                "build again when nothing writes it any more",
            )
