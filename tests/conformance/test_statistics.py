"""What a request counts for: the same on both servers, whether it is served, fails, streams, warms up or comes back."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from triton_pyb.emulator.errors import InferenceFailed

TENSORS = "input [{ name: 'X' data_type: TYPE_FP32 dims: [2] }] output [{ name: 'Y' data_type: TYPE_FP32 dims: [2] }] "
MODEL = """
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    seen = ()

    def answer(self, request, plus=0):
        x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", x + plus)])

    def execute(self, requests):
{body}
"""
ECHOES = "return [self.answer(request) for request in requests]"
STREAMS = """
for request in requests:
    sender = request.get_response_sender()
    sender.send(self.answer(request))
    sender.send(self.answer(request, 1), flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
ENDS_BARE = """
for request in requests:
    sender = request.get_response_sender()
    sender.send(self.answer(request))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
COMES_BACK = """
answers = []
for request in requests:
    if request.correlation_id() in self.seen:
        answers.append(self.answer(request, request.correlation_id()))
    else:
        self.seen = (*self.seen, request.correlation_id())
        request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
        answers.append(None)
return answers
"""
WARM_UP = """
model_warmup [{ name: 'w' batch_size: 2 count: 3
                inputs { key: 'X' value { data_type: TYPE_FP32 dims: [2] zero_data: true } } }]
"""
DECOUPLED = "model_transaction_policy { decoupled: true } "
#: Name to configuration and body of `execute`.
MODELS = {
    "raises": (TENSORS, "raise ValueError('no')"),
    "returns_nothing_useful": (TENSORS, "return 'x'"),
    "answers_errors": (
        TENSORS,
        "return [pb_utils.InferenceResponse(error=pb_utils.TritonError('x')) for _ in requests]",
    ),
    "echoes": (TENSORS, ECHOES),
    "echoes_rows": ("max_batch_size: 4 " + TENSORS, ECHOES),
    "streams": (DECOUPLED + TENSORS, STREAMS),
    "ends_bare": (DECOUPLED + TENSORS, ENDS_BARE),
    "is_warmed_up": ("max_batch_size: 4 " + TENSORS + WARM_UP, ECHOES),
    "comes_back": ("sequence_batching { iterative_sequence: true } " + TENSORS, COMES_BACK),
}
#: Name to rows and steps of an ensemble.
ENSEMBLES = {
    "both": (0, ["echoes", "echoes"]),
    "both_rows": (4, ["echoes_rows", "echoes_rows"]),
    "second_raises": (0, ["echoes", "raises"]),
    "first_answers_errors": (0, ["answers_errors", "echoes"]),
    "second_streams": (0, ["echoes", "streams"]),
    "second_ends_bare": (0, ["echoes", "ends_bare"]),
    "first_streams": (0, ["streams", "echoes"]),
}


def write(repository: Path, name: str, config: str, code: str = "") -> None:
    (repository / name / "1").mkdir(parents=True, exist_ok=True)
    (repository / name / "config.pbtxt").write_text(config)
    if code:
        (repository / name / "1" / "model.py").write_text(code)


def ensemble(rows: int, models: list[str]) -> str:
    steps = []
    for index, model in enumerate(models):
        read, written = "X" if not index else f"t{index}", "Y" if index == len(models) - 1 else f"t{index + 1}"
        steps.append(
            f"{{ model_name: '{model}' model_version: -1 input_map {{ key: 'X' value: '{read}' }}"
            f" output_map {{ key: 'Y' value: '{written}' }} }}"
        )
    return f"platform: 'ensemble' max_batch_size: {rows} {TENSORS} ensemble_scheduling {{ step [{', '.join(steps)}] }}"


@pytest.fixture(scope="module")
def server(side: Any) -> Iterator[Any]:
    for name, (config, body) in MODELS.items():
        code = MODEL.format(body=textwrap.indent(body.strip("\n"), " " * 8))
        write(side.repository, name, f"backend: 'python' {config}", code)
    for name, (rows, models) in ENSEMBLES.items():
        write(side.repository, name, ensemble(rows, models))
    for name in [*MODELS, *ENSEMBLES]:
        side.server.load_model(name)
    yield side.server
    for name in [*ENSEMBLES, *MODELS]:
        side.server.unload_model(name)


def counts(server: Any, model: str) -> dict[str, Any]:
    """What was counted for a model, in short; a stream's client may have its last response before it is counted."""
    time.sleep(0.2)
    statistics = server.statistics(model)
    kinds = statistics["inference_stats"]
    batches = {
        int(each["batch_size"]): int(each["compute_infer"]["count"]) for each in statistics.get("batch_stats", [])
    }
    count = {kind: int(kinds[kind].get("count", 0)) for kind in ("success", "fail", "queue", "compute_infer")}
    return {
        "inferences": int(statistics.get("inference_count", 0)),
        "executions": int(statistics.get("execution_count", 0)),
        **count,
        "batches": batches,
    }


def served(requests: int, rows: int = 1) -> dict[str, Any]:
    return {
        "inferences": requests * rows,
        "executions": requests,
        "success": requests,
        "fail": 0,
        "queue": requests,
        "compute_infer": requests,
        "batches": {rows: requests},
    }


NOTHING = {"inferences": 0, "executions": 0, "success": 0, "fail": 0, "queue": 0, "compute_infer": 0, "batches": {}}


@pytest.mark.parametrize("model", ["raises", "returns_nothing_useful"])
def test_an_execute_that_fails(server: Any, model: str) -> None:
    for _ in range(3):
        with pytest.raises(InferenceFailed):
            server.infer(model, {"X": np.zeros(2, np.float32)})
    assert counts(server, model) == {**NOTHING, "executions": 3, "fail": 3, "batches": {1: 3}}


def test_an_error_that_is_answered_is_a_success(server: Any) -> None:
    for _ in range(3):
        with pytest.raises(InferenceFailed):
            server.infer("answers_errors", {"X": np.zeros(2, np.float32)})
    assert counts(server, "answers_errors") == served(3)


def test_warm_up_counts(server: Any) -> None:
    expected = {**served(3, 2), "success": 6, "queue": 6, "compute_infer": 6}
    assert counts(server, "is_warmed_up") == expected


@pytest.mark.parametrize(("model", "rows"), [("both", 0), ("both_rows", 2)])
def test_an_ensemble_counts_as_one_execution(server: Any, model: str, rows: int) -> None:
    for _ in range(3):
        server.infer(model, {"X": np.zeros((rows, 2) if rows else 2, np.float32)})
    assert counts(server, model) == served(3, max(1, rows))


@pytest.mark.parametrize("model", ["second_raises", "first_answers_errors"])
def test_a_failed_request_to_an_ensemble_counts_twice(server: Any, model: str) -> None:
    for _ in range(3):
        with pytest.raises(InferenceFailed, match=f"in ensemble '{model}'"):
            server.infer(model, {"X": np.zeros(2, np.float32)})
    assert counts(server, model) == {**NOTHING, "fail": 6}


@pytest.mark.parametrize(("model", "responses"), [("second_streams", 2), ("second_ends_bare", 1), ("first_streams", 2)])
def test_a_streaming_ensemble_counts_once(server: Any, model: str, responses: int) -> None:
    assert len(list(server.stream_infer(model, {"X": np.zeros(2, np.float32)}))) == responses
    assert counts(server, model) == served(1)


def test_a_request_that_comes_back_counts_each_time_and_as_failed(server: Any) -> None:
    """Its sequence has the model's next number."""
    answers = [server.infer("comes_back", {"X": np.zeros(2, np.float32)})["Y"].tolist() for _ in range(3)]
    assert answers == [[1, 1], [2, 2], [3, 3]]
    assert counts(server, "comes_back") == {**served(6), "fail": 3}
