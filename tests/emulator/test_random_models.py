"""A seeded sample of ``scripts/check_random_models.py``: random models, the same answers on both servers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_random_models.py"


@pytest.mark.real_triton
def test_random_models_answer_alike(capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("check_random_models", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.compare(models=10, requests=12, seed=7) == 0, capsys.readouterr().out
    assert "10 models, 120 requests (" in capsys.readouterr().out
