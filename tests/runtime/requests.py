"""Run a step on requests as the adapter does, without Triton; build requests from plain items."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from triton_pyb.runtime.execution import Answer, Execution
from triton_pyb.runtime.refusals import Refusal
from triton_pyb.runtime.steps import mark_of

Request = Mapping[str, Any]


class Log(list[str]):
    """What went to the server's log."""

    def __call__(self, text: str) -> None:
        self.append(text)


def execution(step: Any, *, batching: bool = True, log: Any = None) -> Execution:
    """The step, ready to run as model ``m``."""
    mark = mark_of(step)
    assert mark is not None
    log = Log() if log is None else log
    return Execution(mark.function, mark.signature, mark.place, "m", batching, log, mark.bad_input)


def run(
    step: Any,
    *requests: Request,
    batching: bool = True,
    requested: Sequence[Collection[str] | None] | None = None,
    log: Any = None,
) -> list[Answer]:
    """The answers to `requests`, which came in one batch; lists become object arrays (TYPE_STRING)."""
    arrays = [{name: tensor(value) for name, value in request.items()} for request in requests]
    loaded = execution(step, batching=batching, log=log)
    try:
        return loaded.run(arrays, requested)
    finally:
        loaded.close()


def tensor(value: Any) -> np.ndarray[Any, Any]:
    """An array as it is; a list of bytes or str as what Triton hands over for TYPE_STRING."""
    if isinstance(value, np.ndarray):
        return value
    array = np.empty(len(value), object)
    array[:] = [item.encode() if isinstance(item, str) else item for item in value]
    return array


def answered(answer: Answer) -> dict[str, np.ndarray[Any, Any]]:
    """The tensors of an answer that is no error."""
    assert not isinstance(answer, Refusal), answer.message
    return answer


def refused(answer: Answer, code: str) -> str:
    """The message of an error answer with that status."""
    assert isinstance(answer, Refusal), f"answered {answer}"
    assert answer.code == code, answer
    return answer.message
