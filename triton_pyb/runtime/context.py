"""What a step may ask about the requests it serves; injected where an argument is annotated ``Context``."""

from __future__ import annotations

import logging
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from .errors import Reject, RequestError


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
    ) -> None:
        self.request_id = request_id
        self.parameters = dict(parameters or {})
        self.correlation_id = correlation_id
        self.sequence_start = sequence_start
        self.sequence_end = sequence_end
        self.timeout_us = timeout_us
        self._cancelled = cancelled
        self._received_s = time.monotonic()

    @property
    def cancelled(self) -> bool:
        """The client has gone (always False before 23.10)."""
        return self._cancelled() if self._cancelled is not None else False

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
    """

    def __init__(self, name: str = "", model_dir: str = "", version_dir: str = "", device: str = "cpu") -> None:
        self.name = name
        self.model_dir = model_dir
        self.version_dir = version_dir
        self.device = device
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
    ) -> None:
        self.requests = tuple(requests)
        self.rows = tuple(rows)
        self.model = model or ModelInfo()
        self.rejected: Dict[int, RequestError] = {}

    @classmethod
    def for_test(cls, n_items: int = 1, model: Optional[ModelInfo] = None, **request: Any) -> Context:
        """A context for a unit test: one request with `n_items` items and the given RequestInfo attributes."""
        return cls([RequestInfo(**request)], [(0, index) for index in range(n_items)], model)

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
    def device(self) -> str:
        """``"cpu"`` or ``"cuda:1"``."""
        return self.model.device

    @property
    def logger(self) -> logging.Logger:
        """A logger of the model's own; on a server its records go to Triton's log."""
        return self.model.logger

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


def rows_of(counts: Sequence[int]) -> List[Tuple[int, int]]:
    """``[2, 1]`` -> ``[(0, 0), (0, 1), (1, 0)]``."""
    return [(request, item) for request, count in enumerate(counts) for item in range(count)]
