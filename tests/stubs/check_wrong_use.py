"""Mistakes that a type checker must see, each as models make them.

Each is silenced by the very code it must raise; one that is no longer seen is an unused ignore, which
``mypy --strict`` reports. Never run.
"""
# mypy: enable-error-code=deprecated

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import triton_python_backend_utils as pb_utils
from numpy.typing import NDArray

if TYPE_CHECKING:
    from c_python_backend_utils import InferenceResponseSender, InferenceTrace, Metric


def tensors(tensor: pb_utils.Tensor, array: NDArray[np.float32]) -> None:
    pb_utils.Tensor("OUT", [1.0, 2.0])  # type: ignore[arg-type]
    pb_utils.Tensor(name="OUT", array=array)  # type: ignore[call-arg]
    pb_utils.Tensor(array, "OUT")  # type: ignore[arg-type]
    pb_utils.Tensor("OUT", tensor)  # type: ignore[arg-type]
    pb_utils.Tensor("OUT")  # type: ignore[call-arg]
    tensor.shape[0]  # type: ignore[index]
    tensor.name + "_0"  # type: ignore[operator]
    print(tensor.dtype)  # type: ignore[attr-defined]
    tensor.as_numpy(copy=True)  # type: ignore[call-arg]
    tensor.numpy()  # type: ignore[attr-defined]
    pb_utils.Tensor.from_dlpack("OUT", [1.0])  # type: ignore[call-overload]
    pb_utils.Tensor.from_dlpack(name="OUT", source=tensor)  # type: ignore[call-overload]


def kills_the_stub_process(array: NDArray[np.float32]) -> None:
    pb_utils.Tensor.from_dlpack("OUT", array)  # type: ignore[deprecated]


def always_raises(tensor: pb_utils.Tensor) -> None:
    tensor.triton_dtype()  # type: ignore[deprecated]


def optional_input(request: pb_utils.InferenceRequest) -> None:
    pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()  # type: ignore[union-attr]
    pb_utils.get_input_tensor_by_name("IN", request)  # type: ignore[arg-type]
    maybe = pb_utils.get_input_tensor_by_name(request, "IN")
    pb_utils.InferenceResponse([maybe])  # type: ignore[list-item]


def received(request: pb_utils.InferenceRequest) -> None:
    request.parameters()["k"]  # type: ignore[index]
    request.requested_output_names()[0]  # type: ignore[index]
    request.model_name()  # type: ignore[attr-defined]
    request.set_flags(flags=1)  # type: ignore[call-arg]
    request.inputs["IN"]  # type: ignore[index]
    request.get_response_sender().send("text")  # type: ignore[arg-type]
    request.get_response_sender().send(flag=1)  # type: ignore[call-arg]


def called(request: pb_utils.InferenceRequest, inputs: list[pb_utils.Tensor]) -> None:
    pb_utils.InferenceRequest(inputs=inputs, model_name="other")  # type: ignore[call-overload]
    pb_utils.InferenceRequest(  # type: ignore[call-overload]
        inputs=inputs, requested_output_names="OUT", model_name="other"
    )
    pb_utils.InferenceRequest(  # type: ignore[call-overload]
        inputs=inputs, requested_output_names=request.requested_output_names(), model_name="other"
    )
    pb_utils.InferenceRequest(
        inputs=inputs,
        requested_output_names=[],
        model_name="other",
        parameters={"a": 1.5},  # type: ignore[dict-item]
    )
    pb_utils.InferenceRequest(  # type: ignore[call-overload]
        inputs=inputs, requested_output_names=[], model_name="other", timeout_us=1
    )
    pb_utils.InferenceRequest(  # type: ignore[call-overload]
        inputs=inputs,
        requested_output_names=[],
        model_name="other",
        preferred_memory=pb_utils.TRITONSERVER_MEMORY_GPU,
    )
    pb_utils.InferenceRequest(inputs, ["OUT"], "other")  # type: ignore[call-overload]
    for _ in request.exec():  # type: ignore[attr-defined]
        pass
    request.exec(decoupled=True).output_tensors()  # type: ignore[attr-defined]
    request.exec().error().message()  # type: ignore[union-attr]
    request.async_exec().output_tensors()  # type: ignore[attr-defined]


async def streamed(request: pb_utils.InferenceRequest) -> None:
    async for _ in await request.async_exec(decoupled=True):  # type: ignore[attr-defined]
        pass


def errors(error: pb_utils.TritonError) -> None:
    pb_utils.InferenceResponse(error="text")  # type: ignore[arg-type]
    pb_utils.InferenceResponse(error=pb_utils.TritonModelException("text"))  # type: ignore[arg-type]
    pb_utils.InferenceResponse({"OUT": 1})  # type: ignore[arg-type]
    pb_utils.TritonError("text", 3)  # type: ignore[arg-type]
    pb_utils.TritonError("text", "INVALID_ARG")  # type: ignore[arg-type]
    pb_utils.TritonError(ValueError("text"))  # type: ignore[arg-type]
    print(pb_utils.TritonError.INVALID_ARGUMENT)  # type: ignore[attr-defined]
    pb_utils.TritonError.INTERNAL = error.code()  # type: ignore[misc]
    str(error.message + "")  # type: ignore[operator]


def raised(error: pb_utils.TritonError) -> None:
    raise error  # type: ignore[misc]


def log_and_metrics(metric: Metric) -> None:
    pb_utils.Logger.log_info("%s", 3)  # type: ignore[call-arg]
    pb_utils.Logger.log_info(ValueError("text"))  # type: ignore[arg-type]
    pb_utils.Logger.log("text", "INFO")  # type: ignore[arg-type]
    pb_utils.Logger.warning("text")  # type: ignore[attr-defined]
    pb_utils.log_info("text")  # type: ignore[attr-defined]
    pb_utils.MetricFamily("name", "text", "counter")  # type: ignore[arg-type]
    pb_utils.MetricFamily("name", kind=pb_utils.MetricFamily.GAUGE)  # type: ignore[call-arg]
    family = pb_utils.MetricFamily("name", "text", pb_utils.MetricFamily.GAUGE)
    family.Metric(labels={"model": 1})  # type: ignore[dict-item]
    family.Metric(buckets=(1.0, 2.0))  # type: ignore[arg-type]
    metric.increment(value=1.0)  # type: ignore[call-arg]
    metric.value += 1  # type: ignore[assignment,method-assign,operator]


def control() -> None:
    pb_utils.is_model_ready("m", 1)  # type: ignore[arg-type]
    pb_utils.load_model("m", files={"file:1/model.py": "text"})  # type: ignore[dict-item]
    pb_utils.load_model("m", {"name": "m"})  # type: ignore[arg-type]
    pb_utils.get_model_dir("m")  # type: ignore[call-arg]


def configuration(config: pb_utils.ModelConfig, args: dict[str, str]) -> None:
    pb_utils.ModelConfig({"name": "m"})  # type: ignore[arg-type]
    pb_utils.get_input_config_by_name(args["model_config"], "IN")  # type: ignore[arg-type]
    pb_utils.get_output_config_by_name({}, "OUT")["dims"]  # type: ignore[index]
    config["max_batch_size"]  # type: ignore[index]
    config.add_input("IN")  # type: ignore[arg-type]
    config.set_dynamic_batching(True)  # type: ignore[call-arg]
    pb_utils.numpy_to_triton_type(float)  # type: ignore[arg-type]
    pb_utils.numpy_to_triton_type("float32")  # type: ignore[arg-type]


def not_constructed(request: pb_utils.InferenceRequest) -> None:
    pb_utils.Logger()  # type: ignore[call-arg]
    InferenceTrace()  # type: ignore[call-arg]
    InferenceResponseSender()  # type: ignore[call-arg]


def not_there(sender: pb_utils.InferenceResponseSender) -> None:  # type: ignore[name-defined]
    print(pb_utils.TRITONSERVER_MEMORY_CPU_PINNED)  # type: ignore[attr-defined]
    print(pb_utils.MetricKind)  # type: ignore[attr-defined]
    print(pb_utils.np)  # type: ignore[attr-defined]
    pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL = 2  # type: ignore[misc]
