"""The offline checker: every fault that a real Triton reports on loading, hangs on, dies of, or hides.

`check` is the whole of it for programs; rules live in `rules`, one small class each; `report` renders findings.
"""

from __future__ import annotations

from triton_pyb.check.finding import Finding, Place
from triton_pyb.check.rule import Rule
from triton_pyb.check.runner import check
from triton_pyb.check.target import Target, TargetError

__all__ = ["Finding", "Place", "Rule", "Target", "TargetError", "check"]
