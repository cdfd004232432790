"""What the stand-ins refuse at load, without a server: their ``initialize`` alone."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from triton_pyb.emulator.backends import FOLDER

from .model_folders import sub_and_add, torchscript


@pytest.fixture
def initialize(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``initialize(backend, config, content)`` in a model folder with that content as its model file."""
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", ModuleType("triton_python_backend_utils"))

    def run(backend: str, config: dict[str, Any], content: bytes) -> None:
        spec = importlib.util.spec_from_file_location(f"stand_in_{backend}", FOLDER / backend / "model.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        file = config.get("default_model_filename", {"onnxruntime": "model.onnx", "pytorch": "model.pt"}[backend])
        (tmp_path / "1").mkdir()
        (tmp_path / "1" / file).write_bytes(content)
        arguments = {
            "model_config": json.dumps({"name": "core", **config}),
            "model_repository": str(tmp_path),
            "model_version": "1",
        }
        module.TritonPythonModel().initialize(arguments)

    return run


def tensor(name: str, *dims: int, data_type: str = "TYPE_FP32", **more: Any) -> dict[str, Any]:
    return {"name": name, "data_type": data_type, "dims": list(dims), **more}


def onnx_config(**change: Any) -> dict[str, Any]:
    inputs, outputs = [tensor("a", 4), tensor("b", 4)], [tensor("d", 4)]
    return {"max_batch_size": 8, "input": inputs, "output": outputs, **change}


def torch_config(**change: Any) -> dict[str, Any]:
    inputs, outputs = [tensor("INPUT__0", 2), tensor("INPUT__1", 2)], [tensor("OUTPUT__0", 2)]
    return {"max_batch_size": 8, "input": inputs, "output": outputs, **change}


ONNX_REFUSALS = {
    "unknown input 'c'; the model file has ['a', 'b']": onnx_config(input=[tensor("a", 4), tensor("c", 4)]),
    "unknown output 'q'; the model file has ['d', 's']": onnx_config(output=[tensor("q", 4)]),
    "the configuration has 1 inputs ['a'], the model file has 2 ['a', 'b']": onnx_config(input=[tensor("a", 4)]),
    "input 'b' is TYPE_FP64 in the configuration and TYPE_FP32 in the model file": onnx_config(
        input=[tensor("a", 4), tensor("b", 4, data_type="TYPE_FP64")]
    ),
    "input 'b' has shape [-1, 4] in the model file; "
    "the configuration says [-1, 5] (with the batch dimension in front)": onnx_config(
        input=[tensor("a", 4), tensor("b", 5)]
    ),
    "output 'd' has shape [-1, 4] in the model file; the configuration says [1, 4]": onnx_config(
        max_batch_size=0, input=[tensor("a", -1, 4), tensor("b", -1, 4)], output=[tensor("d", 1, 4)]
    ),
    "'batch_input' works only in Triton's own backend": onnx_config(batch_input=[{}]),
    "'sequence_batching' works only in Triton's own backend": onnx_config(sequence_batching={"direct": {}}),
    "'allow_ragged_batch' of input 'a' works only in Triton's own backend": onnx_config(
        input=[tensor("a", 4, allow_ragged_batch=True), tensor("b", 4)]
    ),
    "optional input 'a' needs max_batch_size 0": onnx_config(input=[tensor("a", 4, optional=True), tensor("b", 4)]),
}


@pytest.mark.parametrize("expected", ONNX_REFUSALS)
def test_onnxruntime_refuses(initialize: Any, expected: str) -> None:
    with pytest.raises(ValueError) as refusal:
        initialize("onnxruntime", ONNX_REFUSALS[expected], sub_and_add())
    assert str(refusal.value) == f"unable to load model 'core' (onnxruntime stand-in on the CPU): {expected}"


@pytest.mark.parametrize(
    "config",
    [
        onnx_config(),
        onnx_config(output=[tensor("s", 4), tensor("d", 4)]),
        onnx_config(max_batch_size=0, input=[tensor("a", 3, 4), tensor("b", 3, 4)], output=[tensor("d", -1, 4)]),
        onnx_config(input=[tensor("a", 2, 2, reshape={"shape": [4]}), tensor("b", 4)]),
        onnx_config(default_model_filename="resnet.onnx"),
        onnx_config(parameters={"intra_op_thread_count": {"string_value": "1"}}),
    ],
)
def test_onnxruntime_accepts(initialize: Any, config: dict[str, Any]) -> None:
    initialize("onnxruntime", config, sub_and_add())


def test_onnxruntime_refuses_a_fixed_batch_dimension(initialize: Any) -> None:
    with pytest.raises(ValueError, match=r"input 'a' has shape \[1, 4\] in the model file: its first dimension is not"):
        initialize("onnxruntime", onnx_config(), sub_and_add(batch=1))


def test_onnxruntime_says_why_a_file_cannot_be_read(initialize: Any) -> None:
    with pytest.raises(ValueError, match=r"onnxruntime cannot read .*model\.onnx: .+"):
        initialize("onnxruntime", onnx_config(), b"no protobuf")


SUBTRACT = "def forward(self, first, second):\n    return first - second\n"
TORCH_REFUSALS = {
    "the configuration has 1 inputs ['INPUT__0'], forward() takes 2 ['first', 'second']": torch_config(
        input=[tensor("INPUT__0", 2)]
    ),
    "inputs ['INPUT__0', 'INPUT__2'] name the arguments [0, 2], which leaves gaps": torch_config(
        input=[tensor("INPUT__0", 2), tensor("INPUT__2", 2)]
    ),
    "the configuration has no output; the pytorch backend cannot complete it": torch_config(output=[]),
    "'batch_output' works only in Triton's own backend": torch_config(batch_output=[{}]),
    "'allow_ragged_batch' of input 'INPUT__0' works only in Triton's own backend": torch_config(
        input=[tensor("INPUT__0", 2, allow_ragged_batch=True), tensor("INPUT__1", 2)]
    ),
    "output 'OUTPUT__0' is TYPE_STRING: it needs max_batch_size 0 and one dim": torch_config(
        output=[tensor("OUTPUT__0", 1, data_type="TYPE_STRING")]
    ),
    "output 'OUTPUT__0' is TYPE_UINT16; known are ['TYPE_BOOL', 'TYPE_FP16', 'TYPE_FP32', 'TYPE_FP64', "
    "'TYPE_INT16', 'TYPE_INT32', 'TYPE_INT64', 'TYPE_INT8', 'TYPE_UINT8']": torch_config(
        output=[tensor("OUTPUT__0", 1, data_type="TYPE_UINT16")]
    ),
}


@pytest.mark.parametrize("expected", TORCH_REFUSALS)
def test_pytorch_refuses(initialize: Any, expected: str) -> None:
    with pytest.raises(ValueError) as refusal:
        initialize("pytorch", TORCH_REFUSALS[expected], torchscript(SUBTRACT))
    assert str(refusal.value) == f"unable to load model 'core' (pytorch stand-in on the CPU): {expected}"


def test_pytorch_takes_defaults_of_forward(initialize: Any) -> None:
    forward = "def forward(self, x, scale: float = 2.0):\n    return x * scale\n"
    initialize("pytorch", torch_config(input=[tensor("x", 2)]), torchscript(forward))


def test_pytorch_says_why_a_file_cannot_be_read(initialize: Any) -> None:
    with pytest.raises(ValueError, match=r"torch\.jit\.load cannot read .*model\.pt: .+"):
        initialize("pytorch", torch_config(), b"no zip")
