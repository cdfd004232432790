"""The data that the server half and the stub half of the emulator exchange (see `stub.messages`)."""

from __future__ import annotations

from typing import Any

from .stub.messages import (
    DATATYPES,
    FINAL,
    RESCHEDULE,
    Origin,
    WireError,
    WireFault,
    WireRequest,
    WireResponse,
    WireTensor,
    altered,
    unhealthy,
    wire_tensor,
)

__all__ = [
    "DATATYPES",
    "FINAL",
    "RESCHEDULE",
    "Origin",
    "RepeatedParameters",
    "WireError",
    "WireFault",
    "WireRequest",
    "WireResponse",
    "WireTensor",
    "altered",
    "unhealthy",
    "wire_tensor",
]


class RepeatedParameters(dict[str, Any]):
    """Response parameters that were added several times; the JSON over HTTP has them as often.

    Attributes
    ----------
    times : int
    """

    def __init__(self, parameters: dict[str, Any], times: int) -> None:
        super().__init__(parameters)
        self.times = times
