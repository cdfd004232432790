"""The page of ``/metrics``: the server's own counts, then the families that models made."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from triton_pyb.emulator.loaded_model import LoadedModel
from triton_pyb.emulator.model_store import ModelStore

Reading = Callable[[LoadedModel], int]


def _duration(name: str) -> Reading:
    return lambda model: model.statistics.counts.durations[name].ns // 1000


#: Why a request failed; only what an execution answered is counted here: an ensemble's is none of the backend's.
_REASONS = ("OTHER", "CANCELED", "REJECTED", "BACKEND")

#: (name, help, type, reading). Source: the page of a 24.10 server without a GPU.
_FAMILIES: tuple[tuple[str, str, str, Reading], ...] = (
    (
        "nv_inference_request_success",
        "Number of successful inference requests, all batch sizes",
        "counter",
        lambda model: model.statistics.counts.durations["success"].count,
    ),
    (
        "nv_inference_request_failure",
        "Number of failed inference requests, all batch sizes",
        "counter",
        lambda model: model.statistics.counts.durations["fail"].count,
    ),
    (
        "nv_inference_count",
        "Number of inferences performed (does not include cached requests)",
        "counter",
        lambda model: model.statistics.counts.inference_count,
    ),
    (
        "nv_inference_exec_count",
        "Number of model executions performed (does not include cached requests)",
        "counter",
        lambda model: model.statistics.counts.execution_count,
    ),
    (
        "nv_inference_request_duration_us",
        "Cumulative inference request duration in microseconds (includes cached requests)",
        "counter",
        _duration("success"),
    ),
    (
        "nv_inference_queue_duration_us",
        "Cumulative inference queuing duration in microseconds (includes cached requests)",
        "counter",
        _duration("queue"),
    ),
    (
        "nv_inference_compute_input_duration_us",
        "Cumulative compute input duration in microseconds (does not include cached requests)",
        "counter",
        _duration("compute_input"),
    ),
    (
        "nv_inference_compute_infer_duration_us",
        "Cumulative compute inference duration in microseconds (does not include cached requests)",
        "counter",
        _duration("compute_infer"),
    ),
    (
        "nv_inference_compute_output_duration_us",
        "Cumulative inference compute output duration in microseconds (does not include cached requests)",
        "counter",
        _duration("compute_output"),
    ),
    (
        "nv_inference_pending_request_count",
        "Instantaneous number of pending requests awaiting execution per-model.",
        "gauge",
        lambda model: model.waiting(),
    ),
)


def render(store: ModelStore) -> str:
    """The whole page in Prometheus' text format."""
    lines = [line for family in _FAMILIES for line in _family(store, *family)]
    return "".join(line + "\n" for line in lines) + store.metrics.render()


def _family(store: ModelStore, name: str, text: str, kind: str, reading: Reading) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for model in _models(store):
        count, version = reading(model), f'version="{model.version}"'
        if name != "nv_inference_request_failure":
            yield f'{name}{{model="{model.name}",{version}}} {count}'
            continue
        for reason in _REASONS:
            failures = count if reason == ("OTHER" if model.is_ensemble else "BACKEND") else 0
            yield f'{name}{{model="{model.name}",reason="{reason}",{version}}} {failures}'


def _models(store: ModelStore) -> list[LoadedModel]:
    return [entry.loaded[version] for _, entry in sorted(store.entries.items()) for version in sorted(entry.loaded)]
