"""Arguments that end in a traceback."""

from __future__ import annotations

import os
import socket
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


def ended(command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    cli = f"'{sys.executable}' -m triton_pyb.cli"
    return subprocess.run(
        ["/bin/bash", "-c", command.replace("CLI", cli)],
        cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("command", ["CLI --help", "CLI inspect models", "CLI inspect models --json"])
def test_a_full_disk_below_the_output(models: Path, command: str) -> None:
    done = ended(command + " > /dev/full", models.parent)
    assert done.returncode == 1
    assert done.stderr == "the output cannot be written: No space left on device\n"


def test_a_reader_that_went_away(models: Path) -> None:
    done = ended("(sleep 0.5; CLI inspect models) | true", models.parent)
    assert done.stderr == ""


def test_letters_that_the_terminal_lacks(models: Path) -> None:
    done = ended("CLI build app.py:pipeline again", models.parent, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "\\u2502 x FP32" in done.stdout


def test_ctrl_c_is_no_traceback(models: Path, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n")
    done = ended("CLI build app.py models", tmp_path)
    assert (done.returncode, done.stderr) == (130, "")


def test_an_empty_name_of_a_repository(models: Path) -> None:
    done = ended("CLI build app.py:pipeline ''", models.parent)
    assert done.returncode == 1 and done.stderr.startswith("TPB437 the repository has no name\n")


def test_no_folder_to_emulate(tmp_path: Path) -> None:
    done = ended("CLI emulate nosuch", tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("TPB722 there is no folder 'nosuch'\n")


@pytest.mark.parametrize("kind", ["http", "grpc", "metrics"])
def test_a_port_in_use_names_the_option(models: Path, kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        free = " ".join(f"--{other}-port 0" for other in ("http", "grpc", "metrics"))
        done = ended(f"CLI emulate models {free} --{kind}-port {port}", models.parent)
    assert done.returncode == 1
    assert done.stderr.startswith(f"TPB608 the {kind} port {port} is not free: Address already in use\n")
    assert f"--{kind}-port" in done.stderr
