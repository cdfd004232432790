"""How often data is copied between Triton's ``as_numpy()`` and the response: by identity of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from triton_pyb import Annotated, Batch, Tensor, model

from .requests import answered, run

X = Tensor("FP32", (3,))
OPEN = Tensor("FP32", ("T",))


class Watched:
    """A function that keeps what it got and what it returned."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.returned: list[Any] = []

    def __call__(self, x: Any) -> Any:
        self.got.append(x)
        self.returned.append([item + 1 for item in x] if isinstance(x, list) else x + 1)
        return self.returned[-1]


def step(watched: Watched, batch: str, **options: Any) -> Any:
    word: Any = {"pad": OPEN, "list": Batch[Annotated[np.ndarray, X]]}.get(batch, X)  # type: ignore[type-arg]
    return model.wrap(watched, name="m", batch=batch, inputs={"x": word}, outputs={"y": word}, **options)


def rows(count: int) -> Any:
    return np.arange(3 * count, dtype=np.float32).reshape(count, 3)


@pytest.mark.parametrize("batch", ["stack", "request", "pad"])
def test_a_single_request_reaches_the_function_as_the_very_array(batch: str) -> None:
    watched, x = Watched(), rows(2)
    answer = answered(run(step(watched, batch), {"x": x})[0])
    assert watched.got[0] is x
    assert np.shares_memory(answer["y"], watched.returned[0])


@pytest.mark.parametrize("batch", ["each", "list"])
def test_items_are_views_of_what_came(batch: str) -> None:
    watched, x = Watched(), rows(2)
    run(step(watched, batch), {"x": x})
    items = watched.got if batch == "each" else watched.got[0]
    assert all(np.shares_memory(item, x[index]) for index, item in enumerate(items))


def test_the_answer_for_a_lone_item_is_what_the_function_returned() -> None:
    watched = Watched()
    answer = answered(run(step(watched, "each"), {"x": rows(1)})[0])
    assert np.shares_memory(answer["y"], watched.returned[0])


@pytest.mark.parametrize("batch", ["stack", "pad"])
def test_joining_costs_one_copy_in_and_none_out(batch: str) -> None:
    watched, first, second = Watched(), rows(2), rows(1)
    answers = run(step(watched, batch), {"x": first}, {"x": second})
    assert len(watched.got) == 1
    assert not np.shares_memory(watched.got[0], first)
    for answer in answers:
        outputs = answered(answer)["y"]
        assert np.shares_memory(outputs, watched.returned[0])


def test_calls_of_one_request_never_share_what_they_answer() -> None:
    watched = Watched()
    answer = answered(run(step(watched, "stack", limit=1), {"x": rows(2)})[0])
    assert not any(np.shares_memory(answer["y"], returned) for returned in watched.returned)


def test_torch_shares_the_memory_of_the_array() -> None:
    torch = pytest.importorskip("torch")
    got: list[Any] = []

    def keep(x: Any) -> Any:
        got.append(x)
        return x

    word: Any = Annotated[torch.Tensor, X]
    kept = model.wrap(keep, name="m", batch="stack", inputs={"x": word}, outputs={"y": X})
    x = rows(2)
    answer = answered(run(kept, {"x": x})[0])
    assert got[0].data_ptr() == x.ctypes.data
    assert np.shares_memory(answer["y"], x)
