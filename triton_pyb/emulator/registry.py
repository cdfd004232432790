"""The server's custom metrics: families, values, and the text of the /metrics page."""

from __future__ import annotations

import bisect
import itertools
import json
import re
import threading
from typing import Any

from .stub.enums import METRIC_KINDS
from .stub.errors import HostError
from .unordered import text_hash, unordered

_METRIC_NAME = re.compile(r"(?!__)[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
_LABEL_NAME = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*\Z")
_KIND_NAMES = {value: name for name, value in METRIC_KINDS.items()}

_MASK = 0xFFFFFFFFFFFFFFFF

Labels = tuple[tuple[str, str], ...]


class _Series:
    """One set of labels of a family."""

    def __init__(self, buckets: list[float]) -> None:
        self.value = 0.0
        self.total = 0.0
        self.bounds = buckets
        self.counts = [0] * (len(buckets) + 1)

    def observe(self, value: float) -> None:
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.total += value


class _Family:
    def __init__(self, name: str, description: str, kind: str) -> None:
        self.name, self.description, self.kind = name, description, kind
        self.handles = 0
        self.series: dict[Labels, _Series] = {}


class MetricsRegistry:
    """Safe to use from any thread. Refusals are HostError in the server's words."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._families: dict[str, _Family] = {}
        self._by_handle: dict[int, _Family] = {}
        self._metrics: dict[int, tuple[_Family, _Series]] = {}

    def create_family(self, name: str, description: str, kind: int) -> int:
        """A handle on the family `name`, which several handles may share."""
        with self._lock:
            family = self._families.get(name)
            if family is None:
                if not _METRIC_NAME.match(name):
                    raise HostError("Invalid metric name")
                family = self._families[name] = _Family(name, description, _KIND_NAMES[kind])
            elif family.kind != _KIND_NAMES[kind]:
                raise HostError("Family name already exists with different type")
            family.handles += 1
            handle = next(self._ids)
            self._by_handle[handle] = family
            return handle

    def delete_family(self, handle: int) -> None:
        """Give a handle back; the family leaves the page with its last one."""
        with self._lock:
            family = self._by_handle.pop(handle, None)
            if family is None:
                return
            family.handles -= 1
            if not family.handles:
                self._families.pop(family.name, None)

    def create_metric(self, handle: int, labels: str, buckets: list[float] | None) -> int:
        """A handle on one series; equal labels share it. `labels` is JSON text."""
        with self._lock:
            family = self._by_handle[handle]
            key = _labels(labels)
            bounds = list(buckets or [])
            if any(low >= high for low, high in itertools.pairwise(bounds)):
                raise HostError("Bucket Boundaries must be strictly sorted")
            series = family.series.setdefault(key, _Series(bounds))
            made = next(self._ids)
            self._metrics[made] = (family, series)
            return made

    def operate(self, metric: int, operation: str, value: float = 0.0) -> float:
        """Increment, Set, Observe or Value on a series; the value after it."""
        with self._lock:
            family, series = self._metrics[metric]
            allowed = {
                "COUNTER": ("Increment", "Value"),
                "GAUGE": ("Increment", "Set", "Value"),
                "HISTOGRAM": ("Observe",),
            }[family.kind]
            kind = f"TRITONSERVER_METRIC_KIND_{family.kind}"
            if operation not in allowed:
                raise HostError(f"{kind} does not support {operation}")
            if operation == "Increment":
                if family.kind == "COUNTER" and value < 0.0:
                    raise HostError(f"{kind} can only be incremented monotonically by non-negative values.")
                series.value += value
            elif operation == "Set":
                series.value = value
            elif operation == "Observe":
                series.observe(value)
            return series.value

    def render(self) -> str:
        """The families in Prometheus' text format, each series where the server has it, none without one."""
        with self._lock:
            lines: list[str] = []
            for family in self._families.values():
                if family.series:
                    lines += _family_lines(family)
            return "".join(line + "\n" for line in lines)


def _labels(text: str) -> Labels:
    values: dict[str, Any] = json.loads(text) or {}
    for value in values.values():
        if not isinstance(value, str):
            raise HostError("attempt to access JSON non-string as string")
    for name in values:
        if not _LABEL_NAME.match(name):
            raise HostError("Invalid label name")
    return tuple(sorted(values.items()))


def _family_lines(family: _Family) -> list[str]:
    lines = []
    if family.description:
        lines.append(f"# HELP {family.name} {family.description}")  # verbatim, line ends too
    lines.append(f"# TYPE {family.name} {family.kind.lower()}")
    for labels in unordered(family.series, _labels_hash):
        series = family.series[labels]
        if family.kind != "HISTOGRAM":
            lines.append(f"{family.name}{_braces(labels)} {_number(series.value)}")
            continue
        lines.append(f"{family.name}_count{_braces(labels)} {sum(series.counts)}")
        lines.append(f"{family.name}_sum{_braces(labels)} {_number(series.total)}")
        seen = 0
        for bound, count in zip([*series.bounds, float("inf")], series.counts, strict=True):
            seen += count
            lines.append(f"{family.name}_bucket{_braces((*labels, ('le', _number(bound))))} {seen}")
    return lines


def _labels_hash(labels: Labels) -> int:
    # A family keeps its series in an unordered_map by labels. Source: hash_combine of prometheus-cpp.
    seed = 0
    for text in (text for label in labels for text in label):
        seed ^= text_hash(text) + 0x9E3779B9 + (seed << 6 & _MASK) + (seed >> 2) & _MASK
    return seed


def _braces(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    if value != value:
        return "Nan"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return f"{value:.16g}"
