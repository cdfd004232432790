"""Which ensembles can be put together, in the order in which the server tries."""

from __future__ import annotations

from triton_pyb.check.ensemble_graph import EnsembleGraph, Fault, Step
from triton_pyb.check.repository import Repository
from triton_pyb.runtime.errors import did_you_mean


def resolve_ensembles(repository: Repository) -> None:
    """Fill ``repository.ensemble_faults`` and mark the ensembles that cannot work as broken.

    Source: core/src/model_repository_manager/model_repository_manager.cc (CheckDependencies, CircularityCheck), r24.10.
    """
    for model in repository.models:
        if "ensemble" in model.facts and "config" in model.facts:
            _resolve(repository, model.name, [])


def _resolve(repository: Repository, name: str, above: list[str]) -> None:
    if name in repository.ensemble_faults or name in above:
        return
    model = repository.by_name()[name]
    graph = EnsembleGraph(model)
    faults: list[Fault] = []
    for step in graph.steps:
        faults += _step_faults(repository, name, step, above)
    if not faults:
        faults = graph.faults_together(repository)
    repository.ensemble_faults[name] = faults
    serious = [fault for fault in faults if fault.kind not in ("one-row-only", "varying-into-fixed")]
    if serious:
        repository.broken.setdefault(name, ("dependency", ""))


def _step_faults(repository: Repository, name: str, step: Step, above: list[str]) -> list[Fault]:
    models = repository.by_name()
    where = step.entry.value.entry("model_name") or step.entry
    circle = _circle(repository, step.name, name, set())
    if circle:
        values = {
            "path": " -> ".join([name, *circle]),
            "said_path": f"{name} -> ... -> {[name, *circle][-2]} -> {name}",
        }
        return [Fault("circular", where, values)]
    if step.name not in models:
        hint = did_you_mean(step.name, [other for other in models if other != name])
        values = {"step": step.name, "why": "is not in the repository", "hint": hint}
        values["repair"] = "name a model of this repository, or add this one"
        return [Fault("model-missing", where, values)]
    if models[step.name].is_ensemble:
        _resolve(repository, step.name, [*above, name])
    stage, error = repository.broken.get(step.name, ("", ""))
    if stage == "poll":
        values = {"step": step.name, "why": "cannot be read", "hint": ""}
        values["repair"] = f"repair '{step.name}' first: its own findings say how"
        return [Fault("model-missing", where, values)]
    if stage == "dependency":
        return [Fault("inner-broken", where, {"step": step.name, "error": error})]
    if stage:
        values = {"step": step.name, "error": error}
        if stage in ("hang", "crash"):
            values["stage"] = stage  # the server never comes to the ensemble
        return [Fault("model-broken", where, values)]
    return _version_fault(repository, step)


def _circle(repository: Repository, start: str, goal: str, seen: set[str]) -> list[str]:
    """The way from `start` back to `goal` through ensembles, both included, or an empty list."""
    if start == goal:
        return [goal]
    model = repository.by_name().get(start)
    if model is None or start in seen or "ensemble_scheduling" not in model.config:
        return []
    seen.add(start)
    for step in EnsembleGraph(model).steps:
        rest = _circle(repository, step.name, goal, seen)
        if rest:
            return [start, *rest]
    return []


def _version_fault(repository: Repository, step: Step) -> list[Fault]:
    wanted = step.entry.value["model_version"]
    loaded = [version.number for version in repository.by_name()[step.name].selected_versions]
    if wanted == -1 or wanted in loaded:
        return []
    given = step.entry.value.entry("model_version")
    values = {
        "step": step.name,
        "version": wanted,
        "why": "" if given is not None else " (model_version is left out, which means 0)",
        "loaded": ", ".join(map(str, loaded)),
        "or_policy": ", or load it with a version_policy" if given is not None else "",
    }
    return [Fault("version-missing", given or step.entry, values)]
