"""A caller that waits for one answer lends its thread: idle instances run there, without a change of threads.

Four changes of threads are most of what a request to three trivial steps costs, and `breakpoint()` works best in
the caller's own thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Protocol


class Job(Protocol):
    """Work for a lent thread; abandoned when that is interrupted before the end. Both may be asked twice."""

    def run(self) -> None: ...
    def abandon(self) -> None: ...


Jobs = deque[Job]


class _Thread(threading.local):
    jobs: Jobs | None = None


_local = _Thread()


def lent() -> Jobs | None:
    """Where to put work for this thread; None unless its owner waits for it."""
    return _local.jobs


class lending:
    """What is submitted inside may run on this thread, and has run when this ends.

    Not below a running event loop: a model's coroutine needs a loop of its own.
    """

    def __enter__(self) -> None:
        self._before = _local.jobs
        self._jobs: Jobs = deque()
        _local.jobs = None if _in_event_loop() else self._jobs

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            while self._jobs and kind is None:
                self._jobs[0].run()
                self._jobs.popleft()
        finally:
            _local.jobs = self._before
            for job in self._jobs:
                job.abandon()


class keeping:
    """What is submitted inside runs elsewhere: the model whose code this thread runs will wait for it."""

    def __enter__(self) -> None:
        self._before, _local.jobs = _local.jobs, None

    def __exit__(self, *_: object) -> None:
        _local.jobs = self._before


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
