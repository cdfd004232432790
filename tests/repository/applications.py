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

#: Three steps over one tensor each; @PIXELS@ and @WIDTH@ are the tensor between the first two.
PIPELINE = """
import numpy as np
from triton_pyb import Annotated, Pipeline, Tensor, postprocess, preprocess

@preprocess
def scale(x: Annotated[np.ndarray, Tensor("FP32", (2,))]) -> Annotated[np.ndarray, Tensor("FP32", (2,), name="@MID@")]:
    return x * @FACTOR@

@postprocess
def shift(@MID@: Annotated[np.ndarray, Tensor("FP32", (2,))]) -> Annotated[np.ndarray, Tensor("FP32", (2,), name="y")]:
    return @MID@ + @OFFSET@

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


def pipeline_text(mid: str = "mid", factor: str = "2", offset: str = "1") -> str:
    """The text of an application with a pipeline of two steps: y = x * factor + offset."""
    return PIPELINE.replace("@MID@", mid).replace("@FACTOR@", factor).replace("@OFFSET@", offset)


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below `folder`."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
