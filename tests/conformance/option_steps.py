"""Steps with a bad item among good ones, and with every option of the batch modes."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from triton_pyb import (
    Annotated,
    Batch,
    Context,
    Fatal,
    Image,
    ItemError,
    Json,
    Name,
    NotFound,
    Reject,
    Tensor,
    Unavailable,
    model,
)

Array = np.ndarray[Any, Any]
Number = Tensor("INT64", ())
Answer = Tensor("INT64", ())
Y = {"y": Answer}


def one(x: int) -> int:
    """Each item: below zero is a bug, 404 is not found, 13 is bad input."""
    if x < 0:
        raise RuntimeError(f"below zero: {x}")
    if x == 404:
        raise NotFound("no such thing")
    if x == 13:
        raise ValueError("bad luck")
    return x * 10


def many(x: Any) -> Any:
    return np.array([one(int(value)) for value in x], np.int64)


def listed(x: list[int]) -> list[Any]:
    """As `one`, told per item."""
    return [ItemError(f"below zero: {value}") if value < 0 else value * 10 for value in x]


def rejecting(x: Any, ctx: Context) -> Any:
    """As `one`, told through the context, with a kind of its own."""
    for index, value in enumerate(x):
        if value < 0:
            ctx.reject(index, Unavailable(f"below zero: {value}") if value < -5 else f"below zero: {value}")
    return np.asarray(x) * 10


def _each(name: str, **options: Any) -> Any:
    return model.wrap(one, name=name, inputs={"x": int}, outputs={"y": int}, bad_input=(ValueError,), **options)


def _joined(name: str, batch: str, function: Any = many, **options: Any) -> Any:
    inputs: dict[str, Any] = {"x": Batch[int] if batch == "list" else Number}
    outputs: dict[str, Any] = {"y": Batch[int] if batch == "list" else Answer}
    return model.wrap(
        function, name=name, batch=batch, inputs=inputs, outputs=outputs, bad_input=(ValueError,), **options
    )


bad_each = _each("bad_each")
bad_each_workers = _each("bad_each_workers", workers=3)
bad_each_mask = _each("bad_each_mask", on_item_error="mask", status_output="state")
bad_workers_mask = _each("bad_workers_mask", on_item_error="mask", status_output="state", workers=2)
bad_stack = _joined("bad_stack", "stack")
bad_stack_split = _joined("bad_stack_split", "stack", fallback="split")
bad_stack_mask = _joined("bad_stack_mask", "stack", on_item_error="mask", status_output="state")
bad_all_three = _joined(
    "bad_all_three", "stack", on_item_error="mask", status_output="state", fallback="split", limit=3
)
bad_list = _joined("bad_list", "list", listed)
bad_list_mask = _joined("bad_list_mask", "list", listed, on_item_error="mask", status_output="state")
bad_list_split = _joined("bad_list_split", "list", fallback="split")
bad_pad_split = _joined("bad_pad_split", "pad", fallback="split")
bad_request = _joined("bad_request", "request")
bad_context = _joined("bad_context", "stack", rejecting)


@model(name="counted", batch="stack", fallback="split", bad_input=(ValueError,))
def counted(x: Annotated[Array, Tensor("INT64", ())], ctx: Context) -> Annotated[Array, Tensor("INT64", (), name="y")]:
    ctx.logger.info("counted: %d rows", len(x))
    answers: Array = many(x)
    return answers


@model(name="grouped", batch="stack", group_by="lang")
def grouped(
    x: Annotated[Array, Tensor("INT64", ())], lang: Batch[str]
) -> tuple[Annotated[Array, Tensor("INT64", (), name="rows")], Annotated[Array, Tensor("INT64", (), name="sum")]]:
    assert len(set(lang)) == 1, lang
    return np.full(len(x), len(x)), np.full(len(x), x.sum())


@model(name="grouped_by_parameter", batch="list", group_by="tenant")
def grouped_by_parameter(x: Batch[int], ctx: Context) -> Batch[Annotated[str, Name("seen")]]:
    tenants = {repr(request.parameters.get("tenant")) for request in ctx.requests}
    assert len(tenants) == 1, tenants
    tenant = tenants.pop()
    return [f"{tenant} {ctx.requests[request].request_id} {item}" for request, item in ctx.rows]


@model(name="bucketed", batch="stack", ragged="bucket")
def bucketed(
    image: Annotated[Array, Image("GRAY")],
) -> Annotated[Array, Tensor("INT64", (4,), name="about")]:
    rows, height, width = image.shape
    return np.array([[rows, height, width, one.sum()] for one in image.astype(np.int64)])


@model(name="unbucketed", batch="stack")
def unbucketed(
    image: Annotated[Array, Image("GRAY")],
) -> Annotated[Array, Tensor("INT64", (3,), name="about")]:
    return np.array([image.shape] * len(image))


@model(name="dying", batch="each")
def dying(x: int) -> Annotated[int, Name("y")]:
    if x < 0:
        raise Fatal("the licence is gone")
    return x


@model(name="dying_stacked", batch="stack", limit=1)
def dying_stacked(
    x: Annotated[Array, Tensor("INT64", ())],
) -> Annotated[Array, Tensor("INT64", (), name="y")]:
    if (x < 0).any():
        raise Fatal("the licence is gone")
    return x


_running = 0
_most = 0
_lock = threading.Lock()


@model(name="crowd", workers=3, bad_input=(ValueError,))
def crowd(x: int) -> Annotated[int, Name("most")]:
    """How many calls ever ran at the same time."""
    global _running, _most
    with _lock:
        _running += 1
        _most = max(_most, _running)
    time.sleep(0.05)
    with _lock:
        _running -= 1
    if x < 0:
        raise ValueError("below zero")
    return _most


@model(name="about_request")
def about_request(x: int, ctx: Context) -> Annotated[Any, Json(name="about")]:
    request = ctx.request
    return {
        "id": request.request_id,
        "parameters": request.parameters,
        "rows": ctx.rows,
        "model": ctx.model.name,
        "device": ctx.device,
        "remaining": request.remaining_s is not None,
    }


@model(name="odd_results")
def odd_results(kind: str) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
    return {  # type: ignore[return-value]
        "generator": (value for value in (1, 2)),
        "ragged": [[1], [2, 3]],
        "text": "12",
        "complex": np.array([1j, 2]),
        "scalar": 3.0,
        "nan": np.array([np.nan, np.inf]),
        "overflow": np.array([1e39, 0]),
        "tuple": (np.ones(2), np.ones(2)),
        "int": np.array([1, 2]),
        "float64": np.array([0.1, 2.5]),
        "fortran": np.asfortranarray(np.ones((2, 2)))[:, 0],
        "object": np.array([1.5, 2], object),
        "scalars": [np.float32(1), np.float64(2)],
    }[kind]


@model(name="stacked_results", batch="stack")
def stacked_results(
    x: Annotated[Array, Tensor("INT64", ())], image: Annotated[Array, Tensor("FP32", ("H", "W", 3))]
) -> Annotated[Array, Tensor("FP32", (3, "H", "W"), name="y")]:
    """What `x` says: right, channels in place of the batch, one row too few, row 0 only, no axis 0."""
    right = image.transpose(0, 3, 1, 2)
    results: list[Any] = [right, image[0].transpose(2, 0, 1), right[:-1], right[:1], np.float32(1), None]
    return results[int(x[0])]  # type: ignore[no-any-return]


@model(name="unsafe_cast")
def unsafe_cast(
    x: Annotated[Array, Tensor("FP64", (2,))],
) -> tuple[
    Annotated[Array, Tensor("UINT8", (2,), name="any", cast="unsafe")],
    Annotated[Array, Tensor("FP32", (2,), name="kind", cast="same_kind")],
]:
    return x, x


@model(name="strict_reader", readonly=True, batch="stack")
def strict_reader(
    x: Annotated[Array, Tensor("FP32", (2,))],
) -> Annotated[Array, Tensor("FP32", (2,), name="y")]:
    """Writes into its input when it holds 1: allowed only without readonly=True."""
    if (x == 1).any():
        x[:] = 0
    return x + 1


@model(name="explicit_sum", batch="stack", max_batch_size=0)
def explicit_sum(
    x: Annotated[Array, Tensor("INT64", (2,))], text: Batch[str]
) -> tuple[Annotated[Array, Tensor("INT64", (), name="total")], Batch[Annotated[str, Name("shout")]]]:
    return x.sum(axis=1), [word.upper() for word in text]


@model(name="explicit_each", max_batch_size=0)
def explicit_each(x: int, text: str = "-") -> tuple[Annotated[int, Name("double")], Annotated[str, Name("same")]]:
    if x < 0:
        raise Reject("below zero")
    return 2 * x, text


@model(name="big", batch="stack", max_batch_size=0)
def big(x: Annotated[Array, Tensor("UINT8", ())]) -> Annotated[Array, Tensor("UINT8", (), name="y")]:
    return x[::-1]
