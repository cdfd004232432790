"""Dataclasses and pydantic models as JSON values, and annotations of jaxtyping."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pydantic
import pytest

from triton_pyb import Annotated, DeclarationError, Json, Name, model
from triton_pyb.runtime.steps import mark_of

from .requests import answered, refused, run

jaxtyping = pytest.importorskip("jaxtyping")


@dataclasses.dataclass
class Question:
    text: str
    top_k: int = 1


class Answer(pydantic.BaseModel):
    text: str
    score: float


@model(name="m")
def ask(question: Annotated[Question, Json()]) -> Annotated[Answer, Json(name="answer")]:
    return Answer(text=question.text * question.top_k, score=0.5)


@model(name="m")
def back(answer: Annotated[Answer, Json()]) -> Annotated[Question, Json(name="question")]:
    return Question(answer.text)


def test_a_dataclass_in_and_a_pydantic_model_out() -> None:
    (answer,) = run(ask, {"question": ['{"text": "한", "top_k": 2}', '{"text": "a"}']})
    found = [json.loads(text) for text in answered(answer)["answer"][:, 0]]
    assert found == [{"text": "한한", "score": 0.5}, {"text": "a", "score": 0.5}]


def test_a_pydantic_model_in_and_a_dataclass_out() -> None:
    (answer,) = run(back, {"answer": ['{"text": "a", "score": 1}']})
    assert json.loads(answered(answer)["question"][0, 0]) == {"text": "a", "top_k": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"top_k": 2}', "no Question: "),
        ('{"text": "a", "k": 2}', "no Question: it has no 'k' (it has text, top_k)"),
        ("[1]", "no Question: list is no JSON object"),
    ],
)
def test_what_does_not_fit_a_dataclass(text: str, said: str) -> None:
    (answer,) = run(ask, {"question": [text]})
    assert said in refused(answer, "INVALID_ARG")


def test_what_does_not_fit_a_pydantic_model() -> None:
    (answer,) = run(back, {"answer": ['{"text": "a", "score": "high"}']})
    message = refused(answer, "INVALID_ARG")
    assert "no Answer: 1 validation error for Answer score" in message and "[TPB223]" in message


def test_another_class_returned() -> None:
    def step(text: Any) -> Any:
        return {"text": text}

    marked = model.wrap(step, inputs={"text": str}, outputs={"y": Annotated[Answer, Json()]}, name="m")
    (answer,) = run(marked, {"text": ["a"]})
    assert "output 'y': dict is no Answer [TPB208]; return a Answer" in refused(answer, "INTERNAL")


def test_a_class_that_cannot_travel() -> None:
    @dataclasses.dataclass
    class Local:
        text: str

    with pytest.raises(DeclarationError) as caught:
        model.wrap(lambda x: x, inputs={"x": Annotated[Local, Json()]}, outputs={"y": str}, name="m")
    assert caught.value.code == "TPB113" and "Local is local to a function" in caught.value.what


def test_nan_becomes_null_where_that_was_asked_for() -> None:
    def step(text: Any) -> Any:
        return {"a": [float("nan"), 1.0], "b": np.array([np.inf, 2.0]), "c": text}

    for word in (Json(nan="null"), Json()):
        marked = model.wrap(step, inputs={"text": str}, outputs={"y": Annotated[dict, word]}, name="m")
        (answer,) = run(marked, {"text": ["t"]})
        if word.nan == "null":
            assert json.loads(answered(answer)["y"][0, 0]) == {"a": [None, 1.0], "b": [None, 2.0], "c": "t"}
        else:
            assert "TPB208" in refused(answer, "INTERNAL")
    with pytest.raises(DeclarationError) as caught:
        model.wrap(step, inputs={"text": str}, outputs={"y": Annotated[dict, Json(nan="zero")]}, name="m")
    assert caught.value.code == "TPB119" and "unknown nan='zero' of Json" in caught.value.what


def test_jaxtyping_says_dtype_and_shape() -> None:
    def step(x: Any, flag: Any) -> Any:
        return str(x.shape)

    marked = model.wrap(
        step,
        inputs={
            "x": jaxtyping.Float32[np.ndarray, "3 h _"],
            "flag": jaxtyping.Bool[np.ndarray, ""],
        },
        outputs={"y": Annotated[str, Name("y")]},
        name="m",
    )
    mark = mark_of(marked)
    assert mark is not None
    x, flag = mark.signature.inputs
    assert (x.dtype, x.shape, flag.dtype, flag.shape) == ("FP32", (3, "h", -1), "BOOL", ())
    (answer,) = run(marked, {"x": np.zeros((2, 3, 4, 5), np.float32), "flag": np.ones((2, 1), bool)})
    assert answered(answer)["y"].tolist() == [[b"(3, 4, 5)"], [b"(3, 4, 5)"]]


@pytest.mark.parametrize(
    ("annotation", "code", "what"),
    [
        (lambda: jaxtyping.Float[np.ndarray, "3"], "TPB102", "leaves the dtype open"),
        (lambda: jaxtyping.Float32[np.ndarray, "..."], "TPB106", "leaves the rank open"),
        (lambda: jaxtyping.Float32[np.ndarray, "*batch 3"], "TPB106", "leaves the rank open"),
    ],
)
def test_jaxtyping_that_leaves_something_open(annotation: Any, code: str, what: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        model.wrap(lambda x: x, inputs={"x": annotation()}, outputs={"y": str}, name="m")
    assert caught.value.code == code and what in caught.value.what
