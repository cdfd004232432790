"""What a step may ask about the requests it serves; injected where an argument is annotated ``Context``."""

from __future__ import annotations

import logging
import time
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Union

from .errors import Reject, RequestError
from .metrics import Metrics

#: Request parameter that calls of ours carry to a step of ours; hidden from ``ctx.parameters``.
CALLERS = "triton_pyb_callers"

#: Up to 25.03 every error of a called model arrives as INTERNAL.  A step of ours that was called by one of
#: ours puts its status before the message, and the caller takes it off again.
STATUS_MARK = "\x1etriton_pyb:"


class RequestInfo:
    """One request, apart from its tensors.

    Attributes
    ----------
    request_id : str
        As the client sent it; "" when it sent none.
    parameters : dict of str to bool, int, float or str
        The request's parameters (empty before 23.03, where Triton has none).
    correlation_id : int or str
        Of a sequence; 0 without one.
    sequence_start, sequence_end : bool
    timeout_us : int
        Microseconds the client gave; 0 for no limit.
    callers : tuple of str
        Models whose steps called this one through ``ctx.call``, outermost first.
    """

    def __init__(
        self,
        request_id: str = "",
        parameters: Optional[Dict[str, Any]] = None,
        correlation_id: Union[int, str] = 0,
        sequence_start: bool = False,
        sequence_end: bool = False,
        timeout_us: int = 0,
        cancelled: Optional[Callable[[], bool]] = None,
        trace: Optional[Callable[[], Optional[Dict[str, str]]]] = None,
        callers: Sequence[str] = (),
    ) -> None:
        self.request_id = request_id
        self.parameters = dict(parameters or {})
        self.callers = tuple(callers)
        self.correlation_id = correlation_id
        self.sequence_start = sequence_start
        self.sequence_end = sequence_end
        self.timeout_us = timeout_us
        self._cancelled = cancelled
        self._trace = trace
        self._received_s = time.monotonic()

    @property
    def cancelled(self) -> bool:
        """The client has gone (always False before 23.10)."""
        return self._cancelled() if self._cancelled is not None else False

    @property
    def trace(self) -> Dict[str, str]:
        """W3C trace context, ``{"traceparent": "00-..."}``; empty unless the server traces with OpenTelemetry."""
        return (self._trace() if self._trace is not None else None) or {}

    @property
    def remaining_s(self) -> Optional[float]:
        """Seconds until the client's timeout, counted from when this model got the request; None without one."""
        if not self.timeout_us:
            return None
        return self.timeout_us / 1e6 - (time.monotonic() - self._received_s)


class ModelInfo:
    """The model that a step runs as.

    Attributes
    ----------
    name : str
    model_dir, version_dir : str
        ``<repository>/<model>`` and ``<repository>/<model>/<version>``; "" outside a server.
    device : str
        ``"cpu"`` or ``"cuda:1"``: where Triton placed this instance.
    settings : dict
        The decorator's ``settings=``, as ``parameters`` of the model configuration may have changed them.
    metrics : Metrics
    """

    def __init__(
        self,
        name: str = "",
        model_dir: str = "",
        version_dir: str = "",
        device: str = "cpu",
        settings: Optional[Mapping[str, Any]] = None,
        metrics: Optional[Metrics] = None,
    ) -> None:
        self.name = name
        self.model_dir = model_dir
        self.version_dir = version_dir
        self.device = device
        self.settings = dict(settings or {})
        self.metrics = metrics or Metrics()
        self.logger = logging.getLogger(f"triton_pyb.{name}" if name else "triton_pyb")


class Context:
    """The call a step is serving.

    Attributes
    ----------
    requests : tuple of RequestInfo
        The requests of this call, one for each in the modes ``"each"`` and ``"request"``.
    rows : tuple of (int, int)
        For each item of the call, (index in `requests`, item within that request).
    model : ModelInfo
    """

    def __init__(
        self,
        requests: Sequence[RequestInfo],
        rows: Sequence[Tuple[int, int]] = ((0, 0),),
        model: Optional[ModelInfo] = None,
        caller: Optional[Any] = None,
    ) -> None:
        self.requests = tuple(requests)
        self.rows = tuple(rows)
        self.model = model or ModelInfo()
        self.rejected: Dict[int, RequestError] = {}
        self._caller = caller

    @classmethod
    def for_test(
        cls,
        n_items: int = 1,
        *,
        settings: Optional[Mapping[str, Any]] = None,
        models: Optional[Mapping[str, Callable[..., Any]]] = None,
        device: str = "cpu",
        model_dir: str = "",
        version_dir: str = "",
        **request: Any,
    ) -> Context:
        """A context for a unit test: one request, no server.

        Parameters
        ----------
        n_items : int
            How many items the request brings.
        models : mapping of str to callable
            What ``ctx.call`` reaches: functions that take inputs by name and return a dict of outputs.
        **request
            Attributes of RequestInfo: ``request_id=``, ``parameters=``, ``correlation_id=``, ``timeout_us=``,
            ``cancelled=lambda: True``, ...
        """
        from .calls import FakeCaller

        model = ModelInfo("test", model_dir, version_dir, device, settings)
        rows = [(0, index) for index in range(n_items)]
        return cls([RequestInfo(**request)], rows, model, FakeCaller(models or {}))

    @property
    def request(self) -> RequestInfo:
        """The one request of this call.

        Raises
        ------
        LookupError
            When the call joins several; `requests` has them all.
        """
        if len(self.requests) != 1:
            raise LookupError(f"this call joins {len(self.requests)} requests: use ctx.requests, and ctx.rows per item")
        return self.requests[0]

    @property
    def request_id(self) -> str:
        """Of the one request of this call."""
        return self.request.request_id

    @property
    def parameters(self) -> Dict[str, Any]:
        """Of the one request of this call."""
        return self.request.parameters

    @property
    def correlation_id(self) -> Union[int, str]:
        """Of the one request of this call."""
        return self.request.correlation_id

    @property
    def cancelled(self) -> bool:
        """Every client of this call has gone."""
        return all(request.cancelled for request in self.requests)

    @property
    def remaining_s(self) -> Optional[float]:
        """Seconds until the first client's timeout; None when nobody gave one."""
        times = [request.remaining_s for request in self.requests]
        return min((time_s for time_s in times if time_s is not None), default=None)

    @property
    def device(self) -> str:
        """``"cpu"`` or ``"cuda:1"``."""
        return self.model.device

    @property
    def model_dir(self) -> str:
        """``<repository>/<model>``."""
        return self.model.model_dir

    @property
    def version_dir(self) -> str:
        """``<repository>/<model>/<version>``: where the code and its assets lie."""
        return self.model.version_dir

    @property
    def settings(self) -> Dict[str, Any]:
        """Typed settings of the model."""
        return self.model.settings

    @property
    def metrics(self) -> Metrics:
        """Counters, gauges and histograms by name."""
        return self.model.metrics

    @property
    def logger(self) -> logging.Logger:
        """A logger of the model's own; on a server its records go to Triton's log."""
        return self.model.logger

    def call(
        self,
        model: str,
        inputs: Optional[Mapping[str, Any]] = None,
        *,
        options: Optional[Mapping[str, Any]] = None,
        **tensors: Any,
    ) -> Dict[str, Any]:
        """Ask another model and wait (BLS).

        Parameters
        ----------
        model : str
        inputs : mapping, optional
            For names that are no Python identifier; else ``ctx.call("model", x=array)``.  Arrays have the batch
            axis where the model batches; lists of numbers, str and bytes are taken too.
        options : mapping, optional
            ``outputs`` (names), ``timeout_s``, ``version``, ``request_id``, ``correlation_id``, ``flags``,
            ``parameters``.

        Returns
        -------
        dict of str to numpy.ndarray
            In CPU memory (asked for from 23.04 on).

        Raises
        ------
        CallFailed
            When the model answers with an error, does not answer in ``timeout_s``, or would call itself in a ring.
        RuntimeError
            In ``setup``: Triton allows calls only while a request is served.
        """
        answer: Dict[str, Any] = self._calls().call(model, {**(inputs or {}), **tensors}, options or {})
        return answer

    async def call_async(
        self,
        model: str,
        inputs: Optional[Mapping[str, Any]] = None,
        *,
        options: Optional[Mapping[str, Any]] = None,
        **tensors: Any,
    ) -> Dict[str, Any]:
        """As :meth:`call`, for ``async def`` steps: several calls run at the same time."""
        answer: Dict[str, Any] = await self._calls().call_async(model, {**(inputs or {}), **tensors}, options or {})
        return answer

    def stream(
        self,
        model: str,
        inputs: Optional[Mapping[str, Any]] = None,
        *,
        options: Optional[Mapping[str, Any]] = None,
        **tensors: Any,
    ) -> Iterator[Dict[str, Any]]:
        """As :meth:`call`, for a decoupled model: its responses one by one."""
        answers: Iterator[Dict[str, Any]] = self._calls().stream(model, {**(inputs or {}), **tensors}, options or {})
        return answers

    def _calls(self) -> Any:
        if self._caller is None:
            raise RuntimeError("other models can be called while a request is served, not in setup")
        return self._caller

    def reject(self, index: int, message: Union[str, RequestError]) -> None:
        """Fail one item of a joined call; whatever the function returns for it is dropped.

        Parameters
        ----------
        index : int
            Of the item in this call, counted from 0.
        message : str or RequestError
            A text is INVALID_ARG; ``NotFound("...")`` and the like keep their status.

        Raises
        ------
        IndexError
            When the call has no such item.
        """
        if not 0 <= index < len(self.rows):
            raise IndexError(f"ctx.reject({index}, ...): this call has {len(self.rows)} items")
        self.rejected[index] = message if isinstance(message, RequestError) else Reject(message)
