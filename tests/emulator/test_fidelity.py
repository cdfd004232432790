"""docs/fidelity.md says what the tests say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.emulator import test_model_probes, test_probes, test_recorded_loads, test_recorded_requests

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """``scripts/generate_fidelity.py``, imported by path."""
    spec = importlib.util.spec_from_file_location("generate_fidelity", ROOT / "scripts/generate_fidelity.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(generator: ModuleType) -> None:
    text = generator.page()
    assert (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8") == text, "run scripts/generate_fidelity.py"
    assert len(text.splitlines()) <= 400


def test_every_strict_xfail_is_a_gap(generator: ModuleType) -> None:
    gaps = generator._gaps()
    for module in (test_model_probes, test_recorded_loads, test_recorded_requests):
        for name, reason in module.KNOWN_DIFFERENCES.items():
            assert f"- `{name}` ({module.__name__.rpartition('.')[2]}): {reason}\n" in gaps
    ways = {parameter.values[0] for parameter in test_probes._cases() if parameter.marks}
    assert ways <= {"inline"}, "probes that differ as packaged models run belong on the page"
