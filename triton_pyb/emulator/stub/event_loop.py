"""The stub's one event loop: a daemon thread, made at the first coroutine."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from typing import Any, List, Optional

from .errors import EmulatorError
from .tracebacks import formatted

_LOGGED_FROM = ("pb_stub.cc", 945)  # Source: the line in r24.10, seen in its log


class EventLoop:
    """Runs coroutines for the main thread, and in the background for decoupled models."""

    def __init__(self, stub: Any, own_process: bool) -> None:
        self._stub, self._own_process = stub, own_process
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._thread: Optional[threading.Thread] = None
        self._awaited: List[Any] = []
        self._ended = False
        self._background: List[Any] = []
        stub.background_done = self._done

    def run(self, coroutine: Any) -> Any:
        """Wait for its result."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        self._awaited.append(future)
        if self._ended:  # it ended before the future stood in the list
            self._give_up()
        try:
            return future.result()
        finally:
            self._awaited.remove(future)

    def start(self, coroutine: Any) -> None:
        """Let it run; its exception is only logged."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        self._background.append(future)
        future.add_done_callback(self._done)

    def stop(self) -> None:
        """End the loop and its thread."""
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(1.0)
        if not self._thread.is_alive():
            self._loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            if self._own_process:  # elsewhere it would be the tests' own loop
                asyncio.set_event_loop(self._loop)
            self._thread = threading.Thread(target=self._serve, args=(self._loop,), daemon=True)
            self._thread.start()
        return self._loop

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.run_forever()
        except BaseException as end:
            # SystemExit and KeyboardInterrupt end the loop, not only their task; nobody resolves its futures.
            with contextlib.suppress(EmulatorError), self._stub.watching():
                raise EmulatorError(
                    "TPB510",
                    f"{type(end).__name__} in a coroutine ends the stub's event loop: execute never returns",
                    f"execute of '{self._stub.instance_name}'",
                    "Raise an Exception, or answer the request with an error.",
                ) from end
            self._ended = True
            self._give_up()

    def _give_up(self) -> None:
        for future in list(self._awaited):
            with contextlib.suppress(concurrent.futures.InvalidStateError):
                future.set_exception(EmulatorError(*self._stub.fault))

    def _done(self, future: Any) -> None:
        error = future.exception()
        if error is not None:
            self._stub.link.log("ERROR", *_LOGGED_FROM, formatted(error))
        if future in self._background:
            self._background.remove(future)
