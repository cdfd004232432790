"""``app.py:pipeline`` or ``package.module:pipeline`` -> the object, leaving no trace in this process."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from triton_pyb.runtime.errors import TritonPybError, did_you_mean
from triton_pyb.runtime.pipeline import CoreModel, Pipeline
from triton_pyb.runtime.steps import mark_of

_PACKAGE = str(Path(__file__).parents[1]) + os.sep


class BuildError(TritonPybError):
    """A model repository cannot be built; nothing was written."""


def load_target(target: str) -> Any:
    """Import the module of `target` and take the named pipeline or step out of it.

    Parameters
    ----------
    target : str
        ``"path/to/app.py:pipeline"`` or ``"package.module:pipeline"``; without a name the module's only
        pipeline, or its only step.

    Raises
    ------
    BuildError
        When the module cannot be imported, or holds nothing of that name.
    """
    __tracebackhide__ = True  # pytest then shows the test, the author's lines and the message
    source, colon, name = _divide(target)
    is_file = source.endswith(".py") or os.sep in source or Path(source).is_file()
    if is_file and not Path(source).is_file():
        raise BuildError("TPB401", f"no such file: '{source}'", f"target {target!r}", "correct the path")
    if is_file and not Path(source).stem.isidentifier():
        raise BuildError(
            "TPB429",
            f"'{Path(source).name}' cannot be imported by this name",
            f"target {target!r}",
            "rename the file: a module's name has letters, digits and '_', and begins with no digit",
        )
    with _importing(Path(source).resolve() if is_file else None):
        module_name = Path(source).stem if is_file else source
        try:
            module = importlib.import_module(module_name)
        except KeyboardInterrupt:
            raise
        except TritonPybError as error:
            raise error.with_traceback(_authors_part(error.__traceback__)) from None
        except BaseException as error:
            where = f"target {target!r}, {_place(error)}"
            error.__traceback__ = _authors_part(error.__traceback__)
            raise BuildError(
                "TPB402",
                f"'{source}' cannot be imported: {type(error).__name__}: {error}",
                where,
                "correct the module; it must import on this machine",
            ) from error
    return _named(vars(module), name, target) if colon else _only(vars(module), target)


def _divide(target: str) -> tuple[str, str, str]:
    """Split at the last colon, but not the one of a Windows drive."""
    source, colon, name = target.rpartition(":")
    if not colon or os.sep in name or name.endswith(".py"):
        return target, "", ""
    return source, colon, name


def _named(names: dict[str, Any], name: str, target: str) -> Any:
    usable = _usable(names)
    if name not in names:
        raise BuildError(
            "TPB403",
            f"the module has no '{name}'{did_you_mean(name, usable or names)}",
            f"target {target!r}",
            f"it has {', '.join(map(repr, usable)) or 'no pipeline and no step'}",
        )
    if name not in usable and not _is_core_or_list(names[name]):
        raise BuildError(
            "TPB403",
            f"'{name}' is {type(names[name]).__name__}, neither a pipeline nor a step",
            f"target {target!r}",
            f"the module has {', '.join(map(repr, usable)) or 'no pipeline and no step'}",
        )
    return names[name]


def _is_core_or_list(value: Any) -> bool:
    """What can be built when it is named: a core model, or a list of things to build."""
    if isinstance(value, (list, tuple)) and value:
        return all(isinstance(item, (Pipeline, CoreModel)) or mark_of(item) is not None for item in value)
    return isinstance(value, CoreModel)


def _only(names: dict[str, Any], target: str) -> Any:
    usable = _usable(names)
    pipelines = {name: value for name, value in usable.items() if isinstance(value, Pipeline)}
    choice = pipelines or usable
    if len(choice) != 1:
        raise BuildError(
            "TPB403",
            f"the module has {len(choice) or 'no'} pipelines or steps to choose from",
            f"target {target!r}",
            f"name one: {', '.join(f'{target}:{name}' for name in choice) or 'declare a Pipeline in it'}",
        )
    return next(iter(choice.values()))


def _usable(names: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in names.items() if isinstance(value, Pipeline) or mark_of(value) is not None}


@contextlib.contextmanager
def _importing(path: Path | None) -> Iterator[None]:
    """Import from the folder of `path` (or from the working folder) as ``python app.py`` would.

    Two applications may both be called ``app``, and their helpers alike: what was imported from the folder is
    taken out of ``sys.modules`` again, and what stood there before comes back.
    """
    here = os.getcwd()
    folder = str(path.parent) if path is not None else here
    saved_path, saved_modules = list(sys.path), dict(sys.modules)
    sys.path.insert(0, folder)
    if path is not None:
        local = {entry.stem if entry.suffix == ".py" else entry.name for entry in path.parent.iterdir()}
        for name in [name for name in sys.modules if name.partition(".")[0] in local]:
            if not _lies_in(sys.modules[name], folder):
                del sys.modules[name]
    importlib.invalidate_caches()
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what an application prints is no output of ours
            yield
    finally:
        os.chdir(here)
        sys.path[:] = saved_path
        for name, module in list(sys.modules.items()):
            if saved_modules.get(name) is not module and _is_the_authors(name, module, folder):
                del sys.modules[name]
        for name, module in saved_modules.items():
            sys.modules.setdefault(name, module)


def _is_the_authors(name: str, module: Any, folder: str) -> bool:
    """What may be imported anew next time: not this package, nor one of an environment inside the folder."""
    ours = name.partition(".")[0] == "triton_pyb"
    return not ours and _lies_in(module, folder) and "site-packages" not in str(module.__file__)


def _lies_in(module: Any, folder: str) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and os.path.abspath(file).startswith(folder.rstrip(os.sep) + os.sep)


def _authors_part(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this package and of the import system."""
    frames = []
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith((_PACKAGE, "<frozen")) and os.sep + "importlib" + os.sep not in file:
            frames.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


def _place(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    step = error.__traceback__
    places = []
    while step is not None:
        places.append(f"{step.tb_frame.f_code.co_filename}:{step.tb_lineno}")
        step = step.tb_next
    library = os.path.dirname(os.__file__) + os.sep
    ours = [
        place
        for place in places
        if not place.startswith((library, "<frozen")) and "site-packages" not in place and "importlib" not in place
    ]
    return ours[-1] if ours else "?"
