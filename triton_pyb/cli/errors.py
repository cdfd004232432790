"""What was typed cannot be used."""

from __future__ import annotations

from triton_pyb.runtime.errors import TritonPybError


class UsageError(TritonPybError):
    """An argument is wrong: exit status 2, where every other error of ours exits with 1."""
