"""The decorators: they mark, and leave the function what it was."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from triton_pyb import Annotated, DeclarationError, Json, Name, Tensor, model, postprocess, preprocess
from triton_pyb.runtime.steps import mark_of

if TYPE_CHECKING:
    from fractions import Fraction as OnlyWhileChecking

Array = np.ndarray[Any, Any]


def twice(x: Annotated[Array, Tensor("FP32", (2,))]) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
    """Doubles."""
    return 2 * x


@pytest.mark.parametrize("decorator", [preprocess, postprocess, model])
def test_the_bare_and_the_called_form_give_the_function_itself_back(decorator: Any) -> None:
    def one(text: str) -> Annotated[str, Name("out")]:
        return text

    def other(text: str) -> Annotated[str, Name("out")]:
        return text

    assert decorator(one) is one
    assert decorator(name="named")(other) is other
    bare, called = mark_of(one), mark_of(other)
    assert bare is not None and called is not None
    assert (bare.name, called.name) == ("one", "named")
    assert bare.signature.inputs == called.signature.inputs
    assert repr(decorator) == f"@{bare.role}"


def test_a_marked_function_is_the_plain_function() -> None:
    marked = preprocess(twice)
    assert marked is twice
    assert marked(np.ones(2)).tolist() == [2.0, 2.0]
    assert marked([1]) == [1, 1]  # type: ignore[arg-type]  # nothing is checked or cast in a plain call
    assert marked.__doc__ == "Doubles." and inspect.isfunction(marked)
    assert pickle.loads(pickle.dumps(marked)) is marked


def test_a_function_without_a_mark_has_none() -> None:
    def plain(x: int) -> int:
        return x

    assert mark_of(plain) is None
    assert mark_of(None) is None
    plain.__triton_step__ = "forged"  # type: ignore[attr-defined]
    assert mark_of(plain) is None


def test_wrap_marks_from_outside() -> None:
    calls = []

    def untouchable(a: Any, b: Any = 1) -> Any:
        """Of somebody else's library."""
        calls.append((a, b))
        return a

    before = dict(vars(untouchable))
    step = postprocess.wrap(
        untouchable, inputs={"a": Tensor("FP32", (2,))}, outputs={"y": Tensor("FP32", (2,))}, name="outside"
    )
    assert vars(untouchable) == before and mark_of(untouchable) is None
    mark = mark_of(step)
    assert mark is not None and mark.name == "outside" and mark.function is untouchable
    assert step("x", b=2) == "x" and calls == [("x", 2)]
    assert step.__doc__ == "Of somebody else's library."
    assert "untouchable" in repr(step)


class Scale:
    def __call__(self, x: Annotated[Array, Tensor("FP32", (2,))]) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        return 3 * x


def test_wrap_takes_a_callable_object() -> None:
    step = preprocess.wrap(Scale(), name="scale")
    mark = mark_of(step)
    assert mark is not None
    assert [field.name for field in mark.signature.inputs] == ["x"]


def test_the_options_stand_on_the_mark() -> None:
    @model(name="m", max_batch_size=0, instances=3)
    def step(text: str) -> Annotated[str, Name("out")]:
        return text

    mark = mark_of(step)
    assert mark is not None
    assert (mark.role, mark.name, mark.max_batch_size, mark.instances) == ("model", "m", 0, 3)


def test_names_of_the_scope_around_are_seen() -> None:
    size = 5

    @preprocess
    def step(x: Annotated[Array, Tensor("FP32", (size,))]) -> Annotated[Array, Tensor("FP32", (size,), name="y")]:
        return x

    mark = mark_of(step)
    assert mark is not None
    assert mark.signature.inputs[0].shape == (5,)


def test_a_name_defined_further_down_is_found_later() -> None:
    @preprocess
    def step(x: Later) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        return x

    mark = mark_of(step)
    assert mark is not None
    globals()["Later"] = Annotated[Array, Tensor("FP32", (2,))]
    try:
        assert mark.signature.inputs[0].shape == (2,)
    finally:
        del globals()["Later"]


if TYPE_CHECKING:
    Later = Array


def test_a_name_that_never_exists_is_an_error_when_it_is_needed() -> None:
    @preprocess
    def step(x: Tensr) -> Annotated[str, Name("y")]:  # type: ignore[name-defined]  # noqa: F821
        return str(x)

    mark = mark_of(step)
    assert mark is not None
    with pytest.raises(DeclarationError) as caught:
        mark.signature  # noqa: B018
    error = caught.value
    assert error.code == "TPB115"
    said = "an annotation cannot be resolved: input 'x': name 'Tensr' is not defined; did you mean 'Tensor'?"
    assert error.what == said
    assert error.where.startswith("step() (") and Path(__file__).name in error.where
    assert error.fix == "correct the name, or import it at module level (outside `if TYPE_CHECKING:`)"


def test_a_wrong_annotation_beside_an_unknown_name_is_reported_at_once() -> None:
    with pytest.raises(DeclarationError) as caught:

        @preprocess
        def step(x: OnlyWhileChecking, y: dict[str, int]) -> Annotated[str, Name("y")]:
            return str(x)

    assert caught.value.code == "TPB104"


@pytest.mark.parametrize(
    "options, what, fix",
    [
        ({"max_batch_size": -1}, "max_batch_size=-1 is no whole number of at least 0", "write max_batch_size=8"),
        ({"max_batch_size": True}, "max_batch_size=True is no whole number", "write max_batch_size=8"),
        ({"max_batch_size": 8.0}, "max_batch_size=8.0 is no whole number", "write max_batch_size=8"),
        ({"instances": 0}, "instances=0 is no whole number of at least 1", "write instances=1, or leave it out"),
        ({"instances": "2"}, "instances='2' is no whole number", "write instances=1"),
    ],
)
def test_numbers_are_checked_at_the_decorator(options: dict[str, Any], what: str, fix: str) -> None:
    with pytest.raises(DeclarationError) as caught:

        @preprocess(**options)  # type: ignore[untyped-decorator]  # whatever the options are
        def step(x: str) -> Annotated[str, Name("y")]:
            return x

    error = caught.value
    assert error.code == "TPB116" and what in error.what and fix in error.fix and "step() (" in error.where


def test_any_json_value_is_one_output() -> None:
    @postprocess
    def step(x: str) -> Annotated[dict[str, Any], Json(name="result")]:
        return {"x": x}

    mark = mark_of(step)
    assert mark is not None and mark.signature.bare
    assert mark.signature.outputs[0].name == "result"
