from __future__ import annotations

import typing

import pytest

from triton_pyb import Annotated, Image, Json, Name, Tensor
from triton_pyb.runtime.annotations import Marker


def test_annotated_is_typings_own_where_typing_has_one() -> None:
    assert Annotated is typing.Annotated


@pytest.mark.parametrize(
    "one, same, other",
    [
        (Tensor("FP32", (3,)), Tensor("FP32", (3,)), Tensor("FP32", (4,))),
        (Tensor("FP32", ()), Tensor("FP32", ()), Tensor("FP32", (), name="x")),
        (Image(), Image("RGB"), Image("BGR")),
        (Json(), Json(), Json("a")),
        (Name("a"), Name("a"), Json("a")),
    ],
)
def test_words_compare_by_value(one: Marker, same: Marker, other: Marker) -> None:
    assert one == same and hash(one) == hash(same)
    assert one != other


def test_a_word_shows_what_was_said() -> None:
    assert repr(Tensor("FP32", (3, "W"), name="x")).startswith("Tensor(dtype='FP32', shape=(3, 'W'), name='x'")
    assert "name" not in repr(Tensor("FP32", ()))
    assert repr(Json()) == "Json()"
    assert repr(Name("label")) == "Name(name='label')"
