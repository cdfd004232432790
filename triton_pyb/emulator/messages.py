"""The data that the server half and the stub half of the emulator exchange (see `stub.messages`)."""

from __future__ import annotations

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
    "WireError",
    "WireFault",
    "WireRequest",
    "WireResponse",
    "WireTensor",
    "altered",
    "unhealthy",
    "wire_tensor",
]
