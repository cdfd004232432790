"""What models do, with the types that a checker must find. Read by mypy, never run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import triton_python_backend_utils as pb_utils
from numpy.typing import NDArray
from typing_extensions import CapsuleType, assert_type

if TYPE_CHECKING:
    from c_python_backend_utils import (
        InferenceResponseSender,
        InferenceTrace,
        MemoryType,
        Metric,
        MetricKind,
        ResponseIterator,
    )


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config: pb_utils.ModelConfig) -> pb_utils.ModelConfig:
        assert_type(config.as_dict(), dict[str, Any])
        for entry in [{"name": "IN", "data_type": "TYPE_FP32", "dims": [4]}]:  # a dict[str, object]
            config.add_input(entry)
        config.add_input({"name": "MASK", "data_type": "TYPE_BOOL", "dims": [-1], "optional": True})
        config.add_output({"name": "OUT", "data_type": "TYPE_FP32", "dims": [4]})
        config.set_max_batch_size(8)
        config.set_dynamic_batching()
        config.set_model_transaction_policy({"decoupled": True})
        return config

    def initialize(self, args: dict[str, str]) -> None:
        config = json.loads(args["model_config"])
        output = pb_utils.get_output_config_by_name(config, "OUT")
        assert_type(output, dict[str, Any] | None)
        assert_type(pb_utils.get_input_config_by_name(config, "IN"), dict[str, Any] | None)
        assert output is not None
        self.dtype = pb_utils.triton_string_to_numpy(output["data_type"])
        assert_type(pb_utils.using_decoupled_model_transaction_policy(config), bool)
        assert_type(pb_utils.get_model_dir(), str)
        self.family = pb_utils.MetricFamily(name="seen", description="", kind=pb_utils.MetricFamily.COUNTER)
        self.metric: Metric = self.family.Metric(labels={"model": args["model_name"]})
        pb_utils.Logger.log_info("ready")

    def execute(self, requests: list[pb_utils.InferenceRequest]) -> list[pb_utils.InferenceResponse]:
        return [self.answer(request) for request in requests]

    def answer(self, request: pb_utils.InferenceRequest) -> pb_utils.InferenceResponse:
        tensor = pb_utils.get_input_tensor_by_name(request, "IN")
        assert_type(tensor, pb_utils.Tensor | None)
        if tensor is None:
            code = pb_utils.TritonError.INVALID_ARG
            return pb_utils.InferenceResponse(error=pb_utils.TritonError("no input", code))
        result = tensor.as_numpy().astype(self.dtype) * 2 + 1
        self.metric.increment(1)
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", result)])


def tensors(tensor: pb_utils.Tensor, foreign: Any) -> None:
    assert_type(tensor.as_numpy(), NDArray[Any])
    assert_type(tensor.name(), str)
    assert_type(tensor.shape(), list[int])
    assert_type(tensor.is_cpu(), bool)
    assert_type(tensor.to_dlpack(), CapsuleType)
    assert_type(tensor.__dlpack_device__(), tuple[int, int])
    assert_type(pb_utils.Tensor.from_dlpack("OUT", tensor), pb_utils.Tensor)
    assert_type(pb_utils.Tensor.from_dlpack("OUT", tensor.to_dlpack()), pb_utils.Tensor)
    pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("OUT", foreign)])
    np.from_dlpack(tensor)
    pb_utils.Tensor("TEXT", np.array([b"a"], dtype=object))


def received(request: pb_utils.InferenceRequest) -> None:
    assert_type(request.inputs(), list[pb_utils.Tensor])
    assert_type(request.request_id(), str)
    assert_type(request.correlation_id(), int | str)
    assert_type(request.requested_output_names(), set[str])
    assert_type(request.flags() & pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END, int)
    assert_type(request.timeout(), int)
    assert_type(json.loads(request.parameters()), Any)
    assert_type(request.is_cancelled(), bool)
    request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
    trace: InferenceTrace = request.trace()
    assert_type(trace.get_context(), str | None)


def decoupled(request: pb_utils.InferenceRequest, responses: list[pb_utils.InferenceResponse]) -> None:
    sender: InferenceResponseSender = request.get_response_sender()
    for response in responses:
        if sender.is_cancelled():
            break
        sender.send(response)
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)


def called(request: pb_utils.InferenceRequest, stream: bool, parameters: dict[str, int]) -> Iterator[NDArray[Any]]:
    inputs = request.inputs()
    other = pb_utils.InferenceRequest(
        model_name="other",
        requested_output_names=["OUT"],
        inputs=inputs,
        request_id=request.request_id(),
        correlation_id=request.correlation_id(),
        timeout=1_000_000,
        trace=request.trace(),
        preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU),
        parameters={"a": 1, "b": True, "c": "text"},
    )
    pb_utils.InferenceRequest("id", 7, inputs, ("OUT",), "other", 1, parameters=parameters)
    pb_utils.InferenceRequest("id", inputs=inputs, requested_output_names=[], model_name="other")
    response = other.exec()
    assert_type(response, pb_utils.InferenceResponse)
    assert_type(response.has_error(), bool)
    error = response.error()
    if error is not None:
        if error.code() == pb_utils.TritonError.NOT_FOUND or error.code() == 2:
            return
        raise pb_utils.TritonModelException(error.message())
    assert_type(pb_utils.get_output_tensor_by_name(response, "OUT"), pb_utils.Tensor | None)
    assert_type(response.output_tensors(), list[pb_utils.Tensor])
    assert_type(response.parameters(), str)
    responses: ResponseIterator = other.exec(decoupled=True)
    for each in responses:
        assert_type(each, pb_utils.InferenceResponse)
        yield each.output_tensors()[0].as_numpy()
    responses.cancel()
    assert_type(other.exec(stream), "pb_utils.InferenceResponse | ResponseIterator")


async def called_at_once(requests: list[pb_utils.InferenceRequest]) -> None:
    assert_type(await requests[0].async_exec(), pb_utils.InferenceResponse)
    assert_type(await requests[0].async_exec(decoupled=True), "ResponseIterator")
    answers = await asyncio.gather(*(request.async_exec() for request in requests))
    assert_type(answers, list[pb_utils.InferenceResponse])


def answers() -> list[pb_utils.InferenceResponse]:
    error = pb_utils.TritonError(message="later", code=pb_utils.TritonError.UNAVAILABLE)
    assert_type(error.message(), str)
    assert_type(int(error.code()), int)
    assert_type(error.code().name, str)
    return [
        pb_utils.InferenceResponse(),
        pb_utils.InferenceResponse(output_tensors=[], error=None),
        pb_utils.InferenceResponse(error=error),
        pb_utils.InferenceResponse([], parameters={"k": 1}),
    ]


def metrics(kind: MetricKind, bounds: list[int]) -> float:
    assert_type(kind, MetricKind)
    family = pb_utils.MetricFamily("seconds", "text", pb_utils.MetricFamily.HISTOGRAM)
    family.Metric(buckets=bounds).observe(0.3)
    family.Metric(labels={"a": "b"}, buckets=[0.1, 1.0]).observe(np.float64(2))
    gauge = pb_utils.MetricFamily("g", "", kind).Metric()
    gauge.set(-1)
    return gauge.value()


def control() -> None:
    pb_utils.load_model(model_name="m", config="{}", files={"file:1/model.py": b""})
    pb_utils.unload_model("m", unload_dependents=True)
    assert_type(pb_utils.is_model_ready("m", "1"), bool)
    pb_utils.Logger.log("text", pb_utils.Logger.WARNING)
    pb_utils.Logger.log("text", level=pb_utils.Logger.LogLevel.ERROR)


def functions(array: NDArray[Any]) -> None:
    assert_type(pb_utils.serialize_byte_tensor(array), bytes | tuple[()] | None)
    assert_type(pb_utils.deserialize_bytes_tensor(b""), NDArray[np.object_])
    assert_type(pb_utils.triton_to_numpy_type(11), type[Any] | None)
    assert_type(pb_utils.numpy_to_triton_type(array.dtype), int | None)
    assert_type(pb_utils.numpy_to_triton_type(np.float32), int | None)
    zeros: NDArray[np.float32] = np.zeros(3, pb_utils.triton_string_to_numpy("TYPE_FP32"))
    assert_type(pb_utils.TRITON_STRING_TO_NUMPY["TYPE_FP32"], type[Any])
    pb_utils.Tensor("OUT", zeros)


def constants() -> MemoryType:
    flags: int = pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START | pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END
    assert_type(bool(flags), bool)
    assert_type(pb_utils.TRITONSERVER_MEMORY_GPU.value, int)
    return pb_utils.TRITONSERVER_MEMORY_GPU
