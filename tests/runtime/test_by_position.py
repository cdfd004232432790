"""Wrapped callables whose arguments have no names get the inputs in the order of ``inputs=``."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

from triton_pyb import DeclarationError, Tensor, model
from triton_pyb.runtime.steps import mark_of

from .requests import answered, run

FLOAT = Tensor("FP32", ())


class Chain:
    """As torch modules and version 2 of torchvision's transforms are called."""

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        assert not options
        return inputs[0] - inputs[1]


def minus(a: int, /, b: int) -> int:
    return a - b


@pytest.mark.parametrize("function", [Chain(), minus, lambda *numbers: numbers[0] - numbers[1]])
def test_inputs_come_in_the_order_they_were_named(function: Any) -> None:
    step = model.wrap(function, name="minus", inputs={"left": int, "right": int}, outputs={"y": int})
    request = {"right": np.array([[2]]), "left": np.array([[7]])}
    assert answered(run(step, request)[0])["y"].tolist() == [[5]]


def test_functions_written_in_c() -> None:
    root = model.wrap(np.sqrt, name="root", batch="stack", inputs={"x": FLOAT}, outputs={"y": FLOAT})
    assert answered(run(root, {"x": np.array([[4], [9]], np.float32)})[0])["y"].tolist() == [[2], [3]]
    power = model.wrap(math.pow, name="power", inputs={"x": float, "y": float}, outputs={"z": float})
    assert answered(run(power, {"x": np.array([[2.0]]), "y": np.array([[3.0]])})[0])["z"].tolist() == [[8]]


def test_a_torch_module() -> None:
    torch = pytest.importorskip("torch")
    from triton_pyb import Annotated

    word: Any = Annotated[torch.Tensor, Tensor("FP32", (2,))]
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())
    step = model.wrap(module, name="relu", batch="stack", inputs={"input": word}, outputs={"y": word})
    x = np.array([[-1, 2], [3, -4]], np.float32)
    assert answered(run(step, {"input": x})[0])["y"].tolist() == [[0, 2], [3, 0]]


def test_names_still_count_where_a_function_has_them() -> None:
    def divide(a: int, b: int) -> int:
        return a // b

    step = model.wrap(divide, name="divide", inputs={"b": int, "a": int}, outputs={"y": int})
    assert answered(run(step, {"a": np.array([[7]]), "b": np.array([[2]])})[0])["y"].tolist() == [[3]]
    with pytest.raises(DeclarationError, match="TPB101|argument 'b' is not in inputs="):
        model.wrap(divide, name="divide", inputs={"a": int}, outputs={"y": int})


def test_mistakes_point_at_the_declaration() -> None:
    line = inspect.currentframe()
    assert line is not None
    with pytest.raises(DeclarationError) as caught:
        model.wrap(np.sqrt, name="root", inputs={"x": FLOAT}, outputs={"y": Tensor("FP31", ())})
    assert caught.value.where == f"sqrt() ({__file__}:{line.f_lineno - 1})"


def test_the_place_of_a_wrapped_function_is_its_own() -> None:
    mark = mark_of(model.wrap(minus, name="minus", inputs={"left": int, "right": int}, outputs={"y": int}))
    assert mark is not None
    assert mark.place == ("minus", __file__, inspect.getsourcelines(minus)[1])
