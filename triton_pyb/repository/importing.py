"""``triton-pyb import``: hand-written model folders to an application module that can be edited and built again.

Models come along as they are, below ``models/`` beside the module: their ``model.py`` and ``config.pbtxt`` are the
author's, and stay so.  An ensemble becomes a ``Pipeline`` where that gives the same configuration, field by field,
and stays a folder where it would not.
"""

from __future__ import annotations

import keyword
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import text_format

from triton_pyb.config.model_config import ModelConfig
from triton_pyb.config.options import OptionsError
from triton_pyb.runtime.errors import TritonPybError
from triton_pyb.runtime.pipeline import Pipeline

from .config_text import why_unreadable
from .folders import ensemble_folder
from .graph import resolve
from .inspection import model_files, model_folders
from .target import BuildError, load_target


class Imported(NamedTuple):
    """What was written.

    Attributes
    ----------
    module : Path
        ``app.py``.
    target : str
        What `build` takes to write all of it again.
    kept : dict of str to str
        Ensemble that stays a folder -> why.
    unreadable : tuple of str
        ``"FILE:LINE: REASON"`` of every config.pbtxt that cannot be read, and so cannot be built before it is mended.
    """

    module: Path
    target: str
    models: tuple[str, ...]
    kept: dict[str, str]
    unreadable: tuple[str, ...] = ()


def import_folder(place: Path, into: Path) -> Imported:
    """Read a model folder or a repository, and write an application into `into`.

    Raises
    ------
    BuildError
        When `place` holds no model folder, or `into` is not empty.
    """
    folders = model_folders(place)
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise BuildError("TPB470", f"'{into}' is not empty", "--into", "name a folder that is empty or does not exist")
    into.mkdir(parents=True, exist_ok=True)
    for folder in folders:
        _copy(folder, into / "models" / folder.name)
    module = into / "app.py"
    ensembles = {folder.name: config for folder in folders if (config := _ensemble_of(folder)) is not None}
    kept = {
        step.model_name: f"it is a step of '{name}'"
        for name, config in ensembles.items()
        for step in config.ensemble_scheduling.step
        if step.model_name in ensembles
    }
    for name, config in ensembles.items():
        module.write_text(_module_text(folders, {name: config}), encoding="utf-8")
        why = "" if name in kept else _differs(module, name, config)
        if why:
            kept[name] = why
    pipelines = {name: config for name, config in ensembles.items() if name not in kept}
    module.write_text(_module_text(folders, pipelines), encoding="utf-8")
    for name in ensembles:
        if name not in kept:
            shutil.rmtree(into / "models" / name)
    copies = [into / "models" / folder.name / "config.pbtxt" for folder in folders]
    return Imported(
        module,
        f"{module}:repository",
        tuple(folder.name for folder in folders),
        kept,
        tuple(filter(None, map(why_unreadable, copies))),
    )


def _copy(folder: Path, place: Path) -> None:
    for name, path in model_files(folder).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place / name)
    for entry in folder.iterdir():
        if entry.is_dir() and not any(entry.iterdir()):
            (place / entry.name).mkdir(parents=True)


def _ensemble_of(folder: Path) -> Any:
    """The configuration of an ensemble; None for other models, and for one with fields that are not known here."""
    try:
        config = text_format.Parse((folder / "config.pbtxt").read_text(encoding="utf-8"), ModelConfig())
    except (OSError, UnicodeDecodeError, text_format.ParseError):
        return None
    return config if config.ensemble_scheduling.step else None


# ---- the module


def _module_text(folders: Sequence[Path], ensembles: dict[str, Any]) -> str:
    names = _identifiers(folder.name for folder in folders)
    words = {"ExistingModel"} if len(ensembles) < len(folders) else set()
    words |= {"Pipeline", "Step"} if ensembles else set()
    blocks = [
        f'{names[folder.name]} = ExistingModel("models/{folder.name}")'
        for folder in folders
        if folder.name not in ensembles
    ]
    extra = False
    for name, config in ensembles.items():
        text = _pipeline_text(name, config, names)
        extra = extra or "ModelOptions" in text
        blocks.append(text)
    head = ['"""Models of a repository, as they were; edit them below models/, and the pipelines here."""', ""]
    head += ["from __future__ import annotations", ""]
    head += [f"from triton_pyb import {', '.join(sorted(words))}"]
    if extra:
        head += ["from triton_pyb.runtime.model_options import ModelOptions"]
    listed = ", ".join(names[folder.name] for folder in folders)
    return "\n".join([*head, "", *blocks, "", f"repository = [{listed}]", ""])


def _identifiers(folders: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in folders:
        word = re.sub(r"\W", "_", name)
        word = f"model_{word}" if not word or word[0].isdigit() else word
        while word in found.values() or keyword.iskeyword(word) or word in ("repository", "Pipeline", "Step"):
            word += "_"
        found[name] = word
    return found


def _pipeline_text(name: str, config: Any, names: dict[str, str]) -> str:
    steps = _in_order(config)
    first = set(steps[0].input_map.values())
    lines = [f"{names[name]} = Pipeline(", f"    {name!r},", "    ["]
    for step in steps:
        maps = f"input_map={_mapping(step.input_map)}, output_map={_mapping(step.output_map)}"
        lines.append(f"        Step({names.get(step.model_name, step.model_name)}, {maps}),")
    lines += ["    ],", f"    max_batch_size={config.max_batch_size},"]
    later = [tensor.name for tensor in config.input if tensor.name not in first]
    if later:
        lines.append(f"    inputs={later!r},")
    lines.append(f"    outputs={[tensor.name for tensor in config.output]!r},")
    rest = _rest(config)
    if rest:
        lines.append(f"    config=ModelOptions(config_extra={rest!r}),")
    return "\n".join([*lines, ")"])


def _mapping(entries: Any) -> str:
    return "{" + ", ".join(f"{key!r}: {entries[key]!r}" for key in sorted(entries)) + "}"


def _in_order(config: Any) -> list[Any]:
    """Steps so that each one takes what those before it, or the client, give."""
    known = {tensor.name for tensor in config.input}
    waiting, ordered = list(config.ensemble_scheduling.step), []
    while waiting:
        ready = next((step for step in waiting if known.issuperset(step.input_map.values())), waiting[0])
        waiting.remove(ready)
        ordered.append(ready)
        known |= set(ready.output_map.values())
    return ordered


def _rest(config: Any) -> str:
    """What no argument of Pipeline says, in the text format."""
    rest = type(config)()
    rest.CopyFrom(config)
    for name in ("name", "platform", "backend", "max_batch_size", "input", "output"):
        rest.ClearField(name)
    del rest.ensemble_scheduling.step[:]
    if not rest.ensemble_scheduling.ListFields():
        rest.ClearField("ensemble_scheduling")
    return str(text_format.MessageToString(rest, as_utf8=True, as_one_line=True))


# ---- is it the same?


def _differs(module: Path, name: str, config: Any) -> str:
    """Why the pipeline would not give this configuration; empty when it does."""
    try:
        for made in load_target(f"{module}:repository"):
            if isinstance(made, Pipeline) and made.name == name:
                built = ensemble_folder(resolve(made)).config()
                return _first_difference(_normal(config, name), _normal(built, name))
    except (TritonPybError, OptionsError) as error:
        return error.what
    return "the module does not hold it"


def _normal(config: Any, name: str) -> Any:
    """Where the order of steps, and a name that the folder says anyway, make no difference."""
    copy = type(config)()
    copy.CopyFrom(config)
    copy.name = name
    steps = sorted(copy.ensemble_scheduling.step, key=lambda step: step.SerializeToString(deterministic=True))
    del copy.ensemble_scheduling.step[:]
    copy.ensemble_scheduling.step.extend(steps)
    return copy


def _first_difference(wanted: Any, built: Any) -> str:
    for field in wanted.DESCRIPTOR.fields:
        old, new = getattr(wanted, field.name), getattr(built, field.name)
        if old != new and field.name == "ensemble_scheduling":
            pins = [f"{step.model_name} {step.model_version}" for step in old.step if step.model_version != -1]
            if pins:
                return f"it names versions of its steps ({', '.join(pins)}), which a Pipeline does not"
        if old != new:
            shown = " ".join(str(old).split()), " ".join(str(new).split())
            return f"{field.name} would become {_short(shown[1])} instead of {_short(shown[0])}"
    return ""


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
