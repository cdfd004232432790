"""A process that plays a tritonserver: what its log and its end are taken for."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import pytest

from triton_pyb.server import ServerFailed
from triton_pyb.server.ports import HOST, choose_ports
from triton_pyb.server.process import ServerProcess

FAILED = "E1130 01:47:36.3 1 life.cc:654] \"failed to load '{}' version 1: Internal: {}\"\n"


def play(folder: Path, text: str, status: int | None = 0) -> ServerProcess:
    """Write `text`, then end with `status` (None: stay)."""
    program = f"import sys, time; sys.stdout.write({text!r}); sys.stdout.flush(); "
    program += "time.sleep(60)" if status is None else f"sys.exit({status})"
    url = f"http://{HOST}:{choose_ports({'http': None})['http']}"
    return ServerProcess([sys.executable, "-c", program], dict(os.environ), folder / "log", url, "here", "no_shm_")


def why(process: ServerProcess, timeout_s: float = 30) -> ServerFailed:
    try:
        with pytest.raises(ServerFailed) as failure:
            process.wait_until_ready(timeout_s, None)
    finally:
        process.end()
        process.end()  # twice is as good as once
    assert not process.running
    return failure.value


def test_every_model_that_does_not_load_is_named(tmp_path: Path) -> None:
    failure = why(play(tmp_path, FAILED.format("a", "no") + FAILED.format("b", "neither"), 1))
    assert failure.code == "TPB602"
    assert failure.what == "model 'a' does not load: Internal: no; nor does 'b': Internal: neither"


@pytest.mark.parametrize(
    ("cause", "fix"),
    [
        ("instance group m_0 has kind KIND_GPU but no GPUs are available", "write KIND_AUTO, or KIND_CPU"),
        ("unable to find backend library for backend 'tensorrt'", "use NVIDIA's container for it"),
        ("ModuleNotFoundError: No module named 'scipy'", "install that package in the Python that runs the models"),
        ("ValueError: bad", "correct what the log tells of"),
    ],
)
def test_the_fix_fits_the_cause(tmp_path: Path, cause: str, fix: str) -> None:
    assert fix in why(play(tmp_path, FAILED.format("m", cause), 1)).fix


def test_an_end_without_a_cause_quotes_the_last_lines(tmp_path: Path) -> None:
    failure = why(play(tmp_path, "cannot open shared object\n", 127))
    assert (failure.code, failure.what) == ("TPB622", "the server ended: exit status 127")
    assert failure.log == "cannot open shared object"
    assert str(failure).splitlines()[-1] == "  log:   cannot open shared object"


def test_a_python_that_cannot_start_is_no_reason_to_wait(tmp_path: Path) -> None:
    line = "stub: error while loading shared libraries: libpython3.11.so.1.0: cannot open shared object file"
    failure = why(play(tmp_path, line + "\n", None))
    assert failure.code == "TPB623"
    assert failure.what == "a model's Python process did not start; Triton would wait for it without end"
    assert failure.log == line


def test_patience_ends(tmp_path: Path) -> None:
    failure = why(play(tmp_path, "", None), timeout_s=0.3)
    assert failure.code == "TPB619"
    assert failure.what == "the server was not ready after 0.3 s; still loading: nothing"


def test_the_error_travels_between_processes_with_its_log(tmp_path: Path) -> None:
    failure = pickle.loads(pickle.dumps(ServerFailed("TPB602", "what", "where", "fix", log="line")))
    assert (failure.code, failure.fix, failure.log) == ("TPB602", "fix", "line")
