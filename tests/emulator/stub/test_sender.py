"""The sender's rules, and requests nobody answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emulator.stub.kit import Answers, pb_utils
from triton_pyb.emulator.messages import FINAL
from triton_pyb.emulator.stub.pybind import wrap
from triton_pyb.emulator.stub.sender import Exchange

_CLOSED = r"Response sender has been closed\."


def _sender(decoupled: bool) -> tuple[Any, Any, Answers]:
    pb, answers = pb_utils(decoupled=decoupled), Answers(1)
    exchange = Exchange(pb.stub, 0, 1, ["OUT"], decoupled, answers)
    return pb, wrap(pb.stub, "InferenceResponseSender", exchange), answers


def _response(pb: Any, *names: str) -> Any:
    return pb.InferenceResponse([pb.Tensor(name, np.zeros(1, "f4")) for name in names or ("OUT",)])


def test_arguments_are_checked_first() -> None:
    pb, sender, answers = _sender(decoupled=True)
    with pytest.raises(pb.TritonModelException, match=r"Unsupported flag provided\."):
        sender.send(_response(pb), 2)
    with pytest.raises(pb.TritonModelException, match="must be provided when the response flags is set to zero"):
        sender.send()
    assert answers.of == [[]]
    sender.send(flags=FINAL)


def test_not_decoupled_means_one_response_and_then_a_final_flag() -> None:
    pb, sender, answers = _sender(decoupled=False)
    with pytest.raises(pb.TritonModelException, match="cannot send complete final before sending a response"):
        sender.send(flags=FINAL)
    sender.send(_response(pb))
    with pytest.raises(pb.TritonModelException, match="cannot send more than one response"):
        sender.send(_response(pb), FINAL)
    sender.send(flags=FINAL)
    with pytest.raises(pb.TritonModelException, match=_CLOSED):
        sender.send(flags=FINAL)
    assert [(response is not None, flags) for response, flags in answers.of[0]] == [(True, 0), (False, FINAL)]


def test_decoupled_sends_until_it_is_final() -> None:
    pb, sender, answers = _sender(decoupled=True)
    response = _response(pb)
    sender.send(response)
    sender.send(response)
    sender.send(response, FINAL)
    with pytest.raises(pb.TritonModelException, match=_CLOSED):
        sender.send(response)
    assert [flags for _, flags in answers.of[0]] == [0, 0, FINAL]


def test_sending_prunes_the_response_itself() -> None:
    pb, sender, answers = _sender(decoupled=True)
    response = _response(pb, "OUT", "OTHER")
    sender.send(response, FINAL)
    assert [tensor.name() for tensor in response.output_tensors()] == ["OUT"]
    assert [tensor.name for tensor in answers.only().outputs] == ["OUT"]


def test_a_constructed_request_cannot_be_answered() -> None:
    pb = pb_utils()
    sender = pb.InferenceRequest(inputs=[], requested_output_names=[], model_name="m").get_response_sender()
    with pytest.raises(pb.TritonModelException, match="no reference to the decoupled state of the model"):
        sender.send(flags=FINAL)


def test_a_sender_that_dies_unanswered_is_a_hanging_client() -> None:
    pb, sender, answers = _sender(decoupled=True)
    sender.send(_response(pb))
    del sender
    pb.stub.undertaker.attend()
    fault = answers.fault()
    assert fault.code == "TPB503"
    assert fault.what == "a request to 'm_0_0' sent a response without the final flag: its client waits for ever"
    assert "TRITONSERVER_RESPONSE_COMPLETE_FINAL" in fault.fix


def test_no_word_after_the_end() -> None:
    pb, sender, answers = _sender(decoupled=True)
    pb.stub.ended = True
    del sender
    pb.stub.undertaker.attend()
    assert answers.of == [[]]
