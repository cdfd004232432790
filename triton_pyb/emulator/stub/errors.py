"""The two exceptions of the stub: the one models see, and the one that tells of a dead or hanging server."""

from __future__ import annotations

from typing import Any

from .messages import WireFault

MODULE = "c_python_backend_utils"

# Built by hand: a class statement would show our module, and a docstring where the real one has none.
TritonModelException: Any = type("TritonModelException", (Exception,), {"__module__": MODULE, "__doc__": None})


class EmulatorError(Exception):
    """What the model just did kills or hangs a real server.

    Raised where the model did it, and kept by the stub: a model that swallows it has still killed the server.
    The arguments are those of `TritonPybError`, which the server half raises in its place.
    """

    def __init__(self, code: str, what: str, where: str, fix: str) -> None:
        super().__init__(code, what, where, fix)
        self.code, self.what, self.where, self.fix = code, what, where, fix

    def __str__(self) -> str:
        return f"{self.code} {self.what}\n  where: {self.where}\n  fix:   {self.fix}"

    def fault(self) -> WireFault:
        return WireFault(self.code, self.what, self.where, self.fix)


class HostError(Exception):
    """The server half refused something, in the server's words (which TritonModelException will carry)."""
