"""Requests to other models."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.emulator.stub.kit import FakeHost, pb_utils
from triton_pyb.emulator.messages import WireError, WireFault, WireRequest, WireResponse, wire_tensor
from triton_pyb.emulator.stub.errors import EmulatorError


def _identity(request: WireRequest, decoupled: bool) -> Iterator[WireResponse]:
    tensor = request.inputs[0]
    yield WireResponse([wire_tensor("OUT", tensor.datatype, tensor.array)])


def _failing(code: str, message: str, stage: str) -> Any:
    def answer(request: WireRequest, decoupled: bool) -> Iterator[WireResponse]:
        yield WireResponse(error=WireError(code, message, stage))

    return answer


def _stream(*responses: WireResponse) -> Any:
    def answer(request: WireRequest, decoupled: bool) -> Iterator[WireResponse]:
        yield from responses

    return answer


def _number(value: float, final: bool = False) -> WireResponse:
    return WireResponse([wire_tensor("OUT", "FP32", [value])], final=final)


def _pb(answer: Any = None, release: str = "24.10") -> Any:
    return pb_utils(release, FakeHost(answer))


def _request(pb: Any, **fields: Any) -> Any:
    tensor = pb.Tensor("IN", np.array([1, 2], "f4"))
    return pb.InferenceRequest(inputs=[tensor], requested_output_names=[], model_name="target", **fields)


def test_a_response_with_writable_copies() -> None:
    pb = _pb(_identity)
    response = _request(pb).exec()
    array = response.output_tensors()[0].as_numpy()
    assert array.tolist() == [1.0, 2.0]
    assert array.flags.writeable
    assert not response.has_error()


def test_errors_before_a_model_ran_have_a_prefix_and_no_code() -> None:
    error = _request(_pb(_failing("NOT_FOUND", "no such input", "request"))).exec().error()
    assert error.message() == "Model target - Error when running inference: no such input"
    assert int(error.code()) == 1


@pytest.mark.parametrize(("release", "code"), [("25.03", "INTERNAL"), ("25.04", "NOT_FOUND")])
def test_errors_of_the_model_keep_their_code_since_25_04(release: str, code: str) -> None:
    error = _request(_pb(_failing("NOT_FOUND", "gone", "execution"), release)).exec().error()
    assert (error.message(), error.code().name) == ("gone", code)


@pytest.mark.parametrize("phase", ["create", "initialize", "finalize"])
def test_only_during_execute(phase: str) -> None:
    pb = _pb(_identity)
    pb.stub.phase = phase
    with pytest.raises(pb.TritonModelException, match="BLS is only supported during the 'execute' function"):
        _request(pb).exec()


def test_async_exec_needs_a_loop_and_gives_a_future() -> None:
    pb = _pb(_identity)
    with pytest.raises(RuntimeError, match="no running event loop"):
        _request(pb).async_exec()

    async def both() -> list[Any]:
        return list(await asyncio.gather(_request(pb).async_exec(), _request(pb).async_exec()))

    assert [response.has_error() for response in asyncio.run(both())] == [False, False]


def test_gpu_memory_without_a_gpu() -> None:
    pb = _pb(_identity)
    memory = pb.PreferredMemory(pb.TRITONSERVER_MEMORY_GPU, 0)
    error = _request(pb, preferred_memory=memory).exec().error()
    assert error.message().startswith("BackendMemory::Create, all allocation types failed:\n\tGPU: failed to get")


def test_a_model_name_is_a_c_string() -> None:
    pb = _pb()
    request = pb.InferenceRequest(inputs=[], requested_output_names=[], model_name="a\0b")
    assert request.exec().error().message() == "Model a - Error when running inference: Model 'a' is not ready."


def test_parameters_the_server_cannot_read() -> None:
    pb = _pb(_identity)
    request = pb.InferenceRequest(inputs=[], requested_output_names=[], model_name="ready", parameters={"a": 2**70})
    assert request.exec().error().message().endswith("Unsupported value type on parameters")


def test_an_iterator_ends_with_the_empty_final_response_and_replays() -> None:
    pb = _pb(_stream(_number(1), _number(2), WireResponse()))
    responses = _request(pb).exec(decoupled=True)
    first = list(responses)
    assert [len(response.output_tensors()) for response in first] == [1, 1, 0]
    assert [a is b for a, b in zip(responses, first, strict=True)] == [True, True, True]
    with pytest.raises(StopIteration, match="Iteration is done for the responses"):
        next(responses)


def test_a_loop_left_early_goes_on_where_it_stood() -> None:
    responses = _request(_pb(_stream(_number(1), _number(2, final=True)))).exec(decoupled=True)
    next(responses)
    assert [response.output_tensors()[0].as_numpy()[0] for response in responses] == [2.0]


def test_up_to_25_03_an_error_response_loses_its_stream() -> None:
    sent = WireResponse(error=WireError("NOT_FOUND", "e"), final=False)
    responses = _request(_pb(_stream(sent, WireResponse()))).exec(decoupled=True)
    assert next(responses).error().message() == "e"
    with pytest.raises(EmulatorError, match="TPB505 'target' sent an error response to a decoupled BLS request"):
        next(responses)
    fixed = _request(_pb(_stream(sent, WireResponse()), "25.04")).exec(decoupled=True)
    assert [response.has_error() for response in fixed] == [True, False]


def test_an_error_that_is_final_arrives() -> None:
    raised = WireResponse(error=WireError("INTERNAL", "raised"))
    responses = list(_request(_pb(_stream(raised))).exec(decoupled=True))
    assert [response.error().message() for response in responses] == ["raised"]


def test_a_fault_of_the_target_is_a_fault_here() -> None:
    fault = WireFault("TPB503", "never answered", "target", "answer")
    with pytest.raises(EmulatorError, match="TPB503 never answered"):
        _request(_pb(_stream(WireResponse(fault=fault)))).exec()


def test_cancelling_since_25_04() -> None:
    host = FakeHost(_stream(_number(1), _number(2, final=True)))
    responses = _request(pb_utils("25.04", host)).exec(decoupled=True)
    responses.cancel()
    assert len(host.cancelled) == 1
    list(responses)
    responses.cancel()
    assert len(host.cancelled) == 1
