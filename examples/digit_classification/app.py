"""Read one handwritten digit: JPEG or PNG bytes in, JSON with a label and probabilities out."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from triton_pyb import (
    Annotated,
    Image,
    Json,
    Pipeline,
    Reject,
    Step,
    Tensor,
    TorchScriptModel,
    postprocess,
    preprocess,
)


@preprocess
def preprocessing(
    image: Annotated[np.ndarray, Image("GRAY")],
) -> Annotated[np.ndarray, Tensor("FP32", (1, 8, 8), name="INPUT__0")]:
    """Dark ink on light paper, uint8 of shape (height, width), to 8 by 8 pixels of ink in 0...1."""
    if min(image.shape) < 8:
        raise Reject(f"the picture is {image.shape[1]}x{image.shape[0]} pixels; 8x8 is the least")
    ink = 1 - cv2.resize(image, (8, 8), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    return ink[np.newaxis]


@postprocess
def postprocessing(
    logits: Annotated[np.ndarray, Tensor("FP32", (10,))],
) -> Annotated[dict[str, Any], Json(name="result")]:
    """The most probable digit, and the probability of every digit."""
    powers = np.exp(logits - logits.max())
    probabilities = (powers / powers.sum()).astype(float)
    return {"label": int(probabilities.argmax()), "probabilities": probabilities.round(4).tolist()}


core = TorchScriptModel(
    "core",
    "core.pt",
    inputs={"INPUT__0": Tensor("FP32", (1, 8, 8))},
    outputs={"OUTPUT__0": Tensor("FP32", (10,))},
)
steps = [preprocessing, core, Step(postprocessing, input_map={"logits": "OUTPUT__0"})]

# The form of many repositories: no max_batch_size, dims with a leading -1; the client brings the batch.
pipeline = Pipeline("ensemble", steps, max_batch_size=0)

# The same steps, and Triton may join requests.
batched_pipeline = Pipeline("ensemble", steps, max_batch_size=8)
