"""Arguments that end in a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.applications import pipeline_text, write
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.targets import EmulatorMisused
from triton_pyb.repository.build import build


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("broken")
    write(folder, {"app.py": pipeline_text()})
    build(f"{folder}/app.py:pipeline", folder / "models")
    return folder / "models"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "MODELS", "--input", "x=1", "--python", "/no/such/python"],
        ["emulate", "MODELS", "--http-port", "99999"],
        ["serve", "MODELS", "--http-port", "99999"],
        ["serve", "MODELS", "--python", "/bin/true"],
    ],
    ids=lambda arguments: " ".join(arguments[:1] + arguments[-2:]),
)
def test_no_traceback(models: Path, arguments: list[str]) -> None:
    command = [str(models) if word == "MODELS" else word for word in arguments]
    ended = subprocess.run(
        [sys.executable, "-m", "triton_pyb.cli", *command], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode in (1, 2)
    assert "Traceback" not in ended.stderr


def test_a_python_that_is_none(models: Path) -> None:
    with pytest.raises(EmulatorMisused) as caught:
        EmulatedTriton(models, python="/no/such/python")
    assert caught.value.code == "TPB576" and "'/no/such/python' is no program" in caught.value.what
    assert caught.value.fix == "give the path of a python executable"


def test_a_closed_standard_input_is_an_error_with_a_code(models: Path) -> None:
    command = f"exec '{sys.executable}' -m triton_pyb.cli run '{models}' --input x=@- <&-"
    ended = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
