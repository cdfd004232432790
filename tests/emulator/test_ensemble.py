"""Ensembles: wiring, order, missing tensors, decoupled steps, and requests that meet through the steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emulator.models import ECHO, ensemble, execute, tensors, write
from triton_pyb.emulator import EmulatedTriton, InferenceFailed
from triton_pyb.emulator.ensemble import EnsembleScheduler
from triton_pyb.emulator.loaded_model import LoadedModel

IO = tensors(("input", "IN", "FP32", [2]), ("output", "OUT", "FP32", [2]))
ENDS = tensors(("input", "X", "FP32", [2]), ("output", "Y", "FP32", [2]))
BATCHING = "max_batch_size: 4 dynamic_batching { }\n"
PLUS_ONE = execute(
    """
return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy() + 1)]) for r in requests]
"""
)


def through(*steps: tuple[str, str, str]) -> list[tuple[str, dict[str, str], dict[str, str]]]:
    return [(model, {"IN": source}, {"OUT": target}) for model, source, target in steps]


def serve(repository: Path, **options: object) -> EmulatedTriton:
    return EmulatedTriton(repository, inline=True, **options)  # type: ignore[arg-type]


def test_steps_run_in_the_order_of_their_tensors(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        write(tmp_path, name, BATCHING + IO, PLUS_ONE)
    steps = through(("three", "b", "Y"), ("one", "X", "a"), ("two", "a", "b"))
    write(tmp_path, "chain", ensemble(ENDS, steps), None)
    with serve(tmp_path) as triton:
        assert triton.infer("chain", {"X": [1, 2]})["Y"].tolist() == [[4, 5]]


def test_requests_that_meet_meet_at_every_step(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path, name, BATCHING + IO, PLUS_ONE)
    write(tmp_path, "chain", ensemble(ENDS, through(("one", "X", "a"), ("two", "a", "Y"))), None)
    with serve(tmp_path) as triton:
        answers = triton.infer_many("chain", [{"X": [n, n]} for n in range(3)])
        assert [answer["Y"].tolist() for answer in answers] == [[[2, 2]], [[3, 3]], [[4, 4]]]
        assert triton.batches("one") == triton.batches("two") == [(1, 1, 1)]


def test_one_failing_request_leaves_the_others_together(tmp_path: Path) -> None:
    picky = execute(
        """
answers = []
for r in requests:
    x = r.inputs()[0].as_numpy()
    error = pb_utils.TritonError("not this one", pb_utils.TritonError.INVALID_ARG) if x[0, 0] == 1 else None
    answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x)], error))
return answers
"""
    )
    write(tmp_path, "one", BATCHING + IO, picky)
    write(tmp_path, "two", BATCHING + IO, PLUS_ONE)
    write(tmp_path, "chain", ensemble(ENDS, through(("one", "X", "a"), ("two", "a", "Y"))), None)
    with serve(tmp_path) as triton:
        answers = triton.infer_many("chain", [{"X": [n, n]} for n in range(3)])
        assert isinstance(answers[1], InferenceFailed)
        assert answers[1].message == "in ensemble 'chain', not this one"
        assert (answers[1].code, answers[1].status) == ("INVALID_ARG", 400)
        assert triton.batches("two") == [(1, 1)]


def test_two_branches_and_a_join(tmp_path: Path) -> None:
    add = execute(
        """
a, b = (pb_utils.get_input_tensor_by_name(requests[0], n).as_numpy() for n in ("A", "B"))
return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", a - b)])]
"""
    )
    two_in = tensors(("input", "A", "FP32", [2]), ("input", "B", "FP32", [2]), ("output", "OUT", "FP32", [2]))
    write(tmp_path, "plus", "max_batch_size: 4\n" + IO, PLUS_ONE)
    write(tmp_path, "copy", "max_batch_size: 4\n" + IO, ECHO)
    write(tmp_path, "minus", "max_batch_size: 4\n" + two_in, add)
    steps = [("minus", {"A": "a", "B": "b"}, {"OUT": "Y"}), *through(("plus", "X", "a"), ("copy", "X", "b"))]
    write(tmp_path, "diamond", ensemble(ENDS, steps), None)
    with serve(tmp_path) as triton:
        assert triton.infer("diamond", {"X": [5, 7]})["Y"].tolist() == [[1, 1]]


def test_only_needed_steps_run(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path, name, BATCHING + IO, PLUS_ONE)
    ends = ENDS + "\n" + tensors(("output", "Z", "FP32", [2]))
    write(tmp_path, "fork", ensemble(ends, through(("one", "X", "Y"), ("two", "X", "Z"))), None)
    with serve(tmp_path) as triton:
        assert list(triton.infer("fork", {"X": [0, 0]}, ["Y"])) == ["Y"]
        assert triton.batches("two") == []


def test_a_step_that_breaks_its_promise_is_named_by_the_next_one(tmp_path: Path) -> None:
    liar = execute("return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.zeros((1, 2)))]) for r in requests]")
    write(tmp_path, "one", BATCHING + IO, liar)
    write(tmp_path, "two", BATCHING + IO, ECHO)
    write(tmp_path, "chain", ensemble(ENDS, through(("one", "X", "a"), ("two", "a", "Y"))), None)
    with serve(tmp_path, mode="faithful") as triton, pytest.raises(InferenceFailed) as failed:
        triton.infer("chain", {"X": [0, 0]}, request_id="r7")
    assert failed.value.message == (
        "in ensemble 'chain', [request id: r7] inference input 'IN' data-type is 'FP64', but model 'two' expects 'FP32'"
    )


def test_a_decoupled_step_answers_many_times(tmp_path: Path) -> None:
    twice = execute(
        """
for r in requests:
    sender = r.get_response_sender()
    for n in (1, 2):
        x = r.inputs()[0].as_numpy() * n
        sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x)]))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
    )
    decoupled = "max_batch_size: 4 model_transaction_policy { decoupled: true }\n"
    write(tmp_path, "twice", decoupled + IO, twice)
    write(tmp_path, "plus", BATCHING + IO, PLUS_ONE)
    write(tmp_path, "chain", ensemble(ENDS, through(("twice", "X", "a"), ("plus", "a", "Y"))), None)
    with serve(tmp_path) as triton:
        answers = sorted(answer["Y"].tolist() for answer in triton.stream_infer("chain", {"X": [1, 2]}))
        assert answers == [[[2, 3]], [[3, 5]]]
        assert triton.model_config("chain")["model_transaction_policy"] == {"decoupled": True}
        with pytest.raises(InferenceFailed, match="decoupled transaction policy"):
            triton.infer("chain", {"X": [1, 2]})


def test_a_batch_axis_of_one_comes_and_goes(tmp_path: Path) -> None:
    write(tmp_path, "single", IO, PLUS_ONE)  # max_batch_size 0
    write(tmp_path, "outer", ensemble(ENDS, through(("single", "X", "Y"))), None)
    with serve(tmp_path) as triton:
        assert triton.infer("outer", {"X": np.zeros((1, 2), np.float32)})["Y"].tolist() == [[1, 1]]
        with pytest.raises(InferenceFailed, match=r"for model 'single'. Expected \[2\], got \[2,2\]"):
            triton.infer("outer", {"X": np.zeros((2, 2), np.float32)})


@pytest.mark.parametrize(
    ("outputs", "run"),
    [(["x"], "none"), (["y"], "none"), (["x", "y"], "none"), (["z"], "r"), (["x", "y", "z"], "p q r")],
)
def test_steps_that_the_server_prunes(outputs: list[str], run: str) -> None:
    """A chain p -> x -> q -> y, and r -> z beside it from an input of its own. Source: measured on 24.10."""
    step = {"model_version": -1}
    steps = [
        {**step, "model_name": "p", "input_map": {"IN": "a"}, "output_map": {"OUT": "x"}},
        {**step, "model_name": "q", "input_map": {"IN": "x"}, "output_map": {"OUT": "y"}},
        {**step, "model_name": "r", "input_map": {"IN": "b"}, "output_map": {"OUT": "z"}},
    ]
    tensors = [{"name": name, "data_type": "TYPE_FP32", "dims": [1]} for name in "abxyz"]
    config = {
        "name": "e",
        "max_batch_size": 0,
        "input": tensors[:2],
        "output": tensors[2:],
        "ensemble_scheduling": {"step": steps},
    }
    scheduler = EnsembleScheduler(LoadedModel("e", 1, config), lambda name, version: pytest.fail(name))
    names = [each.model for each in scheduler.needed(outputs)]
    made = scheduler.reached(scheduler.needed(outputs)) >= set(outputs)
    assert (" ".join(names) if made else "none") == run
