"""Find the lines of text on a picture: JPEG or PNG bytes in, one JSON list of boxes out."""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
from boxes import find_boxes

from triton_pyb import (
    Annotated,
    Image,
    Json,
    OnnxModel,
    Pipeline,
    Reject,
    Step,
    Tensor,
    postprocess,
    preprocess,
)

SIDE = 736  # every picture is laid on a square of this size, so that pictures of any size form one batch
MAX_ENLARGEMENT = 4.0  # beyond it a tiny picture only becomes blurred
GREY = 127  # the colour around the picture: 0 after normalisation


class Prepared(NamedTuple):
    pixels: Annotated[np.ndarray, Tensor("FP32", (3, SIDE, SIDE))]
    geometry: Annotated[np.ndarray, Tensor("FP32", (6,))]  # what postprocessing needs to undo the letterbox


@preprocess
def preprocessing(image: Annotated[np.ndarray, Image("RGB")]) -> Prepared:
    """Letterbox and normalise one picture, uint8 of shape (height, width, 3)."""
    height, width = image.shape[:2]
    if min(height, width) < 8:
        raise Reject(f"the picture is {width}x{height} pixels, too small for text")
    scale = min(SIDE / height, SIDE / width, MAX_ENLARGEMENT)
    new_height, new_width = max(1, round(height * scale)), max(1, round(width * scale))
    top, left = (SIDE - new_height) // 2, (SIDE - new_width) // 2
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    resized = cv2.resize(image, (new_width, new_height), interpolation=how)
    canvas = np.full((SIDE, SIDE, 3), GREY, np.uint8)
    canvas[top : top + new_height, left : left + new_width] = resized
    bgr = canvas[:, :, ::-1].astype(np.float32)  # the model was trained on pictures as OpenCV reads them
    pixels = np.ascontiguousarray(((bgr / 255 - 0.5) / 0.5).transpose(2, 0, 1))
    geometry = np.array([new_width / width, new_height / height, left, top, width, height], np.float32)
    return Prepared(pixels, geometry)


@postprocess
def postprocessing(
    probability: Annotated[np.ndarray, Tensor("FP32", (1, "H", "W"))],
    geometry: Annotated[np.ndarray, Tensor("FP32", (6,))],
) -> Annotated[dict[str, Any], Json(name="result")]:
    """Boxes in pixels of the picture that was sent."""
    scale, offset, size = geometry[0:2], geometry[2:4], geometry[4:6]
    boxes = []
    for points, score in find_boxes(probability[0]):
        # Pixel i covers i - 0.5 ... i + 0.5, and half a pixel is a different length on canvas and picture.
        original = np.clip((points - offset + 0.5) / scale - 0.5, 0, size - 1)
        boxes.append({"points": np.round(original.astype(float), 1).tolist(), "score": round(score, 3)})
    return {"width": int(size[0]), "height": int(size[1]), "boxes": boxes}


pipeline = Pipeline(
    "text_detection",
    [
        preprocessing,
        Step(
            OnnxModel(
                "detection",
                "package:rapidocr/models/PP-OCRv6_det_small.onnx",
                outputs={"fetch_name_0": Tensor("FP32", (1, -1, -1))},  # the file leaves even the 1 open
            ),
            input_map={"x": "pixels"},
            output_map={"fetch_name_0": "probability"},
        ),
        postprocessing,
    ],
    max_batch_size=8,
)
