"""``ctx.call``: what is sent to another model, and how its errors come back."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.py38 import triton_python_backend_utils as stand_in
from triton_pyb import Context, Reject
from triton_pyb.runtime.calls import Caller, CallFailed, as_input
from triton_pyb.runtime.context import CALLERS, STATUS_MARK, RequestInfo
from triton_pyb.runtime.errors import InputError, RequestError


class Asked(list[dict[str, Any]]):
    """A stand-in for Triton's module that keeps what it is asked and answers with `response`."""

    def __init__(self, response: Any = None, release: str = "24.10") -> None:
        asked = self

        class InferenceRequest:
            if release >= "23.11":

                def set_release_flags(self) -> None: ...

            if release >= "23.03":

                def timeout(self) -> int:
                    return 0

            def __init__(self, **arguments: Any) -> None:
                asked.append(arguments)

            def exec(self, decoupled: bool = False) -> Any:
                made = response(asked[-1]) if callable(response) else response
                return iter(made) if decoupled else made

            async def async_exec(self) -> Any:
                return self.exec()

        self.InferenceRequest = InferenceRequest
        self.Tensor = stand_in.Tensor
        if release >= "23.04":
            self.TRITONSERVER_MEMORY_CPU = "cpu"
            self.PreferredMemory = lambda kind: ("preferred", kind)


def caller(pb_utils: Any, *callers: str) -> Caller:
    return Caller(pb_utils, "me", callers, lambda: ThreadPoolExecutor(1))


def answer(**outputs: Any) -> Any:
    return stand_in.InferenceResponse([stand_in.Tensor(name, np.asarray(value)) for name, value in outputs.items()])


def refusal(message: str, code: str | None = None) -> Any:
    error: Any = stand_in.TritonError(message)
    if code is not None:
        error.code = lambda: SimpleNamespace(name=code)
    return stand_in.InferenceResponse([], error)


def test_inputs_go_and_outputs_come_by_name() -> None:
    pb_utils = Asked(answer(y=[1.0, 2.0]))
    outputs = caller(pb_utils).call("other", {"x": [[1, 2]], "text": ["한글"]}, {"outputs": ["y"], "request_id": "r"})
    assert outputs["y"].tolist() == [1.0, 2.0]
    (asked,) = pb_utils
    assert (asked["model_name"], asked["requested_output_names"], asked["request_id"]) == ("other", ["y"], "r")
    assert [(tensor.name(), tensor.as_numpy().tolist()) for tensor in asked["inputs"]] == [
        ("x", [[1, 2]]),
        ("text", ["한글".encode()]),
    ]
    assert asked["preferred_memory"] == ("preferred", "cpu")


def test_an_old_release_is_not_asked_for_what_it_lacks() -> None:
    pb_utils = Asked(answer(), "21.10")
    caller(pb_utils).call("other", {}, {"timeout_s": 5.0, "parameters": {"a": 1}})
    assert not {"preferred_memory", "parameters", "timeout"} & set(pb_utils[0])
    pb_utils = Asked(answer(), "23.11")
    caller(pb_utils, "first").call("other", {}, {"timeout_s": 5.0, "parameters": {"a": 1}})
    assert pb_utils[0]["timeout"] == 5_000_000
    assert pb_utils[0]["parameters"] == {"a": 1, CALLERS: "first,me"}


@pytest.mark.parametrize(
    "value, expected",
    [
        (np.array([1, 2], np.int8), np.array([1, 2], np.int8)),
        (np.float32(1.5), np.array(1.5, np.float32)),
        ([1.5, 2], np.array([1.5, 2])),
        (["a", b"b\x00"], np.array([b"a", b"b\x00"], object)),
        (np.array(["한글"]), np.array(["한글".encode()], object)),
        ("one", np.array(b"one", object)),
        ([["a"], ["b"]], np.array([[b"a"], [b"b"]], object)),
        (True, np.array(True)),
    ],
)
def test_what_may_be_sent(value: Any, expected: Any) -> None:
    array = as_input("x", value)
    assert array.dtype == expected.dtype and array.shape == expected.shape
    assert array.tolist() == expected.tolist()


@pytest.mark.parametrize("value", [None, {"a": 1}, [1, None], object()])
def test_what_is_no_tensor(value: Any) -> None:
    with pytest.raises(InputError) as caught:
        as_input("x", value)
    error = caught.value
    assert (error.code, error.where) == ("TPB234", "ctx.call()")
    assert error.what == f"input 'x' of a call is {type(value).__name__}, which is no tensor"
    assert error.fix == "pass a numpy array, or lists of numbers, str or bytes"


@pytest.mark.parametrize(
    "response, code, message",
    [
        (refusal("broken"), "INTERNAL", "broken"),
        (refusal("broken", "NOT_FOUND"), "NOT_FOUND", "broken"),
        (refusal(f"in front: {STATUS_MARK}INVALID_ARG too small"), "INVALID_ARG", "in front: too small"),
        (refusal("'other' is not ready", "INTERNAL"), "UNAVAILABLE", "'other' is not ready"),
        (refusal("unexpected inference input 'z'"), "INVALID_ARG", "unexpected inference input 'z'"),
    ],
)
def test_an_error_is_raised_with_its_status(response: Any, code: str, message: str) -> None:
    with pytest.raises(CallFailed) as caught:
        caller(Asked(response)).call("other", {}, {})
    assert (caught.value.model, caught.value.triton_code, caught.value.message) == ("other", code, message)
    assert isinstance(caught.value, RequestError)


def test_a_ring_of_calls_is_refused_before_it_hangs() -> None:
    pb_utils = Asked(answer())
    for model, ring in (("me", "me -> me"), ("first", "first -> second -> me -> first")):
        with pytest.raises(CallFailed, match=f"a ring of calls: {ring} "):
            caller(pb_utils, "first", "second").call(model, {}, {})
    assert pb_utils == []


def test_a_call_that_takes_too_long() -> None:
    def slow(asked: Any) -> Any:
        time.sleep(0.3)
        return answer()

    with pytest.raises(CallFailed) as caught:
        caller(Asked(slow)).call("other", {}, {"timeout_s": 0.02})
    assert caught.value.triton_code == "UNAVAILABLE" and "did not answer in 0.02 s" in caught.value.message


def test_awaited_and_streamed() -> None:
    outputs = asyncio.run(caller(Asked(answer(y=[1]))).call_async("other", {}, {}))
    assert outputs["y"].tolist() == [1]
    parts = list(caller(Asked([answer(y=[1]), answer(y=[2]), answer()])).stream("other", {}, {}))
    assert [part["y"].tolist() for part in parts] == [[1], [2]]
    with pytest.raises(CallFailed):
        list(caller(Asked([answer(y=[1]), refusal("broken")])).stream("other", {}, {}))


def test_a_unit_test_calls_plain_functions() -> None:
    def other(x: Any) -> dict[str, Any]:
        if x < 0:
            raise Reject("negative")
        return {"y": x + 1}

    ctx = Context.for_test(models={"other": other})
    assert ctx.call("other", x=1) == {"y": 2} and ctx.call("other", {"x": 2}) == {"y": 3}
    with pytest.raises(Reject):
        ctx.call("other", x=-1)
    with pytest.raises(CallFailed, match="this test has no model 'othr'; did you mean 'other'?"):
        ctx.call("othr", x=1)


def test_a_request_knows_who_called() -> None:
    assert RequestInfo(callers=["a", "b"]).callers == ("a", "b")
