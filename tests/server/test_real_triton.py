"""The life of a server: start, faults at the start, death, stop."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from triton_pyb.server import RealTriton, ServerError, ServerFailed, find_installation
from triton_pyb.server.layout import make_backends, make_environment
from triton_pyb.server.ports import HOST

from .model_folders import ECHO, config, write_echo, write_model

real = pytest.mark.real_triton

CONFIG = config("X FP32 1", "Y FP32 1", max_batch_size=0)


def initialize(statement: str) -> str:
    return f"class TritonPythonModel:\n    def initialize(self, args):\n        {statement}\n"


def shared_memory() -> set[str]:
    return {name for name in os.listdir("/dev/shm") if name.startswith(f"triton_pyb_{os.getpid()}_")}


def test_a_missing_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServerError) as refusal:
        RealTriton(tmp_path / "models").start()
    assert refusal.value.code == "TPB610"
    assert refusal.value.what == f"there is no folder '{tmp_path / 'models'}'"


def test_what_needs_a_running_server_says_so(tmp_path: Path) -> None:
    server = RealTriton(tmp_path)
    with pytest.raises(ServerError) as refusal:
        server.infer("echo", {"X": 1})
    assert (refusal.value.code, refusal.value.what) == ("TPB614", "this server does not run")
    with pytest.raises(ServerError) as no_log:
        print(server.log_path)
    assert (no_log.value.code, no_log.value.what) == ("TPB611", "this server does not run: it has no log file")
    assert server.log == "" and not server.running
    server.stop()


@real
class TestLife:
    def test_from_start_to_stop(self, tmp_path: Path) -> None:
        write_echo(tmp_path)
        doing: list[str] = []
        before = shared_memory()
        server = RealTriton(tmp_path).start(doing.append)
        try:
            pid = server.pid
            assert pid is not None and server.running
            assert "starting" in doing and "loading echo" in doing
            assert server.infer("echo", {"X": "hello"})["Y"].tolist() == [[b"hello"]]
            assert server.model_config("echo")["max_batch_size"] == 8
            assert server.repository_index() == [{"name": "echo", "version": "1", "state": "READY"}]
            assert len(shared_memory()) > len(before)
            with pytest.raises(ServerError) as refusal:
                server.start()
            assert (refusal.value.code, refusal.value.what) == ("TPB609", "this server runs already")
        finally:
            began = time.monotonic()
            server.stop()
        assert time.monotonic() - began < 10
        assert not server.running and shared_memory() == before
        assert "successfully loaded 'echo'" in server.log  # kept after the end
        with pytest.raises(ProcessLookupError):
            os.killpg(pid, 0)  # neither the server nor a stub is left

    def test_poll_mode_and_extra_arguments(self, tmp_path: Path) -> None:
        write_echo(tmp_path, "first")
        with RealTriton(tmp_path, model_control_mode="poll", extra_args=["--repository-poll-secs=1"]) as server:
            write_echo(tmp_path, "second")
            deadline = time.monotonic() + 20
            while "second" not in {m["name"] for m in server.repository_index() if m.get("state") == "READY"}:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            assert server.infer("second", {"X": "x"})["Y"].tolist() == [[b"x"]]

    def test_a_port_in_use_is_an_error_before_the_start(self, tmp_path: Path) -> None:
        with socket.create_server((HOST, 0)) as listener:
            port = listener.getsockname()[1]
            with pytest.raises(ServerError, match=f"the http port {port} is not free") as refusal:
                RealTriton(tmp_path, http_port=port).start()
        assert refusal.value.code == "TPB608"

    @pytest.mark.parametrize(
        ("text", "files", "code", "what", "quoted"),
        [
            (
                CONFIG + "max_batch_siz: 3",
                {"model.py": ECHO},
                "TPB602",
                "model 'm' does not load: failed to read text proto from {repository}/m/config.pbtxt",
                'has no field named "max_batch_siz"',
            ),
            (
                CONFIG,
                {"model.py": initialize("raise ValueError('나쁜 값')")},
                "TPB602",
                "model 'm' does not load: Internal: ValueError: 나쁜 값",
                "m/1/model.py(3): initialize",
            ),
            (
                CONFIG,
                {"weights.bin": ""},
                "TPB620",
                "model 'm' has no file 1/model.py; Triton would wait for it without end",
                "Python model file not found in '{repository}/m/1/model.py'",
            ),
            (
                CONFIG,
                {"model.py": initialize("import time; time.sleep(60)")},
                "TPB619",
                "the server was not ready after 6 s; still loading: m",
                "loading: m:1",
            ),
        ],
        ids=["poll stage", "initialize raises", "no model.py: hangs for ever", "slow"],
    )
    def test_a_model_that_does_not_load_is_named_with_its_own_lines(
        self, tmp_path: Path, text: str, files: dict[str, str | bytes], code: str, what: str, quoted: str
    ) -> None:
        write_echo(tmp_path, "good")
        write_model(tmp_path, "m", text, files)
        before = shared_memory()
        with pytest.raises(ServerFailed) as failure:
            RealTriton(tmp_path, timeout_s=6).start()
        assert failure.value.code == code
        assert failure.value.what == what.format(repository=tmp_path)
        assert quoted.format(repository=tmp_path) in failure.value.log
        assert quoted.format(repository=tmp_path) in str(failure.value)
        assert "pinned" not in failure.value.log and "Cuda" not in failure.value.log
        assert shared_memory() == before

    def test_a_server_that_dies_says_so_at_the_next_call(self, tmp_path: Path) -> None:
        write_echo(tmp_path)
        with RealTriton(tmp_path) as server:
            assert server.pid is not None
            os.kill(server.pid, signal.SIGKILL)  # ours: it plays the crash
            with pytest.raises(ServerFailed) as failure:
                server.infer("echo", {"X": "x"})
            assert (failure.value.code, failure.value.what) == ("TPB613", "the server died: killed by SIGKILL")
            *quoted, last = failure.value.log.splitlines()
            kept = Path(last.removeprefix("all of it: "))
            assert 0 < len(quoted) <= 20 and kept.read_text() == server.log
            kept.unlink()
            with pytest.raises(ServerFailed, match="the server died"):
                server.raise_if_dead()
        assert not [name for name in shared_memory() if name.startswith(server.shm_prefix)]


@real
class TestExplicit:
    def test_load_reload_and_unload(self, explicit_server: RealTriton) -> None:
        write_echo(explicit_server.repository, "comes_and_goes")
        explicit_server.load_model("comes_and_goes")
        assert explicit_server.infer("comes_and_goes", {"X": "x"})["Y"].tolist() == [[b"x"]]
        explicit_server.load_model("comes_and_goes")
        explicit_server.unload_model("comes_and_goes")
        states = {entry["name"]: entry.get("state") for entry in explicit_server.repository_index()}
        assert states["comes_and_goes"] == "UNAVAILABLE"

    @pytest.mark.parametrize(
        ("name", "text", "source", "cause", "quoted"),
        [
            ("raises", CONFIG, initialize("raise ValueError('bad')"), "Internal: ValueError: bad", "(3): initialize"),
            ("unread", CONFIG + "oops: 1", ECHO, "failed to read text proto", 'has no field named "oops"'),
        ],
    )
    def test_a_load_that_fails_has_the_words_of_the_log(
        self, explicit_server: RealTriton, name: str, text: str, source: str, cause: str, quoted: str
    ) -> None:
        write_model(explicit_server.repository, name, text, {"model.py": source})
        with pytest.raises(ServerFailed) as failure:
            explicit_server.load_model(name)
        assert failure.value.code == "TPB612"
        assert failure.value.what.startswith(f"model '{name}' did not load: {cause}")
        assert quoted in failure.value.log


STARTS_AND_STAYS = """
import sys, time
from triton_pyb.server import RealTriton
server = RealTriton(sys.argv[1]).start()
print(server.pid, server.shm_prefix, server.log_path.parent, flush=True)
time.sleep(60)
"""


@real
def test_a_server_does_not_outlive_a_process_that_is_killed(tmp_path: Path) -> None:
    write_echo(tmp_path)
    command = [sys.executable, "-c", STARTS_AND_STAYS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid, prefix, folder = owner.stdout.readline().split()
        assert Path("/proc", pid).exists() and list(Path("/dev/shm").glob(prefix + "*"))
        owner.kill()
    deadline = time.monotonic() + 20
    while Path(folder).exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert not Path("/proc", pid, "exe").exists()  # gone, or a zombie that nobody reaps
    assert not list(Path("/dev/shm").glob(prefix + "*"))


@real
def test_a_load_that_hangs_ends_with_the_reason(tmp_path: Path) -> None:
    write_model(tmp_path, "hangs", CONFIG, {"weights.bin": ""})
    with RealTriton(tmp_path, model_control_mode="explicit", timeout_s=4) as server:
        with pytest.raises(ServerFailed) as failure:
            server.load_model("hangs")
        assert failure.value.code == "TPB612"
        assert failure.value.what == "model 'hangs' did not load: no answer within 4 s"
        assert "Python model file not found in" in failure.value.log


@real
def test_a_native_server_runs_with_its_own_backends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, interpreter = find_installation()
    if found.kind == "wheel":  # play a native one: its binary on PATH, its backends beside it
        assert interpreter is not None
        backends = make_backends(found, interpreter, tmp_path)
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "tritonserver").write_text(f'#!/bin/sh\nexec {found.binary} "$@"\n')
        (tmp_path / "bin" / "tritonserver").chmod(0o755)
        libraries = make_environment(found, interpreter, tmp_path)["LD_LIBRARY_PATH"]
        monkeypatch.setenv("LD_LIBRARY_PATH", libraries)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{interpreter.executable.parent}:{os.environ['PATH']}")
        assert backends == tmp_path / "backends"
    (tmp_path / "models").mkdir()
    write_echo(tmp_path / "models")
    with RealTriton(tmp_path / "models") as server:
        assert server.description.startswith("Triton at ") and server.stand_ins == ()
        assert server.infer("echo", {"X": "x"})["Y"].tolist() == [[b"x"]]


OLD_PYTHON = """
import sys

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        version = np.array([sys.version_info[:2]], np.int32)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", version)]) for _ in requests]
"""


@real
def test_models_of_python_3_8(python38: Path, tmp_path: Path) -> None:
    write_model(tmp_path, "old", config("X FP32 1", "Y INT32 2"), {"model.py": OLD_PYTHON})
    with RealTriton(tmp_path, python=python38) as server:
        assert "Python 3.8" in server.description
        assert server.infer("old", {"X": 0.0})["Y"].tolist() == [[3, 8]]


@real
def test_a_stand_in_names_the_package_that_python_lacks(python38: Path, tmp_path: Path) -> None:
    text = config("x FP32 1", "y FP32 1", 'platform: "pytorch_libtorch"')
    write_model(tmp_path, "core", text, {"model.pt": ""})
    with pytest.raises(ServerFailed) as failure:
        RealTriton(tmp_path, python=python38).start()
    assert "the pytorch stand-in needs the package torch" in failure.value.what
    assert "-m pip install torch" in failure.value.what
