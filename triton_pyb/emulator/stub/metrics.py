"""`MetricFamily` and `Metric` as models see them; the values live in the server's registry."""

from __future__ import annotations

import json
import weakref
from typing import Any, Callable, List, Optional

from .casters import FLOAT, OBJECT, STR, instance_of
from .enums import METRIC_KINDS
from .errors import HostError, TritonModelException
from .pybind import PybindClass, wrap
from .signatures import Parameter
from .tensor import stub_cast_text

_CLEARED = (
    "Invalid metric operation as the corresponding 'MetricFamily' has been deleted. The 'MetricFamily' object "
    "should be deleted AFTER its corresponding 'Metric' objects have been deleted."
)

METRIC_FAMILY = PybindClass("MetricFamily")
METRIC = PybindClass("Metric")


class FamilyState:
    """What lies behind one MetricFamily. It owns its metrics: they die with it."""

    def __init__(self, stub: Any, kind: int, handle: int) -> None:
        self.kind, self.handle = kind, handle
        self.metrics: List[MetricState] = []
        weakref.finalize(self, _delete, stub, handle, self.metrics).atexit = False


class MetricState:
    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.cleared = False


def _delete(stub: Any, handle: int, metrics: List[MetricState]) -> None:
    for metric in metrics:
        metric.cleared = True
    if not stub.ended:
        stub.undertaker.leave(lambda: stub.link.metric("delete_family", handle))


def _ask(stub: Any, failure: str, *request: Any) -> Any:
    """Ask the server's registry; its refusal comes as TritonModelException in the stub's words."""
    stub.undertaker.attend()  # a family that just died is gone before the next one comes
    try:
        return stub.link.metric(*request)
    except HostError as error:
        text = f"Failed to process the request for model '{stub.instance_name}', message: {error}"
        raise TritonModelException(f"{failure}: {text}") from None


@METRIC_FAMILY.init(Parameter("name", STR), Parameter("description", STR), Parameter("kind", instance_of("MetricKind")))
def _construct(stub: Any, name: str, description: str, kind: Any) -> FamilyState:
    handle = _ask(stub, "Error when creating MetricFamily", "create_family", name, description, int(kind))
    return FamilyState(stub, int(kind), handle)


@METRIC_FAMILY.method(
    "Metric",
    Parameter("labels", OBJECT, None),
    Parameter("buckets", OBJECT, None),
    returns="c_python_backend_utils.Metric",
)
def _metric(stub: Any, self: Any, labels: Any, buckets: Any = None) -> Any:
    family: FamilyState = self._pb
    if labels is not None and not isinstance(labels, dict):
        raise TritonModelException("Failed to create metric. Labels must be a dictionary.")
    text = json.dumps(labels)
    bounds = _bounds(family.kind, buckets)
    state = MetricState(_ask(stub, "Error when creating Metric", "create_metric", family.handle, text, bounds))
    family.metrics.append(state)
    return wrap(stub, "Metric", state)


def _bounds(kind: int, buckets: Any) -> Optional[List[float]]:
    histogram = kind == METRIC_KINDS["HISTOGRAM"]
    if buckets is None:
        if histogram:
            raise TritonModelException("Failed to create metric. Missing required buckets.")
        return None
    if not isinstance(buckets, list):
        raise TritonModelException("Failed to create metric. Buckets must be a list.")
    if not histogram:
        raise TritonModelException("Failed to create metric. Unexpected buckets found.")
    try:
        return [FLOAT.load(None, bound) for bound in buckets]
    except Exception:
        raise RuntimeError(stub_cast_text()) from None


def _operation(name: str, word: str, failure: str) -> Callable[..., None]:
    @METRIC.method(name, Parameter(None, FLOAT))
    def operate(stub: Any, self: Any, value: float) -> None:
        _operate(stub, self._pb, failure, word, value)

    return operate


def _operate(stub: Any, metric: MetricState, failure: str, word: str, value: float) -> float:
    if metric.cleared:
        raise TritonModelException(f"{failure}: {_CLEARED}")
    result: float = _ask(stub, failure, "operate", metric.handle, word, value)
    return result


_operation("increment", "Increment", "Failed to increment metric value")
_operation("set", "Set", "Failed to set metric value")
_operation("observe", "Observe", "Failed to observe metric value")


@METRIC.method("value", returns="float")
def _value(stub: Any, self: Any) -> float:
    return _operate(stub, self._pb, "Failed to get metric value", "Value", 0.0)
