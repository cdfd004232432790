"""Generators: decoupled models, whose streams always end, whatever the author's code or the client does."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable, Collection, Dict, Iterator, Optional

from .context import Context
from .errors import Fatal, InputError
from .outputs import Assembly, item_value, named_values
from .received import Received, item_words
from .refusals import Refusal, named

if TYPE_CHECKING:
    from .execution import Execution

#: Streams that one instance serves at the same time unless ``workers=`` says otherwise.
DEFAULT_STREAMS = 8

Send = Callable[[Optional[Any], bool], None]


class Streams:
    """Serves the requests of a decoupled model, each in a thread of its own.

    At most ``workers=`` streams run; when all are busy, ``execute`` waits, so requests queue in the server,
    where timeouts and statistics see them, and not in this process.

    Parameters
    ----------
    execution : Execution
    """

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        workers = execution.signature.options.get("workers", DEFAULT_STREAMS)
        self.pool = ThreadPoolExecutor(workers, f"{execution.model_name}-stream")
        self.room = threading.BoundedSemaphore(workers)

    def start(self, received: Received, requested: Optional[Collection[str]], context: Context, send: Send) -> None:
        """Begin one stream; returns when there is a thread for it.

        Parameters
        ----------
        send : callable
            Takes an answer (or None) and whether it is the last; called once with True, as the last call.
        """
        self.room.acquire()
        try:
            self.pool.submit(self._serve, received, requested, context, send)
        except BaseException:
            self.room.release()
            raise

    def close(self) -> None:
        """Wait for the streams that still run."""
        self.pool.shutdown()

    def _serve(self, received: Received, requested: Optional[Collection[str]], context: Context, send: Send) -> None:
        try:
            send(self._run(received, requested, context, send), True)
        except BaseException as error:  # the client is gone, or the server is
            self.execution.refusals.report(f"{self.execution.refusals.where}: the stream broke off: {named(error)}")
        finally:
            self.room.release()

    def _run(
        self, received: Received, requested: Optional[Collection[str]], context: Context, send: Send
    ) -> Optional[Refusal]:
        """Send every value; the Refusal that ends the stream, or None."""
        try:
            if received.n_items != 1:
                raise InputError(
                    "TPB235",
                    f"the request brings {received.n_items} items, and a stream answers one",
                    f"model '{self.execution.model_name}'",
                    "send one item per request",
                )
            for value in self._values(received, context):
                if context.cancelled:
                    break
                send(self._answer(value, received, requested), False)
        except BaseException as error:  # in a thread of its own even a KeyboardInterrupt must end the stream
            return self.execution.refuse(error, "" if isinstance(error, InputError) else item_words(0, 1))
        return None

    def _values(self, received: Received, context: Context) -> Iterator[Any]:
        """What the author's generator yields; it is closed when the client goes, so its ``finally`` runs."""
        if self.execution.fatal is not None:
            raise Fatal(self.execution.fatal)
        arguments = self.execution.arguments(received, 0, context)
        made = self.execution.function(**arguments)
        if inspect.isasyncgen(made):
            yield from _from_async(made)
            return
        try:
            yield from made
        finally:
            made.close()

    def _answer(self, value: Any, received: Received, requested: Optional[Collection[str]]) -> Dict[str, Any]:
        """One yielded value as the tensors of one response, with one row."""
        execution = self.execution
        where = execution.refusals.where
        assembly = Assembly(execution.signature, 1, requested, where)
        named = named_values(execution.signature, value, where)
        items = {f.name: item_value(f, named[f.name], where, received.symbols) for f in assembly.fields}
        assembly.put_item(0, items)
        return assembly.tensors(execution.batching, {})


def _from_async(made: Any) -> Iterator[Any]:
    """The values of an async generator, in an event loop of this thread's own."""
    loop = asyncio.new_event_loop()
    try:
        while True:
            try:
                yield loop.run_until_complete(made.__anext__())
            except StopAsyncIteration:
                return
    finally:
        loop.run_until_complete(made.aclose())
        loop.close()
