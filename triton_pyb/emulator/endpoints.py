"""The ports of an emulated server: HTTP, gRPC and metrics, in one thread of their own."""

from __future__ import annotations

import asyncio
import threading

import grpc
from aiohttp import web
from tritonclient.grpc import service_pb2_grpc

from triton_pyb.emulator import metrics_page
from triton_pyb.emulator.grpc_service import GrpcService
from triton_pyb.emulator.http_service import HttpService
from triton_pyb.emulator.model_store import ModelStore

_UNLIMITED = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class Endpoints:
    """Opens the ports and serves until stopped.

    Parameters
    ----------
    http_port, grpc_port, metrics_port : int or None
        0 takes a free port, None opens none.

    Attributes
    ----------
    ports : dict
        ``"http"``, ``"grpc"``, ``"metrics"`` to the port that was opened.
    """

    def __init__(
        self,
        store: ModelStore,
        *,
        host: str = "127.0.0.1",
        http_port: int | None = 0,
        grpc_port: int | None = None,
        metrics_port: int | None = None,
        strict_readiness: bool = True,
    ) -> None:
        self._store, self._host, self._strict = store, host, strict_readiness
        self._wanted = {"http": http_port, "grpc": grpc_port, "metrics": metrics_port}
        self.ports: dict[str, int] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="endpoints", daemon=True)
        self._runners: list[web.AppRunner] = []
        self._grpc: grpc.aio.Server | None = None

    def start(self) -> None:
        """Open the ports; an OSError says which one is taken."""
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Close the ports; requests under way are dropped."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self) -> None:
        if self._wanted["http"] is not None:
            app = HttpService(self._store, self._strict).application()
            self.ports["http"] = await self._listen(app, self._wanted["http"])
        if self._wanted["metrics"] is not None:
            app = web.Application()
            app.router.add_get("/metrics", self._metrics)
            self.ports["metrics"] = await self._listen(app, self._wanted["metrics"])
        if self._wanted["grpc"] is not None:
            self._grpc = grpc.aio.server(options=_UNLIMITED)
            service = GrpcService(self._store, self._strict)
            service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(service, self._grpc)
            self.ports["grpc"] = self._grpc.add_insecure_port(f"{self._host}:{self._wanted['grpc']}")
            await self._grpc.start()

    async def _listen(self, app: web.Application, port: int) -> int:
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.5, auto_decompress=False, handler_cancellation=True
        )
        self._runners.append(runner)
        await runner.setup()
        site = web.TCPSite(runner, self._host, port)
        await site.start()
        opened: int = runner.addresses[0][1]
        return opened

    async def _metrics(self, request: web.Request) -> web.Response:
        return web.Response(text=metrics_page.render(self._store), content_type="text/plain")

    async def _close(self) -> None:
        if self._grpc is not None:
            await self._grpc.stop(0)
        for runner in self._runners:
            await runner.cleanup()
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
