"""MetricFamily and Metric, the registry behind them, and its page."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from tests.emulator.stub.kit import FakeHost, pb_utils


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


@pytest.fixture
def pb(host: FakeHost) -> Any:
    return pb_utils(host=host)


def test_the_page(pb: Any, host: FakeHost) -> None:
    family = pb.MetricFamily
    counter = family("c", 'some "help"\n', family.COUNTER)
    one = counter.Metric(labels={"b": "2", "a": 'x"y'})
    one.increment(2.5)
    gauge = family("g", "", family.GAUGE)
    gauge.Metric().set(-1)
    histogram = family("h", "h", family.HISTOGRAM)
    histogram.Metric(labels={"l": "x"}, buckets=[0.5, 1]).observe(0.7)
    family("empty", "no series", family.COUNTER)
    assert host.metrics.render().splitlines() == [
        '# HELP c some "help"',
        "",
        "# TYPE c counter",
        'c{a="x\\"y",b="2"} 2.5',
        "# TYPE g gauge",
        "g -1",
        "# HELP h h",
        "# TYPE h histogram",
        'h_count{l="x"} 1',
        'h_sum{l="x"} 0.7',
        'h_bucket{l="x",le="0.5"} 0',
        'h_bucket{l="x",le="1"} 1',
        'h_bucket{l="x",le="+Inf"} 1',
    ]


def test_series_stand_where_an_unordered_map_has_them(pb: Any, host: FakeHost) -> None:
    family = pb.MetricFamily("g", "", pb.MetricFamily.GAUGE)
    kept = [family.Metric(labels={"i": str(number), "q": 'a"b\\c\nd'}) for number in range(12)]
    lines = host.metrics.render().splitlines()[1:]
    # Recorded from the /metrics page of 24.10.
    assert [line.split('"')[1] for line in lines] == ["9", "8", "7", "6", "5", "11", "4", "3", "2", "10", "1", "0"]
    assert len(kept) == len(lines)


def test_equal_labels_share_a_value(pb: Any) -> None:
    family = pb.MetricFamily("c", "d", pb.MetricFamily.COUNTER)
    first, second = family.Metric(labels={"x": "1"}), family.Metric(labels={"x": "1"})
    first.increment(3)
    second.increment(4)
    assert first is not second
    assert first.value() == second.value() == 7.0


@pytest.mark.parametrize(
    ("kind", "operation", "value", "text"),
    [
        ("COUNTER", "increment", -1, "Failed to increment metric value: {}TRITONSERVER_METRIC_KIND_COUNTER can only"),
        ("COUNTER", "set", 1, "Failed to set metric value: {}TRITONSERVER_METRIC_KIND_COUNTER does not support Set"),
        ("GAUGE", "observe", 1, "Failed to observe metric value: {}TRITONSERVER_METRIC_KIND_GAUGE does not support"),
        ("HISTOGRAM", "increment", 1, "Failed to increment metric value: {}TRITONSERVER_METRIC_KIND_HISTOGRAM does"),
    ],
)
def test_operations_refused(pb: Any, kind: str, operation: str, value: float, text: str) -> None:
    buckets = [1.0] if kind == "HISTOGRAM" else None
    family = pb.MetricFamily("f", "d", getattr(pb.MetricFamily, kind))
    metric = family.Metric(buckets=buckets)
    with pytest.raises(pb.TritonModelException) as caught:
        getattr(metric, operation)(value)
    assert str(caught.value).startswith(text.format("Failed to process the request for model 'm_0_0', message: "))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"labels": [1]}, "Failed to create metric. Labels must be a dictionary."),
        ({"labels": {"a": 1}}, "message: attempt to access JSON non-string as string"),
        ({"labels": {"bad label": "1"}}, "message: Invalid label name"),
        ({"buckets": []}, "Failed to create metric. Unexpected buckets found."),
        ({"buckets": (1.0,)}, "Failed to create metric. Buckets must be a list."),
    ],
)
def test_metrics_refused(pb: Any, arguments: Any, text: str) -> None:
    family = pb.MetricFamily("f", "d", pb.MetricFamily.GAUGE)
    with pytest.raises(pb.TritonModelException) as caught:
        family.Metric(**arguments)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("buckets", "kind", "text"),
    [
        (None, "TritonModelException", "Missing required buckets"),
        ([2.0, 1.0], "TritonModelException", "Bucket Boundaries must be strictly sorted"),
        (["a"], "RuntimeError", "Unable to cast Python instance"),
    ],
)
def test_histograms_need_ascending_numbers(pb: Any, buckets: Any, kind: str, text: str) -> None:
    family = pb.MetricFamily("f", "d", pb.MetricFamily.HISTOGRAM)
    with pytest.raises(Exception, match=text) as caught:
        family.Metric(buckets=buckets)
    assert type(caught.value).__name__ == kind


@pytest.mark.parametrize(("name", "text"), [("bad name", "Invalid metric name"), ("", "Invalid metric name")])
def test_families_refused(pb: Any, name: str, text: str) -> None:
    with pytest.raises(pb.TritonModelException, match=f"Error when creating MetricFamily: .*{text}"):
        pb.MetricFamily(name, "d", pb.MetricFamily.GAUGE)


def test_another_kind_under_the_same_name(pb: Any) -> None:
    kept = pb.MetricFamily("f", "d", pb.MetricFamily.GAUGE)
    assert pb.MetricFamily("f", "other", pb.MetricFamily.GAUGE) is not kept
    with pytest.raises(pb.TritonModelException, match="Family name already exists with different type"):
        pb.MetricFamily("f", "d", pb.MetricFamily.COUNTER)


def test_the_family_owns_its_metrics(pb: Any, host: FakeHost) -> None:
    metric = pb.MetricFamily("f", "d", pb.MetricFamily.COUNTER).Metric(labels={"x": "1"})
    with pytest.raises(pb.TritonModelException, match="the corresponding 'MetricFamily' has been deleted"):
        metric.increment(1)
    gc.collect()
    pb.stub.undertaker.attend()
    assert host.metrics.render() == ""
    again = pb.MetricFamily("f", "d", pb.MetricFamily.COUNTER)
    assert again.Metric(labels={"x": "1"}).value() == 0.0


def test_histograms_since_24_08() -> None:
    old = pb_utils("24.07")
    assert not hasattr(old.MetricFamily, "HISTOGRAM")
    assert not hasattr(old.Metric, "observe")
    with pytest.raises(TypeError, match=r"Metric\(\): incompatible function arguments"):
        old.MetricFamily("f", "d", old.MetricFamily.GAUGE).Metric(buckets=[1.0])
