"""tritonclient's face on an emulated server in this process: no port, no network.

Code that was written against ``tritonclient.http.InferenceServerClient`` or the gRPC one runs on it. The
objects say which protocol is meant: with ``tritonclient.http.InferInput`` in, a ``tritonclient.http``
result comes out, made from the very bytes that the HTTP front would send.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from tritonclient.utils import InferenceServerException

from triton_pyb.emulator import classification, grpc_requests, inference, json_requests, json_responses, metadata
from triton_pyb.emulator.errors import HTTP_STATUS, InferenceFailed
from triton_pyb.emulator.loaded_model import LoadedModel
from triton_pyb.emulator.messages import WireResponse
from triton_pyb.emulator.triton import EmulatedTriton
from triton_pyb.emulator.validation import RequestRefused

_GRPC = "tritonclient.grpc"


class InProcessClient:
    """A client of one emulated server; usable from several threads.

    Given tritonclient's objects it raises tritonclient's ``InferenceServerException``; given a dict of
    arrays or plain values it returns a dict of arrays and raises `InferenceFailed`.
    """

    def __init__(self, triton: EmulatedTriton) -> None:
        self._triton, self._store = triton, triton.store
        self._pool = ThreadPoolExecutor(4, "client")
        self._callback: Callable[..., None] | None = None
        self._streams: list[Future[None]] = []

    def close(self) -> None:
        """Wait for requests under way."""
        self._pool.shutdown()

    # -- server and models

    def is_server_live(self) -> bool:
        return True

    def is_server_ready(self) -> bool:
        return self._store.ready(strict=True)

    def is_model_ready(self, model_name: str, model_version: str = "") -> bool:
        return self._triton.is_model_ready(model_name, model_version)

    def get_server_metadata(self) -> dict[str, Any]:
        return metadata.server(self._store.machine.release)

    def get_model_metadata(self, model_name: str, model_version: str = "") -> dict[str, Any]:
        config = self.get_model_config(model_name, model_version)
        return metadata.model(config, sorted(self._store.entries[model_name].loaded))

    def get_model_config(self, model_name: str, model_version: str = "") -> dict[str, Any]:
        config: dict[str, Any] = self._told(lambda: self._triton.model_config(model_name, model_version))
        return config

    def get_model_repository_index(self) -> list[dict[str, str]]:
        return self._triton.repository_index()

    def get_inference_statistics(self, model_name: str = "", model_version: str = "") -> dict[str, Any]:
        version = inference.version_number(model_version)
        return {"model_stats": self._told(lambda: metadata.statistics(self._store, model_name, version))}

    def load_model(self, model_name: str, config: str | None = None, files: Mapping[str, bytes] | None = None) -> None:
        self._told(lambda: self._triton.load_model(model_name, config or "", files))

    def unload_model(self, model_name: str, unload_dependents: bool = False) -> None:
        self._told(lambda: self._triton.unload_model(model_name, unload_dependents))

    def _told(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except InferenceFailed as error:
            raise _exception(error) from None

    # -- inference

    def infer(
        self,
        model_name: str,
        inputs: Sequence[Any] | Mapping[str, Any],
        model_version: str = "",
        outputs: Sequence[Any] | None = None,
        request_id: str = "",
        sequence_id: int | str = 0,
        sequence_start: bool = False,
        sequence_end: bool = False,
        priority: int = 0,
        timeout: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Any:
        """One request.

        Parameters
        ----------
        inputs : list of InferInput, or dict
        timeout : int
            Microseconds in the queue, as tritonclient's own.

        Returns
        -------
        InferResult of the protocol of `inputs`, or a dict of arrays
        """
        if isinstance(inputs, Mapping):
            return self._triton.infer(
                model_name,
                inputs,
                outputs,
                request_id=request_id,
                parameters=parameters,
                correlation_id=sequence_id,
                sequence_start=sequence_start,
                sequence_end=sequence_end,
                priority=priority,
                timeout_us=timeout or 0,
                version=model_version,
            )
        options = {
            "request_id": request_id,
            "sequence_id": sequence_id,
            "sequence_start": sequence_start,
            "sequence_end": sequence_end,
            "priority": priority,
            "timeout": timeout,
            "parameters": dict(parameters) if parameters else None,
        }
        through = self._infer_grpc if _is_grpc(inputs) else self._infer_http
        try:
            return through(model_name, model_version, list(inputs), list(outputs or ()) or None, options)
        except RequestRefused as error:
            raise _exception(InferenceFailed(error.message, error.code)) from None
        except InferenceFailed as error:
            raise _exception(error) from None

    def async_infer(self, model_name: str, inputs: Any, callback: Any = None, **options: Any) -> Any:
        """Without `callback` an object with ``get_result()``, as over HTTP; with it
        ``callback(result=..., error=...)`` is called, as over gRPC."""
        future = self._pool.submit(self.infer, model_name, inputs, **options)
        if callback is not None:
            future.add_done_callback(lambda done: callback(**_outcome(done)))
        return _AsyncRequest(future)

    def _infer_http(
        self, name: str, version: str, inputs: list[Any], outputs: list[Any] | None, options: dict[str, Any]
    ) -> Any:
        from tritonclient.http import InferenceServerClient, InferResult

        body, header_length = InferenceServerClient.generate_request_body(inputs, outputs=outputs, **options)
        model = inference.find_model(self._store, name, inference.version_number(version))
        asked = json_requests.read(body, header_length, model.config)
        responses = inference.submit(model, asked.request, protocol="http").result()
        responses = [classification.without_empty(each, asked.classes, name) for each in responses]
        response = self._only(responses, model, asked.classes)
        header, tails = json_responses.write(response, asked, model.name, model.version)
        length = len(header) if tails else None
        return InferResult.from_response_body(b"".join([header, *tails]), header_length=length)

    def _infer_grpc(
        self, name: str, version: str, inputs: list[Any], outputs: list[Any] | None, options: dict[str, Any]
    ) -> Any:
        from tritonclient.grpc import InferResult

        asked = grpc_requests.read(_message(name, version, inputs, outputs, options))
        model = inference.find_model(self._store, name, inference.version_number(version))
        responses = inference.submit(model, asked.request).result()
        response = self._only(responses, model, asked.classes)
        return InferResult(grpc_requests.write(response, options["request_id"], model.name, model.version))

    def _only(self, responses: list[WireResponse], model: LoadedModel, classes: dict[str, int]) -> WireResponse:
        if any(classes.values()):
            responses = [inference.classified(self._store, model, each, classes) for each in responses]
        return inference.one_response(responses, model.name)

    # -- streams, as over gRPC

    def start_stream(self, callback: Callable[..., None]) -> None:
        """Responses of `async_stream_infer` go to ``callback(result=..., error=...)``."""
        self._callback = callback

    def async_stream_infer(
        self,
        model_name: str,
        inputs: list[Any],
        model_version: str = "",
        outputs: list[Any] | None = None,
        enable_empty_final_response: bool = False,
        **options: Any,
    ) -> None:
        """Send one request of the stream."""
        if self._callback is None:
            raise InferenceServerException(msg="stream not available, use start_stream() to make one available.")
        message = _message(model_name, model_version, inputs, outputs, options)
        self._streams.append(self._pool.submit(self._stream, self._callback, message, enable_empty_final_response))

    def stop_stream(self, cancel_requests: bool = False) -> None:
        """Wait for the responses still due."""
        while self._streams:
            self._streams.pop().result()
        self._callback = None

    def _stream(self, callback: Callable[..., None], message: Any, empty_final: bool) -> None:
        from tritonclient.grpc import InferResult

        try:
            model = inference.find_model(
                self._store, message.model_name, inference.version_number(message.model_version)
            )
            asked = grpc_requests.read(message)
            asked.empty_final = empty_final
            responses = inference.stream(model, asked.request)
        except InferenceFailed as error:
            callback(result=None, error=_exception(error))
            return
        except RequestRefused as error:
            callback(result=None, error=_exception(InferenceFailed(error.message, error.code)))
            return
        for response in responses:
            response = inference.classified(self._store, model, response, asked.classes)
            failure = inference.failure_of(response, model.name)
            if failure is not None:
                callback(result=None, error=_exception(failure))
                continue
            written = grpc_requests.write_streamed(response, asked, message, model)
            if written is not None:
                callback(result=InferResult(written), error=None)


class _AsyncRequest:
    """What `async_infer` returns."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def get_result(self, block: bool = True, timeout: float | None = None) -> Any:
        return self._future.result(timeout if block else 0)


def _is_grpc(inputs: Sequence[Any]) -> bool:
    return bool(inputs) and type(inputs[0]).__module__.startswith(_GRPC)


def _exception(error: InferenceFailed) -> InferenceServerException:
    return InferenceServerException(msg=error.message, status=str(HTTP_STATUS.get(error.code, error.status)))


def _outcome(done: Future[Any]) -> dict[str, Any]:
    error = done.exception()
    return {"result": None if error else done.result(), "error": error}


def _message(name: str, version: str, inputs: list[Any], outputs: list[Any] | None, options: dict[str, Any]) -> Any:
    """The ``ModelInferRequest`` that tritonclient would send."""
    from tritonclient.grpc import service_pb2

    message = service_pb2.ModelInferRequest(model_name=name, model_version=version, id=options.get("request_id", ""))
    for tensor in inputs:
        message.inputs.append(tensor._get_tensor())
        if tensor._get_content() is not None:
            message.raw_input_contents.append(tensor._get_content())
    for output in outputs or ():
        message.outputs.append(output._get_tensor())
    if options.get("sequence_id"):
        _set(message.parameters["sequence_id"], options["sequence_id"])
        message.parameters["sequence_start"].bool_param = options.get("sequence_start", False)
        message.parameters["sequence_end"].bool_param = options.get("sequence_end", False)
    if options.get("priority"):
        message.parameters["priority"].uint64_param = options["priority"]
    if options.get("timeout") is not None:
        message.parameters["timeout"].int64_param = options["timeout"]
    for key, value in (options.get("parameters") or {}).items():
        _set(message.parameters[key], value)
    return message


def _set(parameter: Any, value: Any) -> None:
    kinds = {bool: "bool_param", int: "int64_param", float: "double_param"}
    setattr(parameter, kinds.get(type(value), "string_param"), value)
