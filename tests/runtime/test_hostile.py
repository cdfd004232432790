"""What clients send and authors write to the harm of others: no other request may notice."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import numpy as np
import pytest

from triton_pyb import Annotated, Batch, Context, Json, Name, Pipeline, Reject, Tensor, model
from triton_pyb.runtime.errors import DeclarationError

from .requests import Log, answered, execution, refused, run, tensor

Array = np.ndarray[Any, Any]
Vector = Annotated[Array, Tensor("FP32", (2,))]
MODES = ["each", "stack", "list", "request"]


def rows(*values: float) -> Array:
    return np.array([[value, value] for value in values], np.float32).reshape(-1, 2)


def raising(make: Any, batch: str) -> Any:
    """A step that raises what `make` makes when it sees a 1."""

    def function(x: Any) -> Any:
        if (np.asarray(x) == 1).any():
            raise make()
        return x

    word: Any = Batch[Vector] if batch == "list" else Tensor("FP32", (2,))
    return model.wrap(function, inputs={"x": word}, outputs={"y": word}, name="m", batch=batch)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Unnameable(Exception):
    def __repr__(self) -> str:
        raise RuntimeError("no name")


@pytest.mark.parametrize("batch", MODES)
@pytest.mark.parametrize(
    "make",
    [
        Unspeakable,
        Unnameable,
        lambda: Reject(3),  # type: ignore[arg-type]
    ],
    ids=["str raises", "repr raises", "no text"],
)
def test_an_exception_that_cannot_be_shown_fails_only_its_request(make: Any, batch: str) -> None:
    bad, good = run(raising(make, batch), {"x": rows(1)}, {"x": rows(5)})
    assert not isinstance(bad, dict)
    if batch in ("each", "request"):
        assert answered(good)["y"].shape == (1, 2)


@pytest.mark.parametrize("batch", MODES)
@pytest.mark.parametrize("kind", [ValueError, Reject])
def test_every_message_can_be_sent(kind: Any, batch: str) -> None:
    """A lone surrogate comes with a client's JSON; pybind11 would raise for it and fail the whole batch."""
    log = Log()
    (answer,) = run(raising(lambda: kind("bad \ud800 text"), batch), {"x": rows(1)}, log=log)
    assert not isinstance(answer, dict)
    answer.message.encode("utf-8")
    for text in log:
        text.encode("utf-8")


def test_a_surrogate_in_a_clients_json() -> None:
    @model(name="m")
    def step(value: Annotated[dict[str, Any], Json()]) -> Annotated[str, Name("y")]:
        return str({}[value["key"]])

    (answer,) = run(step, {"value": [rb'{"key": "\ud800"}']})
    refused(answer, "INTERNAL").encode("utf-8")


def test_splitting_gives_the_function_what_the_client_sent() -> None:
    """A function that works in place has changed its input by the time it raises."""

    @model(batch="stack", fallback="split", on_item_error="mask", name="m")
    def halved(x: Vector) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        x /= 2
        if (x < 0).any():
            raise ValueError("negative")
        return x

    (answer,) = run(halved, {"x": rows(8, -1, 16, 32)})
    assert answered(answer)["y"][:, 0].tolist() == [4, 0, 8, 16]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_item_may_be_rejected_through_the_context_in_the_mode_each_too(workers: int) -> None:
    @model(name="m", workers=workers)
    def step(x: Vector, ctx: Context) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        if x[0] == 1:
            ctx.reject(0, "one is not wanted")
        return x

    bad, good = run(step, {"x": rows(5, 1)}, {"x": rows(6)})
    assert "item 1 of 2: one is not wanted" in refused(bad, "INVALID_ARG")
    assert answered(good)["y"][0, 0] == 6


def test_a_masked_array_is_not_sent_with_its_mask_forgotten() -> None:
    """numpy drops the mask in silence, and shows values that the function meant to hide."""

    @model(name="m")
    def step(x: Vector) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        hidden: Any = np.ma.MaskedArray(x, x < 3)  # type: ignore[no-untyped-call]
        return hidden  # type: ignore[no-any-return]

    refused(run(step, {"x": rows(1)})[0], "INTERNAL")


def test_an_endless_message_is_cut() -> None:
    (answer,) = run(raising(lambda: ValueError("x" * 10_000_000), "each"), {"x": rows(1)})
    assert len(refused(answer, "INTERNAL")) < 100_000


@pytest.mark.parametrize("option", ["inputs", "outputs"])
def test_one_name_is_not_a_list_of_letters(option: str) -> None:
    @model
    def step(text: str) -> Annotated[str, Name("result")]:
        return text

    with pytest.raises(DeclarationError):
        Pipeline("p", [step], **{option: "result"})  # type: ignore[arg-type]


def test_one_step_is_not_a_list_of_steps() -> None:
    @model
    def step(text: str) -> Annotated[str, Name("result")]:
        return text

    with pytest.raises(DeclarationError):
        Pipeline("p", step)  # type: ignore[arg-type]


def test_one_asset_is_not_a_list_of_letters() -> None:
    with pytest.raises(DeclarationError):

        @model(assets="labels.txt")
        def step(text: str) -> Annotated[str, Name("result")]:
            return text


def test_a_function_that_keeps_and_changes_its_input_later() -> None:
    """The next request's array is another one, and the answer given already stays."""
    kept: list[Array] = []

    @model(name="m")
    def step(x: Vector) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        for array in kept:
            array += 100
        kept.append(x)
        return x

    first, second = run(step, {"x": rows(1)}, {"x": rows(2)})
    assert (answered(first)["y"][0, 0], answered(second)["y"][0, 0]) == (1, 2)


def test_splitting_gives_back_json_that_was_taken_apart() -> None:
    """Plain values are changed in place as easily as arrays."""

    def function(value: Any) -> Any:
        told = [item.pop("do") for item in value]
        if "raise" in told:
            raise ValueError("as told")
        return told

    word: Any = Batch[Annotated[Any, Json()]]
    step = model.wrap(function, inputs={"value": word}, outputs={"y": word}, name="m", batch="list", fallback="split")
    good, bad, other = run(step, *[{"value": [f'{{"do": "{what}"}}']} for what in ("a", "raise", "b")])
    assert "ValueError: as told" in refused(bad, "INTERNAL")
    assert (answered(good)["y"][0, 0], answered(other)["y"][0, 0]) == (b'"a"', b'"b"')


def test_a_cancelled_task_fails_its_own_request() -> None:
    """CancelledError is no Exception, and comes out of any library that cancels what it awaits."""

    @model(name="m")
    async def step(text: str) -> Annotated[str, Name("y")]:
        if text == "bad":
            raise asyncio.CancelledError
        return text

    ready = execution(step)
    try:
        bad, good = ready.run([{"text": tensor(["bad"])}, {"text": tensor(["good"])}])
    finally:
        ready.close()
    refused(bad, "INTERNAL")
    assert answered(good)["y"].tolist() == [[b"good"]]


def test_an_argument_that_is_positional_only() -> None:
    """It is called by name, so it is refused where it is declared, or served; never an error of every request."""
    try:

        @model(name="m")
        def step(text: str, /) -> Annotated[str, Name("y")]:
            return text

    except DeclarationError as error:
        assert "'text'" in str(error)
    else:
        assert answered(run(step, {"text": ["a"]})[0])["y"].tolist() == [[b"a"]]


def test_a_partial_and_a_method_are_functions_too() -> None:
    class Suffix:
        def __init__(self, text: str) -> None:
            self.text = text

        def put(self, text: str) -> Annotated[str, Name("y")]:
            return text + self.text

    def put(text: str, suffix: str) -> str:
        return text + suffix

    method = model.wrap(Suffix("!").put, name="m")
    partial = model.wrap(functools.partial(put, suffix="!"), inputs={"text": str}, outputs={"y": str}, name="m")
    for step in (method, partial):
        assert answered(run(step, {"text": ["a"]})[0])["y"].tolist() == [[b"a!"]]
