"""Named and open sizes in calls that join several requests: nothing depends on the company a request is in."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import PIL.Image
import pytest

from triton_pyb import Annotated, Batch, DeclarationError, Image, ItemError, Lengths, NotFound, Tensor, model

from .requests import answered, refused, run

Array = np.ndarray[Any, Any]
ABSENT = np.zeros(0)


def rows(*sizes: int) -> list[dict[str, Any]]:
    return [{"x": np.full((1, size), size, np.float32)} for size in sizes]


def test_an_output_of_another_size_than_the_padded_axis_is_refused() -> None:
    @model(batch="pad")
    def shorter(x: Annotated[Array, Tensor("FP32", ("T",))]) -> Annotated[Array, Tensor("FP32", ("T",), name="y")]:
        return x[:, :-1]

    for answer in run(shorter, *rows(4, 2)):
        assert "output 'y' has the shape [3] per item: T cannot be 4 and 3 [TPB204]" in refused(answer, "INTERNAL")


def test_an_output_of_a_size_of_its_own_is_not_cut() -> None:
    @model(batch="pad")
    def two(x: Annotated[Array, Tensor("FP32", ("T",))]) -> Annotated[Array, Tensor("FP32", ("K",), name="y")]:
        return np.stack([x.max(axis=1), x.max(axis=1)], axis=1)

    assert [answered(answer)["y"].tolist() for answer in run(two, *rows(4, 2))] == [[[4, 4]], [[2, 2]]]


def test_two_unnamed_sizes_are_refused_where_the_step_is_declared() -> None:
    with pytest.raises(DeclarationError) as caught:

        @model(batch="pad")
        def unclear(x: Annotated[Array, Tensor("FP32", (-1,))]) -> Annotated[Array, Tensor("FP32", (-1,), name="y")]:
            return x

    assert caught.value.code == "TPB106"
    assert caught.value.what == (
        "output 'y' has an open size, and so has the padded input 'x': only a name says whether it is the same one"
    )


def test_a_listed_output_is_checked_against_its_own_item() -> None:
    @model(batch="list")
    def copied(
        x: Batch[Annotated[Array, Tensor("FP32", ("T",))]],
    ) -> Batch[Annotated[Array, Tensor("FP32", ("T",), name="y")]]:
        return [item if len(item) < 4 else item[1:] for item in x]

    good, bad, other = run(copied, *rows(2, 4, 3))
    assert answered(good)["y"].tolist() == [[2, 2]]
    assert "T cannot be 4 and 3" in refused(bad, "INTERNAL")
    assert answered(other)["y"].tolist() == [[3, 3, 3]]


def test_listed_inputs_of_several_sizes_meet_in_stack_mode() -> None:
    @model(batch="stack")
    def mixed(
        n: Annotated[Array, Tensor("INT64", ())], x: Batch[Annotated[Array, Tensor("FP32", ("T",))]]
    ) -> Batch[Annotated[Array, Tensor("FP32", ("T",), name="y")]]:
        return [item + len(n) for item in x]

    answers = run(mixed, *[{**request, "n": np.array([[1]])} for request in rows(2, 3)])
    assert [answered(answer)["y"].tolist() for answer in answers] == [[[4, 4]], [[5, 5, 5]]]


def test_lengths_of_an_input_that_did_not_come_keep_their_default() -> None:
    @model(batch="pad")
    def either(
        x: Annotated[Array, Tensor("FP32", ("T",))],
        z: Annotated[Array, Tensor("FP32", ("U",))] = ABSENT,
        lengths: Annotated[Array, Lengths("z")] = ABSENT,
    ) -> Annotated[Array, Tensor("INT64", (), name="y")]:
        return lengths if len(lengths) else np.full(len(x), -1)

    first, second = run(either, *rows(2), {**rows(2)[0], "z": np.ones((1, 5), np.float32)})
    assert (answered(first)["y"].tolist(), answered(second)["y"].tolist()) == ([[-1]], [[5]])


def declare_lengths(kind: str) -> None:
    x = {
        "fixed": Annotated[Array, Tensor("FP32", (3,))],
        "listed": Batch[Annotated[Array, Tensor("FP32", ("T",))]],
        "optional": Annotated[Array, Tensor("FP32", ("T",))],
    }[kind]

    def step(x: Any, lengths: Annotated[Array, Lengths("x")]) -> Any: ...

    def optional(lengths: Annotated[Array, Lengths("x")], x: Any = None) -> Any: ...

    chosen = optional if kind == "optional" else step
    model.wrap(chosen, name=kind, batch="pad", inputs={"x": x}, outputs={"y": Tensor("INT64", ())})


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("fixed", "argument 'lengths': input 'x' is not padded: all sizes of 'x' FP32[3] are fixed"),
        ("listed", "argument 'lengths': input 'x' is not padded: Batch[...] keeps its items apart"),
        ("optional", "argument 'lengths': a request may come without input 'x', and then it has no lengths"),
    ],
)
def test_lengths_that_cannot_be_given_are_refused(kind: str, what: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare_lengths(kind)
    assert (caught.value.code, caught.value.what) == ("TPB118", what)


@pytest.mark.parametrize("batch", ["stack", "request", "pad"])
def test_a_picture_comes_encoded_or_decoded_in_a_joined_call(batch: str) -> None:
    def shapes(image: Any) -> Any:
        return np.array([image.shape] * len(image))

    step = model.wrap(
        shapes,
        name="shapes",
        batch=batch,
        inputs={"image": Image("RGB", decoded="pixels")},
        outputs={"y": Tensor("INT64", (4,))},
    )
    file = io.BytesIO()
    PIL.Image.new("RGB", (4, 5)).save(file, "PNG")
    decoded = np.zeros((2, 5, 4, 3), np.uint8)
    answers = run(step, {"image": [file.getvalue()]}, {"pixels": decoded}, {"pixels": decoded[:0]})
    assert answered(answers[0])["y"].tolist() == [[1, 5, 4, 3]]
    assert answered(answers[1])["y"].tolist() == [[2, 5, 4, 3]] * 2
    assert answered(answers[2])["y"].shape == (0, 4)


@pytest.mark.parametrize("nothing", [[], np.array([]), np.zeros((0, 4))])
def test_no_boxes_may_be_an_empty_list(nothing: Any) -> None:
    step = model.wrap(
        lambda x: (nothing, nothing if np.ndim(nothing) == 1 else []),
        name="boxes",
        inputs={"x": int},
        outputs={"boxes": Tensor("INT32", ("N", 4)), "scores": Tensor("FP32", ("N",))},
    )
    outputs = answered(run(step, {"x": np.array([[1]])})[0])
    assert (outputs["boxes"].shape, outputs["boxes"].dtype) == ((1, 0, 4), np.int32)
    assert (outputs["scores"].shape, outputs["scores"].dtype) == ((1, 0), np.float32)


def test_an_empty_list_of_unknown_rank_is_still_refused() -> None:
    step = model.wrap(lambda x: [], name="maps", inputs={"x": int}, outputs={"maps": Tensor("FP32", ("N", "H"))})
    assert "[TPB204]" in refused(run(step, {"x": np.array([[1]])})[0], "INTERNAL")


def test_a_call_without_rows_may_return_an_empty_list() -> None:
    step = model.wrap(
        lambda x: [], name="none", batch="stack", inputs={"x": Tensor("INT64", ())}, outputs={"y": Tensor("FP32", (2,))}
    )
    assert answered(run(step, {"x": np.zeros((0, 1), np.int64)})[0])["y"].shape == (0, 2)


@pytest.mark.parametrize("batch", ["stack", "pad", "request"])
def test_a_call_costs_nothing_per_row(batch: str) -> None:
    """A loop over ten million rows would take seconds."""
    step = model.wrap(
        lambda x: x, name="big", batch=batch, inputs={"x": Tensor("UINT8", ())}, outputs={"y": Tensor("UINT8", ())}
    )
    x = np.zeros((10_000_000, 1), np.uint8)
    assert np.shares_memory(answered(run(step, {"x": x})[0])["y"], x)


@pytest.mark.parametrize("batch", ["stack", "pad"])
def test_an_item_error_among_rows_that_would_be_stacked(batch: str) -> None:
    word = Tensor("INT64", ("T",) if batch == "pad" else (2,))
    step = model.wrap(
        lambda x: [ItemError("two") if row[0] == 2 else row * 10 for row in x],
        name="two",
        batch=batch,
        inputs={"x": word},
        outputs={"y": word},
    )
    sizes = (2, 3, 2) if batch == "pad" else (2, 2, 2)
    requests = [{"x": np.full((1, size), value)} for value, size in zip((1, 2, 3), sizes, strict=True)]
    first, second, third = run(step, *requests)
    assert answered(first)["y"].tolist() == [[10, 10]]
    assert "item 0 of 1: two" in refused(second, "INVALID_ARG")
    assert answered(third)["y"].tolist() == [[30, 30]]


def test_an_item_error_for_the_one_item() -> None:
    step = model.wrap(lambda x: ItemError(NotFound("gone")), name="gone", inputs={"x": int}, outputs={"y": int})
    assert "item 0 of 1: gone" in refused(run(step, {"x": np.array([[1]])})[0], "NOT_FOUND")
