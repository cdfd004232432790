"""The wiring of a pipeline: by name, checked, with both ends named in every message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from triton_pyb import Annotated, Json, Name, Pipeline, Step, Tensor, TorchScriptModel, postprocess, preprocess
from triton_pyb.repository import Graph, GraphError, resolve
from triton_pyb.runtime.errors import SeveralErrors

Array = np.ndarray[Any, Any]
Pixels = Annotated[Array, Tensor("FP32", (3, 8, 8), name="INPUT__0")]


@preprocess
def before(text: str) -> tuple[Pixels, Annotated[Array, Tensor("INT32", (2,), name="size")]]:
    raise NotImplementedError


@postprocess
def after(
    OUTPUT__0: Annotated[Array, Tensor("FP32", (10,))], size: Annotated[Array, Tensor("INT32", (2,))]
) -> Annotated[Any, Json(name="result")]:
    raise NotImplementedError


@pytest.fixture
def core(tmp_path: Path) -> TorchScriptModel:
    return torch_script(tmp_path, {"INPUT__0": Tensor("FP32", (3, 8, 8))}, {"OUTPUT__0": Tensor("FP32", (10,))})


def torch_script(folder: Path, inputs: Any, outputs: Any, name: str = "core") -> TorchScriptModel:
    """A core model whose file is there; nobody opens it."""
    path = folder / f"{name}.pt"
    path.write_bytes(b"torch")
    return TorchScriptModel(name, str(path), inputs, outputs)


def mistake(pipeline: Pipeline, code: str) -> GraphError:
    with pytest.raises(GraphError) as caught:
        resolve(pipeline)
    assert not isinstance(caught.value, SeveralErrors), caught.value
    assert caught.value.code == code and pipeline.where in caught.value.where
    return caught.value


def shown(graph: Graph, side: str) -> list[str]:
    return [str(tensor) for tensor in getattr(graph, side)]


# --- what fits


def test_steps_are_wired_by_name_and_a_side_tensor_goes_around_the_core(core: TorchScriptModel) -> None:
    graph = resolve(Pipeline("p", [before, core, after]))
    assert shown(graph, "inputs") == ["'text' BYTES[1]"] and shown(graph, "outputs") == ["'result' BYTES[1]"]
    assert [(node.name, node.input_map, node.output_map) for node in graph.nodes] == [
        ("before", {"text": "text"}, {"INPUT__0": "INPUT__0", "size": "size"}),
        ("core", {"INPUT__0": "INPUT__0"}, {"OUTPUT__0": "OUTPUT__0"}),
        ("after", {"OUTPUT__0": "OUTPUT__0", "size": "size"}, {"result": "result"}),
    ]


def test_the_explicit_form_has_the_leading_axis_everywhere(core: TorchScriptModel) -> None:
    graph = resolve(Pipeline("p", [before, core, after], max_batch_size=0))
    assert shown(graph, "inputs") == ["'text' BYTES[-1]"]
    assert str(graph.nodes[1].inputs[0]) == "'INPUT__0' FP32[-1, 3, 8, 8]"


def test_tensors_are_renamed_in_the_words_of_an_ensemble(tmp_path: Path) -> None:
    core = torch_script(tmp_path, {"images": Tensor("FP32", (3, 8, 8))}, {"scores": Tensor("FP32", (10,))})
    graph = resolve(
        Pipeline(
            "p",
            [
                Step(before, {"text": "sentence"}),
                Step(core, {"images": "INPUT__0"}),
                Step(after, {"OUTPUT__0": "scores"}, {"result": "answer"}),
            ],
        )
    )
    assert shown(graph, "inputs") == ["'sentence' BYTES[1]"] and shown(graph, "outputs") == ["'answer' BYTES[1]"]
    assert graph.nodes[1].input_map == {"images": "INPUT__0"}
    assert graph.nodes[2].input_map == {"OUTPUT__0": "scores", "size": "size"}
    assert graph.nodes[2].output_map == {"result": "answer"}


def test_an_output_that_nobody_takes_is_not_mapped() -> None:
    """Triton refuses an ensemble with an unused tensor."""

    @postprocess
    def last(INPUT__0: Annotated[Array, Tensor("FP32", (3, 8, 8))]) -> Annotated[str, Name("out")]:
        raise NotImplementedError

    graph = resolve(Pipeline("p", [before, last]))
    assert graph.nodes[0].output_map == {"INPUT__0": "INPUT__0"}


def test_outputs_may_be_chosen_from_any_step(core: TorchScriptModel) -> None:
    graph = resolve(Pipeline("p", [before, core, after], outputs=["result", "OUTPUT__0"]))
    assert shown(graph, "outputs") == ["'result' BYTES[1]", "'OUTPUT__0' FP32[10]"]


def test_a_later_step_may_take_a_tensor_from_the_client(core: TorchScriptModel) -> None:
    @postprocess
    def named(OUTPUT__0: Annotated[Array, Tensor("FP32", (10,))], labels: str) -> Annotated[str, Name("out")]:
        raise NotImplementedError

    graph = resolve(Pipeline("p", [before, core, named], inputs=["labels"]))
    assert shown(graph, "inputs") == ["'text' BYTES[1]", "'labels' BYTES[1]"]


def test_one_client_tensor_may_feed_two_steps(core: TorchScriptModel) -> None:
    @postprocess
    def named(OUTPUT__0: Annotated[Array, Tensor("FP32", (10,))], text: str) -> Annotated[str, Name("out")]:
        raise NotImplementedError

    graph = resolve(Pipeline("p", [before, core, named]))
    assert shown(graph, "inputs") == ["'text' BYTES[1]"]


def test_an_optional_input_that_nothing_gives_is_left_out() -> None:
    @postprocess
    def lenient(size: Annotated[Array, Tensor("INT32", (2,))], more: str = "") -> Annotated[str, Name("out")]:
        raise NotImplementedError

    graph = resolve(Pipeline("p", [before, lenient]))
    assert graph.nodes[1].input_map == {"size": "size"}


def test_an_optional_input_of_the_first_step_is_optional_for_the_client() -> None:
    @preprocess
    def first(text: str, lang: str = "") -> Annotated[str, Name("out")]:
        raise NotImplementedError

    graph = resolve(Pipeline("p", [first]))
    assert [(tensor.name, tensor.optional) for tensor in graph.inputs] == [("text", False), ("lang", True)]


def test_an_input_that_one_step_needs_is_not_optional_though_another_could_do_without() -> None:
    @preprocess
    def first(text: str, lang: str = "") -> Annotated[str, Name("out")]:
        raise NotImplementedError

    @postprocess
    def second(out: str, lang: str) -> Annotated[str, Name("end")]:
        raise NotImplementedError

    graph = resolve(Pipeline("p", [first, second], inputs=["lang"]))
    assert [(tensor.name, tensor.optional) for tensor in graph.inputs] == [("text", False), ("lang", False)]


def test_minus_one_fits_any_size(tmp_path: Path) -> None:
    core = torch_script(tmp_path, {"INPUT__0": Tensor("FP32", (3, "H", -1))}, {"OUTPUT__0": Tensor("FP32", ("N",))})
    resolve(Pipeline("p", [before, core, after]))


# --- what does not


def test_an_input_that_nothing_gives(core: TorchScriptModel) -> None:
    @postprocess
    def late(OUTPUT__1: Annotated[Array, Tensor("FP32", (10,))]) -> Annotated[str, Name("out")]:
        raise NotImplementedError

    error = mistake(Pipeline("p", [before, core, late]), "TPB301")
    assert error.what == (
        "'late' takes 'OUTPUT__1' FP32[10], which no step before it gives; "
        "did you mean 'OUTPUT__0' ('core' gives 'OUTPUT__0' FP32[10])?"
    )
    assert "late() (" in error.where and "the client sends 'text' BYTES[1]" in error.where
    assert 'Step(late, input_map={"OUTPUT__1": "OUTPUT__0"})' in error.fix
    assert 'Pipeline(..., inputs=["OUTPUT__1"])' in error.fix


def test_a_name_unlike_all_others_is_matched_by_what_it_holds(core: TorchScriptModel) -> None:
    @postprocess
    def late(probabilities: Annotated[Array, Tensor("FP32", (10,))]) -> Annotated[str, Name("out")]:
        raise NotImplementedError

    error = mistake(Pipeline("p", [before, core, late]), "TPB301")
    assert "did you mean 'OUTPUT__0' ('core' gives 'OUTPUT__0' FP32[10])?" in error.what


def test_a_step_takes_from_earlier_steps_only(core: TorchScriptModel) -> None:
    @preprocess
    def first(OUTPUT__0: Annotated[Array, Tensor("FP32", (10,))]) -> Pixels:
        raise NotImplementedError

    error = mistake(Pipeline("p", [first, core]), "TPB304")
    assert "the client sends 'OUTPUT__0'" in error.what


def test_ends_of_two_dtypes(tmp_path: Path) -> None:
    core = torch_script(tmp_path, {"INPUT__0": Tensor("FP16", (3, 8, 8))}, {"OUTPUT__0": Tensor("FP32", (10,))})
    error = mistake(Pipeline("p", [before, core, after]), "TPB302")
    assert error.what == (
        "'before' gives 'INPUT__0' FP32[3, 8, 8], but 'core' takes 'INPUT__0' FP16[3, 8, 8]: another dtype"
    )
    assert "before() (" in error.where and "(model 'core')" in error.where and str(Path(__file__).name) in error.where
    assert error.fix == "make the dtype the same at both ends"


@pytest.mark.parametrize("shape", [(3, 8), (3, 8, 9), (8, 8, 3), ()])
def test_ends_of_two_shapes(tmp_path: Path, shape: Any) -> None:
    core = torch_script(tmp_path, {"INPUT__0": Tensor("FP32", shape)}, {"OUTPUT__0": Tensor("FP32", (10,))})
    error = mistake(Pipeline("p", [before, core, after]), "TPB303")
    assert (
        error.what.endswith(": another shape") and "'before' gives 'INPUT__0' FP32[3, 8, 8], but 'core'" in error.what
    )


def test_a_client_tensor_that_two_steps_take_differently(core: TorchScriptModel) -> None:
    @postprocess
    def named(OUTPUT__0: Annotated[Array, Tensor("FP32", (10,))], text: int) -> Annotated[str, Name("out")]:
        raise NotImplementedError

    error = mistake(Pipeline("p", [before, core, named]), "TPB302")
    assert error.what == "the client sends 'text' BYTES[1], but 'named' takes 'text' INT64[1]: another dtype"


def test_two_steps_that_give_one_tensor(core: TorchScriptModel) -> None:
    @postprocess
    def again(
        OUTPUT__0: Annotated[Array, Tensor("FP32", (10,))],
    ) -> Annotated[Array, Tensor("INT32", (2,), name="size")]:
        raise NotImplementedError

    error = mistake(Pipeline("p", [before, core, again]), "TPB304")
    assert error.what == "tensor 'size' has two sources: 'before' gives 'size' INT32[2], and so does 'again'"
    assert error.fix == 'rename one: Step(again, output_map={"size": "..."})'


def test_an_output_that_no_step_gives(core: TorchScriptModel) -> None:
    error = mistake(Pipeline("p", [before, core, after], outputs=["reslt"]), "TPB306")
    assert error.what == "output 'reslt' is given by no step; did you mean 'result'?"
    assert error.fix == "the steps give 'INPUT__0', 'size', 'OUTPUT__0', 'result'"
    assert "TPB306" in str(mistake(Pipeline("p", [before, core, after], outputs=["text"]), "TPB306"))


def test_a_step_of_which_nobody_takes_anything(core: TorchScriptModel) -> None:
    @postprocess
    def idle(text: str) -> Annotated[str, Name("unused")]:
        raise NotImplementedError

    with pytest.raises(GraphError) as caught:
        resolve(Pipeline("p", [before, core, idle, after]))
    error = caught.value
    assert error.code == "TPB307" and "idle() (" in error.where
    assert error.what == "nobody takes any output of step 'idle' ('unused' BYTES[1])"
    assert error.fix == "leave the step out, or take one of its outputs"


def test_a_client_input_that_no_step_takes(core: TorchScriptModel) -> None:
    error = mistake(Pipeline("p", [before, core, after], inputs=["labels"]), "TPB308")
    assert error.what == "inputs= names 'labels', which no step takes from the client"
    assert error.fix == "leave it out, or name an argument of a step like it"


def test_a_map_of_a_core_model_that_its_file_does_not_know(tmp_path: Path) -> None:
    from .test_core_models import onnx_file

    file = onnx_file(tmp_path, {"images": (1, ["N", 3, 8, 8])}, {"scores": (1, ["N", 10])})
    with pytest.raises(GraphError) as caught:
        resolve(Pipeline("p", [before, Step(file, {"image": "INPUT__0"}), after]))
    error = caught.value
    assert error.code == "TPB309" and "OnnxModel('core')" in error.where
    assert error.what == "input_map of 'core' names 'image', which is no input of it; did you mean 'images'?"
    assert error.fix == "its inputs are 'images' FP32[3, 8, 8]"


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    core = torch_script(tmp_path, {"INPUT__0": Tensor("FP16", (3, 8, 8))}, {"OUTPUT__9": Tensor("FP32", (10,))})
    with pytest.raises(GraphError) as caught:
        resolve(Pipeline("p", [before, core, after], outputs=["nothing"], inputs=["nobody"]))
    assert isinstance(caught.value, SeveralErrors)
    assert sorted(error.code for error in caught.value.errors) == ["TPB301", "TPB302", "TPB306", "TPB308"]
