"""Custom metrics: counted here, and published where the release can."""

from __future__ import annotations

from typing import Any

import pytest

from triton_pyb.runtime.metrics import Metrics


class Family:
    """MetricFamily of a release with histograms."""

    COUNTER, GAUGE, HISTOGRAM = 0, 1, 2
    made: list[Family] = []

    def __init__(self, name: str, description: str, kind: int) -> None:
        self.name, self.kind = name, kind
        self.calls: list[Any] = []
        Family.made.append(self)

    def Metric(self, **options: Any) -> Any:  # Triton's own name
        family = self

        class Served:
            def __getattr__(self, name: str) -> Any:
                return lambda value: family.calls.append((name, value, options))

        return Served()


class PbUtils:
    MetricFamily = Family


@pytest.fixture(autouse=True)
def no_families() -> None:
    Family.made.clear()


def test_a_metric_is_made_once_and_counted_and_published() -> None:
    metrics = Metrics(PbUtils)
    metrics.counter("seen", "How many").increment()
    metrics.counter("seen").increment(2)
    assert metrics["seen"].value == 3
    (family,) = Family.made
    assert (family.name, family.kind) == ("seen", Family.COUNTER)
    assert [call[:2] for call in family.calls] == [("increment", 1.0), ("increment", 2)]


def test_labels_are_metrics_of_one_family() -> None:
    metrics = Metrics(PbUtils)
    first = metrics.gauge("load", labels={"a": "1"})
    assert metrics.gauge("load", labels={"a": "1"}) is first
    assert metrics.gauge("load", labels={"a": "2"}) is not first
    first.set(0.5)
    first.increment(-0.25)
    assert first.value == 0.25 and len(Family.made) == 1


def test_a_histogram_counts_up_to_each_bound() -> None:
    histogram = Metrics().histogram("seconds", buckets=(0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 2.0):
        histogram.observe(value)
    assert histogram.count == 4 and histogram.value == pytest.approx(2.65)
    assert histogram.bucket_counts == [2, 3, 4]


def test_what_a_kind_cannot_do() -> None:
    metrics = Metrics()
    with pytest.raises(ValueError, match="a counter cannot be incremented by -1"):
        metrics.counter("a").increment(-1)
    with pytest.raises(ValueError, match="a counter cannot be set, only a gauge"):
        metrics.counter("a").set(1)
    with pytest.raises(ValueError, match="a gauge cannot observe, only a histogram"):
        metrics.gauge("b").observe(1)
    with pytest.raises(ValueError, match="a histogram cannot be incremented"):
        metrics.histogram("c").increment()
    with pytest.raises(ValueError, match="'a' is a counter already, not a gauge"):
        metrics.gauge("a")
    with pytest.raises(KeyError):
        metrics["nobody asked"]


def test_an_old_release_counts_in_this_process_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics(object())
    metrics.counter("seen").increment()
    metrics.counter("seen", labels={"a": "1"}).increment()
    assert metrics["seen"].value == 1
    assert [record.message for record in caplog.records] == ["this Triton has no counter: 'seen' is not published"]
