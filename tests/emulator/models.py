"""Model folders for the tests: an echo, and whatever body a test needs."""

from __future__ import annotations

from pathlib import Path

#: Copies each input to the output of the same place.
ECHO = """
import triton_python_backend_utils as pb_utils
import json

class TritonPythonModel:
    def initialize(self, args):
        self.outputs = [tensor["name"] for tensor in json.loads(args["model_config"])["output"]]

    def execute(self, requests):
        responses = []
        for request in requests:
            tensors = [
                pb_utils.Tensor(name, tensor.as_numpy()) for name, tensor in zip(self.outputs, request.inputs())
            ]
            responses.append(pb_utils.InferenceResponse(tensors))
        return responses
"""


def execute(body: str) -> str:
    """A model whose `execute` has this body; `np` and `pb_utils` are there."""
    lines = "\n".join("        " + line for line in body.strip("\n").splitlines())
    return (
        "import numpy as np\nimport triton_python_backend_utils as pb_utils\n\n\n"
        f"class TritonPythonModel:\n    def execute(self, requests):\n{lines}\n"
    )


def tensors(*declared: tuple[str, str, str, list[int]]) -> str:
    """``("input", "IN", "FP32", [4])`` and so on, as config.pbtxt."""
    return "\n".join(
        f'{side} [ {{ name: "{name}" data_type: TYPE_{dtype} dims: {dims} }} ]' for side, name, dtype, dims in declared
    )


def write(repository: Path, name: str, config: str, source: str | None = ECHO, version: int = 1) -> Path:
    """One model folder; without `source` an empty version folder, as an ensemble has."""
    folder = repository / name
    (folder / str(version)).mkdir(parents=True)
    backend = "" if source is None else 'backend: "python"\n'
    (folder / "config.pbtxt").write_text(f'name: "{name}"\n{backend}{config}\n')
    if source is not None:
        (folder / str(version) / "model.py").write_text(source)
    return folder


def ensemble(inputs: str, steps: list[tuple[str, dict[str, str], dict[str, str]]], max_batch_size: int = 4) -> str:
    """The configuration of an ensemble; a step is (model, input_map, output_map)."""
    text = [f'platform: "ensemble"\nmax_batch_size: {max_batch_size}\n{inputs}\nensemble_scheduling {{']
    for model, input_map, output_map in steps:
        maps = [f'input_map {{ key: "{key}" value: "{value}" }}' for key, value in input_map.items()]
        maps += [f'output_map {{ key: "{key}" value: "{value}" }}' for key, value in output_map.items()]
        text.append(f'  step {{ model_name: "{model}" model_version: -1 {" ".join(maps)} }}')
    return "\n".join([*text, "}"])
