"""What an author writes, as type checkers see it: nothing here may be an error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

from triton_pyb import (
    Annotated,
    Batch,
    Context,
    Image,
    ItemError,
    Json,
    Lengths,
    Name,
    OnnxModel,
    Pipeline,
    Reject,
    Step,
    Tensor,
    TorchScriptModel,
    model,
    postprocess,
    preprocess,
    triton_python_model,
)

Pixels = Annotated[NDArray[np.float32], Tensor("FP32", (3, 224, 224), name="pixels")]

FOR_TESTS = Context.for_test()


@preprocess
def bare(image: Annotated[NDArray[np.uint8], Image("RGB")]) -> Pixels:
    if image.shape[0] < 16:
        raise Reject("too small")
    return np.zeros((3, 224, 224), np.float32)


@preprocess(name="called", max_batch_size=8, instances=2, workers=4)
def called(text: str, lang: str = "ko", ctx: Context = FOR_TESTS) -> Annotated[str, Name("out")]:
    return f"{text} {lang} {ctx.request_id}"


@postprocess(batch="stack", limit=16, fallback="split")
def stacked(
    scores: Annotated[NDArray[np.float32], Tensor("FP32", (10,))],
) -> Batch[Annotated[dict[str, Any], Json(name="result")]]:
    return [{"best": int(row.argmax())} for row in scores]


class Found(NamedTuple):
    label: str
    score: Annotated[float, Tensor("FP32", ())]


@model
def named(text: str) -> Found:
    return Found(text, 0.5)


@model(batch="pad", pad_value=0, multiple_of=8)
def padded(
    tokens: Annotated[NDArray[np.int64], Tensor("INT64", ("L",))],
    lengths: Annotated[NDArray[np.int64], Lengths("tokens")],
) -> Annotated[NDArray[np.int64], Tensor("INT64", ("L",), name="next")]:
    return tokens + lengths[:, None]


def untouched(a: str) -> str:
    return a


wrapped = model.wrap(untouched, inputs={"a": str}, outputs={"b": str}, name="wrapped")
core = OnnxModel("core", "core.onnx", inputs={"x": Tensor("FP32", (3,))})
script = TorchScriptModel("script", "x.pt", {"INPUT__0": Tensor("FP32", ())}, {"OUTPUT__0": Tensor("FP32", ())})

# A decorated function is still the function that was written.
assert_type(bare(np.zeros((20, 20, 3), np.uint8)), NDArray[np.float32])
assert_type(called("a"), str)
assert_type(called("a", lang="en"), str)
assert_type(stacked(np.zeros((1, 10), np.float32)), list[dict[str, Any]])
assert_type(named("a"), Found)
assert_type(named("a").score, float)


def declare() -> Pipeline:
    return Pipeline(
        "whole", [bare, Step(core, {"x": "pixels"}, {"y": "scores"}), stacked], max_batch_size=8, outputs=["result"]
    )


TritonPythonModel = triton_python_model(named)
failed: list[object] = [ItemError("no face found")]
