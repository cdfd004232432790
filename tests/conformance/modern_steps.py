"""Steps with the annotations of a new Python, which an old one in a container cannot even evaluate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import PIL.Image

from triton_pyb import (
    Annotated,
    Batch,
    Context,
    ItemError,
    Json,
    Lengths,
    Name,
    Pipeline,
    Tensor,
    model,
    preprocess,
)


class Prepared(NamedTuple):
    pixels: Annotated[np.ndarray[Any, np.dtype[np.float32]], Tensor("FP32", (3, 8, 6))]
    size: Annotated[list[int] | tuple[int, ...], Json()]


@preprocess(workers=2)
def corner(
    image: PIL.Image.Image, mean: Annotated[float | None, Tensor("FP32", ())] = None, ctx: Context | None = None
) -> Prepared:
    part = image.crop((0, 0, 6, 8))  # resizing differs between Pillow's versions
    pixels = np.asarray(part, np.float32).transpose(2, 0, 1) / 256
    return Prepared(pixels - (0.5 if mean is None else mean), list(image.size))


@model(batch="stack")
def spread(
    pixels: Annotated[np.ndarray[Any, Any], Tensor("FP32", (3, 8, 6))],
    words: Batch[Annotated[dict[str, list[int | str]], Json()]],
) -> tuple[
    Annotated[np.ndarray[Any, Any], Tensor("FP32", (3,), name="spread")],
    Batch[Annotated[dict[str, int | None], Json(name="counts")]],
]:
    return np.ptp(pixels, axis=(2, 3)), [{key: len(value) or None for key, value in word.items()} for word in words]


@model(batch="list", on_item_error="mask")
def upper(text: Batch[str]) -> Batch[Annotated[str, Name("loud")]]:
    return [word.upper() if word else ItemError("nothing to shout") for word in text]  # type: ignore[misc]


@model(batch="pad", multiple_of=4)
def last(
    tokens: Annotated[np.ndarray[Any, Any], Tensor("INT64", ("T",))],
    lengths: Annotated[np.ndarray[Any, Any], Lengths("tokens")],
) -> Annotated[np.ndarray[Any, Any], Tensor("INT64", (), name="last")]:
    found: np.ndarray[Any, Any] = tokens[np.arange(len(tokens)), lengths - 1]
    return found


modern = Pipeline("modern", [corner, spread], inputs=["words"], outputs=["spread", "counts", "size"])
