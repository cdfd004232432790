"""Slots, stand-ins, candidates, backlog and idle sequences; expected values are a real server's."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from triton_pyb.emulator import model_config
from triton_pyb.emulator.meeting import Meeting
from triton_pyb.emulator.messages import WireRequest, WireResponse, wire_tensor
from triton_pyb.emulator.pending import Pending
from triton_pyb.emulator.sequence_batcher import SequenceBatcher

CONTROLS = """
control_input [
  { name: "START" control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } ] },
  { name: "END" control [ { kind: CONTROL_SEQUENCE_END int32_false_true: [ 10, 11 ] } ] },
  { name: "READY" control [ { kind: CONTROL_SEQUENCE_READY bool_false_true: [ false, true ] } ] },
  { name: "CORRID" control [ { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } ] }
]
"""
START, END = 1, 2


class Recorder:
    """Notes each batch as the correlation ids in it (0: a stand-in), and answers."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.requests: list[WireRequest] = []
        self.reschedule: Any = None

    def __call__(self, batch: list[Pending]) -> None:
        self.batches.append([pending.request.correlation_id for pending in batch])
        self.requests += [pending.request for pending in batch]
        for pending in batch:
            pending.deliver(WireResponse())


class Served:
    """A sequence batcher on recorders, fed with small requests."""

    def __init__(self, scheduling: str, max_batch_size: int = 4, instances: int = 1) -> None:
        text = f'name: "m" max_batch_size: {max_batch_size} sequence_batching {{ {scheduling} }}'
        text += ' input [ { name: "IN" data_type: TYPE_FP32 dims: [2] } ]'
        config = model_config.parse(text, "24.10")
        model_config.normalize(config)
        self.batching = max_batch_size > 0
        self.recorders = [Recorder() for _ in range(instances)]
        self.batcher = SequenceBatcher(model_config.as_dict(config, "24.10"), list(self.recorders))

    def together(self, *requests: tuple[Any, int], rows: int = 1) -> list[WireResponse]:
        """Requests of one instant, as (correlation id, flags); their answers."""
        meeting, answers = Meeting(), [threading.Event() for _ in requests]
        responses: list[WireResponse] = [WireResponse() for _ in requests]
        shape = (rows, 2) if self.batching else (2,)
        for index, (correlation_id, flags) in enumerate(requests):

            def deliver(response: WireResponse, index: int = index) -> None:
                responses[index] = response
                answers[index].set()

            tensor = wire_tensor("IN", "FP32", np.ones(shape))
            request = WireRequest([tensor], correlation_id=correlation_id, flags=flags)
            pending = Pending(request, rows if self.batching else 0, deliver, meeting=meeting)
            meeting.hold(self.batcher, pending)
        meeting.leave()
        for answer in answers:
            assert answer.wait(5)
        return responses

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.batcher.stop()


def message(response: WireResponse) -> str:
    return response.error.message if response.error else ""


def test_each_sequence_keeps_its_slot_and_empty_slots_have_stand_ins() -> None:
    with Served("direct { }" + CONTROLS) as served:
        served.together((1, START), (2, START), (3, START))
        served.together((1, 0), (3, 0))
        served.together((3, END))
        served.together((2, END))
        assert served.recorders[0].batches == [[1, 2, 3], [1, 0, 3], [0, 0, 3], [0, 2]]


def test_control_inputs() -> None:
    with Served("direct { }" + CONTROLS) as served:
        served.together((7, START), (8, START))
        served.together((8, END))
        last = served.recorders[0].requests[-1]
        assert [tensor.name for tensor in last.inputs] == ["READY", "CORRID", "END", "START", "IN"]
        values = {tensor.name: tensor.array.tolist() for tensor in last.inputs}
        assert values == {
            "READY": [[True]],
            "CORRID": [[8]],
            "END": [[11]],
            "START": [[0.0]],
            "IN": [[1.0, 1.0]],
        }
        stand_in = {tensor.name: tensor.array.tolist() for tensor in served.recorders[0].requests[-2].inputs}
        assert stand_in["READY"] == [[False]] and stand_in["IN"] == [[0.0, 0.0]]


def test_without_batching_controls_have_one_axis() -> None:
    with Served(CONTROLS, max_batch_size=0) as served:
        served.together(("str", START | END))
        values = {tensor.name: tensor for tensor in served.recorders[0].requests[0].inputs}
        assert values["START"].shape == (1,)
        assert values["CORRID"].array.tolist() == [0x00727473_00000003]  # the text's bytes behind its length


def test_oldest_batches_the_heads_of_the_candidates() -> None:
    with Served("oldest { max_candidate_sequences: 3 }") as served:
        served.together((1, START), (2, START), (3, START), (1, 0))
        assert served.recorders[0].batches == [[1, 2, 3], [1]]


def test_a_sequence_without_a_slot_waits_for_one() -> None:
    with Served("direct { }", max_batch_size=1) as served:
        served.together((1, START))
        waiting = threading.Thread(target=served.together, args=((2, START | END),))
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
        served.together((1, END))
        waiting.join(5)
        assert served.recorders[0].batches == [[1], [1], [2]]


def test_sequences_spread_over_instances_by_slot() -> None:
    with Served("direct { }", max_batch_size=1, instances=2) as served:
        served.together((1, START), (2, START))
        assert [recorder.batches for recorder in served.recorders] == [[[1]], [[2]]]


def test_an_idle_sequence_ends() -> None:
    with Served("max_sequence_idle_microseconds: 20000 direct { }") as served:
        served.together((1, START))
        threading.Event().wait(0.1)
        assert message(served.together((1, 0))[0]) == (
            "inference request for sequence 1 to model 'm' must specify the START flag on the first request of the"
            " sequence"
        )


@pytest.mark.parametrize(
    ("request_", "rows", "expected"),
    [
        ((0, START), 1, "inference request to model 'm' must specify a non-zero or non-empty correlation ID"),
        (("", START), 1, "inference request to model 'm' must specify a non-zero or non-empty correlation ID"),
        (
            (5, 0),
            1,
            "inference request for sequence 5 to model 'm' must specify the START flag on the first request of the"
            " sequence",
        ),
        (
            (5, START),
            2,
            "inference request to model 'm' must specify batch-size 1 due to requirements of sequence batcher",
        ),
    ],
)
def test_refusals(request_: tuple[Any, int], rows: int, expected: str) -> None:
    with Served("direct { }") as served:
        (answer,) = served.together(request_, rows=rows)
        assert message(answer) == expected
        assert answer.error is not None and answer.error.code == "INVALID_ARG"


def test_a_text_id_as_a_control_cannot_be_batched() -> None:
    control = 'control_input [ { name: "C" control [ { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } ] } ]'
    with Served(control) as served:
        (answer,) = served.together(("abc", START))
        assert message(answer) == "unexpected number of string elements 2 for inference input 'C', expecting 1"


ITERATIVE = """
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def initialize(self, args):
        self.turns = 0

    def execute(self, requests):
        self.turns += 1
        if self.turns % 3:
            requests[0].set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
            return [None]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[self.turns]], "f4"))])]
"""


def test_an_iterative_model_gets_a_request_again_until_it_answers(tmp_path: Path) -> None:
    from tests.emulator.models import tensors, write
    from triton_pyb.emulator import EmulatedTriton, NeverAnswered

    ends = tensors(("input", "IN", "FP32", [1]), ("output", "OUT", "FP32", [1]))
    write(tmp_path, "m", "max_batch_size: 1 sequence_batching { iterative_sequence: true }\n" + ends, ITERATIVE)
    with EmulatedTriton(tmp_path, inline=True) as triton:
        assert triton.infer("m", {"IN": 0.0})["OUT"].tolist() == [[3]]
        assert triton.infer("m", {"IN": 0.0})["OUT"].tolist() == [[6]]
        with pytest.raises(NeverAnswered, match="TPB566"):
            triton.infer("m", {"IN": 0.0}, correlation_id=5, sequence_start=True, sequence_end=True)


def test_implicit_state_is_not_emulated(tmp_path: Path) -> None:
    from tests.emulator.models import write
    from triton_pyb.emulator import EmulatedTriton, LoadFailed

    state = 'state [ { input_name: "SI" output_name: "SO" data_type: TYPE_FP32 dims: [1] } ]'
    write(tmp_path, "m", f"max_batch_size: 4 sequence_batching {{ {state} }}")
    with pytest.raises(LoadFailed, match="implicit state .* is not emulated"), EmulatedTriton(tmp_path, inline=True):
        pass
