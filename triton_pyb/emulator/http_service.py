"""The HTTP front of the emulator: KServe v2 with Triton's extensions, on aiohttp.

Source: http_server.cc of Triton's server 24.10, and its answers.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import re
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from triton_pyb.emulator import generate, inference, json_requests, json_responses, metadata, rapid_json
from triton_pyb.emulator.errors import HTTP_STATUS, ContractBroken, InferenceFailed, NeverAnswered
from triton_pyb.emulator.json_requests import JsonRequest
from triton_pyb.emulator.loaded_model import LoadedModel
from triton_pyb.emulator.messages import WireResponse
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
            settings.update(rapid_json.parse(await request.read()))
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
        parameters = {key: rapid_json.as_text(value) for key, value in (await _parameters(request)).items()}
        config = parameters.pop("config", "")
        files = {key: base64.b64decode(text) for key, text in parameters.items() if key.startswith("file:")}
        name = request.match_info["model"]
        await asyncio.to_thread(self._store.control_load, name, config, files)
        return _done()

    async def _unload(self, request: web.Request) -> web.Response:
        dependents = bool((await _parameters(request)).get("unload_dependents", False))
        name = request.match_info["model"]
        await asyncio.to_thread(self._store.control_unload, name, dependents)
        return _done()

    # -- inference

    async def _infer(self, request: web.Request) -> web.StreamResponse:
        body = _decompressed(await request.read(), request.headers.get("Content-Encoding", ""))
        model = self._model(request)
        if model.decoupled:
            raise InferenceFailed(inference.DECOUPLED["http"], "UNSUPPORTED")
        asked = json_requests.read(body, _header_length(request, len(body)), model.config)
        future = inference.submit(model, asked.request, protocol="http")
        responses = await asyncio.wrap_future(future)
        await self._waits(responses[-1], model)
        response = inference.one_response(responses, model.name)
        answer = self._answer(response, asked, model)
        if {"gzip", "deflate"} & {word.strip() for word in request.headers.get("Accept-Encoding", "").split(",")}:
            answer.enable_compression()
        return answer

    async def _generate(self, request: web.Request) -> web.Response:
        model = self._model(request)
        wire = generate.read(await request.read(), model.config)
        answers = [response async for response in inference.stream_async(model, wire)]
        answers = [response for response in answers if response.outputs or response.error or response.fault]
        if len(answers) != 1:
            return _error(generate.NOT_ONE, 200)
        await self._waits(answers[0], model)
        response = inference.one_response(answers, model.name)
        body = generate.write(response, wire.request_id, model.name, model.version)
        return web.Response(body=body, content_type="application/json")

    async def _generate_stream(self, request: web.Request) -> web.StreamResponse:
        model = self._model(request)
        wire = generate.read(await request.read(), model.config)
        events = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        async for response in inference.stream_async(model, wire):
            if not events.prepared:  # a request that is refused has another status
                await events.prepare(request)
            await self._waits(response, model)
            failure = inference.failure_of(response, model.name)
            if failure is not None:
                await events.write(b"data: " + rapid_json.dumps({"error": failure.message}) + b"\n\n")
            elif response.outputs or not model.decoupled:
                body = generate.write(response, wire.request_id, model.name, model.version)
                await events.write(b"data: " + body + b"\n\n")
        return events

    async def _waits(self, response: WireResponse, model: LoadedModel) -> None:
        """Keep the client waiting, as on the server, where the answer is that there is none."""
        failure = inference.failure_of(response, model.name)
        if isinstance(failure, NeverAnswered) and self._store.machine.clients_wait:
            self._store.log.server("WARNING", failure.message)
            await asyncio.Event().wait()

    def _answer(self, response: WireResponse, asked: JsonRequest, model: LoadedModel) -> web.Response:
        response = inference.classified(self._store, model, response, asked.classes)
        header, tails = json_responses.write(response, asked, model.name, model.version)
        if not tails:
            return web.Response(body=header, content_type="application/json")
        headers = {"Inference-Header-Content-Length": str(len(header))}
        return web.Response(body=b"".join([header, *tails]), content_type="application/octet-stream", headers=headers)


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
    body = json.dumps({"error": message}, ensure_ascii=False, separators=(",", ":"))
    return web.Response(body=body.encode("utf-8", "surrogateescape"), status=status, content_type=content_type)


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except ContractBroken as error:
        return _error(f"{error.message} ({error.finding.where})", error.status)
    except InferenceFailed as error:
        return _error(error.message, error.status)
    except RequestRefused as error:
        return _error(error.message, HTTP_STATUS[error.code])
    except web.HTTPNotFound:
        return _error("Not Found", 404, "text/plain")
    except web.HTTPMethodNotAllowed:
        return _error("Method Not Allowed", 405, "text/plain")
