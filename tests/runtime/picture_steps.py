"""A step that shows what it got: the decoded picture goes back as it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from triton_pyb import Annotated, Image, Tensor, preprocess

Array = np.ndarray[Any, Any]


@preprocess
def shown(image: Annotated[Array, Image("RGB")]) -> Annotated[Array, Tensor("UINT8", ("H", "W", 3), name="pixels")]:
    return image
