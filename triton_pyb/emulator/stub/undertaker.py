"""What has to be said to the server when an object of the model dies.

Objects die in the middle of anything, also while their thread holds the lock of the pipe or reads from it. So
a dying object only leaves its last words here; they are passed on by a thread that holds nothing, or by the
next call that must come after them.
"""

from __future__ import annotations

import _thread
import queue
import threading
from typing import Callable, Optional


class Undertaker:
    """Runs what dying objects leave, in their order."""

    def __init__(self) -> None:
        self._words: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._bell: queue.SimpleQueue[Optional[bool]] = queue.SimpleQueue()
        self._lock = threading.RLock()  # a word may make its hearer ask for the rest

    def start(self) -> None:
        """Attend from now on; until then only `attend` does."""
        # Not by `threading`: a model that counts its threads must not find ours.
        _thread.start_new_thread(self._wait, ())

    def stop(self) -> None:
        self._bell.put(None)

    def leave(self, word: Callable[[], None]) -> None:
        """Take a dying object's last word; safe in any state of any thread."""
        self._words.put(word)
        self._bell.put(True)

    def attend(self) -> None:
        """Pass on all that was left so far."""
        with self._lock:
            while True:
                try:
                    word = self._words.get_nowait()
                except queue.Empty:
                    return
                word()

    def _wait(self) -> None:
        while self._bell.get() is not None:
            self.attend()
