"""mypy's stubtest: the stubs against the emulator's modules, and against the Python half that a real server ships."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from triton_pyb.server import find_installation

pytest.importorskip("mypy")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def stubtest(kind: str, source: str, allowlist: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.stubs.run_stubtest", kind, source, str(allowlist)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_the_emulator_of_the_newest_release_is_what_the_stubs_say() -> None:
    done = stubtest("emulator", "26.07", HERE / "allow_emulator.txt")
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_older_release_shows_what_came_later(tmp_path: Path) -> None:
    """The test above can fail: 24.10 lacks what 25.02 and 25.04 brought, and nothing else."""
    done = stubtest("emulator", "24.10", HERE / "allow_emulator.txt")
    assert done.returncode == 1, done.stdout + done.stderr
    assert [line.split(" ", 1) for line in sorted(done.stdout.splitlines())] == [
        [
            "c_python_backend_utils.InferenceResponse.__init__",
            'is inconsistent, runtime does not have parameter "parameters"',
        ],
        ["c_python_backend_utils.InferenceResponse.parameters", "is not present at runtime"],
        ["c_python_backend_utils.ResponseIterator.cancel", "is not present at runtime"],
    ]


@pytest.mark.real_triton
def test_the_python_half_of_a_real_server_is_what_the_stubs_say() -> None:
    installation, _ = find_installation()
    path = installation.backends / "python" / "triton_python_backend_utils.py"
    done = stubtest("real", str(path), HERE / "allow_real.txt")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["allow_emulator.txt", "allow_real.txt"])
def test_every_exception_has_its_reason(name: str) -> None:
    """A comment stands over each group of exceptions; stubtest itself fails on those that are not needed."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert all(lines)
