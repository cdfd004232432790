"""The CPU stand-ins of other backends, run by the emulator from unchanged model folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emulator.models import ensemble, execute, tensors, write
from triton_pyb.emulator import EmulatedTriton, LoadFailed

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def doubling_onnx(path: Path) -> None:
    """A model that doubles (batch, 2) floats."""
    rows = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", 2]) for name in ("x", "y")]
    node = onnx.helper.make_node("Add", ["x", "x"], ["y"])
    graph = onnx.helper.make_graph([node], "doubling", rows[:1], rows[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


def core(repository: Path, config: str) -> None:
    folder = write(repository, "core", config, None)
    doubling_onnx(folder / "1" / "model.onnx")


def test_an_onnx_model(tmp_path: Path) -> None:
    ends = tensors(("input", "x", "FP32", [2]), ("output", "y", "FP32", [2]))
    core(tmp_path, 'platform: "onnxruntime_onnx" max_batch_size: 4 dynamic_batching { }\n' + ends)
    with EmulatedTriton(tmp_path) as triton:
        answers = triton.infer_many("core", [{"x": [1, 2]}, {"x": [[3, 4], [5, 6]]}])
        assert [answer["y"].tolist() for answer in answers] == [[[2, 4]], [[6, 8], [10, 12]]]
        assert triton.batches("core") == [(1, 2)]
        assert triton.model_config("core")["runtime"] == "model.py"


def test_its_configuration_can_be_left_out(tmp_path: Path) -> None:
    core(tmp_path, "")
    with EmulatedTriton(tmp_path) as triton:
        config = triton.model_config("core")
        assert (config["backend"], config["max_batch_size"]) == ("onnxruntime", 4)
        assert triton.infer("core", {"x": [1, 2]})["y"].tolist() == [[2, 4]]


def test_in_an_ensemble_between_python_models(tmp_path: Path) -> None:
    core(tmp_path, 'backend: "onnxruntime" max_batch_size: 4\n')
    ends = tensors(("input", "IN", "FP32", [2]), ("output", "OUT", "FP32", [2]))
    body = (
        'return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy() + 1)]) for r in requests]'
    )
    write(tmp_path, "plus", "max_batch_size: 4\n" + ends, execute(body))
    steps = [("plus", {"IN": "X"}, {"OUT": "a"}), ("core", {"x": "a"}, {"y": "Y"})]
    whole = tensors(("input", "X", "FP32", [2]), ("output", "Y", "FP32", [2]))
    write(tmp_path, "whole", ensemble(whole, steps), None)
    with EmulatedTriton(tmp_path) as triton:
        assert triton.infer("whole", {"X": np.zeros((2, 2), np.float32)})["Y"].tolist() == [[2, 2], [2, 2]]


def test_a_backend_without_a_stand_in(tmp_path: Path) -> None:
    write(tmp_path, "m", 'backend: "dali"', None)
    with pytest.raises(LoadFailed, match="unable to find backend library for backend 'dali'"), EmulatedTriton(tmp_path):
        pass
