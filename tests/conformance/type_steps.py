"""Steps for every type that an argument or a result may have; numpy and Pillow only."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, TypedDict

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from triton_pyb import Annotated, Batch, Image, Json, Name, Tensor, model, postprocess, preprocess

NUMERIC = (
    *("BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64"),
    *("FP16", "FP32", "FP64"),
)


def _flipped(**arrays: Any) -> dict[str, Any]:
    return {f"{name}_out": array[::-1] for name, array in arrays.items()}


def flip(
    bool_: Any, uint8: Any, uint16: Any, uint32: Any, uint64: Any, int8: Any, int16: Any, int32: Any, int64: Any,
    fp16: Any, fp32: Any, fp64: Any, text: Any,
) -> dict[str, Any]:  # fmt: skip
    """Every data type, each array the other way round: outputs are not contiguous."""
    return _flipped(**locals())


_NAMES = [*(f"{name.lower()}{'_' if name == 'BOOL' else ''}" for name in NUMERIC), "text"]
every_dtype = model.wrap(
    flip,
    name="every_dtype",
    inputs={name: Tensor(dtype, (3,)) for name, dtype in zip(_NAMES, [*NUMERIC, "BYTES"], strict=True)},
    outputs={f"{name}_out": Tensor(dtype, (3,)) for name, dtype in zip(_NAMES, [*NUMERIC, "BYTES"], strict=True)},
)


class Values(TypedDict):
    text: str
    raw: bytes
    count: int
    share: float
    flag: bool
    small: Annotated[int, Tensor("UINT8", ())]
    document: Annotated[Any, Json()]


@model
def plain_values(
    text: str,
    raw: bytes,
    count: int,
    share: float,
    flag: bool,
    small: Annotated[int, Tensor("UINT8", ())],
    document: Annotated[dict[str, Any], Json()],
) -> Values:
    kinds = [type(value).__name__ for value in (text, raw, count, share, flag, small, document)]
    return {
        "text": text + "!",
        "raw": raw + b"\0",
        "count": count + 1,
        "share": share / 2,
        "flag": not flag,
        "small": small + 1,
        "document": {**document, "kinds": kinds},
    }


@dataclasses.dataclass
class Halves:
    low: Annotated[NDArray[np.float32], Tensor(shape=("N",))]
    high: Annotated[NDArray[np.float32], Tensor("FP32", ("N",), name="upper")]


@model
def dataclass_out(x: Annotated[NDArray[np.float32], Tensor(shape=("N", 2))]) -> Halves:
    return Halves(x[:, 0], x[:, 1])


@model
def tuple_out(x: int) -> tuple[Annotated[int, Name("one")], Annotated[str, Name("two")]]:
    return x, str(x)


class Pair(NamedTuple):
    sizes: Annotated[NDArray[np.int32], Tensor("INT32", ("N", 2))]
    first: Annotated[NDArray[np.uint8], Tensor("UINT8", (3,))]


@preprocess
def several_pictures(
    images: Annotated[list[NDArray[np.uint8]], Image("RGB", shape=("N",))],
    thumbnails: Annotated[list[PIL.Image.Image], Image("RGB", shape=("N",))],
) -> Pair:
    """``N`` pictures per item, and as many thumbnails."""
    sizes = [[one.shape[1], two.size[0]] for one, two in zip(images, thumbnails, strict=True)]
    return Pair(np.array(sizes, np.int32).reshape(-1, 2), images[0][0, 0] if images else np.zeros(3, np.uint8))


@preprocess
def either_form(
    image: Annotated[NDArray[np.uint8], Image("RGB", decoded="pixels")], text: str = "-"
) -> Annotated[NDArray[np.int64], Tensor("INT64", (4,), name="seen")]:
    height, width = image.shape[:2]
    return np.array([height, width, int(image[0, 0, 0]), int(image[0, 0, 2])])


@preprocess(batch="pad", name="padded_pictures", multiple_of=16)
def padded_pictures(
    image: Annotated[NDArray[np.uint8], Image("GRAY", decoded="pixels")],
) -> Annotated[NDArray[np.int64], Tensor("INT64", (), name="total")]:
    assert image.shape[1] % 16 == 0 and image.shape[2] % 16 == 0
    total: NDArray[np.int64] = image.sum(axis=(1, 2), dtype=np.int64)
    return total


@preprocess
def pil_mode(image: PIL.Image.Image) -> Annotated[str, Name("about")]:
    return f"{image.mode} {image.size}"


@preprocess
def pil_gray(image: Annotated[PIL.Image.Image, Image("GRAY")]) -> Annotated[str, Name("about")]:
    return f"{image.mode} {image.size}"


class Symbols(NamedTuple):
    area: Annotated[NDArray[np.float32], Tensor("FP32", ("H", "W"))]
    rows: Annotated[NDArray[np.float32], Tensor("FP32", ("H",))]


@model
def symbols(
    image: Annotated[NDArray[np.float32], Tensor("FP32", ("H", "W", 3))],
    mask: Annotated[NDArray[np.bool_], Tensor("BOOL", ("H", "W"))],
    lie: bool = False,
) -> Symbols:
    area = image.mean(axis=2) * mask
    return Symbols(area, area.sum(axis=0 if lie else 1))


@postprocess(batch="stack")
def json_per_row(
    scores: Annotated[NDArray[np.float32], Tensor("FP32", (3,))],
) -> Batch[Annotated[dict[str, Any], Json(name="result")]]:
    return [{"best": int(row.argmax()), "scores": row} for row in scores]
