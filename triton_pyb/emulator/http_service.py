"""The HTTP front of the emulator: KServe v2 with Triton's extensions, on aiohttp.

Source: http_server.cc of Triton's server 24.10, and its answers.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import re
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from triton_pyb.emulator import (
    classification,
    generate,
    inference,
    json_requests,
    json_responses,
    log_settings,
    metadata,
    rapid_json,
)
from triton_pyb.emulator.errors import HTTP_STATUS, ContractBroken, InferenceFailed, NeverAnswered
from triton_pyb.emulator.json_requests import JsonRequest
from triton_pyb.emulator.loaded_model import LoadedModel
from triton_pyb.emulator.messages import WireRequest, WireResponse
from triton_pyb.emulator.model_store import ModelStore
from triton_pyb.emulator.validation import RequestRefused

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_MODEL = r"/v2/models/{model}"
_VERSION = _MODEL + r"/versions/{version:\d+}"
#: A body may hold many images: the server knows no limit either.
_MAX_BODY_BYTES = 2**31


class HttpService:
    """Answers HTTP requests from the models of a store."""

    def __init__(self, store: ModelStore, strict_readiness: bool = True) -> None:
        self._store, self._strict_readiness = store, strict_readiness
        self.live = True

    def application(self) -> web.Application:
        """The routes, as an aiohttp application."""
        app = web.Application(client_max_size=_MAX_BODY_BYTES, middlewares=[_errors])
        routes: list[tuple[str, str, Handler]] = [
            ("GET", "/v2", self._server),
            ("GET", "/v2/health/live", self._live),
            ("GET", "/v2/health/ready", self._ready),
            ("GET", "/v2/models/stats", self._all_statistics),
            ("POST", "/v2/repository/index", self._index),
            ("POST", "/v2/repository/models/{model}/load", self._load),
            ("POST", "/v2/repository/models/{model}/unload", self._unload),
            ("GET", "/v2/logging", self._logging),
            ("POST", "/v2/logging", self._logging),
            ("GET", "/v2/trace/setting", self._trace),
            ("GET", _MODEL + "/trace/setting", self._trace),
            ("GET", "/v2/systemsharedmemory/status", self._no_regions),
            ("GET", "/v2/cudasharedmemory/status", self._no_regions),
        ]
        for prefix in (_VERSION, _MODEL):
            routes += [
                ("GET", prefix, self._metadata),
                ("GET", prefix + "/config", self._config),
                ("GET", prefix + "/stats", self._statistics),
                ("GET", prefix + "/ready", self._model_ready),
                ("POST", prefix + "/infer", self._infer),
                ("POST", prefix + "/generate", self._generate),
                ("POST", prefix + "/generate_stream", self._generate_stream),
            ]
        for kind in ("systemsharedmemory", "cudasharedmemory"):
            routes.append(("POST", f"/v2/{kind}/unregister", self._nothing))
            routes.append(("POST", f"/v2/{kind}/region/{{region}}/unregister", self._nothing))
            routes.append(("POST", f"/v2/{kind}/region/{{region}}/register", self._no_shared_memory))
        for method, path, handler in routes:
            app.router.add_route(method, path, handler)
        return app

    # -- server

    async def _server(self, request: web.Request) -> web.Response:
        return _json(metadata.server(self._store.machine.release))

    async def _live(self, request: web.Request) -> web.Response:
        return _empty(200 if self.live else 400)

    async def _ready(self, request: web.Request) -> web.Response:
        return _empty(200 if self.live and self._store.ready(self._strict_readiness) else 400)

    async def _logging(self, request: web.Request) -> web.Response:
        settings = self._store.log.settings
        if request.method == "POST":
            log_settings.update_from_json(settings, rapid_json.parse(await request.read()))
        return _json(settings)

    async def _trace(self, request: web.Request) -> web.Response:
        return _json(metadata.TRACE_SETTING)

    async def _no_regions(self, request: web.Request) -> web.Response:
        return _json([])

    async def _no_shared_memory(self, request: web.Request) -> web.Response:
        raise RequestRefused(metadata.NO_SHARED_MEMORY, "UNSUPPORTED")

    async def _nothing(self, request: web.Request) -> web.Response:
        return _done()

    # -- models

    def _model(self, request: web.Request) -> LoadedModel:
        version = request.match_info.get("version")
        return inference.find_model(self._store, request.match_info["model"], int(version) if version else -1)

    async def _metadata(self, request: web.Request) -> web.Response:
        model = self._model(request)
        versions = sorted(self._store.entries[model.name].loaded)
        return _json(metadata.model(model.config, versions))

    async def _config(self, request: web.Request) -> web.Response:
        return _json(self._model(request).config)

    async def _model_ready(self, request: web.Request) -> web.Response:
        version = request.match_info.get("version")
        model = self._store.find(request.match_info["model"], int(version) if version else -1)
        ready = model is not None and (await asyncio.to_thread(model.ready))[0]
        return _empty(200) if ready else _error("Model version not ready", 400, "text/plain")

    async def _statistics(self, request: web.Request) -> web.Response:
        name, version = request.match_info["model"], request.match_info.get("version")
        return _json({"model_stats": metadata.statistics(self._store, name, int(version) if version else -1)})

    async def _all_statistics(self, request: web.Request) -> web.Response:
        return _json({"model_stats": metadata.statistics(self._store, "", -1)})

    async def _index(self, request: web.Request) -> web.Response:
        body = await request.read()
        wanted = rapid_json.parse(body) if body else {}
        ready = rapid_json.as_bool(wanted["ready"]) if isinstance(wanted, dict) and "ready" in wanted else False
        return _json(self._store.index(ready))

    async def _load(self, request: web.Request) -> web.Response:
        config, files = "", {}
        for key, value in (await _parameters(request)).items():
            text = rapid_json.as_text(value)
            if key == "config":
                config = text
            elif key.startswith("file:"):
                files[key] = _from_base64(text)
            else:
                raise RequestRefused("unexpected error on creating Triton parameter", "INTERNAL")
        await asyncio.to_thread(self._store.control_load, request.match_info["model"], config, files)
        return _done()

    async def _unload(self, request: web.Request) -> web.Response:
        try:
            dependents = (await _parameters(request)).get("unload_dependents") is True
        except RequestRefused:  # found out, and forgotten
            dependents = False
        name = request.match_info["model"]
        await asyncio.to_thread(self._store.control_unload, name, dependents)
        return _done()

    # -- inference

    async def _infer(self, request: web.Request) -> web.StreamResponse:
        try:
            model = self._model(request)
            if model.decoupled:
                raise InferenceFailed(inference.DECOUPLED["http"], "UNSUPPORTED")
            body = _decompressed(await request.read(), request.headers.get("Content-Encoding", ""))
            header_length = _header_length(request, len(body))
        except _FAILURES as error:
            return _failed(error, "text/plain")
        asked = json_requests.read(body, header_length, model.config)
        future = inference.submit(model, asked.request, protocol="http")
        try:
            answer = await self._answer(await asyncio.wrap_future(future), asked, model)
        except _FAILURES as error:
            return _failed(error, "text/plain")
        if {"gzip", "deflate"} & {word.strip() for word in request.headers.get("Accept-Encoding", "").split(",")}:
            answer.enable_compression()
        return answer

    async def _generate(self, request: web.Request) -> web.Response:
        model, wire = await self._to_generate(request)
        bodies, status, first = [], 200, True
        async for response in inference.stream_async(model, wire):
            if not _flags_alone(response, model, first):
                body, its_status = await self._generated(response, wire, model)
                bodies.append(body)
                status = its_status if first else status
            first = False
        body = bodies[0] if len(bodies) == 1 else rapid_json.dumps({"error": generate.NOT_ONE})
        answer = web.Response(body=body, status=status, content_type="application/json")
        answer.enable_chunked_encoding()
        return answer

    async def _generate_stream(self, request: web.Request) -> web.StreamResponse:
        model, wire = await self._to_generate(request)
        events = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        async for response in inference.stream_async(model, wire):
            body, status = b"", 200
            if not _flags_alone(response, model, not events.prepared):
                body, status = await self._generated(response, wire, model)
            if not events.prepared:  # the first response alone decides about the status
                events.set_status(status)
                await events.prepare(request)
            if body:
                await events.write(b"data: " + body + b"\n\n")
        return events

    async def _to_generate(self, request: web.Request) -> tuple[LoadedModel, WireRequest]:
        model = self._model(request)
        if request.headers.get("Content-Encoding", "") not in ("", "identity"):
            raise RequestRefused("Unsupported content-encoding, only 'identity' is supported.")
        return model, generate.read(await request.read(), model.config)

    async def _generated(self, response: WireResponse, wire: WireRequest, model: LoadedModel) -> tuple[bytes, int]:
        """One response as JSON, and its status: 400 for every error, the server looks at the code too late."""
        await self._waits(response, model)
        failure = inference.failure_of(response, model.name)
        if failure is not None:
            return rapid_json.dumps({"error": _words(failure)}), failure.status if response.fault else 400
        try:
            return generate.write(response, wire.request_id, model.name, model.version), 200
        except RequestRefused as error:
            return rapid_json.dumps({"error": error.message}), 400

    async def _waits(self, response: WireResponse, model: LoadedModel) -> None:
        """Keep the client waiting, as on the server, where the answer is that there is none."""
        failure = inference.failure_of(response, model.name)
        if isinstance(failure, NeverAnswered) and self._store.machine.clients_wait:
            self._store.log.server("WARNING", failure.message)
            await asyncio.Event().wait()

    async def _answer(self, responses: list[WireResponse], asked: JsonRequest, model: LoadedModel) -> web.Response:
        if any(asked.classes.values()):
            responses = [classification.without_empty(each, asked.classes, model.name) for each in responses]
            responses = [inference.classified(self._store, model, each, asked.classes) for each in responses]
        await self._waits(responses[-1], model)
        response = inference.one_response(responses, model.name)
        header, tails = json_responses.write(response, asked, model.name, model.version)
        if not tails:
            return web.Response(body=header, content_type="application/json")
        headers = {"Inference-Header-Content-Length": str(len(header))}
        return web.Response(body=b"".join([header, *tails]), content_type="application/octet-stream", headers=headers)


def _flags_alone(response: WireResponse, model: LoadedModel, first: bool) -> bool:
    """Whether the model sent the final flag without a response; one that is not decoupled answers at least once."""
    if response.outputs or response.error or response.fault or not response.final:
        return False
    return model.decoupled or not first


def _from_base64(text: str) -> bytes:
    """What the server's lenient decoder makes of a file: it skips whatever is no digit, and incomplete bytes."""
    digits = re.sub("[^A-Za-z0-9+/]", "", text)
    return base64.b64decode(digits + "A" * (-len(digits) % 4))[: len(digits) * 3 // 4]


def _header_length(request: web.Request, body_length: int) -> int | None:
    text = request.headers.get("Inference-Header-Content-Length")
    if text is None:
        return None
    match = re.match(r"\s*[+-]?\d+", text)
    length = int(match.group()) if match else 0
    if length < 0 or length > body_length:
        raise RequestRefused(f"inference header size should be in range (0, {body_length}), got: {length}")
    return length


def _decompressed(body: bytes, encoding: str) -> bytes:
    if encoding in ("", "identity"):
        return body
    try:
        if encoding == "gzip":
            return gzip.decompress(body)
        if encoding == "deflate":
            return zlib.decompress(body)
    except (OSError, zlib.error):
        return b""
    raise RequestRefused("Unsupported compression type", "UNSUPPORTED")


async def _parameters(request: web.Request) -> dict[str, Any]:
    body = await request.read()
    document = rapid_json.parse(body) if body else {}
    parameters = document.get("parameters", {}) if isinstance(document, dict) else {}
    if not isinstance(parameters, dict):
        raise RequestRefused("attempt to get members for non-object", "INTERNAL")
    return dict(parameters)


def _json(value: Any) -> web.Response:
    return web.Response(body=rapid_json.dumps(value), content_type="application/json")


def _empty(status: int) -> web.Response:
    return web.Response(status=status, content_type="text/plain", charset=None)


def _done() -> web.Response:
    return web.Response(content_type="application/json", charset=None)


def _error(message: str, status: int, content_type: str = "application/json") -> web.Response:
    return web.Response(body=rapid_json.dumps({"error": message}), status=status, content_type=content_type)


#: What ends as the server's answer to one request.
_FAILURES = (InferenceFailed, RequestRefused)


def _failed(error: InferenceFailed | RequestRefused, content_type: str = "application/json") -> web.Response:
    return _error(
        _words(error), HTTP_STATUS[error.code] if isinstance(error, RequestRefused) else error.status, content_type
    )


def _words(error: InferenceFailed | RequestRefused) -> str:
    return f"{error.message} ({error.finding.where})" if isinstance(error, ContractBroken) else error.message


#: Paths whose handlers name no type of content before they look at the method.
_UNTYPED = ("/infer", "/ready", "/live")


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except _FAILURES as error:
        return _failed(error)
    except web.HTTPNotFound:
        return _error("Not Found", 404, "text/plain")
    except web.HTTPMethodNotAllowed:
        kind = "text/plain" if request.path.endswith(_UNTYPED) else "application/json"
        return _error("Method Not Allowed", 405, kind)
