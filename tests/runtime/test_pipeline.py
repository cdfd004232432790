"""Declarations are plain data, and what signatures alone can show is checked where they stand."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from triton_pyb import (
    Annotated,
    DeclarationError,
    ExistingModel,
    Name,
    OnnxModel,
    Pipeline,
    Step,
    Tensor,
    TorchScriptModel,
    postprocess,
    preprocess,
)
from triton_pyb.runtime.errors import SeveralErrors

Array = np.ndarray[Any, Any]


@preprocess
def before(text: str) -> Annotated[Array, Tensor("FP32", (2,), name="x")]:
    return np.zeros(2, np.float32)


@postprocess
def after(y: Annotated[Array, Tensor("FP32", (2,))]) -> Annotated[str, Name("result")]:
    return ""


def core(name: str = "core") -> OnnxModel:
    return OnnxModel(name, "missing.onnx")


def mistake(declare: Callable[[], Any], code: str) -> DeclarationError:
    with pytest.raises(DeclarationError) as caught:
        declare()
    assert not isinstance(caught.value, SeveralErrors), caught.value
    assert caught.value.code == code
    assert __file__ in caught.value.where
    return caught.value


def test_nothing_is_read_when_it_is_declared() -> None:
    """The files do not exist, and nobody minds."""
    pipeline = Pipeline("p", [before, core(), after])
    assert [step.model for step in pipeline.steps][0] is before
    assert (pipeline.max_batch_size, pipeline.inputs, pipeline.outputs) == (8, (), ())
    assert repr(pipeline) == "Pipeline('p', 3 steps, max_batch_size=8)"
    TorchScriptModel("t", "x.pt", {"INPUT__0": Tensor("FP32", (2,))}, {"OUTPUT__0": Tensor("FP32", (2,))})
    ExistingModel("somewhere/else")


def test_a_declaration_knows_where_it_stands() -> None:
    here = inspect.currentframe()
    assert here is not None
    declared, line = OnnxModel("core", "x.onnx"), here.f_lineno
    assert declared.where == f"OnnxModel('core') ({__file__}:{line})"
    assert declared.folder == str(Path(__file__).parent)
    assert repr(declared) == "OnnxModel('core', 'x.onnx')"
    assert f"({__file__}:" in Pipeline("p", [before]).where


def test_an_existing_model_is_named_like_its_folder() -> None:
    assert ExistingModel("some/where/resnet/").name == "resnet"
    assert ExistingModel("some/where", name="resnet").name == "resnet"


def test_a_path_may_be_a_path() -> None:
    assert OnnxModel("core", Path("a") / "b.onnx").path == str(Path("a") / "b.onnx")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "a b", "-a", ".a", "a/b", "한글", "a\n", 7, None])
def test_a_name_that_is_no_folders_name(name: Any) -> None:
    error = mistake(lambda: Pipeline(name, [before]), "TPB120")
    assert error.what == f"{name!r} cannot be a model's name"
    assert error.fix == "use letters, digits, '_', '-' and '.', beginning with a letter, a digit or '_'"
    mistake(lambda: OnnxModel(name, "x.onnx"), "TPB120")


@pytest.mark.parametrize("name", ["a", "A-1", "_x", "0", "a.b"])
def test_a_good_name(name: str) -> None:
    assert Pipeline(name, [before]).name == name


def test_a_steps_name_is_checked_too() -> None:
    def step(text: str) -> Annotated[str, Name("out")]:
        return text

    mistake(lambda: preprocess(name="a b")(step), "TPB120")


@pytest.mark.parametrize("option", ["max_batch_size", "max_queue_delay_microseconds"])
@pytest.mark.parametrize("value", [-1, True, 1.5, "8", None])
def test_a_number_that_is_none(option: str, value: Any) -> None:
    error = mistake(lambda: Pipeline("p", [before], **{option: value}), "TPB116")
    assert error.what == f"{option}={value!r} is no whole number of at least 0"
    assert error.fix == f"write {option}={8 if option == 'max_batch_size' else 0}, or leave it out"


def test_no_steps() -> None:
    error = mistake(lambda: Pipeline("p", []), "TPB121")
    assert (error.what, error.fix) == ("a pipeline needs at least one step", "name the steps in order")


def test_a_step_that_is_none() -> None:
    def unmarked(text: str) -> str:
        return text

    error = mistake(lambda: Pipeline("p", [before, unmarked]), "TPB122")
    assert error.what.startswith("step 1 is <function ") and "neither a marked function nor a core model" in error.what
    assert error.fix.startswith("decorate it with @preprocess, @postprocess or @model, or use OnnxModel")


def test_two_steps_of_one_name() -> None:
    error = mistake(lambda: Pipeline("p", [before, core("before")]), "TPB123")
    assert error.what == "step 1 is named 'before' like step 0: a repository has one folder per name"
    assert error.fix == "give one of them another name (name=...)"
    assert "like the pipeline itself" in mistake(lambda: Pipeline("before", [before]), "TPB123").what


def test_a_step_that_says_another_batch_size() -> None:
    @preprocess(max_batch_size=4)
    def four(text: str) -> Annotated[str, Name("x")]:
        return text

    error = mistake(lambda: Pipeline("p", [four], max_batch_size=32), "TPB124")
    assert error.what == "step 'four' says max_batch_size=4, the pipeline 32"
    assert error.fix == "say it once, in the pipeline" and "four() (" in error.where
    assert Pipeline("p", [four], max_batch_size=4).max_batch_size == 4


@pytest.mark.parametrize("side, right, wrong", [("input", "text", "txet"), ("output", "x", "xx")])
def test_a_map_that_names_no_tensor_of_the_step(side: str, right: str, wrong: str) -> None:
    error = mistake(lambda: Pipeline("p", [Step(before, **{f"{side}_map": {wrong: "a"}})]), "TPB125")
    assert error.what.startswith(f"{side}_map of step 'before' names '{wrong}', which is no {side} of it")
    assert error.fix.startswith(f"its {side}s are '{right}'")


def test_a_map_of_a_core_model_is_checked_where_its_tensors_are_said() -> None:
    said = TorchScriptModel("t", "x.pt", {"INPUT__0": Tensor("FP32", (2,))}, {"OUTPUT__0": Tensor("FP32", (2,))})
    error = mistake(lambda: Pipeline("p", [Step(said, {"INPUT_0": "x"})]), "TPB125")
    assert error.what.endswith("which is no input of it; did you mean 'INPUT__0'?")
    Pipeline("p", [Step(core(), {"anything": "x"})])


def test_a_word_that_is_no_tensor() -> None:
    error = mistake(lambda: OnnxModel("core", "x.onnx", inputs={"x": str}), "TPB113")  # type: ignore[dict-item]
    assert error.what == "input 'x': <class 'str'> is no Tensor(...)"
    assert error.fix == 'write Tensor("FP32", (3, 224, 224))'
    mistake(lambda: OnnxModel("core", "x.onnx", outputs={"x": Tensor("FP31", ())}), "TPB102")


def test_all_mistakes_of_a_pipeline_at_once() -> None:
    with pytest.raises(DeclarationError) as caught:
        Pipeline("a b", [before, before, 3], max_batch_size=-1)
    assert isinstance(caught.value, SeveralErrors)
    assert {error.code for error in caught.value.errors} == {"TPB120", "TPB116", "TPB123", "TPB122"}
