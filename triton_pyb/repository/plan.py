"""What a target becomes: its model folders as data, in the order in which they are published."""

from __future__ import annotations

from typing import Any, NamedTuple

from triton_pyb.runtime.pipeline import CoreModel, Pipeline
from triton_pyb.runtime.steps import mark_of

from .core_models import resolve_alone
from .folders import core_folder, ensemble_folder, step_folder
from .graph import Graph, resolve
from .model_folder import ModelFolder
from .target import BuildError

#: For a step that is built alone and says nothing: the pipeline's default.
DEFAULT_MAX_BATCH_SIZE = 8


class Plan(NamedTuple):
    """One pipeline, or one model.

    Attributes
    ----------
    folders : tuple of ModelFolder
        A pipeline's steps first, the ensemble that names them last.
    graph : Graph or None
        The pipeline's.
    joins : bool
        False when the server can never join requests: ``max_batch_size=0``.
    """

    folders: tuple[ModelFolder, ...]
    graph: Graph | None
    joins: bool = True


def make_plans(thing: Any) -> list[Plan]:
    """Resolve a pipeline, a step, a core model, or a list of them.

    Raises
    ------
    BuildError
        When it is none of these, or two models of a list have one name.
    """
    plans = [_plan(item) for item in thing] if isinstance(thing, (list, tuple)) else [_plan(thing)]
    seen: dict[str, ModelFolder] = {}
    found = []
    for plan in plans:
        for folder in plan.folders:
            first = seen.setdefault(folder.name, folder)
            if first.files != folder.files:
                raise BuildError(
                    "TPB426",
                    f"two models are named '{folder.name}': one of {first.source}, one of {folder.source}",
                    "build()",
                    "give one of them another name (name=...)",
                )
        new = tuple(folder for folder in plan.folders if seen[folder.name] is folder or plan.graph is not None)
        if new:
            found.append(plan._replace(folders=new))
    return found


def _plan(thing: Any) -> Plan:
    if isinstance(thing, Pipeline):
        graph = resolve(thing)
        folders = [*_node_folders(graph), ensemble_folder(graph)]
        named = tuple(folder._replace(source=folder.source._replace(pipeline=thing.name)) for folder in folders)
        return Plan(named, graph, thing.max_batch_size > 0)
    if isinstance(thing, CoreModel):
        core = resolve_alone(thing, DEFAULT_MAX_BATCH_SIZE)
        return Plan((core_folder(core, getattr(thing, "config", None)),), None)
    mark = mark_of(thing)
    if mark is None:
        raise BuildError(
            "TPB407",
            f"{thing!r} is neither a pipeline nor a step",
            "build()",
            "decorate the function with @preprocess, @postprocess or @model, or make a Pipeline",
        )
    max_batch_size = DEFAULT_MAX_BATCH_SIZE if mark.max_batch_size is None else mark.max_batch_size
    return Plan((step_folder(mark, thing, max_batch_size=max_batch_size),), None, max_batch_size > 0)


def _node_folders(graph: Graph) -> list[ModelFolder]:
    folders = []
    for node, step in zip(graph.nodes, graph.pipeline.steps, strict=True):
        if node.core is not None:
            folders.append(core_folder(node.core, getattr(step.model, "config", None)))
        elif node.mark is not None:
            folders.append(
                step_folder(
                    node.mark,
                    step.model,
                    max_batch_size=graph.pipeline.max_batch_size,
                    max_queue_delay_microseconds=graph.pipeline.max_queue_delay_microseconds,
                )
            )
    return folders
