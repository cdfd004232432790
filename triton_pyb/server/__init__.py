"""A real Triton: find it, start it on a model repository, talk to it, stop it."""

from __future__ import annotations

from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.server.client import TritonClient
from triton_pyb.server.errors import ServerError, ServerFailed, ServerNotFound
from triton_pyb.server.installation import Installation, find_installation
from triton_pyb.server.interpreter import Interpreter, describe_interpreter
from triton_pyb.server.real_triton import RealTriton

__all__ = [
    "InferenceFailed",
    "Installation",
    "Interpreter",
    "RealTriton",
    "ServerError",
    "ServerFailed",
    "ServerNotFound",
    "TritonClient",
    "describe_interpreter",
    "find_installation",
]
