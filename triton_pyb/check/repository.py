"""A model repository on disk, read once and defensively: nothing found in it can raise or block."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triton_pyb.check.model import Model
from triton_pyb.check.target import Target

if TYPE_CHECKING:
    from triton_pyb.check.ensemble_graph import Fault


@dataclass
class Repository:
    """One or more ``--model-repository`` folders.

    Attributes
    ----------
    models : list of Model
        One for each sub folder, in the order in which Triton lists them; also for folders that are no
        models, because Triton takes every sub folder for one.
    unreadable : list of (str, str)
        Path and reason.
    broken : dict
        Name of a model that cannot load -> stage and the server's message.
    ensemble_faults : dict
        Name of an ensemble -> what is wrong between it and its steps.
    """

    folders: list[str]
    target: Target
    models: list[Model] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    broken: dict[str, tuple[str, str]] = field(default_factory=dict)
    ensemble_faults: dict[str, list[Fault]] = field(default_factory=dict)

    def by_name(self) -> dict[str, Model]:
        """Name -> model, the first of that name."""
        if not self._by_name:
            self._by_name = {model.name: model for model in reversed(self.models)}
        return self._by_name

    _by_name: dict[str, Model] = field(default_factory=dict)


def open_repository(folders: Iterable[str | os.PathLike[str]], target: Target) -> Repository:
    """List the models of the folders."""
    repository = Repository([os.fspath(folder) for folder in folders], target)
    for folder in repository.folders:
        kind, entries, reason = list_folder(folder)
        if reason:
            repository.unreadable.append((folder, reason))
        for name, is_folder in entries:
            if is_folder:
                repository.models.append(Model(os.path.join(folder, name), name, target))
    return repository


def list_folder(folder: str) -> tuple[str, list[tuple[str, bool]], str]:
    """``("folder", [(name, is_folder)], "")`` sorted as Triton sorts (by bytes), or a reason."""
    entries: list[tuple[str, bool]] = []
    try:
        mode = os.stat(folder).st_mode
        if not stat.S_ISDIR(mode):
            return "file", [], "is not a folder"
        with os.scandir(folder) as listing:
            for entry in listing:
                try:
                    is_folder = entry.is_dir()
                except OSError:
                    is_folder = False
                entries.append((entry.name, is_folder))
    except OSError as error:
        return "missing", [], error.strerror or str(error)
    return "folder", sorted(entries, key=lambda entry: os.fsencode(entry[0])), ""
