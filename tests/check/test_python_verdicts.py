"""model.py in many shapes: the checker's verdict is the one that a real Triton gave."""

from __future__ import annotations

from pathlib import Path

from tests.check.python_variants import REFUSED, VARIANTS
from tests.check.variants import write
from triton_pyb.check import check


def test_verdicts(tmp_path: Path) -> None:
    for files in VARIANTS.values():
        write(files, tmp_path)
    errors = {finding.model for finding in check(tmp_path) if finding.severity == "error"}
    assert sorted(errors - REFUSED) == []
    assert sorted(REFUSED - errors) == []
