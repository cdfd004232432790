"""The offline checker: every fault that a real Triton reports on loading, hangs on, dies of, or hides.

`check` is the whole of it for programs; rules live in `rules`, one small class each; `report` renders findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from triton_pyb.check.finding import Finding, Place
    from triton_pyb.check.rule import Rule
    from triton_pyb.check.runner import check
    from triton_pyb.check.target import Target, TargetError

__all__ = ["Finding", "Place", "Rule", "Target", "TargetError", "check"]

_HOMES = {
    "Finding": "finding",
    "Place": "finding",
    "Rule": "rule",
    "check": "runner",
    "Target": "target",
    "TargetError": "target",
}


def __getattr__(name: str) -> Any:
    # Loaded on first use: the pytest plugin imports this package in every test session.
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
