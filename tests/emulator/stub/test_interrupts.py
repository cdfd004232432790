"""What an interrupt of the caller leaves behind, and answers that come at the worst moment: nobody hangs."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.emulator.models import ensemble, execute, tensors, write
from triton_pyb.emulator import EmulatedTriton, InferenceFailed

IO = tensors(("input", "IN", "FP32", [-1]), ("output", "OUT", "FP32", [-1]))
SLOW = execute(
    """
import time
answers = []
for r in requests:
    x = r.inputs()[0].as_numpy()
    if x[0] < 0:
        time.sleep(1)
    answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x * 2)]))
return answers
"""
)
FROM_A_THREAD = execute(
    """
import threading, time
for r in requests:
    def answer(sender=r.get_response_sender(), x=r.inputs()[0].as_numpy()):
        time.sleep(float(x[0]))
        sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x)]), flags=1)
    threading.Thread(target=answer).start()
"""
)


@pytest.fixture
def interrupt() -> Iterator[Any]:
    """A function that interrupts the main thread after so many seconds."""
    timers = []

    def after(seconds: float) -> None:
        timers.append(threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)))
        timers[-1].start()

    yield after
    for timer in timers:
        timer.cancel()


def doubled(triton: EmulatedTriton, values: int) -> None:
    x = np.ones(values, np.float32)
    assert np.array_equal(triton.infer("m", {"IN": x})["OUT"], x * 2)


def stops_soon(triton: EmulatedTriton) -> None:
    begun = time.monotonic()
    triton.stop()
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("values", [10, 1_000_000])
def test_the_next_request_waits_for_the_abandoned_execute(tmp_path: Path, interrupt: Any, values: int) -> None:
    """Large ones too: parent and child must not both wait for the other to read."""
    with EmulatedTriton(write(tmp_path, "m", IO, SLOW)) as triton:
        interrupt(0.3)
        with pytest.raises((KeyboardInterrupt, InferenceFailed)):
            triton.infer("m", {"IN": np.full(values, -1, np.float32)})
        doubled(triton, values)
        stops_soon(triton)


def test_an_instance_that_was_lent_is_given_back(tmp_path: Path, interrupt: Any) -> None:
    """The interrupt comes while the first of two parallel steps runs: the second one never began."""
    for name in ("a", "b"):
        write(tmp_path, name, IO, SLOW)
    ends = tensors(("input", "IN", "FP32", [-1]), ("output", "Y", "FP32", [-1]), ("output", "Z", "FP32", [-1]))
    steps = [("a", {"IN": "IN"}, {"OUT": "Y"}), ("b", {"IN": "IN"}, {"OUT": "Z"})]
    write(tmp_path, "both", ensemble(ends, steps, max_batch_size=0), None)
    with EmulatedTriton(tmp_path) as triton:
        interrupt(0.3)
        with pytest.raises((KeyboardInterrupt, InferenceFailed)):
            triton.infer("both", {"IN": np.full(2, -1, np.float32)})
        for name in ("a", "b"):
            assert triton.infer(name, {"IN": [1.0]})["OUT"].tolist() == [2]
        assert set(triton.infer("both", {"IN": [1.0]})) == {"Y", "Z"}
        stops_soon(triton)


def test_an_interrupt_in_the_middle_of_a_message_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triton_pyb.emulator.stub.wire import Channel

    with EmulatedTriton(write(tmp_path, "m", IO, SLOW)) as triton:
        doubled(triton, 1)
        receive = Channel.receive

        def torn(channel: Channel) -> Any:
            monkeypatch.setattr(Channel, "receive", receive)
            channel._more(b"", 20)  # a part of the message is gone
            raise KeyboardInterrupt

        monkeypatch.setattr(Channel, "receive", torn)
        with pytest.raises(KeyboardInterrupt):
            doubled(triton, 1)
        with pytest.raises(InferenceFailed, match="Stub process 'm_0' is not healthy"):
            doubled(triton, 1)
        assert any("interrupted in the middle of a message" in record.message for record in triton.log)
        stops_soon(triton)


def test_an_answer_that_comes_just_as_execute_ends_is_heard(tmp_path: Path) -> None:
    """It may lie behind the end in one piece of the stream, while the reader already waits at the socket."""
    with EmulatedTriton(write(tmp_path, "m", IO, FROM_A_THREAD)) as triton:
        for number in range(120):
            delay = [0.0, 0.0001, 0.0003][number % 3]
            answer = triton.async_infer("m", {"IN": [delay]}).result(timeout=10)
            assert answer["OUT"].tolist() == pytest.approx([delay])
            time.sleep([0.0, 0.022, 0.03][number % 3])  # about the pause after which the reader listens again


def test_a_receiver_that_fails_costs_nobody_else_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with EmulatedTriton(write(tmp_path, "m", IO, FROM_A_THREAD)) as triton:
        model = triton._model("m")
        from triton_pyb.emulator.calls import RequestOptions

        def broken(response: object) -> None:
            raise RuntimeError("no taker")

        model.submit(RequestOptions().request(model, {"IN": [0.01]}), broken)
        assert triton.infer("m", {"IN": [0.05]})["OUT"].tolist() == pytest.approx([0.05])
        assert "RuntimeError: no taker" in capsys.readouterr().err
        triton.stop()
