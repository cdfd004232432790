"""``triton-pyb emulate``: a server that tritonclient and tritonserver's users know."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.emulator.models import tensors, write
from triton_pyb.cli import main

IO = "max_batch_size: 4\n" + tensors(("input", "IN", "FP32", [2]), ("output", "OUT", "FP32", [2]))
COMMAND = [sys.executable, "-c", "from triton_pyb.cli import main; main()", "emulate"]


class Emulating:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.log = process, ""
        self.ports: dict[str, int] = {}

    def await_ready(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log += line
            found = re.search(r'"Started (HTTP|GRPC|Metrics).* at 127\.0\.0\.1:(\d+)"', line)
            if found:
                self.ports[found[1]] = int(found[2])
            if len(self.ports) == 3:
                return
        raise AssertionError(self.log)

    def get(self, path: str, kind: str = "HTTP") -> bytes:
        url = f"http://127.0.0.1:{self.ports[kind]}{path}"
        answer: bytes = urllib.request.urlopen(url, timeout=10).read()
        return answer


@contextmanager
def emulating(*arguments: str) -> Iterator[Emulating]:
    free = [f"--{kind}-port=0" for kind in ("http", "grpc", "metrics")]
    process = subprocess.Popen([*COMMAND, *free, *arguments], stderr=subprocess.PIPE, text=True)
    server = Emulating(process)
    try:
        server.await_ready()
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        server.log += process.stderr.read()
        process.wait(30)
        process.stderr.close()


def test_it_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    write(tmp_path, "m", IO)
    arguments = ("--log-verbose", "1", "--backend-config=python,shm-default-byte-size=1", "--strict-readiness=false")
    with emulating(str(tmp_path), *arguments) as server:
        assert json.loads(server.get("/v2/models/m"))["platform"] == "python"
        assert b"nv_inference_count" in server.get("/metrics", "Metrics")
    assert server.process.returncode == 0
    assert re.search(r'^I\d{4} \S+ \d+ model_store\.py:\d+\] "successfully loaded \'m\' version 1"$', server.log, re.M)
    assert "does not take --backend-config: it has no effect here" in server.log


def test_explicit_control(tmp_path: Path) -> None:
    write(tmp_path, "a", IO)
    write(tmp_path, "b", IO)
    flags = ("--model-control-mode=explicit", "--load-model=b", f"--model-repository={tmp_path}")
    with emulating(*flags) as server:
        assert server.get("/v2/models/b/ready") == b""
        with pytest.raises(urllib.error.HTTPError):
            server.get("/v2/models/a/ready")


def test_it_follows_the_folders_in_poll_mode(tmp_path: Path) -> None:
    write(tmp_path / "repository", "a", IO)
    flags = ("--model-control-mode=poll", "--repository-poll-secs=0.1", "--strict-readiness=false")
    with emulating(str(tmp_path / "repository"), *flags) as server:
        write(tmp_path / "staging", "b", IO).rename(tmp_path / "repository" / "b")  # whole, by one rename
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                assert server.get("/v2/models/b/ready") == b""
                return
            except urllib.error.HTTPError:
                time.sleep(0.1)
    raise AssertionError(server.log)


def test_a_model_that_does_not_load_ends_it(tmp_path: Path) -> None:
    write(tmp_path, "m", IO, "raise ValueError('broken')")
    result = subprocess.run([*COMMAND, str(tmp_path)], capture_output=True, text=True)
    assert result.returncode == 1
    assert "ValueError: broken" in result.stderr
    with emulating(str(tmp_path), "--exit-on-error=false", "--strict-readiness=false") as server:
        assert server.get("/v2/health/ready") == b""


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ([], "TPB720", "no model repository was given"),
        (["--backend-directry=x"], "TPB721", "got '--backend-directry=x'; did you mean '--backend-directory'?"),
        (["stray"], "TPB721", "got 'stray'"),
    ],
)
def test_misuse(arguments: list[str], code: str, text: str, tmp_path: Path) -> None:
    repository = [] if code == "TPB720" else [str(tmp_path)]
    result = CliRunner().invoke(main, ["emulate", *repository, *arguments])
    assert result.exit_code == 2
    assert code in result.output and text in result.output
