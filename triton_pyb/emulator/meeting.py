"""Requests that meet by agreement, not by luck of timing."""

from __future__ import annotations

import threading
from typing import Protocol

from triton_pyb.emulator.pending import Pending


class Queue(Protocol):
    """A scheduler that takes several requests at one instant."""

    def enqueue(self, pendings: list[Pending]) -> None: ...


class Meeting:
    """Holds requests back until nothing of this meeting runs any more, then lets all go at once.

    So the requests of one `infer_many` reach a model together, and the requests that an ensemble makes of
    them reach each later step together, whatever the machine's speed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: list[tuple[Queue, Pending]] = []
        self._busy = 1  # the caller of infer_many, until it has submitted everything

    def hold(self, queue: Queue, pending: Pending) -> None:
        """Take a request in; its last answer frees its place."""
        pending.held = True
        with self._lock:
            self._held.append((queue, pending))

    def leave(self) -> None:
        """One participant is done; the last one opens the gate."""
        with self._lock:
            self._busy -= 1
            if self._busy or not self._held:
                return
            held, self._held = self._held, []
            self._busy = len(held)
        by_queue: dict[int, tuple[Queue, list[Pending]]] = {}
        for queue, pending in held:
            by_queue.setdefault(id(queue), (queue, []))[1].append(pending)
        for queue, pendings in by_queue.values():
            queue.enqueue(pendings)
