"""The CPU stand-ins for the onnxruntime and pytorch backends, in the emulator and on a real server."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from triton_pyb.emulator import EmulatedTriton, LoadFailed
from triton_pyb.server import InferenceFailed, RealTriton, ServerFailed

from .model_folders import DELAY, config, sub_and_add, torchscript, write_model

ONNX = 'backend: "onnxruntime"'
PYTORCH = 'platform: "pytorch_libtorch"'
FP32 = np.float32

Load = Callable[..., str]

#: The rest runs on both: a model that imports torch takes seconds to load on a real server.
on_emulator = pytest.mark.parametrize("triton", ["emulator"], indirect=True)


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedTriton]:
    repository = tmp_path_factory.mktemp("emulated_repository")
    with EmulatedTriton(repository, model_control_mode="explicit", inline=True) as emulated:
        yield emulated


@pytest.fixture(params=["emulator", pytest.param("real", marks=pytest.mark.real_triton)])
def triton(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("emulated" if request.param == "emulator" else "explicit_server")


@pytest.fixture
def load(triton: Any, tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Write a model folder and load it; ``model__onnx=`` is the file ``1/model.onnx``."""
    is_real = isinstance(triton, RealTriton)
    repository = triton.repository if is_real else tmp_path_factory.getbasetemp() / "emulated_repository0"

    def write_and_load(config_pbtxt: str | None, **files: str | bytes) -> str:
        name = f"m{uuid.uuid4().hex[:8]}"
        contents = {file.replace("__", "."): content for file, content in files.items()}
        write_model(repository, name, config_pbtxt, contents)
        triton.load_model(name)
        return name

    return write_and_load


def largest_batch(triton: Any, model: str) -> int:
    until = time.monotonic() + 5  # a server counts a batch a moment after its answers
    while not (counted := triton.statistics(model)["batch_stats"]) and time.monotonic() < until:
        time.sleep(0.02)
    return max(int(entry["batch_size"]) for entry in counted)


# ---- onnxruntime


@pytest.mark.parametrize("head", [ONNX, 'platform: "onnxruntime_onnx"'])
def test_onnx_joins_requests_and_gives_each_its_rows(triton: Any, load: Load, head: str) -> None:
    name = load(config("a FP32 4, b FP32 4", "d FP32 4, s FP32 4", head, 7, DELAY), model__onnx=sub_and_add())
    arrays = [np.full((rows, 4), rows, FP32) for rows in (1, 2, 1, 3)]
    answers = triton.infer_many(name, [{"a": a, "b": a * 10} for a in arrays])
    for array, answer in zip(arrays, answers, strict=True):
        np.testing.assert_array_equal(answer["d"], array - array * 10)
        np.testing.assert_array_equal(answer["s"], array + array * 10)
    assert largest_batch(triton, name) == 7


def test_onnx_without_batching_answers_each_request_alone(triton: Any, load: Load) -> None:
    text = config("a FP32 -1 4, b FP32 -1 4", "d FP32 -1 4", ONNX, max_batch_size=0)
    name = load(text, model__onnx=sub_and_add())
    answer = triton.infer(name, {"a": np.ones((3, 4), FP32), "b": np.zeros((3, 4), FP32)})
    np.testing.assert_array_equal(answer["d"], np.ones((3, 4), FP32))


def test_onnx_runs_only_what_is_asked_for(triton: Any, load: Load) -> None:
    name = load(config("a FP32 4, b FP32 4", "d FP32 4, s FP32 4", ONNX), model__onnx=sub_and_add())
    one = np.ones((1, 4), FP32)
    assert list(triton.infer(name, {"a": one, "b": one}, outputs=["s"])) == ["s"]


def test_onnx_completes_a_missing_configuration(triton: Any, load: Load) -> None:
    name = load(None, model__onnx=sub_and_add())
    completed = triton.model_config(name)
    assert completed["max_batch_size"] == 4
    assert [tensor["name"] for tensor in completed["input"]] == ["a", "b"]
    assert [tensor["dims"] for tensor in completed["output"]] == [[4], [4]]
    assert "dynamic_batching" in completed


@on_emulator
def test_onnx_completes_only_what_is_missing(triton: Any, load: Load) -> None:
    text = ONNX + ' input [ { name: "a" data_type: TYPE_FP32 dims: [ 3, 4 ] }, '
    name = load(text + '{ name: "b" data_type: TYPE_FP32 dims: [ 3, 4 ] } ]', model__onnx=sub_and_add())
    completed = triton.model_config(name)
    assert completed["max_batch_size"] == 0
    assert [tensor["dims"] for tensor in completed["input"]] == [[3, 4], [3, 4]]
    assert [(tensor["name"], tensor["dims"]) for tensor in completed["output"]] == [("d", [-1, 4]), ("s", [-1, 4])]


def test_onnx_strings_pass_as_text(triton: Any, load: Load) -> None:
    from onnx import TensorProto, helper

    ends = [helper.make_tensor_value_info(name, TensorProto.STRING, ["n", 1]) for name in ("t", "u")]
    graph = helper.make_graph([helper.make_node("Identity", ["t"], ["u"])], "same", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    name = load(config("t STRING 1", "u STRING 1", ONNX), model__onnx=model.SerializeToString())
    answer = triton.infer(name, {"t": ["한글", "b"]})
    assert answer["u"].tolist() == [["한글".encode()], [b"b"]]


def test_onnx_failure_of_a_joined_call_goes_to_all(triton: Any, load: Load) -> None:
    from onnx import TensorProto, helper

    table = helper.make_tensor("table", TensorProto.FLOAT, [2], [10.0, 20.0])
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "i"], ["y"])],
        "gather",
        [helper.make_tensor_value_info("i", TensorProto.INT64, ["n", 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])],
        [table],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    name = load(config("i INT64 1", "y FP32 1", ONNX, 3, DELAY), model__onnx=model.SerializeToString())
    assert triton.infer(name, {"i": [1, 0, 1]})["y"].tolist() == [[20.0], [10.0], [20.0]]
    answers = triton.infer_many(name, [{"i": 0}, {"i": 7}, {"i": 1}])
    assert largest_batch(triton, name) == 3
    for answer in answers:
        assert isinstance(answer, InferenceFailed)
        assert "onnxruntime stand-in" in answer.message and "out of data bounds" in answer.message


# ---- pytorch

SUBTRACT = "def forward(self, first, second):\n    return first - second, first + second\n"


@on_emulator
@pytest.mark.parametrize(
    ("names", "why"),
    [
        ("INPUT__1 FP32 2, INPUT__0 FP32 2", "the index in the name"),
        ("second FP32 2, first FP32 2", "the argument's name"),
        ("left FP32 2, right FP32 2", "the order of the configuration"),
    ],
)
def test_pytorch_keeps_the_order_of_arguments(triton: Any, load: Load, names: str, why: str) -> None:
    name = load(config(names, "OUTPUT__1 FP32 2, OUTPUT__0 FP32 2", PYTORCH), model__pt=torchscript(SUBTRACT))
    first = {"INPUT__0", "first", "left"}
    inputs = {
        entry["name"]: [5, 6] if entry["name"] in first else [1, 1] for entry in triton.model_config(name)["input"]
    }
    answer = triton.infer(name, inputs)
    assert answer["OUTPUT__0"].tolist() == [[4, 5]], why
    assert answer["OUTPUT__1"].tolist() == [[6, 7]], why


def test_pytorch_joins_requests_and_gives_each_its_rows(triton: Any, load: Load) -> None:
    text = config("INPUT__0 FP32 2, INPUT__1 FP32 2", "OUTPUT__0 FP32 2", PYTORCH, 7, DELAY)
    name = load(text, model__pt=torchscript(SUBTRACT))
    arrays = [np.full((rows, 2), rows, FP32) for rows in (1, 2, 1, 3)]
    answers = triton.infer_many(name, [{"INPUT__0": a, "INPUT__1": a * 10} for a in arrays])
    for array, answer in zip(arrays, answers, strict=True):
        np.testing.assert_array_equal(answer["OUTPUT__0"], array - array * 10)
    assert largest_batch(triton, name) == 7


@on_emulator
@pytest.mark.parametrize(
    ("forward", "outputs"),
    [
        ("def forward(self, x):\n    return x + 1\n", "y FP32 2"),
        ("def forward(self, x):\n    return [x + 1, x]\n", "y FP32 2, z FP32 2"),
        ("def forward(self, x):\n    return {'z': x, 'y': x + 1}\n", "y FP32 2"),
        ("def forward(self, d: Dict[str, Tensor]):\n    return d['x'] + 1\n", "y FP32 2"),
    ],
)
def test_pytorch_takes_and_returns_what_torchscript_can(triton: Any, load: Load, forward: str, outputs: str) -> None:
    name = load(config("x FP32 2", outputs, PYTORCH), model__pt=torchscript(forward))
    assert triton.infer(name, {"x": [1, 2]})["y"].tolist() == [[2, 3]]


def test_pytorch_strings_without_batching(triton: Any, load: Load) -> None:
    forward = "def forward(self, t: List[str]):\n    return [s + '!' for s in t]\n"
    name = load(config("t STRING -1", "u STRING -1", PYTORCH, max_batch_size=0), model__pt=torchscript(forward))
    assert triton.infer(name, {"t": ["한", "b"]})["u"].tolist() == ["한!".encode(), b"b!"]


@on_emulator
@pytest.mark.parametrize(
    ("forward", "outputs", "expected"),
    [
        (
            "return x.to(torch.int64)",
            "y FP32 2",
            "output 'y' is TYPE_FP32 in the configuration; the model returned torch.int64",
        ),
        ("return x", "a FP32 2, b FP32 2", "output 'b' is output 1 of the model, which returned 1"),
        ("return {'q': x}", "y FP32 2", "output 'y': the model returned the keys ['q']"),
        ("return x.sum()", "y FP32 1", "output 'y' is a scalar, which the pytorch backend does not support"),
        ("return x[:1]", "y FP32 2", "output 'y' has shape [1, 2] for 2 rows; the first dimension must be the batch"),
        ("return 3", "y FP32 2", "output 'y': the model returned <class 'int'>, not a tensor"),
    ],
)
def test_pytorch_refuses_what_the_configuration_does_not_say(
    triton: Any, load: Load, forward: str, outputs: str, expected: str
) -> None:
    source = f"def forward(self, x):\n    {forward}\n"
    name = load(config("x FP32 2", outputs, PYTORCH), model__pt=torchscript(source))
    with pytest.raises(InferenceFailed) as failure:
        triton.infer(name, {"x": np.ones((2, 2), FP32)})
    assert failure.value.status == 400
    assert expected in failure.value.message and "pytorch stand-in" in failure.value.message


@pytest.mark.parametrize("head", [ONNX, PYTORCH])
def test_a_missing_file_is_a_load_error(load: Load, head: str) -> None:
    with pytest.raises((LoadFailed, ServerFailed), match="there is no file .*1/model") as failure:
        load(config("x FP32 2", "y FP32 2", head), nothing="")
    assert "stand-in on the CPU" in str(failure.value)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_split_of_the_rows_gives_the_same_answers(
    joined_models: tuple[EmulatedTriton, str, str], rows: list[int], seed: int
) -> None:
    """Batch invariance of the stand-ins themselves: joined or alone, bit for bit."""
    emulated, onnx, torch = joined_models
    everything = np.random.default_rng(seed).normal(size=(2, sum(rows), 4)).astype(FP32)
    a, b = everything
    cuts = np.cumsum(rows)[:-1]
    for model, first, second, output in ((onnx, "a", "b", "d"), (torch, "INPUT__0", "INPUT__1", "OUTPUT__0")):
        requests = [{first: x, second: y} for x, y in zip(np.split(a, cuts), np.split(b, cuts), strict=True)]
        answers = emulated.infer_many(model, requests)
        assert tuple(rows) in emulated.batches(model)  # they were joined
        assert [len(answer[output]) for answer in answers] == rows
        np.testing.assert_array_equal(np.concatenate([answer[output] for answer in answers]), a - b)


@pytest.fixture(scope="module")
def joined_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EmulatedTriton, str, str]]:
    repository = tmp_path_factory.mktemp("joined")
    text = config("a FP32 4, b FP32 4", "d FP32 4", ONNX, 16, "dynamic_batching {}")
    write_model(repository, "onnx", text, {"model.onnx": sub_and_add()})
    text = config("INPUT__0 FP32 4, INPUT__1 FP32 4", "OUTPUT__0 FP32 4", PYTORCH, 16, "dynamic_batching {}")
    write_model(repository, "torch", text, {"model.pt": torchscript(SUBTRACT)})
    with EmulatedTriton(repository, inline=True) as emulated:
        yield emulated, "onnx", "torch"
