"""A model instance in a child process: starting it, talking to it, noticing its end."""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import select
import signal
import socket
import subprocess
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from . import embedding
from .desk import Desk
from .messages import FINAL, WireFault, WireRequest, WireResponse, unhealthy
from .printed import Printed
from .stub.errors import EmulatorError
from .stub.wire import Channel, request_in, request_out, response_in, response_out

Respond = Callable[[int, WireResponse | None, int], None]


class ModelDied(Exception):
    """The process of the model ended, or does not answer."""


class _Batch:
    """One `execute` in flight, or over with responses still to come."""

    def __init__(self, size: int, respond: Respond) -> None:
        self.respond = respond
        self.open = set(range(size))
        self.over = False  # `execute` has returned
        self.executed = threading.Lock()  # free from then on; an Event costs five times as much
        self.executed.acquire()
        self.fault: WireFault | None = None


_NEVER = float("inf")

#: How often who waits looks whether the process is still there.
_LOOKS_EVERY_S = 1.0

#: How long a quick succession of requests may pause before the reader listens again.
_QUIET_S = 0.02


class ModelProcess:
    """The host's end of one stub process.

    Work goes to the child by one way, the rest by another, so that its main thread can wait for work itself. All
    that it sends comes in one order. While an `execute` runs, the thread that waits for it also reads, and hands on
    its responses; at other times a reader does: a request costs no change of threads. What belongs to no running
    `execute` is handed on by a thread of its own, in its order, so that a server half that works on inside a
    callback cannot stop the process from being heard.
    """

    def __init__(
        self, name: str, python: str | None, cwd: str | None, environment: dict[str, str], host: Any, release: str
    ) -> None:
        self.name = name
        self._desk = Desk(host)
        self._host = host
        self._batches: dict[int, _Batch] = {}
        self._numbers = itertools.count(1)
        self._done: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._readiness: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._incoming: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._waiting = False  # the thread in `execute` is between two messages
        self._over = 0  # the last batch whose `execute` was seen to return
        self._abandoned: int | None = None  # a batch whose `execute` runs, and whose caller was interrupted
        self._wake, self._woken = os.pipe()[::-1]  # ends the reader's poll
        os.set_blocking(self._wake, False)
        self._wanted = threading.Event()  # the reader is to listen at once
        self._quiet_until_s = 0.0
        self._ended_by_us = False
        self.dead = False
        (work, their_work), (talk, their_talk) = socket.socketpair(), socket.socketpair()
        descriptors = [their_work.fileno(), their_talk.fileno()]
        arguments, variables = embedding.command(python, release, environment, descriptors)
        try:
            self._process = subprocess.Popen(
                arguments,
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=variables,
            )
        finally:
            their_work.close()
            their_talk.close()
        self._work, self._talk = Channel(work), Channel(talk)
        self._printed = Printed(self._process, host)
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._dispatch, daemon=True),
            *(threading.Thread(target=stream.copy, daemon=True) for stream in self._printed.streams),
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, task: str, *arguments: Any, timeout_s: float | None = None) -> Any:
        """Run one of the child's tasks that ends with "done"; its value.

        Raises
        ------
        ModelDied
            When the process ended first.
        ChildRefused
            With the child's message.
        EmulatorError
            When the task did what kills a real server.
        """
        if self.dead:
            raise ModelDied(self.name)
        self._send(self._work, task, *arguments)
        self._listen_now()
        try:
            fine, value = self._done.get(timeout=timeout_s)
        except queue.Empty:
            raise ModelDied(self.name) from None
        if fine is None:
            raise ModelDied(self.name)
        if not fine:
            if isinstance(value, tuple):
                raise EmulatorError(*value)
            raise ChildRefused(value)
        return value

    def execute(self, requests: list[WireRequest], respond: Respond, timeout_s: float | None) -> WireFault | None:
        """Run a batch; its `execute` has returned when this does."""
        number = next(self._numbers)
        batch = _Batch(len(requests), respond)
        with self._lock:
            self._batches[number] = batch
        try:
            with self._reading:
                self._quiet_until_s, self._waiting = _NEVER, False
                message = _Messages(self, timeout_s)
                while self._abandoned is not None:  # else it might wait to be heard, and we to be read
                    self._receive(*message.next())
                self._send(self._work, "execute", number, [request_out(request) for request in requests])
                together, fault = self._attend(number, message)
            for response in together:
                self._respond(number, *response)
            if fault:
                batch.fault = WireFault(*fault)
                batch.open.clear()
        except EOFError:
            self._end_of_process()
        except BaseException as error:  # the caller's thread is interrupted: nobody waits any more
            batch.open.clear()
            self._interrupted(number, error)
            raise
        finally:
            batch.over = True
            batch.executed.release()  # first: an interrupt may come with every call from here on
            try:
                if self.dead:
                    self._answer_for(batch)
                self._forget(number)
            finally:
                self._quiet_until_s = time.monotonic() + _QUIET_S
                if batch.open or self._talk.has_rest or self._abandoned is not None:
                    self._listen_now()
        return batch.fault

    def _interrupted(self, number: int, error: BaseException) -> None:
        """Nobody attends this `execute` any more."""
        if isinstance(error, Exception) or self._over == number:
            return
        if self._waiting:
            self._abandoned = number
            return
        # Perhaps in the middle of a message: what follows has no meaning any more.
        self._ended_by_us = True
        self._process.kill()
        text = f"the process of '{self.name}' was ended: its caller was interrupted in the middle of a message"
        self._host.log("ERROR", "process.py", 0, text)
        self._end_of_process()

    def _attend(self, number: int, message: _Messages) -> tuple[list[Any], Any]:
        """Read until this batch's `execute` has returned, and hand on what it answers before.

        Returns
        -------
        together, fault
            What came with the end: responses, and the arguments of a fault or None. EOFError when the process ended.
        """
        while True:
            kind, *arguments = message.next()
            if kind not in ("respond", "executed") or arguments[0] != number:
                self._receive(kind, *arguments)
                continue
            self._printed.catch_up()
            if kind == "respond":
                self._respond(*arguments)
                continue
            self._over = number
            return arguments[1], arguments[2]

    def give_up(self, after_s: float) -> None:
        """Kill the process when an `execute` is still running; does nothing else.

        Parameters
        ----------
        after_s : float
            How long the caller has waited, for the message.
        """
        running = [batch for batch in list(self._batches.values()) if not batch.over]
        for batch in running:
            batch.open.clear()  # the fault answers for all that are open
            batch.fault = WireFault(
                "TPB509",
                f"execute of '{self.name}' did not return within {after_s:g} s: its clients wait as long",
                f"execute of '{self.name}'",
                "Find what it waits for, or allow more: EmulatedTriton(execute_timeout_s=...), "
                "triton.load(..., execute_timeout_s=...).",
            )
        if running:
            self._ended_by_us = True
            self._process.kill()

    def ended(self) -> bool:
        return self._process.poll() is not None

    def cancel(self, key: int) -> None:
        self._send(self._talk, "cancel", key)

    def readiness(self, timeout_s: float) -> str | None:
        """None when the model's own check says yes, else its message."""
        self._send(self._talk, "ready")
        self._listen_now()
        try:
            answer = self._readiness.get(timeout=timeout_s)
        except queue.Empty:
            return "timeout"
        reason: str | None = answer[0]
        return reason

    def end(self, timeout_s: float = 5.0) -> None:
        """Finalize the model and wait for the process; kill it when it does not end."""
        self._ended_by_us = True
        if not self.dead:
            try:
                self.ask("finalize", timeout_s=timeout_s)
            except (ModelDied, ChildRefused, EmulatorError):
                self._process.kill()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(timeout_s)
        self._printed.close()
        self._work.close()
        self._talk.close()
        os.close(self._wake)
        os.close(self._woken)

    def _send(self, channel: Channel, *message: Any) -> None:
        try:
            channel.send(*message)
        except OSError:
            pass  # who reads notices the end of the process and answers for it

    def _listen_now(self) -> None:
        """Somebody waits for what no `execute` will read."""
        self._quiet_until_s = 0.0
        self._wanted.set()
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake, b".")

    def _read(self) -> None:
        poll = select.poll()
        poll.register(self._talk, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while not self.dead:
            pause_s = self._quiet_until_s - time.monotonic()
            if pause_s > 0 and (pause_s <= _QUIET_S or self._reading.locked()):
                self._wanted.wait(min(pause_s, _QUIET_S))
                self._wanted.clear()
                continue
            if not self._talk.has_rest and (self._woken, select.POLLIN) in poll.poll():
                os.read(self._woken, 4096)
                continue
            if self._reading.acquire(blocking=False):
                try:
                    if self._talk.wait(0):
                        self._receive(*self._talk.receive())
                except EOFError:
                    self._end_of_process()
                finally:
                    self._reading.release()
            else:
                self._wanted.wait(_QUIET_S)
                self._wanted.clear()

    def _end_of_process(self) -> None:
        with self._lock:
            first, self.dead = not self.dead, True
        if first:
            if not self._ended_by_us:
                self._host.log("ERROR", "process.py", 0, f"the process of '{self.name}' {self._end_in_words()}")
            self._incoming.put(("died",))

    def _end_in_words(self) -> str:
        try:
            status = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return "closed its ends of the sockets"
        return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"

    def _receive(self, kind: str, *arguments: Any) -> None:
        if kind == "call":
            number, call, details = arguments
            threading.Thread(target=self._serve, args=(number, call, details), daemon=True).start()
        elif kind == "log":
            self._host.log(*arguments)
        elif kind == "cancel":
            self._desk.cancel(*arguments)
        elif kind == "readiness":
            self._readiness.put(arguments)
        elif kind == "executed":
            if arguments[0] == self._abandoned:
                self._abandoned = None
        else:
            self._incoming.put((kind, *arguments))

    def _serve(self, number: int, call: str, details: tuple[Any, ...]) -> None:
        if call == "infer":
            plain, decoupled = details
            try:
                for response in self._desk.infer(request_in(plain), decoupled):
                    self._send(self._talk, "reply", number, True, response_out(response))
            except EmulatorError as error:
                self._send(self._talk, "reply", number, True, response_out(WireResponse(fault=error.fault())))
            self._send(self._talk, "reply", number, False, None)
        else:
            self._send(self._talk, "reply", number, *self._desk.answer(call, details))

    def _dispatch(self) -> None:
        """Hand on, in order, what the child sends besides and after its `execute`."""
        while True:
            message = self._incoming.get()
            assert message is not None
            kind, *arguments = message
            self._printed.catch_up()
            if kind == "respond":
                batch = self._batches.get(arguments[0])
                if batch is not None:
                    with batch.executed:  # what it sent before its end comes first
                        pass
                    try:
                        self._respond(*arguments)
                    except Exception:  # of who takes the answer: the next one has nothing to do with it
                        traceback.print_exc()
            elif kind == "done":
                self._done.put(tuple(arguments))
            elif kind == "died":
                self._bury()
                return

    def _respond(self, number: int, index: int, plain: Any, flags: int) -> None:
        batch = self._batches.get(number)
        if batch is None or index not in batch.open:
            return
        if flags:
            batch.open.discard(index)
        batch.respond(index, response_in(plain), flags)
        self._forget(number)

    def _forget(self, number: int) -> None:
        batch = self._batches.get(number)
        if batch is not None and batch.over and not batch.open:
            with self._lock:
                self._batches.pop(number, None)

    def _bury(self) -> None:
        """The process is gone: everybody who waits for it gets Triton's answer."""
        with self._lock:
            batches = list(self._batches.values())
            self._batches.clear()
        self._done.put((None, None))
        for batch in batches:
            if batch.over:
                self._answer_for(batch)

    def _answer_for(self, batch: _Batch) -> None:
        with self._lock:
            unanswered = sorted(batch.open)
            batch.open.clear()
        for index in unanswered:
            batch.respond(index, unhealthy(self.name), FINAL)


class _Messages:
    """What the child sends while one `execute` is waited for."""

    def __init__(self, process: ModelProcess, timeout_s: float | None) -> None:
        self._process, self._timeout_s = process, timeout_s
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s

    def next(self) -> tuple[Any, ...]:
        """The next one; EOFError when the process ended, also where a child of its own keeps the socket open."""
        process = self._process
        process._waiting = True
        while not process._talk.wait(self._patience_s()):
            if self._deadline is not None and time.monotonic() >= self._deadline:
                process.give_up(self._timeout_s or 0.0)
                self._deadline = None
            elif process.ended() and not process._talk.wait(0):
                raise EOFError
        process._waiting = False
        if process.dead:
            raise EOFError
        return process._talk.receive()

    def _patience_s(self) -> float:
        left_s = _LOOKS_EVERY_S if self._deadline is None else self._deadline - time.monotonic()
        return max(0.0, min(left_s, _LOOKS_EVERY_S))


class ChildRefused(Exception):
    """A task of the child failed; the message is the stub's text."""
