"""Steps to compare with training code: each does one thing as torchvision, or OpenCV, would."""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
import PIL.Image

from triton_pyb import Annotated, Image, Json, Tensor, preprocess
from triton_pyb.runtime import vision

Array = np.ndarray[Any, Any]


@preprocess
def preprocessing(
    image: Annotated[Array, Image("RGB")],
) -> Annotated[Array, Tensor("FP32", (3, 24, 24), name="pixels")]:
    """As torchvision does it: shorter side, middle, mean and standard deviation."""
    cropped = vision.center_crop(vision.resize(image, 28), 24)
    return vision.normalize(cropped, vision.IMAGENET_MEAN, vision.IMAGENET_STD)


@preprocess
def scaled_only(
    image: Annotated[Array, Image("RGB")],
) -> Annotated[Array, Tensor("FP32", (3, 24, 24), name="pixels")]:
    return vision.normalize(vision.center_crop(vision.resize(image, 28), 24))


def square(image: Array) -> Array:
    return np.asarray(cv2.resize(image, (24, 24), interpolation=cv2.INTER_LINEAR), np.float32)


@preprocess
def with_opencv(
    image: Annotated[Array, Image("BGR")],
) -> Annotated[Array, Tensor("FP32", (24, 24, 3), name="pixels")]:
    return square(image)


class Prepared(NamedTuple):
    pixels: Annotated[Array, Tensor("FP32", (3, 24, 24))]
    size: Annotated[Array, Tensor("INT64", (2,))]
    words: Annotated[Any, Json()]


@preprocess
def several(
    image: Annotated[Array, Image("RGB")], offset: Annotated[Array, Tensor("FP32", (1,))], title: str = "none"
) -> Prepared:
    pixels = vision.normalize(vision.center_crop(vision.resize(image, 28), 24)) + offset
    return Prepared(pixels, np.array(image.shape[:2]), {"title": title})


@preprocess
def doubled(x: Annotated[Array, Tensor("FP32", (3,))]) -> Annotated[Array, Tensor("FP32", (3,), name="y")]:
    return x * 2


@preprocess
def with_pillow(
    image: Annotated[Array, Image("RGB")],
) -> Annotated[Array, Tensor("FP32", (24, 24, 3), name="pixels")]:
    resized = PIL.Image.fromarray(image).resize((24, 24), PIL.Image.Resampling.BICUBIC)
    return np.asarray(resized, np.float32)
