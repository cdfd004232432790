"""The published list of differences is the list of the tests."""

from __future__ import annotations

from pathlib import Path

from tests.emulator import test_model_probes, test_recorded_loads, test_recorded_requests
from triton_pyb.emulator.contract import CHECKS

DOCS = (Path(__file__).parents[2] / "docs" / "emulator.md").read_text()


def test_every_difference_is_published() -> None:
    tests = (test_model_probes, test_recorded_loads, test_recorded_requests)
    reasons = {reason for test in tests for reason in test.KNOWN_DIFFERENCES.values()}
    published = DOCS.partition("## Known differences")[2].partition("Not there at all")[0]
    assert reasons == {line[2:] for line in published.splitlines() if line.startswith("- ")}


def test_every_check_is_named() -> None:
    assert not [check for check in CHECKS if f"`{check}`" not in DOCS]
