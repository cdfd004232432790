"""What each container release has: one row per name, keyword or behaviour that came after 21.10.

Source: a search of the release branches r20.10 to r26.07 of python_backend for the line that brings it.
"""

from __future__ import annotations

from typing import Dict, Tuple

SINCE: Dict[str, str] = {
    # module level names of the Python file
    "TRITONSERVER_REQUEST_FLAG_SEQUENCE_START": "22.02",
    "TRITONSERVER_REQUEST_FLAG_SEQUENCE_END": "22.02",
    "TRITONSERVER_RESPONSE_COMPLETE_FINAL": "22.05",
    "TRITONSERVER_REQUEST_RELEASE_ALL": "23.11",
    "TRITONSERVER_REQUEST_RELEASE_RESCHEDULE": "23.11",
    "using_decoupled_model_transaction_policy": "22.05",
    "ModelConfig": "22.06",
    "ModelConfig.set_model_transaction_policy": "23.11",
    "ModelConfig.add_input.optional": "23.11",
    # names of the C++ module
    "get_model_dir": "23.07",
    "load_model": "23.07",
    "unload_model": "23.07",
    "is_model_ready": "23.07",
    "TRITONSERVER_MEMORY_GPU": "23.04",
    "TRITONSERVER_MEMORY_CPU": "23.04",
    "PreferredMemory": "23.04",
    "MemoryType": "23.04",
    "InferenceTrace": "23.08",
    "InferenceTrace.get_context": "24.03",
    "Logger": "22.09",
    "MetricFamily": "23.05",
    "MetricFamily.HISTOGRAM": "24.08",
    "MetricFamily.Metric.buckets": "24.08",
    "Metric": "23.05",
    "Metric.observe": "24.08",
    "MetricKind": "23.05",
    "InferenceResponseSender": "22.05",
    "InferenceResponseSender.is_cancelled": "23.10",
    "ResponseIterator": "23.03",
    "ResponseIterator.cancel": "25.04",
    "SharedMemory": "22.04",
    "shared_memory": "22.04",
    "async_event_future_done_callback": "24.06",
    # Tensor
    "Tensor.shape": "22.08",
    "Tensor.__dlpack__": "23.05",
    "Tensor.__dlpack_device__": "23.05",
    "from_dlpack takes objects with __dlpack__": "23.05",
    "an empty tensor name is refused": "22.05",
    "BF16 through DLPack": "24.08",
    # InferenceRequest
    "InferenceRequest.__init__.flags": "22.02",
    "InferenceRequest.flags": "22.02",
    "InferenceRequest.set_flags": "22.02",
    "InferenceRequest.__init__.timeout": "23.03",
    "InferenceRequest.timeout": "23.03",
    "InferenceRequest.parameters": "23.03",
    "InferenceRequest.__init__.preferred_memory": "23.04",
    "InferenceRequest.__init__.trace": "23.08",
    "InferenceRequest.trace": "23.08",
    "InferenceRequest.__init__.parameters": "23.11",
    "InferenceRequest.is_cancelled": "23.10",
    "InferenceRequest.get_response_sender": "22.05",
    "InferenceRequest.set_release_flags": "23.11",
    "InferenceRequest.exec.decoupled": "23.03",
    "InferenceRequest.async_exec.decoupled": "23.03",
    "requested output names are a set": "22.07",
    "correlation ids may be strings": "24.04",
    "None among tensors is refused": "22.05",
    "BLS outside execute is refused": "23.04",
    # InferenceResponse and TritonError
    "InferenceResponse.__init__.parameters": "25.02",
    "InferenceResponse.parameters": "25.02",
    "output_tensors is optional": "23.06",
    "unrequested outputs are pruned": "22.07",
    "TritonError.__init__.code": "23.09",
    "TritonError.code": "23.09",
    "TritonError.UNKNOWN": "23.09",
    "TritonError.INTERNAL": "23.09",
    "TritonError.NOT_FOUND": "23.09",
    "TritonError.INVALID_ARG": "23.09",
    "TritonError.UNAVAILABLE": "23.09",
    "TritonError.UNSUPPORTED": "23.09",
    "TritonError.ALREADY_EXISTS": "23.09",
    "TritonError.CANCELLED": "23.10",
    # the stub
    "the return value of execute is checked": "22.01",
    "decoupled models": "22.05",
    "responses may be sent in non-decoupled models": "24.06",
    "execute may be a coroutine in decoupled models": "24.06",
    "requests may be rescheduled": "23.11",
    "auto_complete_config": "22.06",
    "error responses of decoupled BLS arrive": "25.04",
    "BLS keeps the code of an error": "25.04",
    "BYTES are decoded in C++": "25.10",
    "the readiness check sees a dead stub": "25.12",
    "is_ready": "26.03",
    "signatures use builtin generics": "24.11",  # pybind11 2.12
    # how the stub starts Python: see `embedding`
    "Python is isolated": "22.12",  # where it is 3.11 or later, until 24.11; pybind11 2.10
    "the environment of Python counts": "24.11",
}


class Release:
    """A container release; compares by year and month."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lacks = frozenset(feature for feature, since in SINCE.items() if _number(text) < _number(since))

    def has(self, feature: str) -> bool:
        """Whether this release has `feature`: a row of `SINCE`, or anything older than the table."""
        return feature not in self._lacks


def _number(text: str) -> Tuple[int, int]:
    year, month = text.split(".")[:2]
    return int(year), int(month)
