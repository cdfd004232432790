"""What a step may ask about the requests it serves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from triton_pyb import Annotated, Context, Name, Tensor, model
from triton_pyb.runtime.context import RequestInfo

from .requests import answered, execution

Array = np.ndarray[Any, Any]


@model(name="m")
def step(text: str, ctx: Context) -> Annotated[str, Name("y")]:
    return f"{text} {ctx.request_id} {ctx.parameters.get('lang', '-')} {ctx.device}"


def test_it_is_injected_by_its_type_and_is_no_input() -> None:
    ready = execution(step)
    assert [field.name for field in ready.signature.inputs] == ["text"]
    texts = np.array([[b"a"], [b"b"]], object)
    infos = [RequestInfo("one", {"lang": "ko"}), RequestInfo("two")]
    first, second = ready.run([{"text": texts}, {"text": texts[:1]}], None, infos)
    assert answered(first)["y"].ravel().tolist() == [b"a one ko cpu", b"b one ko cpu"]
    assert answered(second)["y"].ravel().tolist() == [b"a two - cpu"]


def test_a_unit_test_makes_its_own() -> None:
    ctx = Context.for_test(2, device="cuda:1", request_id="x", parameters={"lang": "ko"})
    assert step("a", ctx) == "a x ko cuda:1"
    assert ctx.rows == ((0, 0), (0, 1))
    assert ctx.logger.name.startswith("triton_pyb")


def test_an_item_that_the_call_does_not_have_cannot_be_rejected() -> None:
    ctx = Context.for_test(2)
    ctx.reject(1, "no")
    assert ctx.rejected[1].triton_code == "INVALID_ARG"
    for index in (-1, 2):
        with pytest.raises(IndexError, match=rf"ctx.reject\({index}, ...\): this call has 2 items"):
            ctx.reject(index, "no")


def test_several_requests_are_not_one() -> None:
    ctx = Context([RequestInfo("a"), RequestInfo("b")], [(0, 0), (1, 0)])
    with pytest.raises(LookupError, match="this call joins 2 requests: use ctx.requests, and ctx.rows per item"):
        ctx.request  # noqa: B018


def test_time_left() -> None:
    assert RequestInfo().remaining_s is None
    remaining = RequestInfo(timeout_us=2_000_000).remaining_s
    assert remaining is not None and 1 < remaining <= 2


def test_a_client_that_has_gone() -> None:
    assert not RequestInfo().cancelled
    assert RequestInfo(cancelled=lambda: True).cancelled


@pytest.mark.parametrize("batch", ["each", "stack", "pad"])
def test_an_optional_context_is_injected_too(batch: str) -> None:
    """A default makes the plain call handy and changes nothing on the server."""
    seen: list[Any] = []

    @model(name="m", batch=batch)
    def handy(
        x: Annotated[Array, Tensor("FP32", (2,))], ctx: Context | None = None
    ) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
        seen.append(ctx)
        return x

    handy(np.zeros(2, np.float32))
    execution(handy).run([{"x": np.zeros((1, 2), np.float32)}])
    assert seen[0] is None and isinstance(seen[1], Context)
