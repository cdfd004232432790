"""A verified fake of Triton: `triton_python_backend_utils`, the stub process, schedulers and ensembles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from triton_pyb.emulator.errors import ContractBroken, InferenceFailed, LoadFailed, NeverAnswered
    from triton_pyb.emulator.triton import EmulatedTriton

__all__ = ["ContractBroken", "EmulatedTriton", "InferenceFailed", "LoadFailed", "NeverAnswered"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: the pytest plugin imports this package in every test session.
    if name == "EmulatedTriton":
        from triton_pyb.emulator.triton import EmulatedTriton

        return EmulatedTriton
    if name in __all__:
        from triton_pyb.emulator import errors

        return getattr(errors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
