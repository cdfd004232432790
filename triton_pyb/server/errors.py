"""Errors of this floor; what a server answers to a request is `InferenceFailed` of the emulator's floor."""

from __future__ import annotations

from triton_pyb.runtime.errors import TritonPybError


class ServerError(TritonPybError):
    """A Triton could not be found, started or talked to."""


class ServerNotFound(ServerError):
    """There is no Triton on this machine, or not one for the wanted Python."""


class ServerFailed(ServerError):
    """A Triton did not become ready, or died.

    Attributes
    ----------
    log : str
        The lines of the server's log that tell why, verbatim.
    """

    def __init__(self, code: str, what: str, where: str, fix: str, *, log: str = "") -> None:
        super().__init__(code, what, where, fix)
        self.log = log

    def __str__(self) -> str:
        quoted = "".join(f"\n  log:   {line}" for line in self.log.splitlines())
        return super().__str__() + quoted
