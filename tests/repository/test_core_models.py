"""Core models: which tensors their files have, and when they cannot be used."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from triton_pyb import ExistingModel, OnnxModel, Pipeline, Tensor, TorchScriptModel
from triton_pyb.repository import GraphError, resolve

#: name -> (element type, shape)
Tensors = Mapping[str, tuple[int, list[Any] | None]]


def onnx_file(folder: Path, inputs: Tensors, outputs: Tensors, /, **said: Any) -> OnnxModel:
    """An ONNX file without a node: nobody runs it here."""
    graph = helper.make_graph(
        [],
        "g",
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in outputs.items()],
    )
    folder.mkdir(exist_ok=True)
    onnx.save(helper.make_model(graph), str(folder / "core.onnx"))
    return OnnxModel("core", str(folder / "core.onnx"), **said)


X: Tensors = {"x": (TensorProto.FLOAT, ["N", 3])}
Y: Tensors = {"y": (TensorProto.FLOAT, ["N", 2])}


def mistake(core: Any, code: str, max_batch_size: int = 8) -> GraphError:
    with pytest.raises(GraphError) as caught:
        resolve(Pipeline("p", [core], max_batch_size=max_batch_size))
    error = caught.value
    assert error.code == code and f"('{core.name}') ({__file__}:" in error.where
    return error


def tensors(core: Any, max_batch_size: int = 8) -> tuple[list[str], list[str]]:
    (node,) = resolve(Pipeline("p", [core], max_batch_size=max_batch_size)).nodes
    return [str(tensor) for tensor in node.inputs], [str(tensor) for tensor in node.outputs]


# --- ONNX


def test_names_dtypes_and_shapes_come_from_the_file(tmp_path: Path) -> None:
    core = onnx_file(
        tmp_path,
        {"x": (TensorProto.FLOAT, ["N", 3, "H", None]), "ids": (TensorProto.INT64, [None])},
        {"y": (TensorProto.FLOAT16, ["N", 10]), "label": (TensorProto.STRING, ["N", 1])},
    )
    assert tensors(core) == (["'x' FP32[3, -1, -1]", "'ids' INT64[1]"], ["'y' FP16[10]", "'label' BYTES[1]"])
    assert tensors(core, 0)[0] == ["'x' FP32[-1, 3, -1, -1]", "'ids' INT64[-1]"]
    (node,) = resolve(Pipeline("p", [core])).nodes
    assert node.core is not None
    assert (node.core.config.backend, node.core.file_name) == ("onnxruntime", "model.onnx")


def test_a_tensor_with_the_batch_axis_alone_is_reshaped(tmp_path: Path) -> None:
    """Triton's backend counts the axes: with dims [1] alone it refuses the model."""
    core = onnx_file(tmp_path, {"ids": (TensorProto.INT64, ["N"]), **X}, Y)
    for batching in (8, 0):
        (node,) = resolve(Pipeline("p", [core], max_batch_size=batching)).nodes
        assert node.core is not None
        assert [tensor.HasField("reshape") for tensor in node.core.config.input] == [batching > 0, False]


def test_weights_that_are_listed_as_inputs_are_none(tmp_path: Path) -> None:
    core = onnx_file(tmp_path, {**X, "w": (TensorProto.FLOAT, [2, 2])}, Y)
    model = onnx.load(str(tmp_path / "core.onnx"))
    model.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [2, 2], [1.0] * 4))
    onnx.save(model, str(tmp_path / "core.onnx"))
    assert tensors(core)[0] == ["'x' FP32[3]"]


def test_what_the_author_says_goes_before_the_file(tmp_path: Path) -> None:
    core = onnx_file(tmp_path, {"x": (TensorProto.FLOAT, ["N", "C"])}, Y, inputs={"x": Tensor("FP32", (7,))})
    assert tensors(core)[0] == ["'x' FP32[7]"]


@pytest.mark.parametrize(
    ("said", "code", "difference"),
    [
        (Tensor("FP64", (3,)), "TPB317", "FP64[3], but the ONNX file has 'x' FP32[-1, 3]: another dtype"),
        (Tensor("FP32", (5,)), "TPB318", "FP32[5], but the ONNX file has 'x' FP32[-1, 3]: another shape"),
        (Tensor("FP32", (-1, 3)), "TPB318", "FP32[-1, 3], but the ONNX file has 'x' FP32[-1, 3]: another shape"),
        (Tensor("FP32", ("C",)), "TPB318", "FP32[-1], but the ONNX file has 'x' FP32[-1, 3]: another shape"),
    ],
)
def test_what_the_author_says_must_fit_the_file(tmp_path: Path, said: Any, code: str, difference: str) -> None:
    error = mistake(onnx_file(tmp_path, X, Y, inputs={"x": said}), code)
    assert error.what == f"inputs= says 'x' {difference}"
    if code == "TPB318":
        assert error.fix == 'say Tensor("FP32", (3,)), the shape of one item: the batch axis is never written'


def test_what_the_author_says_of_an_output_and_without_batching(tmp_path: Path) -> None:
    error = mistake(onnx_file(tmp_path, X, Y, outputs={"y": Tensor("FP32", (4,))}), "TPB318", 0)
    assert error.what == "outputs= says 'y' FP32[-1, 4], but the ONNX file has 'y' FP32[-1, 2]: another shape"
    assert "(2,)), the shape of one item" in error.fix
    fits = onnx_file(tmp_path, X, Y, inputs={"x": Tensor("FP32", (3,))}, outputs={"y": Tensor("FP32", (2,))})
    assert tensors(fits, 0) == (["'x' FP32[-1, 3]"], ["'y' FP32[-1, 2]"])
    fixed = onnx_file(tmp_path, {"x": (TensorProto.FLOAT, [1, 3])}, Y, inputs={"x": Tensor("FP32", (3,))})
    assert "no free batch axis" in mistake(fixed, "TPB305").what
    assert mistake(fixed, "TPB318", 0).fix == "leave it out: the first axis of the file is fixed"


def test_a_fixed_first_axis_is_no_batch_axis(tmp_path: Path) -> None:
    core = onnx_file(tmp_path, {"x": (TensorProto.FLOAT, [1, 3])}, Y)
    error = mistake(core, "TPB305")
    assert error.what == (
        "input 'x' has the shape [1, 3] in the ONNX file: its first axis is no free batch axis, "
        "so max_batch_size=8 cannot hold"
    )
    assert error.fix == "export the model with a dynamic first axis, or set max_batch_size=0"
    assert tensors(core, 0)[0] == ["'x' FP32[1, 3]"]


@pytest.mark.parametrize(
    "kind, shape, what",
    [(TensorProto.FLOAT, None, "no shape"), (TensorProto.COMPLEX64, ["N", 3], "the type COMPLEX64")],
)
def test_a_tensor_that_the_file_leaves_open(tmp_path: Path, kind: int, shape: Any, what: str) -> None:
    error = mistake(onnx_file(tmp_path, {"x": (kind, shape)}, Y), "TPB313")
    assert error.what == f"input 'x' of the ONNX file has {what}"
    assert error.fix == 'say it: inputs={"x": Tensor("FP32", (...))}, per item'


def test_a_tensor_that_the_file_does_not_have(tmp_path: Path) -> None:
    error = mistake(onnx_file(tmp_path, X, Y, outputs={"z": Tensor("FP32", ())}), "TPB313")
    assert error.what == "outputs= names 'z', which the ONNX file does not have"
    assert error.fix == "its outputs are 'y'"


@pytest.mark.parametrize("content", [b"", b"not onnx at all", b"\x08\x01\xff"])
def test_a_file_that_is_no_onnx(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "core.onnx").write_bytes(content)
    core = OnnxModel("core", str(tmp_path / "core.onnx"))
    error = mistake(core, "TPB311")
    assert error.what.startswith(f"'{tmp_path / 'core.onnx'}' is no ONNX file: ") and error.fix == "export it again"


def test_without_the_onnx_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    core = onnx_file(tmp_path, X, Y)
    original = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name == "onnx":
            raise ImportError("no onnx here")
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)
    error = mistake(core, "TPB312")
    assert error.what == "'core.onnx' cannot be read: the package onnx is not installed"
    assert error.fix == "install it: pip install 'triton_pyb[onnx]'"


# --- where the file is


def test_no_such_file(tmp_path: Path) -> None:
    error = mistake(OnnxModel("core", "missing.onnx"), "TPB310")
    assert error.what == f"no such model file: {Path(__file__).parent / 'missing.onnx'}"
    assert error.fix == "correct the path; a relative one counts from the file of the declaration"
    assert "no such model folder: " in mistake(ExistingModel(str(tmp_path / "missing")), "TPB310").what
    assert "no such model file" in mistake(OnnxModel("core", str(tmp_path)), "TPB310").what


def test_a_file_inside_a_package() -> None:
    error = mistake(OnnxModel("core", "package:no_such_package/x.onnx"), "TPB310")
    assert "package 'no_such_package' is not installed" in error.what
    assert error.fix == "install it: pip install no_such_package"
    error = mistake(OnnxModel("core", "package:onnx/no_such_file.onnx"), "TPB310")
    assert f"no such model file: {Path(onnx.__file__).parent / 'no_such_file.onnx'}" in error.what


# --- TorchScript


def test_a_torch_script_is_what_was_declared(tmp_path: Path) -> None:
    (tmp_path / "m.pt").write_bytes(b"")
    core = TorchScriptModel(
        "core",
        str(tmp_path / "m.pt"),
        {"INPUT__0": Tensor("FP32", (3, "H"))},
        {"OUTPUT__0": Tensor("FP32", (10,)), "OUTPUT__1": Tensor("INT64", ())},
    )
    assert tensors(core) == (["'INPUT__0' FP32[3, -1]"], ["'OUTPUT__0' FP32[10]", "'OUTPUT__1' INT64[1]"])
    (node,) = resolve(Pipeline("p", [core])).nodes
    assert node.core is not None
    assert (node.core.config.platform, node.core.file_name) == ("pytorch_libtorch", "model.pt")


# --- a model folder that exists

CONFIG = """
name: "core" max_batch_size: 8 backend: "x"
input { name: "x" data_type: TYPE_FP32 dims: [3] }
output { name: "y" data_type: TYPE_STRING dims: [1] }
"""


def existing(folder: Path, text: str | bytes | None, name: str = "") -> ExistingModel:
    (folder / "core" / "1").mkdir(parents=True)
    if text is not None:
        (folder / "core/config.pbtxt").write_bytes(text if isinstance(text, bytes) else text.encode())
    return ExistingModel(str(folder / "core"), name)


def test_an_existing_model_is_what_its_configuration_says(tmp_path: Path) -> None:
    assert tensors(existing(tmp_path, CONFIG)) == (["'x' FP32[3]"], ["'y' BYTES[1]"])


@pytest.mark.parametrize("text", [None, "name: ", 'nmae: "core"', b"\xff\xfe"], ids=["none", "cut", "typo", "bytes"])
def test_an_existing_model_whose_configuration_cannot_be_read(tmp_path: Path, text: Any) -> None:
    error = mistake(existing(tmp_path, text), "TPB315")
    assert error.what.startswith(f"'{tmp_path / 'core/config.pbtxt'}' ")
    assert error.fix


def test_an_existing_model_of_another_name(tmp_path: Path) -> None:
    error = mistake(existing(tmp_path, CONFIG, "other"), "TPB315")
    assert error.what.endswith("says name: \"core\", the folder becomes 'other'")
    assert error.fix == 'write ExistingModel(..., name="core"), or correct config.pbtxt'


@pytest.mark.parametrize("theirs, ours", [(8, 0), (0, 8), (4, 8)])
def test_an_existing_model_of_another_batch_size(tmp_path: Path, theirs: int, ours: int) -> None:
    core = existing(tmp_path, CONFIG.replace("max_batch_size: 8", f"max_batch_size: {theirs}"))
    error = mistake(core, "TPB316", ours)
    assert error.what == f"'core' has max_batch_size {theirs}, the pipeline {ours}"
    assert error.fix == f"set max_batch_size={theirs} in the pipeline, or change the model's config.pbtxt"


def test_an_existing_model_may_take_larger_batches(tmp_path: Path) -> None:
    core = existing(tmp_path, CONFIG.replace("max_batch_size: 8", "max_batch_size: 64"))
    assert tensors(core)[0] == ["'x' FP32[3]"]
