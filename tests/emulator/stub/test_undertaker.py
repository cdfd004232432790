"""Last words of dying objects."""

from __future__ import annotations

import threading

from triton_pyb.emulator.stub.undertaker import Undertaker


def test_words_are_passed_on_in_order_when_asked() -> None:
    heard: list[int] = []
    undertaker = Undertaker()
    for number in range(3):
        undertaker.leave(lambda number=number: heard.append(number))  # type: ignore[misc]
    assert heard == []
    undertaker.attend()
    assert heard == [0, 1, 2]


def test_once_started_nobody_need_ask() -> None:
    said = threading.Event()
    undertaker = Undertaker()
    undertaker.start()
    undertaker.leave(said.set)
    assert said.wait(5)
    undertaker.stop()


def test_a_word_may_leave_another() -> None:
    heard: list[str] = []
    undertaker = Undertaker()
    undertaker.leave(lambda: undertaker.leave(lambda: heard.append("second")))
    undertaker.attend()
    assert heard == ["second"]
