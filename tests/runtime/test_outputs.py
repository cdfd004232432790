"""What a function may return for its declared outputs, and what it may not."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from triton_pyb import Annotated, Batch, Json, Name, Tensor, model
from triton_pyb.runtime.execution import Answer

from .requests import answered, refused, run

Array = np.ndarray[Any, Any]
TWO = {"label": str, "score": Tensor("FP32", ())}


class Pair(NamedTuple):
    label: str
    score: float


@dataclasses.dataclass
class Record:
    label: str
    score: float


def give(value: Any, outputs: Any, batch: str = "each", n_items: int = 1) -> Answer:
    """The answer of a step that returns `value` for `n_items` items."""
    step = model.wrap(lambda x: value, inputs={"x": Tensor("INT8", ())}, outputs=outputs, name="m", batch=batch)
    (answer,) = run(step, {"x": np.zeros((n_items, 1), np.int8)})
    return answer


def refusal(value: Any, outputs: Any, **options: Any) -> str:
    return refused(give(value, outputs, **options), "INTERNAL")


# --- several outputs


@pytest.mark.parametrize(
    "value",
    [
        {"label": "cat", "score": 0.5},
        {"score": 0.5, "label": "cat"},
        ("cat", 0.5),
        Pair("cat", 0.5),
        Record("cat", 0.5),
        SimpleNamespace(label="cat", score=0.5),
    ],
)
def test_outputs_come_by_key_by_order_or_by_attribute(value: Any) -> None:
    outputs = answered(give(value, TWO))
    assert list(outputs) == ["label", "score"]
    assert outputs["label"].tolist() == [[b"cat"]] and outputs["score"].tolist() == [[0.5]]


def test_one_output_comes_bare_or_in_a_dict_of_one() -> None:
    for value in (np.ones(2), {"y": np.ones(2)}):
        assert answered(give(value, {"y": Tensor("FP32", (2,))}))["y"].tolist() == [[1, 1]]


def test_a_dict_is_the_value_itself_where_json_is_declared() -> None:
    assert answered(give({"y": 1}, {"y": Json()}))["y"].tolist() == [[b'{"y": 1}']]


@pytest.mark.parametrize(
    "value, said",
    [
        ({"label": "cat"}, "output 'score' is missing from what the function returned [TPB201]"),
        (
            {"label": "cat", "scores": 1},
            "output 'score' is missing from what the function returned; did you mean 'scores'?",
        ),
        ({"label": "cat", "score": 1, "x": 2}, "the function returned 'x', which is no declared output [TPB201]"),
        (("cat",), "the function returned a tuple of 1, expected 2 [TPB201]"),
        (("cat", 1, 2), "the function returned a tuple of 3, expected 2 [TPB201]"),
        (SimpleNamespace(label="cat"), "output 'score' is missing from what the function returned [TPB201]"),
        (None, "the function returned None [TPB210]; is a `return` missing? return 'label', 'score'"),
        (["cat", 1], "the function returned list, which holds none of its outputs [TPB209]"),
        ("cat", "the function returned str, which holds none of its outputs [TPB209]"),
    ],
)
def test_a_return_value_that_does_not_hold_the_outputs(value: Any, said: str) -> None:
    assert said in refusal(value, TWO)


def test_a_misspelled_key_of_a_single_output() -> None:
    assert "TPB20" in refusal({"yy": np.ones(2)}, {"y": Tensor("FP32", (2,))})


# --- shapes


@pytest.mark.parametrize("batch", ["each", "stack"])
@pytest.mark.parametrize(
    "shape, declared",
    [((3,), (2,)), ((2, 1), (2,)), ((), (2,)), ((2,), ()), ((2, 3), ("H", "W", 3)), ((4, 4, 1), ("H", "W", 3))],
)
def test_another_shape_than_declared(batch: str, shape: tuple[int, ...], declared: Any) -> None:
    value = np.zeros(shape if batch == "each" else (1, *shape), np.float32)
    message = refusal(value, {"y": Tensor("FP32", declared)}, batch=batch)
    assert f"output 'y' has the shape {list(shape)} per item, declared {list(declared)} [TPB204]" in message


@pytest.mark.parametrize("batch", ["each", "stack"])
def test_a_symbol_that_would_mean_two_sizes(batch: str) -> None:
    value = np.zeros((2, 3) if batch == "each" else (1, 2, 3), np.float32)
    message = refusal(value, {"y": Tensor("FP32", ("N", "N"))}, batch=batch)
    assert "output 'y' has the shape [2, 3] per item: N cannot be 2 and 3 [TPB204]" in message


def test_items_of_two_shapes_in_one_request() -> None:
    @model
    def ragged(x: Annotated[int, Tensor("INT8", ())]) -> Annotated[Array, Tensor("FP32", ("N",), name="y")]:
        return np.zeros(x, np.float32)

    one, other = run(ragged, {"x": np.array([[2], [3]], np.int8)}, {"x": np.array([[3]], np.int8)})
    message = refused(one, "INTERNAL")
    assert "item 1 of 2" in message
    assert (
        "output 'y' has the shape [3] in item 1 and [2] in an item before it: one tensor holds one shape [TPB207]"
        in message
    )
    assert answered(other)["y"].shape == (1, 3)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_an_item_of_no_elements(shape: tuple[int, ...]) -> None:
    array = answered(give(np.zeros(shape), {"y": Tensor("FP32", (-1,) * len(shape))}))["y"]
    assert array.shape == (1, *shape) and array.dtype == np.float32


# --- joined calls


def test_as_many_rows_as_items() -> None:
    assert answered(give(np.ones((3, 2)), {"y": Tensor("FP32", (2,))}, "stack", 3))["y"].shape == (3, 2)
    for rows in (0, 2, 4):
        message = refusal(np.ones((rows, 2)), {"y": Tensor("FP32", (2,))}, batch="stack", n_items=3)
        assert f"output 'y' has {rows} rows, expected 3 (shape [{rows}, 2]) [TPB203]" in message
    assert "output 'y' has no axis 0, expected 3 (shape [])" in refusal(
        1.0, {"y": Tensor("FP32", (2,))}, batch="stack", n_items=3
    )


def test_as_many_entries_as_items() -> None:
    listed = {"y": Batch[str]}
    assert answered(give(["a", "b"], listed, "stack", 2))["y"].tolist() == [[b"a"], [b"b"]]
    assert answered(give(("a", "b"), listed, "stack", 2))["y"].tolist() == [[b"a"], [b"b"]]
    assert "output 'y' has 1 entries, expected 2 [TPB203]" in refusal(["a"], listed, batch="stack", n_items=2)


@pytest.mark.parametrize(
    "value, kind", [("ab", "str"), (b"ab", "bytes"), ({"a": 1, "b": 2}, "dict"), (3, "int"), (None, "NoneType")]
)
def test_one_thing_is_not_taken_for_a_list(value: Any, kind: str) -> None:
    message = refusal(value, {"y": Batch[Annotated[Any, Json()]]}, batch="stack", n_items=2)
    assert f"output 'y' is a {kind}, expected a list with one entry per item [TPB209]" in message


def test_a_list_of_arrays_in_a_joined_call() -> None:
    listed = {"y": Batch[Annotated[Array, Tensor("FP32", ("N",))]]}
    assert answered(give([np.ones(2), np.zeros(2)], listed, "stack", 2))["y"].tolist() == [[1, 1], [0, 0]]
    message = refusal([np.ones(2), np.zeros(3)], listed, batch="stack", n_items=2)
    assert (
        "output 'y' has the shape [3] in item 1 and [2] in an item before it: one tensor holds one shape [TPB207]"
        in message
    )
    assert "[TPB204]" in refusal([np.ones((2, 2)), np.zeros(3)], listed, batch="stack", n_items=2)


# --- on the wire


@pytest.mark.parametrize("batching, shape", [(True, (2, 1)), (False, (2,))])
def test_a_value_in_both_forms(batching: bool, shape: tuple[int, ...]) -> None:
    @model
    def step(
        text: str,
    ) -> tuple[
        Annotated[str, Name("a")], Annotated[float, Name("b")], Annotated[Array, Tensor("INT8", (3,), name="c")]
    ]:
        return text, 0.5, np.zeros(3, np.int8)

    outputs = answered(run(step, {"text": np.full(shape, b"x", object)}, batching=batching)[0])
    assert {name: array.shape for name, array in outputs.items()} == {"a": shape, "b": shape, "c": (2, 3)}
