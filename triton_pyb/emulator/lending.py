"""A caller that waits for one answer lends its thread: idle instances run there, without a change of threads.

Four changes of threads are most of what a request to three trivial steps costs, and `breakpoint()` works best in
the caller's own thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Jobs = deque[Callable[[], None]]

_local = threading.local()


def lent() -> Jobs | None:
    """Where to put work for this thread; None unless its owner waits for it."""
    jobs: Jobs | None = getattr(_local, "jobs", None)
    return jobs


@contextmanager
def lending() -> Iterator[None]:
    """What is submitted inside may run on this thread, and has run when this ends.

    Not below a running event loop: a model's coroutine needs a loop of its own.
    """
    jobs: Jobs = deque()
    with _lent(None if _in_event_loop() else jobs):
        yield
        while jobs:
            jobs.popleft()()


@contextmanager
def keeping() -> Iterator[None]:
    """What is submitted inside runs elsewhere: the model whose code this thread runs will wait for it."""
    with _lent(None):
        yield


@contextmanager
def _lent(jobs: Jobs | None) -> Iterator[None]:
    before = lent()
    _local.jobs = jobs
    try:
        yield
    finally:
        _local.jobs = before


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
