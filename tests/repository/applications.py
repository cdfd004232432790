"""Small applications, written for one test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

STEP = """
import numpy as np
from triton_pyb import Annotated, Tensor, model

@model
def double(x: Annotated[np.ndarray, Tensor("FP32", (2,))]) -> Annotated[np.ndarray, Tensor("FP32", (2,), name="y")]:
    return 2 * x
"""

#: Two steps; @MID@ and @SHAPE@ are the tensor between them.
PIPELINE = """
import numpy as np
from triton_pyb import Annotated, Pipeline, Tensor, postprocess, preprocess

@preprocess
def scale(
    x: Annotated[np.ndarray, Tensor("FP32", (2,))]
) -> Annotated[np.ndarray, Tensor("FP32", @SHAPE@, name="@MID@")]:
    return (x * @FACTOR@).reshape(@SHAPE@)

@postprocess
def shift(
    @MID@: Annotated[np.ndarray, Tensor("FP32", @SHAPE@)]
) -> Annotated[np.ndarray, Tensor("FP32", (2,), name="y")]:
    return @MID@.reshape(2) + @OFFSET@

pipeline = Pipeline("sums", [scale, shift], max_batch_size=4)
"""


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write `files` (path inside the folder -> text)."""
    for inside, text in files.items():
        path = folder / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def step_with(imports: str, files: Mapping[str, str] | None = None) -> dict[str, str]:
    """An application with one step whose module begins with `imports`."""
    return {"app.py": f"from __future__ import annotations\n{imports}\n{STEP}", **(files or {})}


def pipeline_text(mid: str = "mid", factor: str = "2", offset: str = "1", shape: str = "(2,)") -> str:
    """The text of an application with a pipeline of two steps: y = x * factor + offset."""
    words = {"@MID@": mid, "@FACTOR@": factor, "@OFFSET@": offset, "@SHAPE@": shape}
    text = PIPELINE
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below `folder`."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
