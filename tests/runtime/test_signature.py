from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from triton_pyb import Annotated, Image, Json, Name, Tensor, preprocess
from triton_pyb.runtime.signature import Field, Signature
from triton_pyb.runtime.steps import mark_of

NOTHING = np.zeros((0, 3, 0), np.float16)


@preprocess(name="p")
def every_kind(
    picture: Annotated[np.ndarray[Any, Any], Image("BGR", max_pixels=100)],
    text: str,
    data: bytes,
    value: Annotated[dict[str, Any], Json()],
    count: int = 1,
    array: Annotated[np.ndarray[Any, Any], Tensor("FP16", ("H", 3, -1), name="arr")] = NOTHING,
) -> tuple[Annotated[str, Name("a")], Annotated[float, Tensor("FP32", (), name="b")]]:
    return text, 1.0


def signature_of(step: Any) -> Signature:
    mark = mark_of(step)
    assert mark is not None
    return mark.signature


def test_it_travels_through_json_unchanged() -> None:
    signature = signature_of(every_kind)
    assert Signature.from_dict(json.loads(json.dumps(signature.to_dict()))) == signature


def test_another_format_is_refused() -> None:
    data = {**signature_of(every_kind).to_dict(), "format": 999}
    with pytest.raises(ValueError, match="format 999"):
        Signature.from_dict(data)
    del data["format"]
    with pytest.raises(ValueError, match="format None"):
        Signature.from_dict(data)


def test_a_field_is_found_by_its_tensor_name() -> None:
    signature = signature_of(every_kind)
    field = signature.input("arr")
    assert field is not None and field.argument == "array" and field.optional
    assert signature.input("array") is None
    output = signature.output("b")
    assert output is not None and output.dtype == "FP32"
    assert signature.output("c") is None


@pytest.mark.parametrize(
    "shape, per_item, explicit",
    [
        ((), (1,), (-1,)),
        ((3, 224, 224), (3, 224, 224), (-1, 3, 224, 224)),
        (("H", -1, 3), (-1, -1, 3), (-1, -1, -1, 3)),
    ],
)
def test_dims_in_both_forms(shape: Any, per_item: Any, explicit: Any) -> None:
    field = Field("x", "FP32", shape)
    assert field.dims(batching=True) == per_item
    assert field.dims(batching=False) == explicit


def test_a_field_shows_itself_in_one_word() -> None:
    assert str(Field("x", "FP32", ("H", 3))) == "'x' FP32['H', 3]"
