"""Small hand-made model folders: what a repository holds that nobody built with this package."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

ECHO = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            array = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", array)]))
        return responses
"""

#: The server waits this long for the rows that fill a batch, and not at all once it is full.
DELAY = "dynamic_batching { max_queue_delay_microseconds: 5000000 }"


def config(inputs: str, outputs: str, head: str = 'backend: "python"', max_batch_size: int = 8, tail: str = "") -> str:
    """A config.pbtxt; tensors are written ``"X FP32 4 -1, Y STRING 1"``."""
    parts = [head, f"max_batch_size: {max_batch_size}", f"input [ {_tensors(inputs)} ]"]
    return "\n".join([*parts, f"output [ {_tensors(outputs)} ]", tail])


def _tensors(text: str) -> str:
    tensors = []
    for tensor in text.split(","):
        name, data_type, *dims = tensor.split()
        tensors.append(f'{{ name: "{name}" data_type: TYPE_{data_type} dims: [ {", ".join(dims)} ] }}')
    return ", ".join(tensors)


def write_model(
    repository: Path, name: str, config_pbtxt: str | None, files: dict[str, str | bytes] | None = None
) -> Path:
    """``name/config.pbtxt`` (None: no such file) and ``name/1/<file>``."""
    folder = repository / name
    (folder / "1").mkdir(parents=True)
    if config_pbtxt is not None:
        (folder / "config.pbtxt").write_text(config_pbtxt)
    for file, content in (files or {}).items():
        (folder / "1" / file).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def write_echo(repository: Path, name: str = "echo", data_type: str = "STRING", max_batch_size: int = 8) -> Path:
    """Returns what it gets, one item of ``dims: [1]`` (``[-1]`` when it does not batch)."""
    dims = "1" if max_batch_size else "-1"
    text = config(f"X {data_type} {dims}", f"Y {data_type} {dims}", max_batch_size=max_batch_size)
    return write_model(repository, name, text, {"model.py": ECHO})


def sub_and_add(batch: str | int = "n", dims: tuple[int | str, ...] = (4,)) -> bytes:
    """An ONNX file: ``d = a - b``, ``s = a + b``, FP32 of shape ``(batch, *dims)``."""
    from onnx import TensorProto, helper

    def end(name: str) -> object:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, *dims])

    nodes = [helper.make_node("Sub", ["a", "b"], ["d"]), helper.make_node("Add", ["a", "b"], ["s"])]
    graph = helper.make_graph(nodes, "sub_and_add", [end("a"), end("b")], [end("d"), end("s")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    content: bytes = model.SerializeToString()
    return content


def torchscript(forward: str) -> bytes:
    """A TorchScript file from the source of its ``forward``."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated; Triton's pytorch backend still loads it
        module: Any = type("Scripted", (torch.jit.ScriptModule,), {})()  # a class of its own: forward is defined once
        module.define(forward)
        buffer = io.BytesIO()
        torch.jit.save(module, buffer)
    return buffer.getvalue()
