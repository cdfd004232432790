"""A loaded step: settings, state, sequences, async functions, deadlines; through ``TritonPythonModel``."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.py38 import triton_python_backend_utils as stand_in
from triton_pyb import Annotated, Batch, Context, Name, TritonPybError, model, triton_python_model
from triton_pyb.runtime.context import RequestInfo
from triton_pyb.runtime.state import SequenceState, State

from .requests import answered, execution, refused

STAND_IN_NAME = "triton_python_backend_utils"


@pytest.fixture(autouse=True)
def pb_utils(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(STAND_IN_NAME)
    vars(module).update({name: value for name, value in vars(stand_in).items() if not name.startswith("__")})
    monkeypatch.setitem(sys.modules, STAND_IN_NAME, module)


class Request(stand_in.InferenceRequest):
    def __init__(self, text: str, key: Any = 0, flags: int = 0) -> None:
        super().__init__({"text": np.array([[text.encode()]], object)}, ["out"])
        self._key, self._flags = key, flags

    def correlation_id(self) -> Any:
        return self._key

    def flags(self) -> int:
        return self._flags


_loaded: list[Any] = []


@pytest.fixture(autouse=True)
def unload() -> Iterator[None]:
    """Finalize every model of a test, as Triton does."""
    yield
    while _loaded:
        _loaded.pop().finalize()


def load(step: Any, parameters: dict[str, str] | None = None) -> Any:
    loaded = triton_python_model(step)()
    config = {
        "name": "m",
        "max_batch_size": 8,
        "input": [{"name": "text", "data_type": "TYPE_STRING", "dims": ["1"]}],
        "output": [{"name": "out", "data_type": "TYPE_STRING", "dims": ["1"]}],
        "parameters": {name: {"string_value": text} for name, text in (parameters or {}).items()},
    }
    loaded.initialize(
        {
            "model_config": json.dumps(config),
            "model_name": "m",
            "model_instance_name": "m_0",
            "model_instance_kind": "GPU",
            "model_instance_device_id": "1",
            "model_repository": "/models/m",
            "model_version": "3",
        }
    )
    _loaded.append(loaded)
    return loaded


def out(response: Any) -> str:
    assert not response.has_error(), response.error().message()
    text: str = response.output_tensors()[0].as_numpy()[0, 0].decode()
    return text


# --- settings


@model(settings={"size": 3, "share": 0.5, "name": "a", "tags": ["x"]})
def configured(text: str, ctx: Context) -> Annotated[str, Name("out")]:
    return json.dumps(ctx.settings)


def test_settings_are_defaults_that_the_configuration_may_change() -> None:
    (response,) = load(configured).execute([Request("a")])
    assert json.loads(out(response)) == {"size": 3, "share": 0.5, "name": "a", "tags": ["x"]}
    changed = {"size": "4", "share": "1", "name": "plain", "tags": '["y", "z"]', "unknown": "1"}
    (response,) = load(configured, changed).execute([Request("a")])
    assert json.loads(out(response)) == {"size": 4, "share": 1.0, "name": "plain", "tags": ["y", "z"]}


@pytest.mark.parametrize(
    "name, text", [("size", "4.5"), ("size", "four"), ("share", '"x"'), ("tags", "{}"), ("size", "true")]
)
def test_a_setting_of_another_type_is_refused_when_it_loads(name: str, text: str) -> None:
    with pytest.raises(TritonPybError) as caught:
        load(configured, {name: text})
    error = caught.value
    assert error.code == "TPB233" and error.where == "config.pbtxt, parameters"
    assert error.what.startswith(f"parameter '{name}' is {text!r}, expected ")
    assert error.fix.startswith('write string_value: "')


# --- state


class Closing:
    def __init__(self) -> None:
        self.calls = 0
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


@model
def stateful(text: str, kept: State[Closing]) -> Annotated[str, Name("out")]:
    kept.calls += 1
    return f"{text} {kept.calls}"


made: list[Closing] = []


@stateful.setup
def make() -> Closing:
    made.append(Closing())
    return made[-1]


def test_a_state_is_made_once_per_instance_and_closed_at_the_end() -> None:
    made.clear()
    loaded = load(stateful)
    assert [out(response) for response in loaded.execute([Request("a"), Request("b")])] == ["a 1", "b 2"]
    assert [out(response) for response in loaded.execute([Request("c")])] == ["c 3"]
    loaded.finalize()
    (state,) = made
    assert state.closed == 1
    assert stateful("a", Closing()) == "a 1"  # still the plain function


@model(name="m")
class Counter:
    def setup(self, ctx: Context) -> None:
        self.device, self.calls = ctx.device, 0

    def __call__(self, text: str) -> Annotated[str, Name("out")]:
        self.calls += 1
        return f"{text} {self.device} {self.calls}"


def test_a_class_is_a_step() -> None:
    responses = load(Counter).execute([Request("a"), Request("b")])
    assert [out(response) for response in responses] == ["a cuda:1 1", "b cuda:1 2"]


# --- sequences

START, END = 1, 2


def sequence_step(name: str) -> Any:
    """A step that counts per sequence, plain or async."""

    def plain(text: str, kept: SequenceState[Closing]) -> Annotated[str, Name("out")]:
        kept.calls += 1
        return f"{text} {kept.calls}"

    async def awaited(text: str, kept: SequenceState[Closing]) -> Annotated[str, Name("out")]:
        kept.calls += 1
        return f"{text} {kept.calls}"

    step: Any = model(name="m")(plain if name == "plain" else awaited)

    @step.start_sequence  # type: ignore[untyped-decorator]
    def start(request: RequestInfo) -> Closing:
        made.append(Closing())
        return made[-1]

    return step


def test_every_sequence_counts_for_itself() -> None:
    made.clear()
    loaded = load(sequence_step("plain"))
    requests = [
        Request("a", 1, START),
        Request("b", 2, START),
        Request("a", 1),
        Request("b", 2, END),
        Request("a", 1, END),
    ]
    assert [out(response) for response in loaded.execute(requests)] == ["a 1", "b 1", "a 2", "b 2", "a 3"]
    assert [state.closed for state in made] == [1, 1]


def test_an_async_step_drops_an_ended_sequence_too() -> None:
    made.clear()
    loaded = load(sequence_step("async"))
    assert [out(response) for response in loaded.execute([Request("a", 1, START | END)])] == ["a 1"]
    loaded.finalize()
    assert [state.closed for state in made] == [1]


@pytest.mark.parametrize("batch", ["each", "request"])
def test_a_sequence_whose_last_request_fails_is_dropped_too(batch: str) -> None:
    made.clear()

    def function(text: Any, kept: Any) -> Any:
        raise ValueError("broken")

    word: Any = Batch[str] if batch == "request" else str
    function.__annotations__["kept"] = SequenceState[Closing]
    step: Any = model.wrap(function, inputs={"text": word}, outputs={"out": word}, name="m", batch=batch)

    @step.start_sequence  # type: ignore[untyped-decorator]
    def start() -> Closing:
        made.append(Closing())
        return made[-1]

    loaded = load(step)
    (response,) = loaded.execute([Request("a", 1, START | END)])
    assert response.has_error()
    loaded.finalize()
    assert [state.closed for state in made] == [1]


def test_open_sequences_are_closed_with_the_instance() -> None:
    made.clear()
    loaded = load(sequence_step("plain"))
    loaded.execute([Request("a", 1, START)])
    loaded.finalize()
    assert [state.closed for state in made] == [1]


def test_a_sequence_that_nothing_begins() -> None:
    @model(name="m")
    def step(text: str, kept: SequenceState[Closing]) -> Annotated[str, Name("out")]:
        return text

    with pytest.raises(TritonPybError) as caught:
        load(step)
    error = caught.value
    assert error.code == "TPB127" and "step() (" in error.where
    assert error.what == "argument 'kept' takes a SequenceState, and nothing says how a sequence begins"
    assert error.fix == "mark a function that returns it: @step.start_sequence"


def test_a_state_that_nothing_makes() -> None:
    @model(name="m")
    def step(text: str, kept: State[Closing]) -> Annotated[str, Name("out")]:
        return text

    with pytest.raises(TritonPybError) as caught:
        load(step)
    error = caught.value
    assert error.code == "TPB128" and "step() (" in error.where
    assert error.what == "argument 'kept' takes a State, and nothing says where it comes from"
    assert error.fix == "mark a function that returns it: @step.setup"


# --- async functions


def test_async_items_are_served_at_the_same_time_and_keep_their_order() -> None:
    waiting: list[str] = []

    @model(name="m")
    async def step(text: str) -> Annotated[str, Name("out")]:
        waiting.append(text)
        while len(waiting) < 3:  # only all three together get on
            await asyncio.sleep(0.001)
        if text == "b":
            raise ValueError("b is broken")
        return text.upper()

    loaded = load(step)
    first, second, third = loaded.execute([Request("a"), Request("b"), Request("c")])
    assert (out(first), out(third)) == ("A", "C")
    assert "ValueError: b is broken" in second.error().message()
    loaded.finalize()


def test_no_more_at_the_same_time_than_workers() -> None:
    running, most = [0], [0]

    @model(name="m", workers=2)
    async def step(text: str) -> Annotated[str, Name("out")]:
        running[0] += 1
        most[0] = max(most[0], running[0])
        await asyncio.sleep(0.001)
        running[0] -= 1
        return text

    loaded = load(step)
    assert len(loaded.execute([Request(str(index)) for index in range(9)])) == 9 and most == [2]
    loaded.finalize()


# --- deadlines


def test_nobody_waits_any_more() -> None:
    @model(name="m")
    def step(text: str) -> Annotated[str, Name("out")]:
        return text

    ready = execution(step)
    text = np.array([[b"a"]], object)
    late = RequestInfo(timeout_us=1)
    while (late.remaining_s or 0) > 0:
        pass
    first, second = ready.run([{"text": text}, {"text": text}], None, [late, RequestInfo(timeout_us=60_000_000)])
    assert "the client's timeout of 1e-06 s has passed" in refused(first, "UNAVAILABLE")
    assert answered(second)["out"].tolist() == [[b"a"]]
