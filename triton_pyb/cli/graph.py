"""A pipeline drawn with characters: models from top to bottom, tensors between them."""

from __future__ import annotations

from triton_pyb.config.model_config import TensorConfig
from triton_pyb.repository.graph import Graph, Node


def draw(graph: Graph) -> str:
    """One block per model; a tensor that skips models says who takes it.

    Returns
    -------
    str
        ::

            client
              │ image STRING [-1]
              ▼
            preprocessing  (python)
              │ pixels FP32 [3, 736, 736]
              │ geometry FP32 [6] ─> postprocessing
              ▼
            ...
    """
    takers = _takers(graph)
    givers: list[tuple[str, list[TensorConfig]]] = [("client", list(graph.inputs))]
    for node in graph.nodes:
        given = [
            TensorConfig(node.output_map[tensor.name], tensor.dtype, tensor.dims)
            for tensor in node.outputs
            if tensor.name in node.output_map
        ]
        givers.append((f"{node.name}  ({_runs_on(node)})", given))
    order = [*(node.name for node in graph.nodes), "client"]
    lines: list[str] = []
    for (title, tensors), below in zip(givers, order, strict=True):
        lines.append(title)
        for tensor in tensors:
            others = [taker for taker in takers.get(tensor.name, []) if taker != below]
            skips = f" ─> {', '.join(others)}" if others else ""
            lines.append(f"  │ {_tensor(tensor)}{skips}")
        lines.append("  ▼")
    return "\n".join([*lines, "client"])


def _takers(graph: Graph) -> dict[str, list[str]]:
    """Tensor of the pipeline -> the models that take it; ``"client"`` for an output."""
    takers: dict[str, list[str]] = {}
    for node in graph.nodes:
        for tensor in node.input_map.values():
            takers.setdefault(tensor, []).append(node.name)
    for output in graph.outputs:
        takers.setdefault(output.name, []).append("client")
    return takers


def _runs_on(node: Node) -> str:
    if node.core is None:
        return "python"
    return str(node.core.config.backend or node.core.config.platform)


def _tensor(tensor: TensorConfig) -> str:
    optional = ", optional" if tensor.optional else ""
    return f"{tensor.name} {tensor.dtype.replace('BYTES', 'STRING')} {list(tensor.dims)}{optional}"
