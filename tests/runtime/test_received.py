"""What a request must bring; each refusal is INVALID_ARG and says what came and what was expected."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from triton_pyb import Annotated, Image, Json, Name, Tensor, model

from .requests import answered, execution, refused, run

Array = np.ndarray[Any, Any]


@model
def step(
    image: Annotated[Array, Tensor("FP32", ("H", "H", 3))],
    text: str,
    size: Annotated[int, Tensor("INT32", ())] = 0,
) -> Annotated[Any, Json(name="out")]:
    return [list(image.shape), text, size]


def request(**changes: Any) -> dict[str, Any]:
    good = {"image": np.zeros((2, 4, 4, 3), np.float32), "text": np.array([[b"a"], [b"b"]], object)}
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


def refusal(**changes: Any) -> str:
    (answer,) = run(step, request(**changes))
    return refused(answer, "INVALID_ARG")


def test_a_good_request_is_read() -> None:
    (answer,) = run(step, request(size=np.array([[1], [2]], np.int32)))
    assert answered(answer)["out"].ravel().tolist() == [b'[[4, 4, 3], "a", 1]', b'[[4, 4, 3], "b", 2]']


def test_an_input_that_is_missing() -> None:
    assert "model 'm', input 'text' is missing [TPB224]" in refusal(text=None)


def test_inputs_that_disagree_in_their_number_of_items() -> None:
    message = refusal(text=np.array([[b"a"]], object))
    assert "the inputs disagree in their number of items: 'image' 2, 'text' 1 [TPB225]" in message
    assert "'size' 3" in refusal(size=np.zeros((3, 1), np.int32))


@pytest.mark.parametrize("shape", [(2, 4, 4), (2, 4, 4, 4), (4, 4, 3), (2, 4, 4, 3, 1), (), (2,)])
def test_an_input_of_another_shape(shape: tuple[int, ...]) -> None:
    message = refusal(image=np.zeros(shape, np.float32))
    assert f"input 'image' has shape {list(shape)}, expected [items, H, H, 3] [TPB226]" in message


def test_a_symbol_that_would_mean_two_sizes() -> None:
    message = refusal(image=np.zeros((2, 4, 5, 3), np.float32))
    assert "input 'image' has shape [2, 4, 5, 3]: H cannot be 4 and 5 [TPB226]" in message


@pytest.mark.parametrize("shape", [(2, 2), (2, 1, 1), ()])
def test_a_value_of_another_shape(shape: tuple[int, ...]) -> None:
    text = np.full(shape, b"a", object)
    assert f"input 'text' has shape {list(shape)}, expected [items" in refusal(text=text)


def test_a_symbol_may_differ_between_items_of_different_requests() -> None:
    answers = run(step, request(), request(image=np.zeros((2, 7, 7, 3), np.float32)))
    assert [answered(answer)["out"][0, 0] for answer in answers] == [b'[[4, 4, 3], "a", 0]', b'[[7, 7, 3], "a", 0]']


def test_an_input_that_nobody_declared_is_left_alone() -> None:
    """Triton itself refuses it before; an ensemble never sends one."""
    answered(run(step, request(more=np.zeros((2, 1))))[0])


def test_no_items_and_a_symbol() -> None:
    (answer,) = run(step, request(image=np.zeros((0, 4, 4, 3), np.float32), text=np.empty((0, 1), object)))
    assert answered(answer)["out"].shape == (0, 1)


def test_two_forms_of_one_input() -> None:
    @model
    def sized(picture: Annotated[Array, Image(decoded="pixels")]) -> Annotated[Any, Json(name="out")]:
        return list(picture.shape)

    pixels = np.zeros((1, 2, 3, 3), np.uint8)
    assert answered(run(sized, {"pixels": pixels})[0])["out"].tolist() == [[b"[2, 3, 3]"]]
    message = refused(run(sized, {"pixels": pixels, "picture": [b"x"]})[0], "INVALID_ARG")
    assert "'picture' and 'pixels' both came: they are two forms of one input" in message or "[TPB221]" in message
    both = {"picture": np.empty((0, 1), object), "pixels": pixels[:0]}
    message = refused(run(sized, both)[0], "INVALID_ARG")
    assert "'picture' and 'pixels' both came: they are two forms of one input [TPB228]" in message
    assert "input 'picture' (or 'pixels') is missing [TPB224]" in refused(run(sized, {})[0], "INVALID_ARG")


def test_a_tensor_on_a_device_where_the_function_takes_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for torch: importing the real one costs seconds, and a device is needed besides."""

    class OnDevice:
        shape, ndim, device = (1, 2), 2, "cuda:0"

        def __len__(self) -> int:
            return 1

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=OnDevice))

    @model
    def plain(x: Annotated[Array, Tensor("FP32", (2,))]) -> Annotated[str, Name("y")]:
        return ""

    ready = execution(plain)
    message = refused(ready.run([{"x": OnDevice()}])[0], "INVALID_ARG")
    assert "input 'x' lives on cuda:0, and the function takes a numpy array [TPB229]" in message


@model
def named(x: Annotated[Array, Tensor("FP32", (2,), name="INPUT__0")]) -> Annotated[str, Name("y")]:
    return str(x.tolist())


def test_messages_say_the_tensors_name_and_not_the_arguments() -> None:
    assert "input 'INPUT__0' is missing" in refused(run(named, {})[0], "INVALID_ARG")
    assert answered(run(named, {"INPUT__0": np.zeros((1, 2), np.float32)})[0])["y"].tolist() == [[b"[0.0, 0.0]"]]
