"""What never travels: caches and editor litter make a polling server reload for nothing."""

from __future__ import annotations

from pathlib import PurePath

LITTER = ("__pycache__", ".ipynb_checkpoints", ".git", ".DS_Store", ".mypy_cache", ".pytest_cache", ".ruff_cache")


def is_litter(path: PurePath) -> bool:
    """Whether any part of a relative path is litter."""
    return any(part in LITTER or part.endswith((".pyc", ".pyo", ".swp", "~")) for part in path.parts)
