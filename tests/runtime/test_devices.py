"""Tensors that live on a GPU: who asks for them, and what functions on the CPU get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from triton_pyb import Annotated, Tensor, model
from triton_pyb.config.pbtxt import load
from triton_pyb.emulator import EmulatedTriton, InferenceFailed, inference
from triton_pyb.emulator.calls import RequestOptions, result_of
from triton_pyb.emulator.meeting import Meeting
from triton_pyb.repository import build
from triton_pyb.runtime.fields import read_field
from triton_pyb.runtime.triton_tensors import read_tensor

torch = pytest.importorskip("torch")


class DeviceTensor:
    """What ``pb_utils.Tensor`` is for a tensor on a GPU; the memory behind it is the CPU's."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def is_cpu(self) -> bool:
        return False

    def to_dlpack(self) -> Any:
        return torch.utils.dlpack.to_dlpack(self.values)

    def as_numpy(self) -> Any:
        raise AssertionError("Tensor is stored in GPU and cannot be converted to NumPy.")


def field(python_type: Any) -> Any:
    import triton_pyb

    annotation = triton_pyb.Annotated[python_type, Tensor("FP32", (3,))]
    return read_field(annotation, name="x", argument="x", optional=False, listed=False)


def test_a_function_that_takes_torch_gets_the_tensor_where_it_is() -> None:
    values = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    got = read_tensor(DeviceTensor(values), field(torch.Tensor), readonly=False)
    assert got.data_ptr() == values.data_ptr()
    assert got.shape == (2, 3)


def test_a_numpy_argument_beside_it_comes_to_the_cpu() -> None:
    values = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    got = read_tensor(DeviceTensor(values), field(np.ndarray), readonly=False)
    np.testing.assert_array_equal(got, values.numpy(), strict=True)


STEPS = """
from typing import Any
import numpy as np
import torch
from triton_pyb import Annotated, Tensor, model
from triton_pyb.runtime.model_options import InstanceGroup, ModelOptions

gpu = ModelOptions(instance_group=(InstanceGroup(kind="KIND_GPU"),))
said = ModelOptions(
    instance_group=(InstanceGroup(kind="KIND_GPU"),), parameters={"FORCE_CPU_ONLY_INPUT_TENSORS": "yes"}
)
T = Annotated[torch.Tensor, Tensor("FP32", (3,))]
N = Annotated[np.ndarray, Tensor("FP32", (3,))]
Y = Annotated[np.ndarray, Tensor("FP32", (3,), name="y")]

@model(config=gpu)
def on_gpu(x: T) -> Y: ...
@model
def on_cpu(x: T) -> Y: ...
@model(config=gpu)
def numpy_on_gpu(x: N) -> Y: ...
@model(config=said)
def said_otherwise(x: T) -> Y: ...
"""


@pytest.mark.parametrize(
    ("step", "value"), [("on_gpu", "no"), ("on_cpu", ""), ("numpy_on_gpu", ""), ("said_otherwise", "yes")]
)
def test_who_leaves_inputs_on_the_gpu(tmp_path: Path, step: str, value: str) -> None:
    (tmp_path / "device_steps.py").write_text(STEPS, encoding="utf-8")
    build(f"{tmp_path / 'device_steps.py'}:{step}", tmp_path / "repository")
    config = load(tmp_path / "repository" / step / "config.pbtxt")
    assert config.parameters["FORCE_CPU_ONLY_INPUT_TENSORS"].string_value == value


def _doubled(x: Any) -> Any:
    return 2 * x


doubled = model.wrap(
    _doubled,
    inputs={"x": Annotated[torch.Tensor, Tensor("FP32", (3,))]},
    outputs={"y": Tensor("FP32", (3,))},
    name="doubled",
)


def ask(triton: EmulatedTriton, *on_device: bool) -> Any:
    """Requests that meet, whose input the emulator marks as lying on a GPU, or not."""
    target, meeting = triton._model("doubled", ""), Meeting()
    waiting = []
    for marked in on_device:
        request = RequestOptions().request(target, {"x": np.ones((2, 3), np.float32)})
        for tensor in request.inputs:
            tensor.memory = "GPU" if marked else "CPU"
        waiting.append(inference.submit(target, request, meeting))
    meeting.leave()
    return [result_of(answer, "doubled") for answer in waiting]


def test_a_tensor_that_the_emulator_marks_is_handed_over_through_dlpack(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[str] = []

    def from_dlpack(capsule: Any) -> Any:
        handed.append(type(capsule).__name__)
        return torch.full((2, 3), 5.0)  # no CUDA here: what lies on the device is told

    monkeypatch.setattr(torch.utils.dlpack, "from_dlpack", from_dlpack)
    with EmulatedTriton(doubled) as triton:
        on_cpu, on_gpu = ask(triton, False, True)
    assert handed == ["PyCapsule"]
    assert (on_cpu["y"] == 2).all() and (on_gpu["y"] == 10).all()


def test_a_device_that_cannot_be_reached_fails_its_request_alone() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine reaches its GPU")
    with EmulatedTriton(doubled) as triton:
        good, bad, other = ask(triton, False, True, False)
    assert (good["y"] == 2).all() and (other["y"] == 2).all()
    assert isinstance(bad, InferenceFailed) and bad.code == "INTERNAL"
    assert bad.message.startswith("model 'doubled', _doubled() (test_devices.py:")
