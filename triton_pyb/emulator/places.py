"""Where the models of a test run: in the emulator, or in what a floor above this one knows to start.

The entry point group ``triton_pyb.servers`` names classes that are called with the value of ``--triton`` and a
function that skips a test, and give a `Place`: ``real`` for ``--triton=real``, ``url`` for an address.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, NoReturn, Protocol

from triton_pyb.emulator import log
from triton_pyb.emulator.errors import ContractBroken
from triton_pyb.emulator.targets import EmulatorMisused
from triton_pyb.emulator.triton import EmulatedTriton
from triton_pyb.runtime.errors import TritonPybError, did_you_mean

_TOO_LATE = "Unable to send response. Response sender has been closed."

#: A test whose model does not return from `execute` for so long fails, instead of never ending.
_HANGS_AFTER_S = 60.0

#: Called with a reason; does not return.
Skip = Callable[[str], NoReturn]


class Place(Protocol):
    """Something that serves the models of one test after the other."""

    def load(self, target: Any, options: dict[str, Any]) -> Any:
        """What serves `target`, with the methods of `EmulatedTriton`; the options are its keywords."""

    def unload(self, server: Any) -> None:
        """Take what `load` gave out of service."""

    def log_of(self, server: Any) -> str:
        """What was logged since `load` gave it, for people to read; also after `unload`."""

    def close(self) -> None:
        """The session is over."""


class Emulator:
    """An `EmulatedTriton` for each `load`."""

    def load(self, target: Any, options: dict[str, Any]) -> EmulatedTriton:
        __tracebackhide__ = True
        server = EmulatedTriton(target, **{"execute_timeout_s": _HANGS_AFTER_S, **options})
        server.start()
        return server

    def unload(self, server: EmulatedTriton) -> None:
        """Stop the server.

        Raises
        ------
        ContractBroken
            In strict mode, when a model sent a response after the final flag: no client has heard of it.
        """
        server.stop()
        machine = server.store.machine
        if machine.mode != "strict" or "leaked" in machine.strict_off:
            return
        for record in server.log:
            if _TOO_LATE in record.message:
                finding = TritonPybError(
                    "TPB569",
                    f"a response came after the final flag: {record.message.strip()}",
                    "the log of the emulated server",
                    "send the final flag last, or leave this check out with strict_off=['leaked']",
                )
                raise ContractBroken("leaked", finding)

    def log_of(self, server: EmulatedTriton) -> str:
        return log.readable(server.log)

    def close(self) -> None:
        return None


def refuse_unknown(options: dict[str, Any]) -> None:
    """EmulatorMisused for an option of a test that `EmulatedTriton` does not have."""
    known = [name for name in inspect.signature(EmulatedTriton).parameters if name != "target"]
    for name in options:
        if name not in known:
            raise EmulatorMisused(
                "TPB584",
                f"'{name}' is no option of EmulatedTriton{did_you_mean(name, known)}",
                "triton.load or @pytest.mark.triton",
                f"use one of {', '.join(known)}",
            )


def find_place(where: str, skip: Skip) -> Place:
    """The place that ``--triton=where`` means.

    Raises
    ------
    EmulatorMisused
        When nothing is installed that knows real servers.
    """
    if where == "emulated":
        return Emulator()
    for point in entry_points(group="triton_pyb.servers", name="url" if "://" in where else where):
        place: Place = point.load()(where, skip)
        return place
    raise EmulatorMisused(
        "TPB577",
        f"nothing here can run models on '{where}'",
        "--triton",
        "install triton_pyb with pip, or leave --triton out: the emulator needs nothing else",
    )
