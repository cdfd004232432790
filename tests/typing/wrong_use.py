"""Mistakes that a type checker must see.

Each is silenced by the very code it must raise; one that a checker no longer sees is an unused ignore, which
``mypy --strict`` reports.  Nothing here is ever run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from triton_pyb import Annotated, Context, Image, Name, OnnxModel, Pipeline, Step, Tensor, TorchScriptModel, model

if TYPE_CHECKING:

    @model
    def step(image: Annotated[NDArray[np.uint8], Image("RGB")], lang: str = "ko") -> Annotated[str, Name("out")]:
        return lang

    # The function's own parameters and result.
    step("text")  # type: ignore[arg-type]
    step(np.zeros(3, np.uint8), lang=3)  # type: ignore[arg-type]
    step(np.zeros(3, np.uint8), langue="ko")  # type: ignore[call-arg]
    step()  # type: ignore[call-arg]
    length: int = step(np.zeros(3, np.uint8))  # type: ignore[assignment]

    @model
    def wrong_result(text: str) -> Annotated[str, Name("out")]:
        return 3  # type: ignore[return-value]

    # The decorator's keywords.
    model(wokers=2)  # type: ignore[call-overload]
    model(workers="2")  # type: ignore[call-overload]
    model(name=3)  # type: ignore[call-overload]
    model(bad_input=ValueError)  # type: ignore[call-overload]
    model(3)  # type: ignore[call-overload]
    model.wrap(step, wokers=2)  # type: ignore[call-arg]

    # Declarations.
    Image(3)  # type: ignore[arg-type]
    Tensor("FP32", shape=1.5)  # type: ignore[arg-type]
    OnnxModel("core")  # type: ignore[call-arg]
    OnnxModel("core", 3)  # type: ignore[arg-type]
    TorchScriptModel("core", "x.pt")  # type: ignore[call-arg]
    Pipeline("p")  # type: ignore[call-arg]
    Pipeline("p", [step], max_batch_size="8")  # type: ignore[arg-type]
    Step(step, input_map=["a"])  # type: ignore[arg-type]
    Context.for_test().reject("first", "no")  # type: ignore[arg-type]
