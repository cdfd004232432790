"""The facade: what a test asks of an emulated server."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.models import ECHO, execute, tensors, write
from triton_pyb.config.releases import ReleaseError
from triton_pyb.emulator import EmulatedTriton, InferenceFailed, LoadFailed, NeverAnswered
from triton_pyb.emulator.targets import EmulatorMisused
from triton_pyb.runtime.errors import SeveralErrors, TritonPybError

IO = tensors(("input", "IN", "FP32", [2]), ("output", "OUT", "FP32", [2]))
BYTES = tensors(("input", "IN", "STRING", [1]), ("output", "OUT", "STRING", [1]))
#: Answers what the model knows of its request.
SEEN = execute(
    """
import json
answers = []
for r in requests:
    seen = [r.request_id(), r.correlation_id(), r.flags(), r.timeout(), json.loads(r.parameters())]
    text = np.array([json.dumps([*seen, sorted(r.requested_output_names())])], dtype=object)
    answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", text)]))
return answers
"""
)


@pytest.fixture(scope="module")
def triton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedTriton]:
    repository = tmp_path_factory.mktemp("repository")
    write(repository, "echo", "max_batch_size: 4 dynamic_batching { }\n" + IO)
    write(repository, "alone", "max_batch_size: 4\n" + IO)
    write(repository, "text", "max_batch_size: 4 dynamic_batching { }\n" + BYTES)
    write(repository, "seen", BYTES.replace("[1]", "[-1]"), SEEN)
    write(repository, "silent", IO, execute("return [None for _ in requests]"))
    write(repository, "printing", IO, ECHO.replace("responses = []", "responses = []; print('hello')"))
    with EmulatedTriton(repository) as triton:  # in processes of their own
        yield triton


def test_plain_values_go_in_and_arrays_come_out(triton: EmulatedTriton) -> None:
    assert triton.infer("echo", {"IN": [1, 2]})["OUT"].tolist() == [[1, 2]]
    answer = triton.infer("text", {"IN": ["a", "둘"]})["OUT"]
    assert answer.tolist() == [[b"a"], ["둘".encode()]] and answer.dtype == object


def test_what_a_request_says_arrives(triton: EmulatedTriton) -> None:
    answer = triton.infer(
        "seen",
        {"IN": ["x"]},
        request_id="r1",
        parameters={"a": 1, "b": "x", "c": True},
        correlation_id="seq",
        sequence_start=True,
        sequence_end=True,
        timeout_us=500,
    )
    assert answer["OUT"][0] == b'["r1", "seq", 3, 500, {"a": 1, "b": "x", "c": true}, ["OUT"]]'


def test_many_meet_only_where_the_configuration_batches(triton: EmulatedTriton) -> None:
    requests = [{"IN": [n, n]} for n in range(3)]
    for model, batches in (("echo", (1, 1, 1)), ("alone", (1,))):
        before = triton.batches(model)
        answers = triton.infer_many(model, requests)
        assert [answer["OUT"][0, 0] for answer in answers] == [0, 1, 2]
        new = triton.batches(model)
        for batch in before:
            new.remove(batch)
        assert set(new) == {batches}


def test_many_answers_come_in_the_order_of_the_requests(triton: EmulatedTriton) -> None:
    answers = triton.infer_many("echo", [{"IN": [1, 1]}, {"IN": np.zeros(3)}, {"NOPE": [1]}, {"IN": [2, 2]}])
    assert [type(answer) for answer in answers] == [dict, InferenceFailed, InferenceFailed, dict]
    assert answers[3]["OUT"].tolist() == [[2, 2]]


def test_async(triton: EmulatedTriton) -> None:
    futures = [triton.async_infer("echo", {"IN": [n, n]}) for n in range(4)]
    assert [future.result(10)["OUT"][0, 0] for future in futures] == [0, 1, 2, 3]
    assert isinstance(triton.async_infer("echo", {}).exception(10), InferenceFailed)
    assert isinstance(triton.async_infer("nope", {}).exception(10), InferenceFailed)


def test_a_stream_of_one(triton: EmulatedTriton) -> None:
    assert [answer["OUT"].tolist() for answer in triton.stream_infer("echo", {"IN": [1, 2]})] == [[[1, 2]]]
    with pytest.raises(InferenceFailed, match="missing required"):
        list(triton.stream_infer("echo", {}))


def test_a_request_that_is_never_answered_fails_at_once(triton: EmulatedTriton) -> None:
    with pytest.raises(NeverAnswered) as never:
        triton.infer("silent", {"IN": np.zeros(2, np.float32)})
    assert never.value.status == 503
    with pytest.raises(NeverAnswered):
        list(triton.stream_infer("silent", {"IN": np.zeros(2, np.float32)}))


@pytest.mark.parametrize(
    ("model", "version", "message"),
    [
        ("nope", "", "Request for unknown model: 'nope' is not found"),
        ("echo", "7", "Request for unknown model: 'echo' version 7 is not found"),
    ],
)
def test_unknown_models(model: str, version: str, message: str, triton: EmulatedTriton) -> None:
    with pytest.raises(InferenceFailed) as failed:
        triton.infer(model, {}, version=version)
    assert (failed.value.message, failed.value.code, failed.value.status) == (message, "NOT_FOUND", 404)


def test_an_array_without_a_data_type(triton: EmulatedTriton) -> None:
    with pytest.raises(TritonPybError, match="TPB563 got an array of complex128"):
        triton.infer("echo", {"IN": np.zeros(2, complex)})


def test_statistics_and_index(triton: EmulatedTriton) -> None:
    before = triton.statistics("alone")
    triton.infer("alone", {"IN": [[1, 1], [2, 2]]})
    after = triton.statistics("alone")
    assert after["execution_count"] == before["execution_count"] + 1
    assert after["inference_count"] == before["inference_count"] + 2
    successes = [each["inference_stats"]["success"]["count"] for each in (before, after)]
    assert successes[1] == successes[0] + 1
    assert {"name": "echo", "version": "1", "state": "READY"} in triton.repository_index()
    assert triton.is_model_ready("echo") and not triton.is_model_ready("echo", "2")
    assert triton.model_names() == sorted(triton.model_names())


def test_what_models_print_is_kept(triton: EmulatedTriton) -> None:
    triton.infer("printing", {"IN": np.zeros(2, np.float32)})
    assert ("stdout", "hello") in triton.printed


def test_models_can_only_be_loaded_where_that_is_allowed(triton: EmulatedTriton) -> None:
    with pytest.raises(InferenceFailed, match="not allowed if polling is enabled") as failed:
        triton.load_model("echo")
    assert failed.value.status == 503


def test_explicit_control(tmp_path: Path) -> None:
    write(tmp_path, "a", IO)
    write(tmp_path, "b", IO)
    with EmulatedTriton(tmp_path, inline=True, model_control_mode="explicit", load_models=["a"]) as triton:
        assert triton.model_names() == ["a"]
        triton.load_model("b")
        triton.unload_model("a")
        triton.unload_model("unheard of")
        assert triton.model_names() == ["b"]
        assert triton.repository_index() == [
            {"name": "a", "version": "1", "state": "UNAVAILABLE", "reason": "unloaded"},
            {"name": "b", "version": "1", "state": "READY"},
        ]
        with pytest.raises(InferenceFailed, match="'a' has no available versions"):
            triton.infer("a", {})
        with pytest.raises(LoadFailed, match="failed to load 'nope', failed to poll"):
            triton.load_model("nope")


def test_a_configuration_and_files_can_come_with_the_request(tmp_path: Path) -> None:
    write(tmp_path, "a", IO)
    config = (
        '{"backend": "python", "input": [{"name": "X", "data_type": "TYPE_INT32", "dims": [1]}],'
        ' "output": [{"name": "Y", "data_type": "TYPE_INT32", "dims": [1]}]}'
    )
    with EmulatedTriton(tmp_path, inline=True, model_control_mode="explicit") as triton:
        triton.load_model("new", config, {"file:1/model.py": ECHO.encode()})
        assert triton.infer("new", {"X": 5})["Y"].tolist() == [5]
        triton.load_model("a", config)
        assert [tensor["name"] for tensor in triton.model_config("a")["input"]] == ["X"]
        with pytest.raises(LoadFailed, match="failed to poll") as failed:
            triton.load_model("evil", config, {"file:../model.py": b""})
        assert "outside the model's folder" in failed.value.reason


def test_failing_models_raise_on_entry_all_at_once(tmp_path: Path) -> None:
    write(tmp_path, "good", IO)
    write(tmp_path, "bad", IO, "import nothing_of_this_name")
    with pytest.raises(LoadFailed) as failed, EmulatedTriton(tmp_path):
        pass
    assert failed.value.model == "bad"
    assert "ModuleNotFoundError: No module named 'nothing_of_this_name'" in failed.value.message
    assert pickle.loads(pickle.dumps(failed.value)).message == failed.value.message
    write(tmp_path, "worse", "max_batch_size: -1\n" + IO)
    with pytest.raises(SeveralErrors) as several, EmulatedTriton(tmp_path):
        pass
    assert {error.model for error in several.value.errors if isinstance(error, LoadFailed)} == {"bad", "worse"}
    with EmulatedTriton(tmp_path, exit_on_error=False) as triton:
        assert triton.model_names() == ["good"]


def test_a_file_that_does_not_parse_names_the_place(tmp_path: Path) -> None:
    write(tmp_path, "m", "max_batchsize: 1")
    with pytest.raises(LoadFailed) as failed, EmulatedTriton(tmp_path):
        pass
    assert failed.value.reason == f"failed to read text proto from {tmp_path}/m/config.pbtxt"
    assert 'no field named "max_batchsize"' in failed.value.where


def test_misuse(tmp_path: Path) -> None:
    with pytest.raises(EmulatorMisused, match="TPB561 .* is no folder"):
        EmulatedTriton(tmp_path / "nothing")
    with pytest.raises(EmulatorMisused, match="TPB562 mode got 'stric'.*did you mean 'strict'"):
        EmulatedTriton(tmp_path, mode="stric")
    with pytest.raises(ReleaseError, match="there is no Triton release '24.1'"):
        EmulatedTriton(tmp_path, release="24.1")


def test_a_model_that_hands_a_request_back_without_an_iterative_scheduler(tmp_path: Path) -> None:
    body = """
for r in requests:
    r.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
return [None for _ in requests]
"""
    write(tmp_path, "m", IO, execute(body))
    with EmulatedTriton(tmp_path, inline=True) as triton, pytest.raises(NeverAnswered, match="TPB560"):
        triton.infer("m", {"IN": np.zeros(2, np.float32)})


BLS = """
import triton_python_backend_utils as pb_utils
import json

class TritonPythonModel:
    def initialize(self, args):
        self.next = json.loads(args["model_config"])["parameters"]["next"]["string_value"]

    def execute(self, requests):
        answers = []
        for request in requests:
            tensor = pb_utils.Tensor("IN", request.inputs()[0].as_numpy())
            answer = pb_utils.InferenceRequest(
                model_name=self.next, inputs=[tensor], requested_output_names=["OUT"]
            ).exec()
            error = answer.error() if answer.has_error() else None
            answers.append(pb_utils.InferenceResponse(answer.output_tensors(), error))
        return answers
"""


def calling(other: str, instances: int = 1) -> str:
    group = f"instance_group [ {{ count: {instances} kind: KIND_CPU }} ]"
    return f'{IO}\n{group} parameters {{ key: "next" value {{ string_value: "{other}" }} }}'


@pytest.mark.parametrize("inline", [True, False])
def test_a_ring_of_calls_is_named_instead_of_waited_for(inline: bool, tmp_path: Path) -> None:
    write(tmp_path, "a", calling("b"), BLS)
    write(tmp_path, "b", calling("a"), BLS)
    sent = {"IN": np.zeros(2, np.float32)}
    with EmulatedTriton(tmp_path, inline=inline) as triton, pytest.raises(NeverAnswered) as ring:
        triton.infer("a", sent)
    assert ring.value.finding.code == "TPB565"
    assert ring.value.finding.what.startswith("a -> b -> a: every instance of 'a' waits")


def test_calls_that_are_no_ring(tmp_path: Path) -> None:
    write(tmp_path, "a", calling("b"), BLS)
    write(tmp_path, "b", calling("c"), BLS)
    write(tmp_path, "c", IO)
    with EmulatedTriton(tmp_path, inline=True) as triton:
        for _ in range(2):
            assert triton.infer("a", {"IN": np.ones(2, np.float32)})["OUT"].tolist() == [1, 1]


def test_a_request_without_a_row_is_never_answered(tmp_path: Path) -> None:
    free = tensors(("input", "IN", "FP32", [-1]), ("output", "OUT", "FP32", [-1]))
    write(tmp_path, "m", "max_batch_size: 4 dynamic_batching { }\n" + free)
    nothing = np.zeros((0, 0), np.float32)
    with EmulatedTriton(tmp_path, inline=True) as triton:
        with pytest.raises(NeverAnswered, match="TPB567 'm' got a batch without a row"):
            triton.infer("m", {"IN": nothing})
        empty, _ = triton.infer_many("m", [{"IN": nothing}, {"IN": np.zeros((1, 0), np.float32)}])
        assert empty["OUT"].shape == (0, 0)  # beside a request with a row it is executed


def test_stopping_twice_is_fine(tmp_path: Path) -> None:
    write(tmp_path, "m", IO)
    triton = EmulatedTriton(tmp_path, inline=True)
    triton.start()
    triton.stop()
    triton.stop()
    assert triton.model_names() == []
