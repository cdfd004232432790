"""What can be served: folders as they lie, decorated functions and pipelines after they were built.

Building is a floor above this one. It registers itself: the entry point group ``triton_pyb.builders`` names
functions ``build(target, repository)`` that write model folders and return an object with ``entry``, the
model a client calls: ``repository`` writes whole ones, ``inline`` configurations for functions of this process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from triton_pyb.runtime.adapter import triton_python_model
from triton_pyb.runtime.errors import TritonPybError
from triton_pyb.runtime.pipeline import Pipeline
from triton_pyb.runtime.steps import mark_of

Builder = Callable[[Any, Path], Any]

_registered: list[Builder] = []


class EmulatorMisused(TritonPybError):
    """The emulator was asked for something that makes no sense."""


@dataclass
class Served:
    """A target as folders on disk.

    Attributes
    ----------
    only : list of str
        The models to load, when not everything in `repositories` is meant.
    factories : dict
        Model name to what makes its `TritonPythonModel` in this process.
    entry : str
        The model a client calls, where there is one.
    temporary : TemporaryDirectory
        Holds what was built for the occasion.
    """

    repositories: list[Path]
    only: list[str] = field(default_factory=list)
    factories: dict[str, Callable[[], object]] = field(default_factory=dict)
    entry: str = ""
    temporary: tempfile.TemporaryDirectory[str] | None = None


def register_builder(builder: Builder) -> None:
    """Make `builder` the one that turns pipelines and functions into folders, in place of the entry point's."""
    _registered[:] = [builder]


def resolve(target: Any, inline: bool | None) -> Served:
    """Folders for `target`: a repository, a model's folder, a list of them, or something to build.

    Parameters
    ----------
    inline : bool or None
        Whether built functions run in this process; None means yes.
    """
    __tracebackhide__ = True  # pytest then shows the test, the author's lines and the message
    if isinstance(target, (str, Path)) and Path(target).suffix == ".py" and not Path(target).is_dir():
        return _built(str(target), inline is not False)  # an application with one pipeline, or one step
    paths = target if isinstance(target, (list, tuple)) else [target]
    if all(isinstance(path, (str, Path)) and ":" not in Path(path).name for path in paths):
        return _folders([Path(path) for path in paths])
    return _built(target, inline is not False)


def _folders(paths: list[Path]) -> Served:
    served = Served([])
    for path in paths:
        path = path.resolve()
        if not path.is_dir():
            raise EmulatorMisused(
                "TPB561",
                f"'{path}' is no folder",
                "EmulatedTriton",
                "pass a model repository or a model's folder",
            )
        if _is_model_folder(path):
            served.only.append(path.name)
            path = path.parent
        if path not in served.repositories:
            served.repositories.append(path)
    if len(served.only) == 1 == len(paths):
        served.entry = served.only[0]
    return served


def _is_model_folder(path: Path) -> bool:
    if (path / "config.pbtxt").is_file():
        return True
    versions = [entry for entry in path.iterdir() if entry.name.isdigit() and entry.is_dir()]
    return any(any(version.glob("model.*")) for version in versions)


def _built(target: Any, inline: bool) -> Served:
    __tracebackhide__ = True
    factories = _factories(target) if inline else {}
    builder = _builder("inline" if factories else "repository")
    folder = tempfile.TemporaryDirectory(prefix="triton_pyb_")
    try:
        built = builder(target, Path(folder.name))
    except BaseException:
        folder.cleanup()
        raise
    return Served([Path(folder.name)], factories=factories, entry=built.entry, temporary=folder)


def _factories(target: Any) -> dict[str, Callable[[], object]]:
    steps = [step.model for step in target.steps] if isinstance(target, Pipeline) else [target]
    marks = [(mark_of(step), step) for step in steps]
    return {mark.name: triton_python_model(step) for mark, step in marks if mark is not None}


def _builder(name: str) -> Builder:
    if _registered:
        return _registered[0]
    for point in entry_points(group="triton_pyb.builders", name=name):
        builder: Builder = point.load()
        return builder
    raise EmulatorMisused(
        "TPB564",
        "nothing here can build model folders from a function or a pipeline",
        "EmulatedTriton",
        "install triton_pyb with pip, or build first and pass the repository",
    )
