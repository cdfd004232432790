"""`triton_python_backend_utils` without a server: the stand-in for unit tests of plain model code.

    import sys, triton_pyb.emulator.pb_utils as pb_utils
    sys.modules["triton_python_backend_utils"] = pb_utils

Every name of the release 24.10 is here. While a model runs inline, the names are those of that model, so that
its objects and the code under test mean the same classes. Without a server BLS answers "not ready", model
control is refused, metrics count for nobody, and log lines go to stderr.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from . import current
from .desk import DirectLink
from .messages import WireError, WireRequest, WireResponse
from .registry import MetricsRegistry
from .stub import surface
from .stub.logger import server_line
from .stub.stub import Stub


class _NoServer:
    """The host of code that runs outside any server."""

    metrics = MetricsRegistry()

    def infer(self, request: WireRequest, decoupled: bool) -> Iterator[WireResponse]:
        text = f"Failed for execute the inference request. Model '{request.model_name}' is not ready."
        yield WireResponse(error=WireError("INTERNAL", text, "request"))

    def load_model(self, name: str, config: str, files: Any) -> str:
        return f"failed to load '{name}', failed to poll from model repository"

    def unload_model(self, name: str, unload_dependents: bool) -> None:
        return None

    def is_model_ready(self, name: str, version: str) -> bool:
        return False

    def log(self, level: str, file: str, line: int, message: str) -> None:
        sys.stderr.write(server_line(level, file, line, message, os.getpid()) + "\n")


def _detached() -> ModuleType:
    version_dir = os.path.join(tempfile.gettempdir(), "no_model", "1")
    stub = Stub(DirectLink(_NoServer()), "24.10", "no_server_0_0", version_dir, decoupled=False)
    stub.phase = "execute"
    module = surface.load_python_module(stub)
    c_module = surface.build_c_module(stub)
    surface.add_c_names(c_module, module)
    surface.add_get_model_dir(stub, module)
    return module


_without_server = _detached()


def _names() -> ModuleType:
    try:
        return current.current().pb_utils
    except ImportError:
        return _without_server


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_names(), name)


def __dir__() -> list[str]:
    return dir(_names())
