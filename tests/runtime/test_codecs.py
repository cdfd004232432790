"""Text, bytes, numbers and JSON between the wire and the function."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triton_pyb import Annotated, Batch, Image, Json, Name, Tensor, model
from triton_pyb.runtime.images import decode_image, encode_image

from .requests import answered, refused, run

Array = np.ndarray[Any, Any]


@model
def value(value: Annotated[Any, Json()]) -> Annotated[Any, Json(name="out")]:
    return value


@model
def text(text: str) -> Annotated[str, Name("out")]:
    return text


@model
def data(data: bytes) -> Annotated[bytes, Name("out")]:
    return data


def returning(result: Any, kind: Any) -> Any:
    """A step that returns `result` as an output of that kind."""
    return model.wrap(lambda x: result, inputs={"x": str}, outputs={"out": kind}, name="m")


def written(result: Any, kind: Any) -> bytes:
    (answer,) = run(returning(result, kind), {"x": ["a"]})
    element = answered(answer)["out"][0, 0]
    assert type(element) is bytes
    return element


def unwritable(result: Any, kind: Any) -> str:
    (answer,) = run(returning(result, kind), {"x": ["a"]})
    return refused(answer, "INTERNAL")


def received(kind: Any, element: Any, dtype: Any = object) -> Any:
    """What a function gets for one element on the wire."""
    seen = []

    def seeing(x: Any) -> str:
        seen.append(x)
        return ""

    step = model.wrap(seeing, inputs={"x": kind}, outputs={"out": str}, name="m")
    array = np.empty((1, 1), dtype)
    array[0, 0] = element
    answered(run(step, {"x": array})[0])
    return seen[0]


# --- coming in


@pytest.mark.parametrize(
    "kind, element, dtype, expected",
    [
        (str, "한글 ✓".encode(), object, "한글 ✓"),
        (str, "already text", object, "already text"),
        (bytes, b"\x00\xff\x00", object, b"\x00\xff\x00"),
        (bytes, "text", object, b"text"),
        (int, 2**62, np.int64, 2**62),
        (float, 0.5, np.float64, 0.5),
        (bool, True, np.bool_, True),
        (Annotated[int, Tensor("UINT8", ())], 255, np.uint8, 255),
        (Annotated[float, Tensor("FP16", ())], 0.5, np.float16, 0.5),
        (Json(), b'{"a": [1, null]}', object, {"a": [1, None]}),
        (Json(), b" 3 ", object, 3),
    ],
)
def test_a_function_gets_pythons_own_values(kind: Any, element: Any, dtype: Any, expected: Any) -> None:
    got = received(kind, element, dtype)
    assert got == expected and type(got) is type(expected)


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_values_come_in_both_forms_of_a_batch(shape: tuple[int, ...]) -> None:
    array = np.array([b"a", b"b"], object).reshape(shape)
    (answer,) = run(text, {"text": array}, batching=len(shape) == 2)
    assert answered(answer)["out"].shape == shape
    assert answered(answer)["out"].ravel().tolist() == [b"a", b"b"]


def test_what_is_no_text_is_refused_with_its_place() -> None:
    (answer,) = run(text, {"text": [b"good", b"ab\xff"]})
    message = refused(answer, "INVALID_ARG")
    assert "model 'm', item 1 of 2, input 'text': no UTF-8 text: byte 2 is b'\\xff'" in message
    assert message.endswith("[TPB222]")


@pytest.mark.parametrize("bad", [b"{", b"", b"nope", b'{"a": 1} x', b"\xef\xbb\xbf{}"])
def test_what_is_no_json_is_refused(bad: bytes) -> None:
    (answer,) = run(value, {"value": [b"1", bad]})
    message = refused(answer, "INVALID_ARG")
    assert "item 1 of 2, input 'value': no JSON: " in message and message.endswith("[TPB223]")


def test_deep_json_is_refused_and_not_a_crash() -> None:
    (answer,) = run(value, {"value": [b"[" * 100_000]})
    refused(answer, "INVALID_ARG")


def test_nan_is_no_json_coming_in() -> None:
    (answer,) = run(returning("", str), {"x": ["a"]})
    answered(answer)
    step = model.wrap(lambda x: "", inputs={"x": Json()}, outputs={"out": str}, name="m")
    refused(run(step, {"x": [b"[NaN]"]})[0], "INVALID_ARG")


# --- going out


@pytest.mark.parametrize(
    "result, kind, expected",
    [
        ("한글", str, "한글".encode()),
        ("", str, b""),
        (np.str_("x"), str, b"x"),
        (b"a\x00", bytes, b"a\x00"),
        (bytearray(b"b\x00"), bytes, b"b\x00"),
        (memoryview(b"m"), bytes, b"m"),
        (np.bytes_(b"n"), bytes, b"n"),
        ({"이름": "값"}, Json(), '{"이름": "값"}'.encode()),
        ({"a": np.float32(0.5), "b": np.arange(2), "c": np.bool_(True)}, Json(), b'{"a": 0.5, "b": [0, 1], "c": true}'),
        ([], Json(), b"[]"),
        (None, Json(), b"null"),
        ((1, 2), Json(), b"[1, 2]"),
    ],
)
def test_a_value_is_written(result: Any, kind: Any, expected: bytes) -> None:
    assert written(result, kind) == expected


@pytest.mark.parametrize(
    "result, kind, said",
    [
        (3, str, "int is no str [TPB206]"),
        (b"x", str, "bytes is no str [TPB206]"),
        ("x", bytes, "str is no bytes [TPB206]"),
        ("\ud800", str, "the text has no UTF-8: "),
        (float("nan"), Json(), "no JSON: Out of range float values are not JSON compliant"),
        ([float("-inf")], Json(), "no JSON: "),
        (np.float32("nan"), Json(), "no JSON: "),
        ({"a": {1, 2}}, Json(), "no JSON: set has no JSON form [TPB208]"),
        ({(1, 2): 3}, Json(), "no JSON: keys must be str"),
        ("\ud800", Json(), "no JSON: "),
    ],
)
def test_what_cannot_be_written_is_refused(result: Any, kind: Any, said: str) -> None:
    message = unwritable(result, kind)
    assert said in message and any(f"[{code}]; " in message for code in ("TPB206", "TPB208"))


def test_a_cycle_is_no_json() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    assert "no JSON: " in unwritable(cycle, Json())


def test_nesting_beyond_the_stack_is_no_json() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    assert "model 'm'" in unwritable(nested, Json())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(JSON, max_size=4))
def test_json_goes_through_unchanged(values: list[Any]) -> None:
    (answer,) = run(value, {"value": [json.dumps(item).encode() for item in values]})
    assert [json.loads(element) for element in answered(answer)["out"].ravel()] == values


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_text_goes_through_unchanged(texts: list[str]) -> None:
    (answer,) = run(text, {"text": texts})
    assert [element.decode() for element in answered(answer)["out"].ravel()] == texts


@given(st.lists(st.binary()))
def test_bytes_go_through_unchanged(items: list[bytes]) -> None:
    (answer,) = run(data, {"data": items})
    assert answered(answer)["out"].ravel().tolist() == items


# --- lists of items, in the joined mode


@model(batch="stack")
def joined(text: Batch[str], value: Batch[Annotated[Any, Json()]]) -> Batch[Annotated[Any, Json(name="out")]]:
    return [[one, other] for one, other in zip(text, value, strict=True)]


def test_a_joined_call_gets_lists_of_values() -> None:
    first, second = run(joined, {"text": ["a"], "value": ["1"]}, {"text": ["b", "c"], "value": ["2", "3"]})
    assert answered(first)["out"].tolist() == [[b'["a", 1]']]
    assert answered(second)["out"].tolist() == [[b'["b", 2]'], [b'["c", 3]']]


def test_an_element_in_a_joined_call_that_cannot_be_written() -> None:
    step = model.wrap(
        lambda x: [None] * len(x), inputs={"x": Batch[str]}, outputs={"out": Batch[str]}, batch="stack", name="m"
    )
    assert "output 'out': None is no text [TPB206]" in refused(run(step, {"x": ["a"]})[0], "INTERNAL")


def test_a_picture_going_out() -> None:
    @model(name="m")
    def step(text: str) -> Annotated[Any, Image("RGB", name="picture", format="PNG")]:
        return np.full((4, 6, 3), 7, np.uint8) if text == "good" else np.zeros((4, 6), np.float32)

    (answer,) = run(step, {"text": ["good"]})
    data = answered(answer)["picture"][0, 0]
    assert np.array_equal(decode_image(data), np.full((4, 6, 3), 7, np.uint8))
    (answer,) = run(step, {"text": ["bad"]})
    assert "output 'picture': no picture: " in refused(answer, "INTERNAL") and "[TPB211]" in answer.message  # type: ignore[union-attr]


def test_base64_only_where_it_was_asked_for() -> None:
    data = base64.b64encode(encode_image(np.full((4, 6, 3), 7, np.uint8), format="PNG"))

    def step(image: Any) -> Any:
        return str(image.shape)

    for taken in (True, False):
        marked = model.wrap(step, inputs={"image": Image(base64=taken)}, outputs={"shape": str}, name="m")
        (answer,) = run(marked, {"image": [data]})
        if taken:
            assert answered(answer)["shape"][0, 0] == b"(4, 6, 3)"
        else:
            assert "base64" in refused(answer, "INVALID_ARG")
