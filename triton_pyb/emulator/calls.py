"""From a caller's words to a request, and from responses to arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from numpy.typing import NDArray

from triton_pyb.emulator import inference, tensors
from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.emulator.loaded_model import LoadedModel
from triton_pyb.emulator.messages import WireRequest, WireResponse
from triton_pyb.emulator.values import to_arrays

Arrays = dict[str, NDArray[Any]]


class RequestOptions(NamedTuple):
    """What a request says besides its model and inputs."""

    outputs: Sequence[str] | None = None
    request_id: str = ""
    parameters: Mapping[str, Any] | None = None
    correlation_id: int | str = 0
    sequence_start: bool = False
    sequence_end: bool = False
    priority: int = 0
    timeout_us: int = 0

    def request(self, model: LoadedModel, inputs: Mapping[str, Any]) -> WireRequest:
        """The request on the wire, plain values fitted to the model's configuration."""
        arrays = to_arrays(model.config, dict(inputs))
        return WireRequest(
            [tensors.tensor_of(name, array) for name, array in arrays.items()],
            list(self.outputs or ()),
            request_id=self.request_id,
            correlation_id=self.correlation_id,
            flags=int(self.sequence_start) | int(self.sequence_end) << 1,
            timeout_us=self.timeout_us,
            priority=self.priority,
            parameters=dict(self.parameters or {}),
            model_name=model.name,
            model_version=model.version,
        )


def arrays_of(responses: list[WireResponse], model: str) -> Arrays:
    """The arrays of the one response, or its failure raised."""
    return tensors.arrays_of(inference.one_response(responses, model).outputs)


def result_of(answer: Future[list[WireResponse]] | InferenceFailed, model: str) -> Arrays | InferenceFailed:
    """The arrays of an answer that is due, or its failure as it is."""
    if isinstance(answer, InferenceFailed):
        return answer
    try:
        return arrays_of(answer.result(), model)
    except InferenceFailed as error:
        return error


def pass_on(done: Future[list[WireResponse]], answer: Future[Arrays], model: str) -> None:
    """Hand the outcome of one future on to another."""
    result = result_of(done, model)
    if isinstance(result, InferenceFailed):
        answer.set_exception(result)
    else:
        answer.set_result(result)
