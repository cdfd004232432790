"""The gRPC front of the emulator: tritonclient's own service definition, on grpc.aio.

Source: the behaviour of a 24.10 server, as tritonclient sees it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
from google.protobuf import json_format
from tritonclient.grpc import service_pb2, service_pb2_grpc

from triton_pyb.emulator import grpc_requests, inference, log_settings, metadata
from triton_pyb.emulator.errors import InferenceFailed, NeverAnswered
from triton_pyb.emulator.loaded_model import LoadedModel
from triton_pyb.emulator.messages import WireRequest, WireResponse
from triton_pyb.emulator.model_store import ModelStore
from triton_pyb.emulator.validation import RequestRefused

_CODES = {
    "UNKNOWN": grpc.StatusCode.UNKNOWN,
    "INTERNAL": grpc.StatusCode.INTERNAL,
    "NOT_FOUND": grpc.StatusCode.NOT_FOUND,
    "INVALID_ARG": grpc.StatusCode.INVALID_ARGUMENT,
    "UNAVAILABLE": grpc.StatusCode.UNAVAILABLE,
    "UNSUPPORTED": grpc.StatusCode.UNIMPLEMENTED,
    "ALREADY_EXISTS": grpc.StatusCode.ALREADY_EXISTS,
    "CANCELLED": grpc.StatusCode.CANCELLED,
}


class GrpcService(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
    """Answers gRPC calls from the models of a store; method names are the protocol's."""

    def __init__(self, store: ModelStore, strict_readiness: bool = True) -> None:
        self._store, self._strict_readiness = store, strict_readiness

    # -- server

    async def ServerLive(self, request: Any, context: Any) -> Any:
        return service_pb2.ServerLiveResponse(live=True)

    async def ServerReady(self, request: Any, context: Any) -> Any:
        return service_pb2.ServerReadyResponse(ready=self._store.ready(self._strict_readiness))

    async def ServerMetadata(self, request: Any, context: Any) -> Any:
        return json_format.ParseDict(metadata.server(self._store.machine.release), service_pb2.ServerMetadataResponse())

    async def LogSettings(self, request: Any, context: Any) -> Any:
        settings = self._store.log.settings
        try:
            log_settings.update_from_message(settings, request.settings)
        except RequestRefused as error:
            await context.abort(_CODES[error.code], error.message)
        response = service_pb2.LogSettingsResponse()
        for key, value in settings.items():
            name = {bool: "bool_param", int: "uint32_param"}.get(type(value), "string_param")
            setattr(response.settings[key], name, value)
        return response

    # -- models

    async def ModelReady(self, request: Any, context: Any) -> Any:
        try:
            model = self._store.find(request.name, inference.version_number(request.version))
        except InferenceFailed as error:
            await context.abort(_CODES[error.code], error.message)
        ready = model is not None and (await asyncio.to_thread(model.ready))[0]
        return service_pb2.ModelReadyResponse(ready=ready)

    async def ModelMetadata(self, request: Any, context: Any) -> Any:
        model = await self._model(request.name, request.version, context)
        versions = sorted(self._store.entries[model.name].loaded)
        return json_format.ParseDict(metadata.model(model.config, versions), service_pb2.ModelMetadataResponse())

    async def ModelConfig(self, request: Any, context: Any) -> Any:
        model = await self._model(request.name, request.version, context)
        return json_format.ParseDict({"config": model.config}, service_pb2.ModelConfigResponse())

    async def ModelStatistics(self, request: Any, context: Any) -> Any:
        try:
            rows = metadata.statistics(self._store, request.name, inference.version_number(request.version))
        except InferenceFailed as error:
            await context.abort(_CODES[error.code], error.message)
        return json_format.ParseDict({"model_stats": rows}, service_pb2.ModelStatisticsResponse())

    async def RepositoryIndex(self, request: Any, context: Any) -> Any:
        rows = self._store.index(request.ready)
        return json_format.ParseDict({"models": rows}, service_pb2.RepositoryIndexResponse())

    async def RepositoryModelLoad(self, request: Any, context: Any) -> Any:
        config, files = "", {}
        for key, value in request.parameters.items():
            kind = "string_param" if key == "config" else "bytes_param"
            if key != "config" and not key.startswith("file:"):
                await context.abort(_CODES["INVALID_ARG"], f"unrecognized load parameter '{key}'.")
            if value.WhichOneof("parameter_choice") != kind:
                message = f"invalid value type for load parameter '{key}', expected {kind}."
                await context.abort(_CODES["INVALID_ARG"], message)
            if key == "config":
                config = value.string_param
            else:
                files[key] = value.bytes_param
        try:
            await asyncio.to_thread(self._store.control_load, request.model_name, config, files)
        except InferenceFailed as error:
            await context.abort(_CODES[error.code], error.message)
        return service_pb2.RepositoryModelLoadResponse()

    async def RepositoryModelUnload(self, request: Any, context: Any) -> Any:
        dependents = request.parameters["unload_dependents"].bool_param
        try:
            await asyncio.to_thread(self._store.control_unload, request.model_name, dependents)
        except InferenceFailed as error:
            await context.abort(_CODES[error.code], error.message)
        return service_pb2.RepositoryModelUnloadResponse()

    async def TraceSetting(self, request: Any, context: Any) -> Any:
        response = service_pb2.TraceSettingResponse()
        for key, value in metadata.TRACE_SETTING.items():
            response.settings[key].value.extend(value if isinstance(value, list) else [value])
        return response

    async def SystemSharedMemoryRegister(self, request: Any, context: Any) -> Any:
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, metadata.NO_SHARED_MEMORY)

    async def CudaSharedMemoryRegister(self, request: Any, context: Any) -> Any:
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, metadata.NO_SHARED_MEMORY)

    async def SystemSharedMemoryUnregister(self, request: Any, context: Any) -> Any:
        return service_pb2.SystemSharedMemoryUnregisterResponse()

    async def CudaSharedMemoryUnregister(self, request: Any, context: Any) -> Any:
        return service_pb2.CudaSharedMemoryUnregisterResponse()

    async def SystemSharedMemoryStatus(self, request: Any, context: Any) -> Any:
        return service_pb2.SystemSharedMemoryStatusResponse()

    async def CudaSharedMemoryStatus(self, request: Any, context: Any) -> Any:
        return service_pb2.CudaSharedMemoryStatusResponse()

    async def _model(self, name: str, version: str, context: Any) -> LoadedModel:
        try:
            return inference.find_model(self._store, name, inference.version_number(version))
        except InferenceFailed as error:
            await context.abort(_CODES[error.code], error.message)
            raise

    # -- inference

    async def ModelInfer(self, request: Any, context: Any) -> Any:
        model = await self._model(request.model_name, request.model_version, context)
        wire: WireRequest | None = None
        try:
            asked = grpc_requests.read(request)
            wire = asked.request
            responses = await asyncio.wrap_future(inference.submit(model, wire))
            if asked.classes:
                responses = [inference.classified(self._store, model, each, asked.classes) for each in responses]
            response = inference.one_response(responses, model.name)
        except RequestRefused as error:
            await context.abort(_CODES[error.code], error.message)
        except NeverAnswered as error:
            if self._store.machine.clients_wait:
                self._store.log.server("WARNING", error.message)
                await asyncio.Event().wait()  # until the client gives up, as on the server
            await context.abort(_CODES[error.code], error.message)
        except InferenceFailed as error:
            await context.abort(_CODES[error.code], error.message)
        except asyncio.CancelledError:
            if wire is not None:
                model.cancel(wire)
            raise
        return grpc_requests.write(response, request.id, model.name, model.version)

    async def ModelStreamInfer(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        out: asyncio.Queue[Any] = asyncio.Queue()
        tasks: set[asyncio.Task[None]] = set()

        async def feed() -> None:
            async for request in requests:
                task = asyncio.create_task(self._stream_one(request, out))
                tasks.add(task)
            await asyncio.gather(*tasks)
            await out.put(None)

        feeder = asyncio.create_task(feed())
        try:
            while (message := await out.get()) is not None:
                yield message
        finally:
            feeder.cancel()
            for task in tasks:
                task.cancel()

    async def _stream_one(self, message: Any, out: asyncio.Queue[Any]) -> None:
        """Send one request of a stream and put its answers into `out`."""
        try:
            model = inference.find_model(
                self._store, message.model_name, inference.version_number(message.model_version)
            )
            asked = grpc_requests.read(message)
        except (InferenceFailed, RequestRefused) as error:
            await out.put(_stream_error(error.message, message.id))
            return
        try:
            async for response in inference.stream_async(model, asked.request):
                await self._stream_answer(response, asked, message, model, out)
        except InferenceFailed as error:
            await out.put(_stream_error(error.message, message.id))

    async def _stream_answer(
        self, response: WireResponse, asked: grpc_requests.GrpcRequest, message: Any, model: LoadedModel, out: Any
    ) -> None:
        response = inference.classified(self._store, model, response, asked.classes)
        failure = inference.failure_of(response, model.name)
        if isinstance(failure, NeverAnswered) and self._store.machine.clients_wait:
            self._store.log.server("WARNING", failure.message)
            await asyncio.Event().wait()
        if failure is not None:
            answer = _stream_error(failure.message, message.id)
            answer.infer_response.model_name = message.model_name
            answer.infer_response.model_version = message.model_version
            answer.infer_response.parameters["triton_final_response"].bool_param = response.final
            await out.put(answer)
            return
        written = grpc_requests.write_streamed(response, asked, message, model)
        if written is not None:
            await out.put(service_pb2.ModelStreamInferResponse(infer_response=written))


def _stream_error(message: str, request_id: str) -> Any:
    response = service_pb2.ModelStreamInferResponse(error_message=message)
    response.infer_response.id = request_id
    return response
