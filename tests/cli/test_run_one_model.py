"""``triton-pyb run`` on the folder of one model: its neighbours need not load."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_run import ensemble, invoke
from tests.server.model_folders import config, write_model


@pytest.mark.parametrize("place", ["emulator", pytest.param("triton", marks=pytest.mark.real_triton)])
@pytest.mark.parametrize("name", ["first", "both"])
def test_the_folder_of_one_model(name: str, place: str, tmp_path: Path) -> None:
    ensemble(tmp_path)
    write_model(tmp_path, "broken", config("X STRING 1", "Y STRING 1"), {"model.py": "def ("})
    answer = invoke(tmp_path / name, "-i", "X=hello", "--json", "--on", place)
    assert answer.exit_code == 0, answer.output
    assert f'"model": "{name}"' in answer.output and '"data": ["hello"]' in answer.output


def test_another_model_is_not_there(tmp_path: Path) -> None:
    ensemble(tmp_path)
    answer = invoke(tmp_path / "first", "-m", "second", "-i", "X=a")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("TPB709 there is no model 'second'")
    assert "use one of: first\n" in answer.stderr
