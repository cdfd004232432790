"""``ctx.call("model", x=...)``: Business Logic Scripting with errors raised."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence

import numpy as np

from .context import CALLERS, STATUS_MARK
from .errors import InputError, RequestError, did_you_mean

#: The server's own words for a request it refuses, and the status it gives a direct client for them.
#: Source: messages of release 24.10, measured.
_SERVER_WORDS = (
    ("is not ready", "UNAVAILABLE"),
    ("unexpected inference input", "INVALID_ARG"),
    ("unexpected inference output", "INVALID_ARG"),
    ("missing required input(s)", "INVALID_ARG"),
    ("already exists in request", "INVALID_ARG"),
    ("data-type is '", "INVALID_ARG"),
    ("unexpected shape for input", "INVALID_ARG"),
    ("batch-size must be <=", "INVALID_ARG"),
    ("input byte size mismatch", "INVALID_ARG"),
)


class CallFailed(RequestError):
    """A called model answered with an error; unhandled, it becomes this request's answer with the same status.

    Attributes
    ----------
    model : str
    triton_code : str
        The status: kept from 25.04 on, before that restored from the message where that says it, else INTERNAL.
    """

    def __init__(self, model: str, triton_code: str, message: str) -> None:
        super().__init__(message)
        self.model = model
        self.triton_code = triton_code


class Caller:
    """Makes BLS calls for one request.

    Parameters
    ----------
    pb_utils : module
    model_name : str
        The calling model.
    callers : sequence of str
        The models that called this one, outermost first.
    pool : callable
        Gives the executor in which a call with a timeout runs.
    """

    def __init__(
        self, pb_utils: Any, model_name: str, callers: Sequence[str], pool: Callable[[], ThreadPoolExecutor]
    ) -> None:
        self.pb_utils = pb_utils
        self.chain = [*callers, model_name]
        self.pool = pool

    def call(self, model: str, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
        """Call and wait.

        Raises
        ------
        CallFailed
            When the model answers with an error, or does not answer in ``timeout_s``.
        """
        request = self.request(model, inputs, options)
        timeout_s = options.get("timeout_s")
        if timeout_s is None:
            return self.outputs(model, request.exec())
        future = self.pool().submit(request.exec)
        try:
            return self.outputs(model, future.result(timeout_s))
        except FutureTimeout:
            raise CallFailed(model, "UNAVAILABLE", f"model '{model}' did not answer in {timeout_s} s") from None

    async def call_async(self, model: str, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
        """As :meth:`call`, awaited."""
        request = self.request(model, inputs, options)
        timeout_s = options.get("timeout_s")
        try:
            response = await asyncio.wait_for(asyncio.shield(request.async_exec()), timeout_s)
        except asyncio.TimeoutError:
            raise CallFailed(model, "UNAVAILABLE", f"model '{model}' did not answer in {timeout_s} s") from None
        return self.outputs(model, response)

    def stream(self, model: str, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
        """The responses of a decoupled model; the empty one that only carries the final flag is left out."""
        for response in self.request(model, inputs, options).exec(decoupled=True):
            outputs = self.outputs(model, response)
            if outputs:
                yield outputs

    def request(self, model: str, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
        """An InferenceRequest, with CPU memory preferred where the release can say so (23.04)."""
        if model in self.chain:
            ring = " -> ".join([*self.chain[self.chain.index(model) :], model])
            raise CallFailed(model, "INTERNAL", f"a ring of calls: {ring} (it would wait for itself for ever)")
        pb_utils = self.pb_utils
        arguments: Dict[str, Any] = {
            "model_name": model,
            "inputs": [pb_utils.Tensor(name, as_input(name, value)) for name, value in inputs.items()],
            "requested_output_names": list(options.get("outputs") or ()),
            "request_id": options.get("request_id", ""),
            "model_version": options.get("version", -1),
        }
        if options.get("correlation_id"):
            arguments["correlation_id"] = options["correlation_id"]
        if options.get("flags"):
            arguments["flags"] = options["flags"]
        if options.get("timeout_s") is not None and _since_23_03(pb_utils):
            arguments["timeout"] = int(options["timeout_s"] * 1e6)
        if hasattr(pb_utils, "PreferredMemory"):
            arguments["preferred_memory"] = pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU)
        if _takes_parameters(pb_utils):
            arguments["parameters"] = {**(options.get("parameters") or {}), CALLERS: ",".join(self.chain)}
        return pb_utils.InferenceRequest(**arguments)

    def outputs(self, model: str, response: Any) -> Dict[str, Any]:
        """The response's arrays by name, or its error raised."""
        if response.has_error():
            raise failure(model, response.error())
        return {tensor.name(): tensor.as_numpy() for tensor in response.output_tensors()}


def _takes_parameters(pb_utils: Any) -> bool:
    """Request parameters in BLS came with ``set_release_flags``, in 23.11."""
    return hasattr(pb_utils.InferenceRequest, "set_release_flags")


def _since_23_03(pb_utils: Any) -> bool:
    return hasattr(pb_utils.InferenceRequest, "timeout")


def failure(model: str, error: Any) -> CallFailed:
    """The exception for a TritonError, its status restored where the release lost it."""
    message: str = error.message()
    code = "INTERNAL"
    if hasattr(error, "code"):
        given = error.code()
        code = getattr(given, "name", "INTERNAL")
    before, mark, rest = message.partition(STATUS_MARK)
    if mark:
        code, _, rest = rest.partition(" ")
        message = before + rest
    elif code == "INTERNAL":
        code = next((status for words, status in _SERVER_WORDS if words in message), code)
    return CallFailed(model, code, message)


def as_input(name: str, value: Any) -> Any:
    """An input of a call as an array: arrays as they are, lists of text or bytes as an object array of their shape."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "SU":
            return value
        value = value.tolist()
    elif isinstance(value, np.generic):
        return np.asarray(value)
    elif hasattr(value, "detach"):
        return value.detach().cpu().numpy()
    flat = _flat(value)
    if any(isinstance(item, (str, bytes)) for item in flat):
        array = np.empty(np.shape(np.array(value, dtype=object)), object)
        array[...] = np.array(value, dtype=object)
        return _encoded(array)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise InputError(
            "TPB234",
            f"input '{name}' of a call is {type(value).__name__}, which is no tensor",
            "ctx.call()",
            "pass a numpy array, or lists of numbers, str or bytes",
        )
    return array


def _encoded(array: Any) -> Any:
    for index, element in np.ndenumerate(array):
        array[index] = element.encode("utf-8") if isinstance(element, str) else element
    return array


def _flat(value: Any) -> List[Any]:
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in _flat(part)]
    return [value]


class FakeCaller:
    """Calls plain functions in place of models, in a unit test: ``Context.for_test(models={"other": fn})``."""

    def __init__(self, models: Mapping[str, Callable[..., Any]]) -> None:
        self.models = dict(models)

    def call(self, model: str, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
        """What the function returns: a dict of outputs."""
        if model not in self.models:
            known = did_you_mean(model, self.models)
            raise CallFailed(model, "UNAVAILABLE", f"this test has no model '{model}'{known}")
        outputs: Dict[str, Any] = dict(self.models[model](**inputs))
        return outputs

    async def call_async(self, model: str, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
        """As :meth:`call`."""
        return self.call(model, inputs, options)

    def stream(self, model: str, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
        """What the function yields: dicts of outputs."""
        if model not in self.models:
            raise CallFailed(model, "UNAVAILABLE", f"this test has no model '{model}'")
        yield from self.models[model](**inputs)
