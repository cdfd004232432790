"""Model folders for an emulator that calls the functions in this process: configurations, and no code.

So a step may be local to a test, or stand in a module that cannot travel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from triton_pyb.config.model_config import to_pbtxt
from triton_pyb.runtime.errors import TritonPybError
from triton_pyb.runtime.pipeline import Pipeline
from triton_pyb.runtime.steps import StepMark, mark_of

from .folders import config_of_step, core_folder, ensemble_folder
from .graph import resolve
from .model_folder import ModelFolder
from .plan import DEFAULT_MAX_BATCH_SIZE
from .source import Source
from .target import load_target

_NO_CODE = b"raise ImportError('this folder holds a configuration alone: its step runs in the process that made it')\n"


class Inline(NamedTuple):
    """What was written; `entry` is the model a client calls."""

    entry: str


def build_inline(target: Any, folder: Path) -> Inline:
    """Write the configurations of a pipeline or a step below `folder`.

    Raises
    ------
    TritonPybError
        When anything is wrong with the declaration or a model file.
    """
    thing = load_target(target) if isinstance(target, str) else target
    folders = _pipeline(thing) if isinstance(thing, Pipeline) else [_step(thing)]
    for model in folders:
        model.write(folder / model.name)
        (folder / model.name / model.version).mkdir(exist_ok=True)  # an ensemble has nothing in it
    return Inline(folders[-1].name)


def _pipeline(pipeline: Pipeline) -> list[ModelFolder]:
    graph = resolve(pipeline)
    delay = pipeline.max_queue_delay_microseconds
    folders = [
        core_folder(node.core, getattr(step.model, "config", None))
        if node.core is not None
        else _step(step.model, pipeline.max_batch_size, delay)
        for node, step in zip(graph.nodes, pipeline.steps, strict=True)
    ]
    return [*folders, ensemble_folder(graph)]


def _step(step: Any, max_batch_size: int | None = None, delay: int = 0) -> ModelFolder:
    mark: StepMark | None = mark_of(step)
    if mark is None:
        raise TritonPybError(
            "TPB407",
            f"{step!r} is neither a pipeline nor a step",
            "EmulatedTriton",
            "decorate the function with @preprocess, @postprocess or @model, or make a Pipeline",
        )
    said = mark.max_batch_size if max_batch_size is None else max_batch_size
    config = config_of_step(mark, DEFAULT_MAX_BATCH_SIZE if said is None else said, delay)
    files = {"config.pbtxt": to_pbtxt(config).encode(), "1/model.py": _NO_CODE}
    return ModelFolder(mark.name, dict(files), Source("inline", mark.name))
