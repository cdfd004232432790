"""InferenceRequest, constructed and received."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emulator.stub.kit import Answers, pb_utils, request
from triton_pyb.emulator.stub.errors import EmulatorError
from triton_pyb.emulator.stub.request import from_wire
from triton_pyb.emulator.stub.sender import Exchange


@pytest.fixture
def pb() -> Any:
    return pb_utils()


def _request(pb: Any, **fields: Any) -> Any:
    settings = {"inputs": [], "requested_output_names": [], "model_name": "m", **fields}
    return pb.InferenceRequest(**settings)


def _received(pb: Any, **fields: Any) -> Any:
    wire = request(**fields)
    exchange = Exchange(pb.stub, 0, wire.key, wire.requested_outputs, False, Answers(1))
    exchange.finish()
    return from_wire(pb.stub, wire, exchange)


def test_names_are_a_set_since_22_07(pb: Any) -> None:
    assert _request(pb, requested_output_names=["b", "a", "b"]).requested_output_names() == {"a", "b"}
    assert _request(pb_utils("22.06"), requested_output_names=["b", "a"]).requested_output_names() == ["b", "a"]


@pytest.mark.parametrize("value", [0, 2**64 - 1, True, "seq", ""])
def test_correlation_ids(pb: Any, value: Any) -> None:
    assert _request(pb, correlation_id=value).correlation_id() == value


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (1.5, "TritonModelException", "Correlation ID must be integer or string"),
        (-1, "RuntimeError", "Unable to cast Python instance to C"),
        (2**64, "RuntimeError", "Unable to cast Python instance to C"),
        (None, "TypeError", "incompatible constructor arguments"),
    ],
)
def test_correlation_ids_refused(pb: Any, value: Any, kind: str, text: str) -> None:
    with pytest.raises(Exception, match=text) as caught:
        _request(pb, correlation_id=value)
    assert type(caught.value).__name__ == kind


def test_text_correlation_ids_since_24_04() -> None:
    with pytest.raises(TypeError, match="correlation_id: int = 0"):
        _request(pb_utils("24.03"), correlation_id="a")


def test_empty_inputs_and_names_are_refused(pb: Any) -> None:
    with pytest.raises(pb.TritonModelException, match="Input tensor for request with id 'i' and model name 'm'"):
        _request(pb, inputs=[None], request_id="i")
    with pytest.raises(pb.TritonModelException, match="Requested output name for request with id ''"):
        _request(pb, requested_output_names=[""])


def test_the_trace_is_a_copy_at_every_call(pb: Any) -> None:
    received = _received(pb, trace='{"traceparent":"00-1-2-01"}')
    assert received.trace() is not received.trace()
    assert received.trace().get_context() == '{"traceparent":"00-1-2-01"}'
    assert _request(pb, trace=received.trace()).trace().get_context() == received.trace().get_context()


def test_received_fields(pb: Any) -> None:
    received = _received(
        pb, request_id="r", correlation_id="s", flags=3, timeout_us=9, parameters={"d": 1.5, "é": "x"}, outputs=("B",)
    )
    assert (received.request_id(), received.correlation_id(), received.flags()) == ("r", "s", 3)
    assert (received.timeout(), received.parameters()) == (9, '{"d":1.5,"é":"x"}')
    assert received.requested_output_names() == {"B"}
    received.set_flags(1)
    assert received.flags() == 1
    assert received.inputs()[0] is received.inputs()[0]
    assert np.array_equal(received.inputs()[0].as_numpy(), [1.0])


def test_cancellation_is_seen(pb: Any) -> None:
    received = _received(pb)
    received._pb.exchange.finished = False
    assert not received.is_cancelled()
    pb.stub.cancelled.add(received._pb.exchange.key)
    assert received.is_cancelled()
    assert received.get_response_sender().is_cancelled()
    received._pb.exchange.finish()
    assert received.is_cancelled()


def test_is_cancelled_on_a_constructed_request_aborts_the_server(pb: Any) -> None:
    with pytest.raises(EmulatorError, match="TPB506 is_cancelled on a request that was constructed here aborts"):
        _request(pb).is_cancelled()


def test_release_flags_of_a_constructed_request_follow_an_unset_pointer(pb: Any) -> None:
    with pytest.raises(EmulatorError, match="TPB504 set_release_flags on a request that was constructed here"):
        _request(pb).set_release_flags(1)


def test_the_sender_of_non_decoupled_models_since_24_06() -> None:
    old = pb_utils("24.05")
    with pytest.raises(old.TritonModelException, match="'get_response_sender' function must be called only when"):
        _received(old).get_response_sender()
    assert pb_utils("24.05", decoupled=True).stub.decoupled


def test_what_21_10_lacks() -> None:
    old = pb_utils("21.10")
    received = _received(old)
    for name in ("flags", "set_flags", "timeout", "parameters", "trace", "is_cancelled", "get_response_sender"):
        assert not hasattr(received, name)
    for keyword in ("flags", "timeout", "preferred_memory", "trace", "parameters"):
        with pytest.raises(TypeError, match=f"kwargs: .*{keyword}=1"):
            _request(old, **{keyword: 1})
