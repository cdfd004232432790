"""From a ``pb_utils.InferenceRequest`` to what a step may ask about it."""

from __future__ import annotations

import json
import time
from functools import cached_property
from typing import Any, Dict, Tuple, Union

from .context import CALLERS, RequestInfo


class ReceivedInfo(RequestInfo):
    """What a request says besides its tensors, read when somebody asks: most steps never do.

    What an old release does not know stays at its default.
    """

    def __init__(self, request: Any) -> None:
        self._request = request
        self._received_s = time.monotonic()
        self.timeout_us = int(_ask(request, "timeout", 0))

    @property
    def cancelled(self) -> bool:
        return bool(_ask(self._request, "is_cancelled", False))

    @cached_property
    def request_id(self) -> str:  # type: ignore[override]
        text: str = self._request.request_id()
        return text

    @cached_property
    def correlation_id(self) -> Union[int, str]:  # type: ignore[override]
        key: Union[int, str] = self._request.correlation_id()
        return key

    @cached_property
    def sequence_start(self) -> bool:  # type: ignore[override]
        return bool(_ask(self._request, "flags", 0) & 1)  # TRITONSERVER_REQUEST_FLAG_SEQUENCE_START

    @cached_property
    def sequence_end(self) -> bool:  # type: ignore[override]
        return bool(_ask(self._request, "flags", 0) & 2)  # TRITONSERVER_REQUEST_FLAG_SEQUENCE_END

    @cached_property
    def parameters(self) -> Dict[str, Any]:  # type: ignore[override]
        return {name: value for name, value in self._all_parameters.items() if name != CALLERS}

    @cached_property
    def callers(self) -> Tuple[str, ...]:  # type: ignore[override]
        return tuple(name for name in str(self._all_parameters.get(CALLERS, "")).split(",") if name)

    @cached_property
    def _all_parameters(self) -> Dict[str, Any]:
        parameters: Dict[str, Any] = json.loads(_ask(self._request, "parameters", "{}") or "{}")
        return parameters

    @property
    def trace(self) -> Dict[str, str]:
        # There is a context from 24.03 on, with OpenTelemetry only. No bound method of ours is kept for it: in a
        # cycle the request would outlive its call.
        context = _ask(_ask(self._request, "trace", None), "get_context", None)
        headers: Dict[str, str] = json.loads(context) if context else {}
        return headers


def _ask(request: Any, method: str, default: Any) -> Any:
    """Call a getter that exists from some release on only."""
    getter = getattr(request, method, None)
    return default if getter is None else getter()
