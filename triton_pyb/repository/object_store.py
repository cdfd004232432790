"""Model folders into an object store (S3, GCS, ...), where nothing can be exchanged: the configuration comes last.

A version folder is uploaded under a new number that no configuration names yet; one PUT of ``config.pbtxt``, which
serves exactly that number, then switches; then the old version goes.  A server that polls sees the old version or the
new one, whole.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .manifest import MANIFEST_FILE, OLD_CONFIG, is_version, manifest_of
from .model_folder import ModelFolder
from .source import may_be_same
from .target import BuildError

#: What every store can and cannot give.
GUARANTEE = (
    "an object store exchanges no folders: each model switched with its config.pbtxt, the ensemble last; while the "
    "steps of one pipeline change their tensors, requests may fail until the ensemble has switched"
)


def is_url(repository: object) -> bool:
    """``"s3://bucket/models"``, as Triton itself names repositories in object stores."""
    return "://" in str(repository)


class Store:
    """One repository in an object store, through fsspec.

    Raises
    ------
    BuildError
        When fsspec, or the package for that protocol, is not installed, or the store does not answer.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        try:
            import fsspec

            self.files, self.root = fsspec.core.url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            extra = {"s3": "s3", "gs": "gcs", "gcs": "gcs"}.get(url.partition("://")[0])
            raise BuildError(
                "TPB427",
                f"'{url}' cannot be opened: {error}",
                f"repository '{url}'",
                f"install it: pip install 'triton_pyb[{extra}]'" if extra else "use s3://... or gs://...",
            ) from None

    def versions(self, model: str) -> list[int]:
        """Version folders of a model, oldest first."""
        self.files.invalidate_cache()
        place = f"{self.root}/{model}"
        if not self.files.exists(place):
            return []
        names = [str(entry).rstrip("/").rpartition("/")[2] for entry in self.files.ls(place, detail=False)]
        return sorted(int(name) for name in names if is_version(name))

    def check_ownership(self, new: ModelFolder) -> None:
        """As for a folder on a disk; objects edited by hand are not looked for."""
        versions = self.versions(new.name)
        held = versions or self.files.exists(f"{self.root}/{new.name}/config.pbtxt")
        path = f"{self.root}/{new.name}/{versions[-1] if versions else 1}/{MANIFEST_FILE}"
        manifest = manifest_of(self.files.cat_file(path)) if held and self.files.exists(path) else None
        if held and manifest is None:
            raise BuildError(
                "TPB412",
                f"'{self.url}/{new.name}' was not built by triton_pyb, and {new.source} would replace it",
                f"model '{new.name}'",
                "give the model another name, build into another repository, or build with --overwrite",
            )
        if manifest is not None and not may_be_same(manifest.source, new.source):
            raise BuildError(
                "TPB413",
                f"'{self.url}/{new.name}' was built from {manifest.source}, and {new.source} would replace it",
                f"model '{new.name}'",
                "give the model another name, build into another repository, or build with --overwrite",
            )

    def publish(self, folders: Sequence[ModelFolder]) -> None:
        """Upload every version folder, then switch model after model, then take the old versions away.

        Raises
        ------
        BuildError
            When the store refuses something; before the first switch everything is as it was.
        """
        numbered, done = [], []
        try:
            for folder in folders:
                old = self.versions(folder.name)
                new = folder if folder.as_it_is else folder.at_version(str(old[-1] + 1 if old else 1))
                new = new if new.as_it_is else new.with_config(_serve_only(int(new.version)))
                numbered.append((new.with_manifest(), [] if new.as_it_is else old))
            for folder, _ in numbered:
                for inside in _upload_order(folder):
                    if not folder.as_it_is:  # objects that were there before may not go
                        done.append(f"{folder.name}/{inside}")
                    self._put(f"{folder.name}/{inside}", folder.files[inside])
        except Exception as error:  # each store's library has errors of its own
            for path in done:
                with contextlib.suppress(Exception):
                    self.files.rm_file(f"{self.root}/{path}")
            raise self._refused(error) from error
        try:
            for folder, _ in numbered:
                if "config.pbtxt" in folder.files:
                    self._put(f"{folder.name}/config.pbtxt", folder.files["config.pbtxt"])
            for folder, old in numbered:
                for version in old:
                    self.files.rm(f"{self.root}/{folder.name}/{version}", recursive=True)
        except Exception as error:
            raise self._refused(error) from error

    def _put(self, path: str, content: bytes | Path) -> None:
        place = f"{self.root}/{path}"
        if isinstance(content, bytes):
            self.files.pipe_file(place, content)
        else:
            self.files.put_file(str(content), place)

    def _refused(self, error: Exception) -> BuildError:
        return BuildError(
            "TPB411",
            f"the repository cannot be written: {type(error).__name__}: {error}",
            f"repository '{self.url}'",
            "correct credentials, permissions or the address, and build again",
        )


def _upload_order(folder: ModelFolder) -> list[str]:
    """Everything but the configuration; what Triton would load comes last, in case a server looks meanwhile."""
    names = [name for name in folder.files if name != "config.pbtxt" and not name.endswith("/" + OLD_CONFIG)]
    return sorted(names, key=lambda name: (name.rpartition("/")[2].startswith("model."), name))


def _serve_only(version: int) -> Any:
    def change(config: Any) -> None:
        config.version_policy.specific.versions[:] = [version]

    return change
