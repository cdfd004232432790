"""From annotations, or inputs=/outputs=, to a Signature; and every mistake on the way, with its place and its fix."""

# mypy: disable-error-code="empty-body"
# Most functions here are read and never called.

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

import numpy as np
import pytest

from triton_pyb import Annotated, Batch, DeclarationError, Image, Json, Name, Tensor, model
from triton_pyb.runtime.errors import SeveralErrors
from triton_pyb.runtime.signature import Field, Signature
from triton_pyb.runtime.steps import mark_of

Array = np.ndarray[Any, Any]
Vector = Annotated[Array, Tensor("FP32", (2,))]
Text = Annotated[str, Name("out")]


def read(function: Callable[..., Any], **options: Any) -> Signature:
    mark = mark_of(model(**options)(function))
    assert mark is not None
    return mark.signature


def mistakes(function: Callable[..., Any], **options: Any) -> list[DeclarationError]:
    """All that the decorator says, each with the place of the function."""
    with pytest.raises(DeclarationError) as caught:
        model(**options)(function)
    errors = caught.value.errors if isinstance(caught.value, SeveralErrors) else (caught.value,)
    line = inspect.unwrap(function).__code__.co_firstlineno if inspect.isfunction(function) else 0
    for error in errors:
        assert f"({__file__}:{line})" in error.where or not line
    return list(errors)  # type: ignore[arg-type]


def mistake(function: Callable[..., Any], code: str, **options: Any) -> DeclarationError:
    (error,) = mistakes(function, **options)
    assert error.code == code
    return error


# --- what is understood


def test_inputs_are_named_like_their_arguments_and_described_by_their_types() -> None:
    def step(
        picture: Annotated[Array, Image("GRAY")],
        text: str,
        data: bytes,
        count: int,
        share: float,
        flag: bool,
        value: Annotated[Any, Json()],
        small: Annotated[int, Tensor("UINT8", ())],
        array: Annotated[Array, Tensor("INT16", ("H", None, 3))],
    ) -> Text:
        return text

    fields = {field.name: field for field in read(step).inputs}
    assert {name: (field.dtype, field.shape, field.kind) for name, field in fields.items()} == {
        "picture": ("BYTES", (), "image"),
        "text": ("BYTES", (), "text"),
        "data": ("BYTES", (), "bytes"),
        "count": ("INT64", (), "number"),
        "share": ("FP64", (), "number"),
        "flag": ("BOOL", (), "number"),
        "value": ("BYTES", (), "json"),
        "small": ("UINT8", (), "number"),
        "array": ("INT16", ("H", -1, 3), "tensor"),
    }


def test_a_marker_alone_is_enough() -> None:
    def step(x: Tensor("FP32", (2,)), y: Json()) -> Tensor("FP32", (2,), name="z"):  # type: ignore[valid-type]
        return x

    signature = read(step)
    assert [(field.name, field.dtype) for field in signature.inputs] == [("x", "FP32"), ("y", "BYTES")]
    assert signature.outputs[0].name == "z"


def test_an_input_may_be_renamed_and_a_default_makes_it_optional() -> None:
    def step(x: Annotated[Array, Tensor("FP32", (2,), name="INPUT__0")], k: int = 3, *, text: str = "") -> Text:
        return text

    first, second, third = read(step).inputs
    assert (first.name, first.argument, first.optional) == ("INPUT__0", "x", False)
    assert second.optional and third.optional


def test_one_bare_output() -> None:
    def step(x: Vector) -> Annotated[Array, Tensor("FP32", ("N",), name="y")]:
        return x

    signature = read(step)
    assert signature.bare and signature.outputs == (Field("y", "FP32", ("N",)),)


class Named(NamedTuple):
    label: str
    score: Annotated[float, Tensor("FP32", (), name="SCORE")]


class Typed(TypedDict):
    label: str
    score: Annotated[float, Tensor("FP32", (), name="SCORE")]


@dataclasses.dataclass
class Plain:
    label: str
    score: Annotated[float, Tensor("FP32", (), name="SCORE")]


@dataclasses.dataclass
class Child(Plain):
    extra: int = 0


@pytest.mark.parametrize("container", [Named, Typed, Plain])
def test_a_container_names_the_outputs(container: Any) -> None:
    def step(text: str) -> Any: ...

    step.__annotations__["return"] = container
    signature = read(step)
    assert not signature.bare
    assert [(field.name, field.argument, field.dtype) for field in signature.outputs] == [
        ("label", "label", "BYTES"),
        ("SCORE", "score", "FP32"),
    ]


def test_a_dataclass_brings_what_its_base_has() -> None:
    def step(text: str) -> Child: ...

    assert [field.name for field in read(step).outputs] == ["label", "SCORE", "extra"]


def test_a_tuple_names_each_part() -> None:
    def step(text: str) -> tuple[Annotated[str, Name("a")], Annotated[Array, Tensor("FP32", (2,), name="b")]]: ...

    signature = read(step)
    assert not signature.bare
    assert [field.name for field in signature.outputs] == ["a", "b"]


def test_inputs_and_outputs_in_place_of_annotations() -> None:
    def step(x, text, k=1): ...  # type: ignore[no-untyped-def]

    signature = read(
        step, inputs={"x": Tensor("FP32", (2,)), "text": str}, outputs={"y": Tensor("FP32", (2,)), "label": str}
    )
    assert [(field.name, field.kind) for field in signature.inputs] == [("x", "tensor"), ("text", "text")]
    assert [(field.name, field.argument) for field in signature.outputs] == [("y", "y"), ("label", "label")]
    assert not signature.bare
    assert read(step, inputs={"x": str, "text": str}, outputs={"y": str}).bare


def test_annotations_for_the_inputs_and_outputs_said() -> None:
    def step(x: Vector): ...  # type: ignore[no-untyped-def]

    assert read(step, outputs={"y": Json()}).outputs[0].kind == "json"


def test_a_list_of_items_in_a_joined_mode() -> None:
    def step(text: Batch[str], x: Vector) -> Batch[Annotated[dict[str, Any], Json(name="result")]]: ...

    signature = read(step, batch="stack")
    assert [field.listed for field in signature.inputs] == [True, False]
    assert signature.outputs[0].listed and signature.outputs[0].name == "result"


def test_a_tuple_of_lists_of_items() -> None:
    def step(x: Vector) -> tuple[Batch[Annotated[str, Name("a")]], Batch[Annotated[Any, Json(name="b")]]]: ...

    assert [field.name for field in read(step, batch="stack").outputs] == ["a", "b"]


def test_a_decorated_function_is_read_through_its_wrapper() -> None:
    import functools

    def plain(text: str) -> Text:
        return text

    @functools.wraps(plain)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return plain(*args, **kwargs)

    assert [field.name for field in read(wrapper).inputs] == ["text"]


def test_the_place_is_module_and_qualified_name() -> None:
    def step(text: str) -> Text:
        return text

    assert read(step).function == f"{__name__}:{step.__qualname__}"


def test_none_as_the_default_of_an_optional_array() -> None:
    def step(text: str, x: Annotated[Array | None, Tensor("FP32", (2,))] = None) -> Text:
        return text

    assert read(step).inputs[1].optional


def test_none_as_the_default_of_an_optional_value() -> None:
    def step(text: str, lang: str | None = None) -> Text:
        return text

    assert read(step).inputs[1].optional and read(step).inputs[1].kind == "text"


# --- what is refused: what, where, fix


def test_an_argument_without_annotation() -> None:
    def step(x) -> Text: ...  # type: ignore[no-untyped-def]

    error = mistake(step, "TPB101")
    assert error.what == "argument 'x' has no annotation"
    assert error.fix.startswith('write `x: Annotated[np.ndarray, Tensor("FP32", (...))]`, `x: str`')


def test_a_step_without_input() -> None:
    def step() -> Text: ...

    error = mistake(step, "TPB101")
    assert (error.what, error.fix) == ("a step needs at least one input", "give the function an annotated argument")


def test_an_argument_that_inputs_forgets() -> None:
    def step(x, y, z=1): ...  # type: ignore[no-untyped-def]

    error = mistake(step, "TPB101", inputs={"x": str}, outputs={"out": str})
    assert (error.what, error.fix) == ("argument 'y' is not in inputs=", "add 'y' to inputs=")


@pytest.mark.parametrize(
    "dtype, what, fix",
    [
        ("FP31", "input 'x': unknown dtype 'FP31'; did you mean 'FP", "Triton's dtypes are BOOL, UINT8"),
        ("quux", "input 'x': unknown dtype 'quux'", "Triton's dtypes are"),
        (
            "BF16",
            "input 'x': BF16 has no numpy dtype",
            "use torch.Tensor (BF16 travels through DLPack, from 24.08 on), FP32",
        ),
    ],
)
def test_an_unknown_dtype(dtype: str, what: str, fix: str) -> None:
    def step(x: Any) -> Text: ...

    step.__annotations__["x"] = Annotated[Array, Tensor(dtype, (2,))]
    error = mistake(step, "TPB102")
    assert error.what.startswith(what) and error.fix.startswith(fix)


@pytest.mark.parametrize(
    "annotation, fix",
    [
        (Annotated[Array, Tensor("FP32", (2,))], 'Annotated[np.ndarray, Tensor("FP32", (2,), name="...")]'),
        (Annotated[Any, Json()], 'Annotated[Any, Json(name="...")]'),
        (str, 'Annotated[str, Name("...")]'),
        (int, 'Annotated[int, Name("...")]'),
    ],
)
def test_an_output_without_a_name(annotation: Any, fix: str) -> None:
    def step(text: str) -> Any: ...

    step.__annotations__["return"] = annotation
    error = mistake(step, "TPB103")
    assert error.what == "the output has no name"
    assert error.fix == f'say it: `{fix}`, or `outputs={{"name": ...}}`'


def test_a_part_of_a_tuple_without_a_name() -> None:
    def step(text: str) -> tuple[Annotated[str, Name("a")], str]: ...

    error = mistake(step, "TPB103")
    assert error.what == "output 1 of the tuple has no name"
    assert error.fix == 'say it: Annotated[str, Name("...")], or name="..." in its Tensor, Json or Image'


def test_batch_may_stand_inside_annotated() -> None:
    def inside(text: Batch[str]) -> Annotated[Batch[str], Name("out")]: ...

    def outside(text: Batch[str]) -> Batch[Annotated[str, Name("out")]]: ...

    found = [model.wrap(step, batch="list", name="m") for step in (inside, outside)]
    first, second = (mark_of(step).signature for step in found)  # type: ignore[union-attr]
    assert first.outputs == second.outputs and first.outputs[0].listed


def test_a_batch_that_may_be_left_out() -> None:
    def step(n: Batch[int] | None = None) -> Batch[Annotated[int, Name("out")]]: ...

    (field,) = mark_of(model.wrap(step, batch="list", name="m")).signature.inputs  # type: ignore[union-attr]
    assert (field.listed, field.optional, field.dtype) == (True, True, "INT64")


@pytest.mark.parametrize(
    ("word", "code", "what", "fix"),
    [
        (Json, "TPB113", "Json without parentheses", "write Json(...)"),
        (Image, "TPB113", "Image without parentheses", "write Image(...)"),
        (
            Tensor("FP32"),
            "TPB106",
            'Tensor("FP32") without the shape of one item',
            'write Tensor("FP32", (3, 224, 224)), or Tensor("FP32", ()) for one number per item',
        ),
        (
            Tensor((3, 4)),
            "TPB102",
            "(3, 4) stands where the dtype belongs",
            'write Tensor("FP32", (3, 4)): dtype, shape',
        ),
        (
            Tensor("FP32", ("batch", 3)),
            "TPB106",
            "the shape ('batch', 3) begins with the batch axis, which is never written",
            "write the shape of one item: (3,)",
        ),
    ],
)
def test_words_used_wrongly(word: Any, code: str, what: str, fix: str) -> None:
    def step(x: Any) -> Any: ...

    error = mistake(step, code, inputs={"x": Annotated[Array, word]}, outputs={"out": str})
    assert (error.what, error.fix) == (f"input 'x': {what}", fix)


class Odd: ...


@pytest.mark.parametrize(
    "annotation, what, fix",
    [
        (
            dict[str, int],
            "input 'x': dict[str, int] alone does not say how it travels",
            "write `Annotated[..., Json()]`",
        ),
        (list, "input 'x': list alone does not say how it travels", "write `Annotated[..., Json()]`"),
        (Array, "input 'x': an array needs its dtype and its shape per item", "write `Annotated[np.ndarray, Tensor("),
        (np.ndarray, "input 'x': an array needs its dtype and its shape per item", "write `Annotated[np.ndarray, "),
        (Odd, "input 'x': Odd is no type that a tensor can be", "use np.ndarray or torch.Tensor with Tensor(...)"),
        (Any, "input 'x': Any is no type that a tensor can be", "use np.ndarray or torch.Tensor with"),
        ("1 +", "input 'x': the annotation `1 +` does not evaluate: SyntaxError: ", "correct the annotation"),
        ("Tensor('FP32'", "input 'x': the annotation `Tensor('FP32'` does not evaluate", "correct the annotation"),
        ("Name()", "input 'x': the annotation `Name()` does not evaluate: TypeError: ", "correct the annotation"),
    ],
)
def test_a_type_that_no_tensor_can_be(annotation: Any, what: str, fix: str) -> None:
    def step(x: Any) -> Text: ...

    step.__annotations__["x"] = annotation
    error = mistake(step, "TPB104")
    assert error.what.startswith(what) and error.fix.startswith(fix)


def test_none_is_no_type_of_an_input() -> None:
    def step(x: None, text: str) -> Text: ...

    assert "input 'x'" in mistake(step, "TPB104").what


def test_none_is_no_type_of_an_output() -> None:
    def step(text: str) -> None: ...

    assert "output" in mistakes(step)[0].what


def test_an_argument_list_of_open_length() -> None:
    def step(x: Vector, *rest: Vector, **more: Vector) -> Text: ...

    first, second = mistakes(step)
    assert first.code == second.code == "TPB105"
    assert first.what == "argument '*rest' cannot be an input: a model has a fixed list of inputs"
    assert second.what.startswith("argument '**more' cannot be an input")
    assert first.fix == "give each input an argument of its own"


@pytest.mark.parametrize("size", [0, -2, 1.5, True, "not a name", (2,)])
def test_a_size_that_is_none(size: Any) -> None:
    def step(x: Any) -> Text: ...

    step.__annotations__["x"] = Annotated[Array, Tensor("FP32", (3, size))]

    error = mistake(step, "TPB106")
    assert (
        error.what == f"input 'x': {size!r} in the shape {(3, size)!r} is neither a size above 0, nor -1, nor a symbol"
    )
    assert error.fix == 'write a positive int, -1 for any size, or a name such as "H"'


def test_a_shape_that_is_none() -> None:
    def step(x: Annotated[Array, Tensor("FP32", 1.5)]) -> Text: ...

    error = mistake(step, "TPB106")
    assert error.what == "input 'x': 1.5 is no shape"
    assert error.fix == "write a tuple of sizes, such as (3, 224, 224)"


def test_no_return_annotation() -> None:
    def step(x: Vector): ...  # type: ignore[no-untyped-def]

    error = mistake(step, "TPB107")
    assert error.what == "the function has no return annotation"
    assert error.fix.startswith('write `-> Annotated[np.ndarray, Tensor("FP32", (...), name="...")]`')


def test_outputs_that_name_none() -> None:
    def step(x: Vector): ...  # type: ignore[no-untyped-def]

    error = mistake(step, "TPB107", outputs={})
    assert (error.what, error.fix) == ("outputs= is empty: a step needs at least one output", "name the outputs")


def test_two_inputs_of_one_name() -> None:
    def step(x: Vector, y: Annotated[Array, Tensor("FP32", (2,), name="x")]) -> Text: ...

    error = mistake(step, "TPB108")
    assert error.what == "two inputs are named 'x' ('x' and 'y')"
    assert error.fix == "give each tensor a name of its own"


def test_two_outputs_of_one_name() -> None:
    def step(x: Vector) -> tuple[Annotated[str, Name("a")], Annotated[str, Name("a")]]: ...

    assert any(error.code == "TPB108" and "two outputs are named 'a'" in error.what for error in mistakes(step))


def test_an_unknown_batch_mode() -> None:
    def step(x: Vector) -> Text: ...

    error = mistakes(step, batch="eahc")[0]
    assert error.code == "TPB109"
    assert error.what == "unknown batch mode 'eahc'; did you mean 'each'?"
    assert error.fix.startswith("write one of 'each', 'stack'")


def test_an_unknown_batch_mode_is_one_mistake() -> None:
    def step(x: Vector) -> Text: ...

    mistake(step, "TPB109", batch="eahc")


def test_a_value_that_is_no_array_in_a_joined_mode() -> None:
    def step(text: str) -> Annotated[Array, Tensor("FP32", (2,), name="y")]: ...

    error = mistake(step, "TPB110", batch="stack")
    assert error.what == ("input 'text': with batch='stack' the function sees many items at once, and text is no array")
    assert error.fix == "write Batch[...] around it: a list with one entry per item"


def test_a_list_of_items_where_one_item_comes() -> None:
    def step(text: Batch[str]) -> Text: ...

    error = mistake(step, "TPB110")
    assert error.what == "input 'text': Batch[...] with batch=\"each\": the function sees one item at a time"
    assert error.fix.startswith("drop Batch[...]")


def test_a_picture_as_an_output_is_one_per_item() -> None:
    def step(text: str) -> Annotated[list[Array], Image(name="picture", shape=(2,))]: ...

    error = mistake(step, "TPB106")
    assert error.what == "the output: an output is one picture per item"
    assert error.fix == "leave out shape= and decoded="


@pytest.mark.parametrize(
    ("option", "value"),
    [("animated", "last"), ("format", "GIF"), ("quality", 0), ("reduce_to", 64), ("base64", "yes"), ("decoded", 3)],
)
def test_an_option_of_an_image_that_is_none(option: str, value: Any) -> None:
    marker = Image(**{option: value})

    def step(image: Any) -> Any: ...

    error = mistake(step, "TPB114", inputs={"image": marker}, outputs={"out": str})
    assert f"{option}={value!r} of an Image is not " in error.what
    assert error.fix.startswith("write ")


def test_inputs_that_name_no_argument() -> None:
    def step(image): ...  # type: ignore[no-untyped-def]

    error = mistake(step, "TPB112", inputs={"image": str, "imgae": str}, outputs={"out": str})
    assert error.what == "inputs= names 'imgae', which is no argument; did you mean 'image'?"
    assert error.fix == "the arguments are 'image'"


@pytest.mark.parametrize(
    "annotation, what, fix",
    [
        (Annotated[str, Image()], "does not fit str", "an image is an np.ndarray or a PIL.Image.Image in the function"),
        (Annotated[str, Tensor("FP32", (2,))], "does not fit str", "a Tensor is an np.ndarray"),
        (Annotated[int, Tensor("FP32", ())], "a int cannot be FP32[]", "a single number has the shape ()"),
        (Annotated[float, Tensor("FP32", (2,))], "a float cannot be FP32[2]", "a single number has the shape ()"),
        (Annotated[Array, Tensor("FP32", ()), Json()], "both describe it", "keep one of them"),
    ],
)
def test_a_marker_that_does_not_fit_its_type(annotation: Any, what: str, fix: str) -> None:
    def step(x: Any) -> Text: ...

    step.__annotations__["x"] = annotation
    error = mistake(step, "TPB113")
    assert error.what.startswith("input 'x': ") and what in error.what and error.fix.startswith(fix)


def test_an_unknown_image_mode() -> None:
    def step(x: Annotated[Array, Image("RBG")]) -> Text: ...

    error = mistake(step, "TPB114")
    assert error.what == "input 'x': unknown image mode 'RBG'; did you mean 'RGB'?"
    assert error.fix == "write one of 'RGB', 'BGR', 'GRAY'"


def test_all_mistakes_at_once() -> None:
    def step(a, b: Annotated[Array, Tensor("FP31", (0,))], c: dict[str, int], *d: str): ...  # type: ignore[no-untyped-def]

    errors = mistakes(step)
    assert sorted(error.code for error in errors) == ["TPB101", "TPB102", "TPB104", "TPB105", "TPB107"]
    with pytest.raises(DeclarationError, match=re.escape("5 errors\n")):
        model(step)
