"""``triton-pyb serve`` as a process of its own, ended as a person or a supervisor ends it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.test_run import APP
from tests.server.model_folders import config, write_echo, write_model
from triton_pyb.cli import main
from triton_pyb.server import InferenceFailed, TritonClient

pytestmark = pytest.mark.real_triton

FREE_PORTS = ["--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"]


def start(repository: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "triton_pyb.cli", "serve", str(repository), *FREE_PORTS, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "150", "PYTHONUNBUFFERED": "1"},
    )


def read_until(process: subprocess.Popen[str], pattern: str) -> str:
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if re.search(pattern, line):
            return text
    raise AssertionError(f"{pattern!r} never came:\n{text}")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_serves_until_it_is_stopped(tmp_path: Path, how: signal.Signals) -> None:
    write_echo(tmp_path)
    process = start(tmp_path)
    try:
        text = read_until(process, "ready  http")
        assert text.startswith("Triton 24.10 (nvidia-pytriton), Python ") or text.startswith("Triton at ")
        row = next(line for line in text.splitlines() if "echo" in line)
        assert [cell.strip() for cell in row.strip("│").split("│")] == [
            "echo", "1", "python", "X STRING [1]", "Y STRING [1]", "8",
        ]  # fmt: skip
        url = re.search(r"http://127\.0\.0\.1:\d+", text)
        assert url is not None
        assert TritonClient(url.group()).infer("echo", {"X": "x"})["Y"].tolist() == [[b"x"]]
    finally:
        process.send_signal(how)
        rest = process.communicate(timeout=30)[0]
    assert process.returncode == 0
    assert rest.split() == ["stopping", "stopped"]
    assert not TritonClient(url.group(), timeout_s=1).is_ready()


def test_ctrl_c_while_it_still_starts(tmp_path: Path) -> None:
    write_model(tmp_path, "m", config("X FP32 1", "Y FP32 1"), {"model.py": "import time\ntime.sleep(60)\n"})
    process = start(tmp_path, "-v")
    read_until(process, "loading: m:1")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=30)[0]
    assert process.returncode == 0 and rest.splitlines()[-1] == "stopped" and "stopping" in rest.splitlines()
    assert time.monotonic() - began < 10


def test_verbose_follows_the_log(tmp_path: Path) -> None:
    write_echo(tmp_path)
    process = start(tmp_path, "-v", "--", "--log-verbose=1")
    try:
        text = read_until(process, "ready  http")
        assert "successfully loaded 'echo'" in text
        url = re.search(r"ready  (\S+)", text)
        assert url is not None
        TritonClient(url.group(1)).infer("echo", {"X": "x"})
        read_until(process, "v2/models/echo/infer")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 0


DEEP = """
from triton_pyb import Annotated, Name, model


@model
def deep(x: str) -> Annotated[str, Name("y")]:
    print("looking for", x)
    return {"good": "found"}[x]
"""


@pytest.mark.parametrize("options", [(), ("-v",)])
def test_prints_and_tracebacks_are_shown(tmp_path: Path, options: tuple[str, ...]) -> None:
    """As they come, and the one right before the end too."""
    (tmp_path / "app.py").write_text(DEEP)
    process = start(tmp_path / "app.py", *options)
    try:
        url = re.search(r"ready  (\S+)", read_until(process, "ready  http"))
        assert url is not None
        with TritonClient(url.group(1)) as client:
            client.infer("deep", {"x": "good"})
            assert read_until(process, "looking for").endswith("looking for good\n")
            with pytest.raises(InferenceFailed):
                client.infer("deep", {"x": "hi"})
    finally:
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=30)[0]
    lines = rest.splitlines()
    for line in (
        "looking for hi",
        "Traceback (most recent call last):",
        f'  File "{tmp_path}/app.py", line 8, in deep',
    ):
        assert line in lines, rest
    assert "KeyError: 'hi'" in lines and lines[-1] == "stopped"
    assert process.returncode == 0
    assert options or lines.count("stopping") == 1  # the last lines of the server's log may come after it


def test_a_pipeline_is_built_first(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    process = start(tmp_path / "app.py")
    try:
        url = re.search(r"ready  (\S+)", read_until(process, "ready  http"))
        assert url is not None
        assert TritonClient(url.group(1)).infer("double", {"x": [1, 2.5]})["doubled"].tolist() == [[2, 5]]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_what_is_no_target_is_a_usage_error(tmp_path: Path) -> None:
    answer = CliRunner().invoke(main, ["serve", str(tmp_path / "nowhere"), *FREE_PORTS])
    assert answer.exit_code == 2
    assert answer.stderr.startswith(f"TPB708 '{tmp_path}/nowhere' is no folder, and not app.py:pipeline\n")


def test_a_model_that_does_not_load_is_exit_status_1(tmp_path: Path) -> None:
    write_model(tmp_path, "m", config("X FP32 1", "Y FP32 1"), {"model.py": "raise ValueError('bad')\n"})
    answer = CliRunner().invoke(main, ["serve", str(tmp_path), *FREE_PORTS])
    assert answer.exit_code == 1
    lines = answer.stderr.splitlines()
    assert lines[0] == "TPB602 model 'm' does not load: Internal: ValueError: bad"
    assert "  log:   failed to load 'm' version 1: Internal: ValueError: bad" in lines


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    write_echo(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        answer = CliRunner().invoke(main, ["serve", str(tmp_path), *FREE_PORTS, "--http-port", str(port)])
    assert answer.exit_code == 1
    assert answer.stderr.startswith(f"TPB608 the http port {port} is not free: Address already in use\n")
