"""The data flow of one ensemble, followed as the server does, with every fault instead of the first.

Source: core/src/model_config_utils.cc (BuildEnsembleGraph, ValidateEnsembleSchedulingConfig) and
core/src/ensemble_scheduler/ensemble_utils.cc (ValidateEnsembleConfig), r24.10; unchanged in r26.06.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from triton_pyb.check.finding import Place, printable
from triton_pyb.check.model import Model, dims_text
from triton_pyb.config.pbtxt import Entry, Message
from triton_pyb.runtime.errors import did_you_mean

if TYPE_CHECKING:
    from triton_pyb.check.repository import Repository


@dataclass
class Fault:
    """One fault; `kind` decides which rule reports it."""

    kind: str
    where: Entry | Message | None
    values: dict[str, Any]
    tensor: str = ""
    sink: str = ""
    related: tuple[tuple[str, Place], ...] = ()


@dataclass
class Declared:
    """A tensor as a model declares it."""

    name: str
    type: Any
    dims: list[int]
    optional: bool = False
    place: Place | None = None


@dataclass
class StepModel:
    """What the ensemble may know of the model of a step; `inputs` is None when the model completes itself."""

    name: str
    max_batch_size: int
    decoupled: bool
    inputs: list[Declared] | None
    outputs: list[Declared] | None


@dataclass
class Node:
    """The first mention of a tensor: every later one is compared with it."""

    model: str
    batching: bool
    declared: Declared

    @property
    def full_dims(self) -> list[int]:
        return ([-1] if self.batching else []) + self.declared.dims


@dataclass
class Step:
    index: int
    entry: Entry
    name: str
    inputs: dict[str, Entry] = field(default_factory=dict)
    outputs: dict[str, Entry] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return self.name or f"step {self.index}"


class EnsembleGraph:
    """The steps of an ensemble and the tensors between them."""

    def __init__(self, model: Model) -> None:
        self.model = model
        config = model.config
        self.inputs: dict[str, Message] = {t["name"]: t for t in config["input"]}
        self.outputs: dict[str, Message] = {t["name"]: t for t in config["output"]}
        scheduling = config["ensemble_scheduling"]
        self.steps = [
            Step(
                index,
                entry,
                entry.value["model_name"],
                entry.value.map("input_map"),
                entry.value.map("output_map"),
            )
            for index, entry in enumerate(scheduling.entries.get("step", ()) if scheduling is not None else ())
        ]

    # -- the ensemble alone -------------------------------------------------------------------------------

    def faults_alone(self) -> list[Fault]:
        """What the server finds when it polls."""
        faults: list[Fault] = []
        scheduling = self.model.config.entry("ensemble_scheduling")
        if not self.steps:
            return [Fault("no-steps", scheduling, {})]
        for step in self.steps:
            for field_name in ("model_name", "input_map", "output_map"):
                if not step.entry.value[field_name]:
                    faults.append(Fault("incomplete-step", step.entry, {"field": field_name, "step": step.index}))
        faults += self._written_twice()
        if any(fault.kind == "incomplete-step" for fault in faults):
            return faults
        return faults + self._flow()

    def writers(self) -> dict[str, list[tuple[Step, str, Entry]]]:
        """Tensor -> who writes it."""
        found: dict[str, list[tuple[Step, str, Entry]]] = {}
        for step in self.steps:
            for key, entry in step.outputs.items():
                found.setdefault(entry.value, []).append((step, key, entry))
        return found

    def readers(self) -> dict[str, list[tuple[Step, str, Entry]]]:
        """Tensor -> who reads it."""
        found: dict[str, list[tuple[Step, str, Entry]]] = {}
        for step in self.steps:
            for key, entry in step.inputs.items():
                found.setdefault(entry.value, []).append((step, key, entry))
        return found

    def _written_twice(self) -> list[Fault]:
        faults = []
        for tensor, writers in self.writers().items():
            for step, key, entry in writers[1:]:
                first = self.model.place(writers[0][2])
                values = {"tensor": tensor, "step": step.index, "source": f"{step.label}.{key}"}
                faults.append(Fault("written-twice", entry, values, tensor, related=(("first written here", first),)))
        return faults

    def _flow(self) -> list[Fault]:
        writers, readers = self.writers(), self.readers()
        ready = self._ready()
        faults: list[Fault] = []
        explained: set[str] = set()
        mentioned = set(writers) | set(readers)
        for name, tensor in self.inputs.items():
            if name not in mentioned:
                hint = did_you_mean(name, [t for t in readers if t not in writers and t not in self.inputs])
                explained |= {t for t in readers if t not in writers}
                faults.append(Fault("input-unused", tensor.entry("name"), {"tensor": name, "hint": hint}, name))
        for name, tensor in self.outputs.items():
            if name not in mentioned:
                loose = [t for t in writers if t not in readers and t not in self.outputs]
                hint = did_you_mean(name, loose)
                explained |= set(loose) if hint else set()
                faults.append(Fault("output-unused", tensor.entry("name"), {"tensor": name, "hint": hint}, name))
            elif name not in ready:
                faults.append(self._not_written(name, tensor, ready, explained))
        for name in sorted(mentioned - set(self.outputs)):
            waiting = name not in ready
            if (waiting and any(f.kind in ("not-written", "input-unused") for f in faults)) or name in explained:
                continue
            if waiting or name not in readers:
                entry = (writers.get(name) or readers[name])[0][2]
                faults.append(Fault("tensor-unused", entry, {"tensor": name, "waiting": waiting}, name))
        return faults

    def _ready(self) -> set[str]:
        """Tensors that come to exist, given the inputs.  A tensor of a step needs all inputs of the step."""
        needs: dict[str, set[str]] = {}
        for step in self.steps:
            sources = {entry.value for entry in step.inputs.values()}
            for entry in step.outputs.values():
                needs.setdefault(entry.value, set()).update(sources)
        ready = {name for name in self.inputs}
        grown = True
        while grown:
            fresh = {name for name, sources in needs.items() if name not in ready and sources <= ready}
            ready |= fresh
            grown = bool(fresh)
        return ready

    def _not_written(self, name: str, tensor: Message, ready: set[str], explained: set[str]) -> Fault:
        writers = self.writers()
        path, current, seen = "", name, set[str]()
        while True:
            sources = [entry.value for step, _, _ in writers.get(current, ()) for entry in step.inputs.values()]
            following = next((s for s in sources if s not in ready and s not in seen), None)
            if following is None:
                break
            seen.add(following)
            path = current = following
        path = "" if path == name else path
        where = tensor.entry("name")
        readers = self.readers().get(current, [])
        hint = ""
        unwritten = current not in writers and current not in self.inputs
        if unwritten:
            loose = [t for t in writers if t not in self.readers() and t not in self.outputs]
            loose += [t for t in self.inputs if t not in self.readers()]
            hint = did_you_mean(current, loose)
            explained |= set(loose)
            if readers:
                where = readers[0][2]
        tail = f": at least one of its depending tensors, '{path}', is not connected" if path else ""
        values = {
            "output": name,
            "tensor": current,
            "hint": hint,
            "tail": tail,
            "why": "nothing writes it" if unwritten else "its steps wait for each other",
        }
        return Fault("not-written", where, values, current)

    # -- against the models of its steps ------------------------------------------------------------------

    def faults_together(self, repository: Repository) -> list[Fault]:
        """What the server finds when the models of the steps are loaded."""
        faults: list[Fault] = []
        nodes: dict[str, Node] = {}
        config, name = self.model.config, self.model.name
        batching = self.model.max_batch_size > 0
        for kind in ("input", "output"):
            for tensor in config[kind]:
                dims = tensor["reshape"]["shape"] if "reshape" in tensor else tensor["dims"]
                place = self.model.place(tensor)
                declared = Declared(tensor["name"], tensor["data_type"], list(dims), place=place)
                nodes.setdefault(tensor["name"], Node(name, batching, declared))
        decoupled: dict[int, bool] = {}
        for step in self.steps:
            found = step_model(repository, step.name)
            if found is None:
                continue
            decoupled[step.index] = found.decoupled
            if 0 < found.max_batch_size < self.model.max_batch_size:
                values = {
                    "most": self.model.max_batch_size,
                    "step": step.name,
                    "step_most": found.max_batch_size,
                }
                related = _config_place(repository, step.name, "max_batch_size")
                where = config.entry("max_batch_size")
                faults.append(Fault("batch-limit", where, values, related=related))
            if found.inputs is not None:
                faults += self._step_inputs(step, found, found.inputs, nodes)
            if found.outputs is not None:
                faults += self._step_outputs(step, found, found.outputs, nodes)
        return faults + self._decoupled(decoupled)

    def _step_inputs(self, step: Step, found: StepModel, inputs: list[Declared], nodes: dict[str, Node]) -> list[Fault]:
        faults = []
        names = [declared.name for declared in inputs]
        for key, entry in step.inputs.items():
            if key not in names:
                values = {
                    "key": key,
                    "tensor": entry.value,
                    "step": step.name,
                    "hint": did_you_mean(key, [n for n in names if n not in step.inputs]),
                    "known": ", ".join(names) or "none",
                }
                faults.append(Fault("no-such-input", entry, values, entry.value, f"{step.label}.{key}"))
        for declared in inputs:
            mapped = step.inputs.get(declared.name)
            if mapped is not None:
                faults += self._consistent(nodes, mapped, Node(step.name, found.max_batch_size > 0, declared), step)
            elif not declared.optional:
                values = {"key": declared.name, "step": step.name}
                related = (("the input", declared.place),) if declared.place is not None else ()
                faults.append(Fault("input-not-mapped", step.entry, values, "", related=related))
        return faults

    def _step_outputs(
        self, step: Step, found: StepModel, outputs: list[Declared], nodes: dict[str, Node]
    ) -> list[Fault]:
        faults = []
        names = [declared.name for declared in outputs]
        for key, entry in step.outputs.items():
            if key not in names:
                values = {
                    "key": key,
                    "tensor": entry.value,
                    "step": step.name,
                    "hint": did_you_mean(key, [n for n in names if n not in step.outputs]),
                    "known": ", ".join(names) or "none",
                }
                faults.append(Fault("no-such-output", entry, values, entry.value, f"{step.label}.{key}"))
        for declared in outputs:
            mapped = step.outputs.get(declared.name)
            if mapped is not None:
                faults += self._consistent(nodes, mapped, Node(step.name, found.max_batch_size > 0, declared), step)
        return faults

    def _consistent(self, nodes: dict[str, Node], mapped: Entry, node: Node, step: Step) -> list[Fault]:
        first = nodes.setdefault(mapped.value, node)
        if first is node:
            return []
        sink = f"{step.label}.{node.declared.name}"
        values = {
            "tensor": mapped.value,
            "first": first.model,
            "second": node.model,
            "key": node.declared.name,
        }
        related = _both_ends(first, node)
        if first.declared.type != node.declared.type:
            values |= {
                "first_type": _type_name(first.declared.type),
                "second_type": _type_name(node.declared.type),
            }
            return [Fault("type", mapped, values, mapped.value, sink, related)]
        if not fits(first.declared.dims, node.declared.dims) and not fits(first.full_dims, node.full_dims):
            values |= {"first_dims": dims_text(first.full_dims), "second_dims": dims_text(node.full_dims)}
            return [Fault("shape", mapped, values, mapped.value, sink, related)]
        return self._surprises(first, node, mapped, values, sink, related)

    def _surprises(
        self, first: Node, node: Node, mapped: Entry, values: dict[str, Any], sink: str, related: Any
    ) -> list[Fault]:
        if first.batching != node.batching and not fits(first.full_dims, node.full_dims):
            values |= {"first_dims": dims_text(first.full_dims), "second_dims": dims_text(node.full_dims)}
            return [Fault("one-row-only", mapped, values, mapped.value, sink, related)]
        pairs = list(zip(first.declared.dims, node.declared.dims, strict=False))
        if node.declared.name in self._keys_reading(mapped) and any(a == -1 and b > 0 for a, b in pairs):
            values |= {"first_dims": dims_text(first.full_dims), "second_dims": dims_text(node.full_dims)}
            return [Fault("varying-into-fixed", mapped, values, mapped.value, sink, related)]
        return []

    def _keys_reading(self, mapped: Entry) -> list[str]:
        return [key for step in self.steps for key, entry in step.inputs.items() if entry is mapped]

    def _decoupled(self, decoupled: dict[int, bool]) -> list[Fault]:
        labels: dict[str, int] = {name: 0 for name in self.inputs}
        faults: list[Fault] = []
        done: set[int] = set()
        grown = True
        count = 0
        while grown:
            grown = False
            for step in self.steps:
                sources = [entry.value for entry in step.inputs.values()]
                if step.index in done or not all(source in labels for source in sources) or not sources:
                    continue
                done.add(step.index)
                grown = True
                found = {labels[source] for source in sources}
                if len(found) > 1:
                    first = next((entry.value for entry in step.outputs.values()), "")
                    who = self.model.name if first in self.outputs else step.name
                    faults.append(Fault("decoupled", step.entry, {"step": step.name, "who": who}))
                label = labels[sources[0]]
                if decoupled.get(step.index):
                    count += 1
                    label = count
                for entry in step.outputs.values():
                    labels.setdefault(entry.value, label)
        for name in self.outputs:  # the ensemble itself is the last step: its outputs must agree too
            labels.setdefault(name, 0)
        if len({labels[name] for name in self.outputs}) > 1 and not faults:
            faults.append(
                Fault(
                    "decoupled",
                    self.model.config.entry("output"),
                    {"step": self.model.name, "who": self.model.name},
                )
            )
        return faults

    # -- the drawing --------------------------------------------------------------------------------------

    def drawing(self, tensor: str = "", sink: str = "") -> str:
        """One line for each edge; the broken one carries ``╳``."""
        writers, readers = self.writers(), self.readers()
        order = [*self.inputs, *(entry.value for step in self.steps for entry in step.outputs.values())]
        order += [*readers, *self.outputs]
        edges = []
        for name in dict.fromkeys(order):
            sources = [f"{step.label}.{key}" for step, key, _ in writers.get(name, [])]
            sources = (["request"] if name in self.inputs else []) + sources or ["(nothing)"]
            sinks = [f"{step.label}.{key}" for step, key, _ in readers.get(name, [])]
            sinks += ["response"] if name in self.outputs else []
            for source in sources:
                for target in sinks or ["(nothing)"]:
                    broken = name == tensor and (not sink or sink in (source, target))
                    edges.append((source, name, target, broken))
        if len(edges) > 60:
            edges = [edge for edge in edges if edge[3]][:60]
        widest = max((len(source) for source, *_ in edges), default=0)
        longest = max((len(name) for _, name, *_ in edges), default=0)
        lines = []
        for source, name, target, broken in edges:
            shaft = f"──{name}──".ljust(longest + 4, "─")
            lines.append(f"{source:>{widest}} {shaft}{'╳─' if broken else '──'}▶ {target}")
        return printable_lines(lines)


def printable_lines(lines: list[str]) -> str:
    return "\n".join(printable(line) for line in lines)


def fits(one: list[int], other: list[int]) -> bool:
    """CompareDimsWithWildcard: same rank, each pair equal or one of them -1."""
    return len(one) == len(other) and all(a == b or -1 in (a, b) for a, b in zip(one, other, strict=False))


def _type_name(data_type: Any) -> str:
    return str(data_type)


def _both_ends(first: Node, node: Node) -> tuple[tuple[str, Place], ...]:
    ends = []
    for end in (first, node):
        if end.declared.place is not None:
            shown = f"{end.model}: {_type_name(end.declared.type)} {dims_text(end.declared.dims)}"
            ends.append((shown, end.declared.place))
    return tuple(ends)


def _config_place(repository: Repository, name: str, field_name: str) -> tuple[tuple[str, Place], ...]:
    model = repository.by_name().get(name)
    entry = model.config.entry(field_name) if model is not None else None
    return ((f"{field_name} of {name}", model.place(entry)),) if model is not None and entry is not None else ()


def step_model(repository: Repository, name: str) -> StepModel | None:
    """The configuration of a step as the server would have it once the model is loaded; None when it is broken."""
    model = repository.by_name().get(name)
    if model is None or name in repository.broken or not model.understood:
        return None
    config = model.config
    policy = config["model_transaction_policy"]
    found = StepModel(
        name,
        model.max_batch_size,
        bool(policy is not None and policy["decoupled"]),
        _declared(model, config["input"]),
        _declared(model, config["output"]),
    )
    if model.is_ensemble:
        steps = EnsembleGraph(model).steps
        inner = [step_model(repository, step.name) for step in steps if step.name != name]
        found.decoupled = any(step is not None and step.decoupled for step in inner)
        return found
    if not model.is_python:
        # The backend completes what is missing from its model file.
        complete = all(t["dims"] and t["data_type"] != "TYPE_INVALID" for t in (*config["input"], *config["output"]))
        known = model.target.strict or model.completed.backend == "pytorch"
        if not (known or complete):
            found.inputs = found.outputs = None
        elif not known:
            found.inputs = found.inputs if found.inputs else None
            found.outputs = found.outputs if found.outputs else None
        return found
    for source in model.sources[:1]:
        completion = source.completion
        if completion is None or completion.bad_types:
            continue
        if not completion.certain:
            found.inputs = found.inputs if found.inputs else None
            found.outputs = found.outputs if found.outputs else None
            if found.max_batch_size == 0:
                found.inputs = found.outputs = None
            continue
        if completion.fault is None and completion.returns_config is not False:
            found.max_batch_size = completion.config["max_batch_size"]
            found.decoupled = bool(completion.config.get("model_transaction_policy", {}).get("decoupled"))
            found.inputs = _completed(found.inputs or [], completion.config["input"])
            found.outputs = _completed(found.outputs or [], completion.config["output"])
    return found


def _declared(model: Model, tensors: list[Message]) -> list[Declared]:
    return [Declared(t["name"], t["data_type"], list(t["dims"]), bool(t["optional"]), model.place(t)) for t in tensors]


def _completed(declared: list[Declared], completed: list[dict[str, Any]]) -> list[Declared]:
    places = {tensor.name: tensor.place for tensor in declared}
    return [
        Declared(
            t["name"],
            str(t["data_type"]).upper(),
            list(t["dims"]),
            bool(t.get("optional")),
            places.get(t["name"]),
        )
        for t in completed
    ]
