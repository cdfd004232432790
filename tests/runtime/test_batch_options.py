"""The keywords beside ``batch=``: unknown, out of place or wrong, they are refused at the decorator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from triton_pyb import Annotated, DeclarationError, Lengths, Name, Tensor, model

Array = np.ndarray[Any, Any]


def mistake(code: str, **options: Any) -> DeclarationError:
    with pytest.raises(DeclarationError) as caught:

        @model(**options)  # type: ignore[untyped-decorator]  # whatever the options are
        def step(x: Annotated[Array, Tensor("FP32", ("L",))]) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
            return x

    assert caught.value.code == code and "step() (" in caught.value.where
    return caught.value


def test_an_unknown_option() -> None:
    error = mistake("TPB117", wokers=2)
    assert error.what == "unknown option 'wokers'; did you mean 'workers'?"
    assert error.fix.startswith("the options are inputs, outputs, name")


@pytest.mark.parametrize(
    "options, fix",
    [
        ({"batch": "stack", "workers": 2}, 'it belongs to batch="each"'),
        ({"batch": "each", "limit": 2}, 'it belongs to batch="stack", batch="list", batch="pad"'),
        ({"batch": "each", "fallback": "split"}, 'it belongs to batch="stack", batch="list", batch="pad"'),
        ({"batch": "stack", "pad_to": 2}, 'it belongs to batch="pad"'),
        ({"batch": "pad", "ragged": "bucket"}, 'it belongs to batch="stack"'),
        ({"batch": "request", "on_item_error": "mask"}, 'it belongs to batch="each", batch="stack"'),
    ],
)
def test_an_option_of_another_mode(options: dict[str, Any], fix: str) -> None:
    error = mistake("TPB118", **options)
    assert f"means nothing with batch={options['batch']!r}" in error.what and error.fix.startswith(fix)


@pytest.mark.parametrize(
    "options, what, fix",
    [
        ({"workers": 0}, "workers=0 is not a whole number of at least 1", "write a whole number of at least 1"),
        ({"workers": True}, "workers=True is not a whole number", "write a whole"),
        ({"batch": "stack", "limit": 1.5}, "limit=1.5 is not a whole number", "write a whole"),
        ({"batch": "stack", "group_by": ""}, "group_by='' is not the name of an input or of a parameter", "write"),
        (
            {"batch": "stack", "fallback": "spilt"},
            "fallback='spilt' is unknown; did you mean 'split'?",
            'write "split"',
        ),
        ({"on_item_error": "maks"}, "on_item_error='maks' is unknown; did you mean 'mask'?", 'write "fail_request" or'),
        ({"batch": "pad", "pad_value": "0"}, "pad_value='0' is not a number", "write a number"),
        ({"readonly": 1}, "readonly=1 is not True or False", "write True or False"),
        ({"bad_input": ValueError}, "is no tuple of exception classes", "write bad_input=(ValueError,)"),
        ({"bad_input": (3,)}, "is no tuple of exception classes", "write bad_input=(ValueError,)"),
        ({"bad_input": (KeyboardInterrupt,)}, "is no tuple of exception classes", "write bad_input=(ValueError,)"),
    ],
)
def test_an_option_that_is_wrong(options: dict[str, Any], what: str, fix: str) -> None:
    error = mistake("TPB118", **options)
    assert what in error.what and error.fix.startswith(fix)


def test_lengths_without_padding() -> None:
    with pytest.raises(DeclarationError) as caught:

        @model(batch="stack")
        def step(
            x: Annotated[Array, Tensor("FP32", ("L",))], n: Annotated[Array, Lengths("x")]
        ) -> Annotated[Array, Tensor("FP32", ("L",), name="y")]:
            return x

    error = caught.value
    assert (error.code, error.fix) == ("TPB118", 'write batch="pad"')
    assert error.what == "argument 'n': Lengths(...) belongs to batch=\"pad\""


def test_lengths_of_no_input() -> None:
    with pytest.raises(DeclarationError) as caught:

        @model(batch="pad")
        def step(
            tokens: Annotated[Array, Tensor("FP32", ("L",))], n: Annotated[Array, Lengths("token")]
        ) -> Annotated[Array, Tensor("FP32", ("L",), name="y")]:
            return tokens

    error = caught.value
    assert (error.code, error.fix) == ("TPB112", "the inputs are 'tokens'")
    assert error.what == "argument 'n': Lengths('token') names no input; did you mean 'tokens'?"


def test_an_unknown_cast() -> None:
    with pytest.raises(DeclarationError) as caught:

        @model
        def step(x: str) -> Annotated[Array, Tensor("UINT8", (2,), name="y", cast="unsave")]:
            raise NotImplementedError

    error = caught.value
    assert error.code == "TPB119" and error.fix == "write one of 'safe', 'same_kind', 'unsafe'"
    assert error.what == "the output: unknown cast 'unsave'; did you mean 'unsafe'?"


def test_a_step_may_be_a_misspelled_name_and_a_wrong_option_at_once() -> None:
    with pytest.raises(DeclarationError, match="3 errors"):

        @model(wokers=2, max_batch_size=-1)  # type: ignore[call-overload, untyped-decorator]
        def step(x: str, y) -> Annotated[str, Name("out")]:  # type: ignore[no-untyped-def]
            return x
