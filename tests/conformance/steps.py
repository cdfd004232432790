"""Steps that the conformance tests deploy; module-level, as an author's are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from triton_pyb import (
    Annotated,
    Batch,
    Context,
    Image,
    ItemError,
    Json,
    Lengths,
    Name,
    NotFound,
    Pipeline,
    Reject,
    Tensor,
    Unavailable,
    Unsupported,
    model,
    postprocess,
    preprocess,
)

Array = np.ndarray[Any, Any]


@preprocess
def measure(
    image: Annotated[Array, Image("RGB")],
) -> Annotated[dict[str, Any], Json(name="result")]:
    """Size and mean colour of a picture."""
    if min(image.shape[:2]) < 4:
        raise Reject("smaller than 4 pixels")
    return {"size": [image.shape[1], image.shape[0]], "mean": image.mean(axis=(0, 1)).round(3).tolist()}


measuring = Pipeline("measuring", [measure], max_queue_delay_microseconds=300_000)


@model(batch="stack")
def double(x: Annotated[Array, Tensor("FP32", (3,))]) -> Annotated[Array, Tensor("FP32", (3,), name="y")]:
    if np.isnan(x).any():
        raise ValueError("not a number")
    return 2 * x


@model(batch="stack", fallback="split", name="double_split")
def double_split(
    x: Annotated[Array, Tensor("FP32", (3,))],
) -> Annotated[Array, Tensor("FP32", (3,), name="y")]:
    return double(x)


@model(batch="list", name="shout")
def shout(text: Batch[str]) -> Batch[Annotated[str, Name("loud")]]:
    return [ItemError("nothing to shout") if not word else word.upper() for word in text]  # type: ignore[misc]


@model(batch="pad", pad_value=-1, multiple_of=4, name="padded")
def padded(
    tokens: Annotated[Array, Tensor("INT32", ("T",))],
    lengths: Annotated[Array, Lengths("tokens")],
) -> Annotated[Array, Tensor("INT32", ("T",), name="doubled")]:
    assert tokens.shape[1] % 4 == 0
    for row, length in zip(tokens, lengths, strict=True):
        assert (row[length:] == -1).all()
    return tokens * 2


@model(batch="request", name="whole")
def whole(x: Annotated[Array, Tensor("INT64", (1,))]) -> Annotated[Array, Tensor("INT64", (1,), name="sum")]:
    return np.full_like(x, x.sum())


@model(batch="stack", on_item_error="mask", name="masked")
def masked(x: Annotated[Array, Tensor("FP32", (2,))], ctx: Context) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
    for index, row in enumerate(x):
        if (row < 0).any():
            ctx.reject(index, NotFound("below zero"))
    return x + 1


class Boxes(NamedTuple):
    boxes: Annotated[Array, Tensor("FP32", ("N", 4))]
    scores: Annotated[Array, Tensor("FP32", ("N",))]
    label: str


@postprocess
def detect(count: int, text: str = "none") -> Boxes:
    return Boxes(np.arange(count * 4, dtype=np.float32).reshape(count, 4), np.ones(count), f"{text}:{count}")


@model
def refuse(code: str) -> Annotated[str, Name("answer")]:
    errors = {"reject": Reject, "missing": NotFound, "busy": Unavailable, "odd": Unsupported}
    if code in errors:
        raise errors[code](f"said {code}")
    if code == "exit":
        raise SystemExit(3)
    if code == "bug":
        return {"a": 1}["b"]  # type: ignore[return-value]
    return code


_buffer = np.zeros(2, np.float32)


@model
def same_buffer(
    x: Annotated[Array, Tensor("FP32", (2,))],
) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
    _buffer[:] = x
    return _buffer


@model(name="leaky")
def leaky(kind: str) -> Annotated[Array, Tensor("UINT8", (2,), name="y")]:
    """Returns what the trap of that name returns."""
    return {  # type: ignore[return-value]
        "float64": np.array([1.0, 2.0]),
        "wide": np.array([1, 257]),
        "narrow": np.array([1, 255], np.int64),
        "shape": np.zeros(3, np.uint8),
        "rows": np.zeros((1, 2), np.uint8),
        "none": None,
        "list": [3, 4],
        "misspelled": {"Y": np.zeros(2, np.uint8)},
    }[kind]


@model(name="strings_out")
def strings_out(kind: str) -> Annotated[Array, Tensor("BYTES", (2,), name="y")]:
    return {
        "unicode": np.array(["a", "한글"]),
        "zeros": [b"a\0\0", b""],
        "s_padded": np.array([b"ab", b"c"]),
        "none": np.array(["a", None], object),
        "bytearray": [bytearray(b"ab"), np.bytes_(b"c")],
    }[kind]  # type: ignore[return-value]
