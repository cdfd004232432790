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
    steps : frozenset of str
        Models that nobody asked about: an ensemble that was asked about needs them.
    alone : frozenset of str
        Those of `folders` of which single models were asked about, not the folder as a whole.
    """

    folders: list[str]
    target: Target
    models: list[Model] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    broken: dict[str, tuple[str, str]] = field(default_factory=dict)
    ensemble_faults: dict[str, list[Fault]] = field(default_factory=dict)
    steps: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()

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


def open_paths(paths: Iterable[str], target: Target) -> Repository:
    """Open repositories and folders of single models; an ensemble brings its steps along."""
    named: dict[str, set[str]] = {}  # an empty set: all models of the folder
    for path in paths:
        folder, name = _parent_and_name(path) if is_model_folder(path) else (path, "")
        known = named.setdefault(folder, {name} if name else set())
        if known and name:
            known.add(name)
        elif known:
            known.clear()
    repository = open_repository(named, target)
    repository.alone = frozenset(folder for folder, names in named.items() if names)
    if not repository.alone:
        return repository
    asked = {os.path.join(folder, name) for folder, names in named.items() for name in names}
    whole = tuple(os.path.join(folder, "") for folder, names in named.items() if not names)
    queue = [model for model in repository.models if model.path in asked or model.path.startswith(whole)]
    needed = {model.path: model for model in queue}
    while queue:
        scheduling = queue.pop().config["ensemble_scheduling"]
        for step in scheduling["step"] if scheduling is not None else ():
            model = repository.by_name().get(step["model_name"])
            if model is not None and model.path not in needed:
                needed[model.path] = model
                queue.append(model)
                repository.steps |= {model.name}
    repository.models = [model for model in repository.models if model.path in needed]
    repository._by_name.clear()
    return repository


def is_model_folder(path: str) -> bool:
    """True for the folder of one model: config.pbtxt, or a version with its model file, lies directly in it."""
    _, entries, _ = list_folder(path)
    folders = [os.path.join(path, name) for name, is_folder in entries if is_folder]
    if any(os.path.isfile(os.path.join(folder, "config.pbtxt")) for folder in folders):
        return False  # a repository, whatever else lies in it
    if ("config.pbtxt", False) in entries:
        return True
    versions = [folder for folder in folders if os.path.basename(folder).isdigit()]
    return any(name.startswith("model.") for version in versions for name, _ in list_folder(version)[1])


def _parent_and_name(path: str) -> tuple[str, str]:
    """The repository of a model folder, spelled as the path is, and the model."""
    path, name = os.path.normpath(path), os.path.basename(os.path.abspath(path))
    if os.path.basename(path) == name:
        return os.path.dirname(path) or os.curdir, name
    return os.path.normpath(os.path.join(path, os.pardir)), name  # "." and ".."


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
