"""Malformed input of any kind ends in findings (``scripts/fuzz_check.py`` runs 20,000 of these)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.fuzzing import one_input


@pytest.mark.parametrize("start", range(1000, 1200, 20))
def test_malformed_repositories(start: int, tmp_path: Path) -> None:
    for seed in range(start, start + 20):
        one_input(seed, tmp_path / str(seed))
