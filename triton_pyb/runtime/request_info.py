"""From a ``pb_utils.InferenceRequest`` to what a step may ask about it."""

from __future__ import annotations

import json
from typing import Any, Dict, Optional

from .context import CALLERS, RequestInfo


def request_info(request: Any) -> RequestInfo:
    """What a request says besides its tensors; what an old release does not know stays at its default."""
    flags: int = _ask(request, "flags", 0)
    parameters = json.loads(_ask(request, "parameters", "{}") or "{}")
    callers = [name for name in str(parameters.pop(CALLERS, "")).split(",") if name]
    return RequestInfo(
        request_id=request.request_id(),
        parameters=parameters,
        correlation_id=request.correlation_id(),
        sequence_start=bool(flags & 1),  # TRITONSERVER_REQUEST_FLAG_SEQUENCE_START
        sequence_end=bool(flags & 2),  # TRITONSERVER_REQUEST_FLAG_SEQUENCE_END
        timeout_us=_ask(request, "timeout", 0),
        cancelled=getattr(request, "is_cancelled", None),
        trace=lambda: _trace_context(request),
        callers=callers,
    )


def _trace_context(request: Any) -> Optional[Dict[str, str]]:
    """The W3C headers of the request's trace; there is a context from 24.03 on, with OpenTelemetry only."""
    trace = _ask(request, "trace", None)
    context = _ask(trace, "get_context", None)
    return json.loads(context) if context else None


def _ask(request: Any, method: str, default: Any) -> Any:
    """Call a getter that exists from some release on only."""
    getter = getattr(request, method, None)
    return default if getter is None else getter()
