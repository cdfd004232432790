"""Run a step's function over the requests of one batch; every request gets an answer of its own."""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Collection, Dict, List, Mapping, Optional, Sequence, Tuple, Type, Union

from .batching import check_sizes, plan_calls
from .callables import Place, defaults_of
from .context import Context, ModelInfo, RequestInfo
from .errors import Fatal, OutputError, Unavailable
from .joined_call import JoinedCalls
from .outputs import Assembly, item_value, named_values
from .received import Received, item_words, receive
from .refusals import AUTHOR_ERRORS, STATUS, Refusal, Refusals
from .signature import Signature
from .state import Sequences, injected_values

Tensors = Mapping[str, Any]
Answer = Union[Dict[str, Any], Refusal]


class Served:
    """One request while it is served.

    Attributes
    ----------
    refusal : Refusal or None
        The whole request failed.
    failed : dict of int to Refusal
        Items that failed.
    """

    def __init__(self, received: Received, assembly: Assembly) -> None:
        self.received = received
        self.assembly = assembly
        self.refusal: Optional[Refusal] = None
        self.failed: Dict[int, Refusal] = {}


class Execution:
    """One step, ready to run.

    Parameters
    ----------
    function : callable
        The author's function.
    signature : Signature
    place : Place
        Where the function stands, for messages and tracebacks.
    model_name : str
    batching : bool
        True when the server counts axis 0 as the batch (``max_batch_size > 0``).
    log : callable
        Takes the traceback of an author's exception, once per exception.
    bad_input : tuple of exception classes
        Exceptions of the function that mean INVALID_ARG.
    model : ModelInfo, optional
        What a Context says about the model.

    Attributes
    ----------
    state : object
        What ``@step.setup`` returned.
    sequences : Sequences or None
        States by ``correlation_id``.
    caller : callable or None
        Makes what ``ctx.call`` uses, from a RequestInfo.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature,
        place: Place,
        model_name: str,
        batching: bool,
        log: Callable[[str], None],
        bad_input: Tuple[Type[Exception], ...] = (),
        model: Optional[ModelInfo] = None,
    ) -> None:
        self.function = function
        self.signature = signature
        self.defaults = defaults_of(function)
        self.state: Any = None
        self.sequences: Optional[Sequences] = None
        self.caller: Optional[Callable[[RequestInfo], Any]] = None
        self.loop: Optional[Any] = None
        if is_async(function):
            import asyncio  # here: `import triton_pyb` must stay light

            self.loop = asyncio.new_event_loop()
        self.batching = batching
        self.model_name = model_name
        self.refusals = Refusals(model_name, place, bad_input, log)
        self.model = model or ModelInfo(model_name)
        self.nothing_asked = Context((), (), self.model)  # for a function that takes inputs alone
        self.fatal: Optional[str] = None
        self.asks_context = any(what["kind"] == "context" for what in signature.injected.values())
        workers = signature.options.get("workers", 1)
        threads = workers > 1 and self.loop is None and not signature.streams
        self.pool = ThreadPoolExecutor(workers, f"{model_name}-worker") if threads else None

    def run(
        self,
        requests: Sequence[Tensors],
        requested: Optional[Sequence[Optional[Collection[str]]]] = None,
        infos: Optional[Sequence[RequestInfo]] = None,
    ) -> List[Answer]:
        """Answer every request, in order.

        Parameters
        ----------
        requests : sequence of mapping
            Tensors by name, each of shape (n_items, *dims).
        requested : sequence of collection of str or None, optional
            The outputs that each client asked for; None asks for all.
        infos : sequence of RequestInfo, optional
            What the requests say besides.

        Returns
        -------
        list of dict or Refusal, length len(requests)
            Never raises for anything an author's function or a client does.
        """
        wanted = list(requested) if requested is not None else [None] * len(requests)
        about = list(infos) if infos is not None else [RequestInfo() for _ in requests]
        answers: Dict[int, Answer] = {}
        served: Dict[int, Served] = {}
        for index, tensors in enumerate(requests):
            received = self.receive(tensors, about[index])
            if isinstance(received, Refusal):
                answers[index] = received
            else:
                assembly = Assembly(self.signature, received.n_items, wanted[index], self.refusals.where)
                served[index] = Served(received, assembly)
        self._serve(served)
        for index, request in served.items():
            answers[index] = self._finish(request)
        return [answers[index] for index in range(len(requests))]

    def close(self) -> None:
        """Let the worker threads and the event loop go."""
        if self.pool is not None:
            self.pool.shutdown()
        if self.loop is not None:
            self.loop.close()
        if self.sequences is not None:
            self.sequences.close()

    def refuse(self, error: BaseException, detail: str = "") -> Refusal:
        """The answer for an exception; a Fatal one stays."""
        refusal = self.refusals.refuse(error, detail)
        if isinstance(error, Fatal):
            self.fatal = self.fatal or refusal.message
        return refusal

    def stopped(self) -> Refusal:
        """The answer after a Fatal."""
        return Refusal("UNAVAILABLE", self.fatal or "")

    def context(self, requests: Sequence[Received], rows: Sequence[Tuple[int, int]]) -> Context:
        """What the function may ask about one call."""
        infos = [received.info for received in requests]
        caller = self.caller(infos[0]) if self.asks_context and self.caller is not None and infos else None
        return Context(infos, rows, self.model, caller)

    def arguments(self, received: Received, item: int, context: Context) -> Dict[str, Any]:
        """What the function is called with for one item."""
        inputs = {}
        for name, column in received.columns.items():
            inputs[name] = _value(column[item])
        if not self.signature.injected:
            return inputs
        return {**inputs, **injected_values(self.signature.injected, context, self.state, self.sequences)}

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function; a coroutine is run to its end."""
        if self.loop is None:
            return self.function(**arguments)
        return self.loop.run_until_complete(self.function(**arguments))

    def receive(self, tensors: Tensors, info: RequestInfo) -> Union[Received, Refusal]:
        """One request, read, or why it cannot be."""
        if self.fatal is not None:
            return self.stopped()
        try:
            received = receive(self.signature, tensors, self.model_name, info)
            if self.signature.batch != "each":
                check_sizes(self.signature, received, self.model_name)
        except Exception as error:
            return self.refuse(error)
        return received

    def _serve(self, served: Mapping[int, Served]) -> None:
        for request in served.values():
            for item, error in request.received.failed.items():
                request.failed[item] = self.refuse(error)
        if self.signature.batch == "each":
            self._serve_each(list(served.values()))
            return
        calls = JoinedCalls(self, served)
        calls.run_all(plan_calls(self.signature, {index: request.received for index, request in served.items()}))

    def _serve_each(self, served: Sequence[Served]) -> None:
        """One call per item; in threads where the step has workers, at the same time where it is async."""
        alone = len(served) == 1 and served[0].received.n_items == 1
        if self.loop is not None:
            self.loop.run_until_complete(self._gather(served, not alone))
            return
        for request in served:
            items = [item for item in range(request.received.n_items) if item not in request.failed]
            if self.pool is not None:
                futures = [self.pool.submit(self._item, request, item, not alone) for item in items]
                for future in futures:
                    future.result()
            else:
                for item in items:
                    self._item(request, item, not alone)
                    if request.failed and not self.signature.masks_items:
                        break
            if self.sequences is not None:
                self.sequences.served(request.received.info)

    def _item(self, request: Served, item: int, copies: bool) -> None:
        """Serve one item; a lone one is answered with a view of what the function returned."""
        try:
            context = self._begin(request, item)
            if context is not None:
                value = self.function(**self.arguments(request.received, item, context))
                self._take(request, item, value, context, copies)
        except AUTHOR_ERRORS as error:
            request.failed[item] = self.refuse(error, item_words(item, request.received.n_items))

    async def _gather(self, served: Sequence[Served], copies: bool) -> None:
        """Serve the items of all requests at the same time, at most ``workers`` where that is said.

        The items of sequences go one after the other: their order is what a sequence is.
        """
        import asyncio

        workers = 1 if self.sequences is not None else self.signature.options.get("workers")
        room = asyncio.Semaphore(workers) if workers else None
        await asyncio.gather(
            *(
                self._item_async(request, item, copies, room)
                for request in served
                for item in range(request.received.n_items)
                if item not in request.failed
            )
        )

    async def _item_async(self, request: Served, item: int, copies: bool, room: Optional[Any]) -> None:
        if room is not None:
            async with room:
                await self._item_async(request, item, copies, None)
            return
        try:
            context = self._begin(request, item)
            if context is not None:
                value = await self.function(**self.arguments(request.received, item, context))
                self._take(request, item, value, context, copies)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # asyncio.CancelledError is no Exception
            request.failed[item] = self.refuse(error, item_words(item, request.received.n_items))
        if self.sequences is not None and item == request.received.n_items - 1:
            self.sequences.served(request.received.info)

    def _begin(self, request: Served, item: int) -> Optional[Context]:
        """The context of one call, or None when there is no more sense in serving the request."""
        if self.fatal is not None:
            request.refusal = self.stopped()
            return None
        check_deadline(request.received.info)
        return self.context([request.received], [(0, item)]) if self.signature.injected else self.nothing_asked

    def _take(self, request: Served, item: int, value: Any, context: Context, copies: bool) -> None:
        """Check what the function returned for one item and put it into the request's answer."""
        if context.rejected:
            raise context.rejected[0]
        where = self.refusals.where
        returned = named_values(self.signature, value, where)
        values = {}
        for field in request.assembly.fields:
            value = item_value(field, returned[field.name], where, request.received.symbols)
            values[field.name] = value if copies else value[None]
        if copies:
            request.assembly.put_item(item, values)
        else:
            request.assembly.put_rows(0, 1, values)

    def _finish(self, request: Served) -> Answer:
        if request.refusal is not None:
            return request.refusal
        if request.failed and (not self.signature.masks_items or self.fatal is not None):
            return request.failed[min(request.failed)]
        codes: Dict[int, int] = {}
        if request.failed:
            codes = {item: STATUS.get(refusal.code, STATUS["INTERNAL"]) for item, refusal in request.failed.items()}
        try:
            return request.assembly.tensors(self.batching, codes)
        except OutputError as error:
            return self.refuse(error)


def is_async(function: Any) -> bool:
    """A coroutine function, or an object whose ``__call__`` is one."""
    method = vars(type(function)).get("__call__")
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(method)


def check_deadline(info: RequestInfo) -> None:
    """Refuse to begin work that nobody waits for any more.

    Raises
    ------
    Unavailable
        When the client's timeout has passed.
    """
    if info.timeout_us and info.remaining_s is not None and info.remaining_s <= 0:
        raise Unavailable(f"the client's timeout of {info.timeout_us / 1e6:g} s has passed")


def _value(element: Any) -> Any:
    """One entry of a column as the function gets it: a number as Python's own, the rest as it is."""
    return element.item() if type(element).__module__ == "numpy" and getattr(element, "ndim", 1) == 0 else element
