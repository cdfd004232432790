"""Custom metrics by name: made once per process, kept alive, and readable in unit tests."""

from __future__ import annotations

import bisect
import logging
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

Labels = Tuple[Tuple[str, str], ...]

#: Seconds; for a histogram whose buckets were not said.
DEFAULT_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)


class Metric:
    """One metric with one set of labels.

    Attributes
    ----------
    value : float
        Sum of what was added (counter), last value (gauge), or sum of what was observed (histogram), as this
        process has seen it.
    count : int
        Observations of a histogram.
    bucket_counts : list of int
        Of a histogram: observations up to each bucket's bound, the last entry all of them.
    """

    def __init__(self, kind: str, served: Optional[Any], buckets: Sequence[float] = ()) -> None:
        self.kind = kind
        self.value = 0.0
        self.count = 0
        self.buckets = tuple(buckets)
        self.bucket_counts = [0] * (len(self.buckets) + 1)
        self._served = served

    def increment(self, by: float = 1.0) -> None:
        """Add to a counter (at least 0) or a gauge.

        Raises
        ------
        ValueError
            For a histogram, or a negative amount on a counter.
        """
        if self.kind == "histogram" or (self.kind == "counter" and by < 0):
            raise ValueError(f"a {self.kind} cannot be incremented by {by}")
        self.value += by
        if self._served is not None:
            self._served.increment(by)

    def set(self, value: float) -> None:
        """Set a gauge.

        Raises
        ------
        ValueError
            For any other kind.
        """
        if self.kind != "gauge":
            raise ValueError(f"a {self.kind} cannot be set, only a gauge")
        self.value = float(value)
        if self._served is not None:
            self._served.set(value)

    def observe(self, value: float) -> None:
        """Put a value into a histogram.

        Raises
        ------
        ValueError
            For any other kind.
        """
        if self.kind != "histogram":
            raise ValueError(f"a {self.kind} cannot observe, only a histogram")
        self.value += value
        self.count += 1
        for index in range(bisect.bisect_left(self.buckets, value), len(self.bucket_counts)):
            self.bucket_counts[index] += 1
        if self._served is not None:
            self._served.observe(value)


class Metrics:
    """The metrics of one process.

    A family must outlive its metrics, or they die with it, so both are kept here.  Where the release has no
    metrics (before 23.05; histograms before 24.08) they are counted in this process only, and the log says so once.

    Source: python_backend README, "Custom Metrics"; ``MetricFamily`` of triton_python_backend_utils.
    """

    def __init__(self, pb_utils: Optional[Any] = None) -> None:
        self._family_class = getattr(pb_utils, "MetricFamily", None)
        self._served = pb_utils is not None
        self._families: Dict[str, Tuple[str, Any]] = {}
        self._metrics: Dict[Tuple[str, Labels], Metric] = {}

    def counter(self, name: str, description: str = "", labels: Optional[Mapping[str, str]] = None) -> Metric:
        """A number that only grows."""
        return self._metric("counter", name, description, labels, ())

    def gauge(self, name: str, description: str = "", labels: Optional[Mapping[str, str]] = None) -> Metric:
        """A number that goes up and down."""
        return self._metric("gauge", name, description, labels, ())

    def histogram(
        self,
        name: str,
        description: str = "",
        labels: Optional[Mapping[str, str]] = None,
        buckets: Sequence[float] = DEFAULT_BUCKETS,
    ) -> Metric:
        """A distribution; `buckets` are upper bounds, ascending, the last one +Inf unsaid."""
        return self._metric("histogram", name, description, labels, buckets)

    def __getitem__(self, name: str) -> Metric:
        """The metric of that name without labels, for a test.

        Raises
        ------
        KeyError
            When nobody asked for it yet.
        """
        return self._metrics[(name, ())]

    def _metric(
        self, kind: str, name: str, description: str, labels: Optional[Mapping[str, str]], buckets: Sequence[float]
    ) -> Metric:
        key = (name, tuple(sorted((labels or {}).items())))
        known = self._metrics.get(key)
        if known is not None and known.kind == kind:
            return known
        family = self._family(kind, name, description)
        served = None
        if family is not None:
            options: Dict[str, Any] = {"labels": dict(key[1])}
            if kind == "histogram":
                options["buckets"] = [float(bound) for bound in buckets]
            served = family.Metric(**options)
        metric = self._metrics[key] = Metric(kind, served, buckets)
        return metric

    def _family(self, kind: str, name: str, description: str) -> Optional[Any]:
        if name in self._families:
            known, family = self._families[name]
            if known != kind:
                raise ValueError(f"'{name}' is a {known} already, not a {kind}")
            return family
        family = None
        number = getattr(self._family_class, kind.upper(), None)
        if self._family_class is not None and number is not None:
            family = self._family_class(name=name, description=description, kind=number)
        elif self._served:
            logging.getLogger("triton_pyb").warning("this Triton has no %s: '%s' is not published", kind, name)
        self._families[name] = (kind, family)
        return family
