"""The graph of a pipeline: which tensor of which model feeds which, checked with both ends named."""

from __future__ import annotations

from typing import NamedTuple

from triton_pyb.config.model_config import TensorConfig
from triton_pyb.runtime.errors import SeveralErrors, TritonPybError, did_you_mean, nearest
from triton_pyb.runtime.pipeline import Pipeline, Step
from triton_pyb.runtime.steps import StepMark, mark_of

from .core_models import GraphError, ResolvedCore, resolve_core

__all__ = ["Graph", "GraphError", "Node", "resolve"]


class SeveralGraphErrors(SeveralErrors, GraphError):
    """Several things in one pipeline do not fit."""


class Node(NamedTuple):
    """One model of the pipeline.

    Attributes
    ----------
    input_map, output_map : dict of str to str
        The model's tensor -> the pipeline's tensor; an output that nobody takes has no entry.
    """

    name: str
    inputs: tuple[TensorConfig, ...]
    outputs: tuple[TensorConfig, ...]
    mark: StepMark | None
    core: ResolvedCore | None
    where: str
    input_map: dict[str, str]
    output_map: dict[str, str]


class Graph(NamedTuple):
    """A pipeline whose models fit together; `inputs` and `outputs` are those of the ensemble."""

    pipeline: Pipeline
    nodes: tuple[Node, ...]
    inputs: tuple[TensorConfig, ...]
    outputs: tuple[TensorConfig, ...]


class _Source(NamedTuple):
    """Where a tensor of the pipeline comes from: a node, or the client (None)."""

    node: Node | None
    tensor: TensorConfig

    def __str__(self) -> str:
        giver = f"'{self.node.name}' gives" if self.node else "the client sends"
        return f"{giver} {self.tensor}"


def resolve(pipeline: Pipeline) -> Graph:
    """Look at the core models' files and wire every step.

    Raises
    ------
    GraphError
        For every model file that cannot be used, every input that nothing gives, every pair of ends whose
        dtype or shape differ, every name that two steps give; several at once come as ``SeveralGraphErrors``.
    """
    nodes = _nodes(pipeline)
    wiring = _Wiring(pipeline)
    for index, node in enumerate(nodes):
        wiring.connect(index, node)
    outputs = wiring.outputs(nodes)
    _raise_all(wiring.errors)
    taken = {name for node in nodes for name in node.input_map.values()} | {tensor.name for tensor in outputs}
    for node in nodes:
        for output in [output for output, tensor in node.output_map.items() if tensor not in taken]:
            del node.output_map[output]  # Triton refuses an ensemble tensor that nobody takes
        if not node.output_map:
            wiring.error(
                "TPB307",
                f"nobody takes any output of step '{node.name}' ({', '.join(map(str, node.outputs))})",
                node.where,
                "leave the step out, or take one of its outputs",
            )
    _raise_all(wiring.errors)
    return Graph(pipeline, tuple(nodes), tuple(wiring.client.values()), outputs)


def _nodes(pipeline: Pipeline) -> list[Node]:
    nodes, errors = [], []
    for step in pipeline.steps:
        try:
            nodes.append(_node(pipeline, step))
        except TritonPybError as error:
            errors.append(error)
    _raise_all(errors)
    return nodes


def _node(pipeline: Pipeline, step: Step) -> Node:
    batching = pipeline.max_batch_size > 0
    mark = mark_of(step.model)
    core: ResolvedCore | None = None
    if mark is not None:
        signature = mark.signature
        name, where = mark.name, str(mark.place)
        inputs = tuple(TensorConfig.of(field, batching) for field in signature.inputs)
        outputs = tuple(TensorConfig.of(field, batching) for field in signature.outputs)
    else:
        name, where = step.model.name, step.model.where
        core = resolve_core(step.model, pipeline.max_batch_size, pipeline.max_queue_delay_microseconds)
        inputs, outputs = core.inputs, core.outputs
        _check_maps(step, name, where, inputs, outputs)
    input_map = {tensor.name: step.input_map.get(tensor.name, tensor.name) for tensor in inputs}
    output_map = {tensor.name: step.output_map.get(tensor.name, tensor.name) for tensor in outputs}
    return Node(name, inputs, outputs, mark, core, where, input_map, output_map)


def _check_maps(
    step: Step, name: str, where: str, inputs: tuple[TensorConfig, ...], outputs: tuple[TensorConfig, ...]
) -> None:
    for side, mapping, tensors in (("input", step.input_map, inputs), ("output", step.output_map, outputs)):
        names = [tensor.name for tensor in tensors]
        for given in mapping:
            if given not in names:
                raise GraphError(
                    "TPB309",
                    f"{side}_map of '{name}' names '{given}', which is no {side} of it{did_you_mean(given, names)}",
                    where,
                    f"its {side}s are {', '.join(map(str, tensors))}",
                )


class _Wiring:
    """The tensors known so far while walking the steps in order."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.errors: list[TritonPybError] = []
        self.sources: dict[str, _Source] = {}
        self.client: dict[str, TensorConfig] = {}

    def error(self, code: str, what: str, where: str, fix: str) -> None:
        self.errors.append(GraphError(code, what, where, fix))

    def connect(self, index: int, node: Node) -> None:
        for tensor in node.inputs:
            self._connect_input(index, node, tensor)
        for tensor in node.outputs:
            name = node.output_map[tensor.name]
            if name in self.sources:
                self.error(
                    "TPB304",
                    f"tensor '{name}' has two sources: {self.sources[name]}, and so does '{node.name}'",
                    f"{self.pipeline.where}, {node.where}",
                    f'rename one: Step({node.name}, output_map={{"{tensor.name}": "..."}})',
                )
            self.sources[name] = _Source(node, TensorConfig(name, tensor.dtype, tensor.dims))

    def _connect_input(self, index: int, node: Node, tensor: TensorConfig) -> None:
        name = node.input_map[tensor.name]
        source = self.sources.get(name)
        if source is None and (index == 0 or name in self.pipeline.inputs):
            source = _Source(None, TensorConfig(name, tensor.dtype, tensor.dims, tensor.optional))
            self.sources[name] = source
            self.client[name] = source.tensor
            return
        if source is None:
            if tensor.optional:
                del node.input_map[tensor.name]
                return
            self._missing(node, tensor, name)
            return
        if source.node is None and not tensor.optional:
            source.tensor.optional = False
        self._fits(node, tensor, source)

    def _missing(self, node: Node, tensor: TensorConfig, name: str) -> None:
        given = {known: source for known, source in self.sources.items()}
        alike = nearest(name, given) or next(
            (known for known, source in given.items() if source.node and _difference(source.tensor, tensor) is None),
            None,
        )
        hint = f"; did you mean '{alike}' ({given[alike]})?" if alike else ""
        offered = "; ".join(map(str, given.values()))
        argument = f'Step({node.name}, input_map={{"{tensor.name}": "{alike or "..."}"}})'
        self.error(
            "TPB301",
            f"'{node.name}' takes {tensor}, which no step before it gives{hint}",
            f"{self.pipeline.where}: {offered}; taken in {node.where}",
            f"use one name at both ends, or {argument}; "
            f'a tensor from the client is said with Pipeline(..., inputs=["{name}"])',
        )

    def _fits(self, node: Node, tensor: TensorConfig, source: _Source) -> None:
        difference = _difference(source.tensor, tensor)
        if difference is None:
            return
        code = "TPB302" if difference == "dtype" else "TPB303"
        giver = f"{source.node.where} (model '{source.node.name}')" if source.node else "the client"
        self.error(
            code,
            f"{source}, but '{node.name}' takes {tensor}: another {difference}",
            f"{self.pipeline.where}: from {giver} to {node.where} (model '{node.name}')",
            f"make the {difference} the same at both ends"
            + ("; shapes are those of one item, the batch axis is never written" if difference == "shape" else ""),
        )

    def outputs(self, nodes: list[Node]) -> tuple[TensorConfig, ...]:
        names = self.pipeline.outputs or tuple(nodes[-1].output_map.values())
        found = []
        for name in names:
            source = self.sources.get(name)
            if source is None or source.node is None:
                given = [known for known, source in self.sources.items() if source.node]
                self.error(
                    "TPB306",
                    f"output '{name}' is given by no step{did_you_mean(name, given)}",
                    self.pipeline.where,
                    f"the steps give {', '.join(map(repr, given))}",
                )
            else:
                found.append(source.tensor)
        for name in self.pipeline.inputs:
            if name not in self.client:
                self.error(
                    "TPB308",
                    f"inputs= names '{name}', which no step takes from the client",
                    self.pipeline.where,
                    "leave it out, or name an argument of a step like it",
                )
        return tuple(found)


def _difference(given: TensorConfig, taken: TensorConfig) -> str | None:
    """``"dtype"``, ``"shape"``, or None when one can feed the other; -1 stands for any size."""
    if given.dtype != taken.dtype:
        return "dtype"
    same = len(given.dims) == len(taken.dims) and all(
        a == b or -1 in (a, b) for a, b in zip(given.dims, taken.dims, strict=True)
    )
    return None if same else "shape"


def _raise_all(errors: list[TritonPybError]) -> None:
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise SeveralGraphErrors(errors)
