from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from triton_pyb.server import ServerNotFound, describe_interpreter


def test_this_python() -> None:
    found = describe_interpreter()
    assert found.executable == Path(sys.executable)
    assert found.version == f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert (found.library_folder / f"libpython{found.version}.so.1.0").is_file()
    assert found.numpy


def test_a_virtual_environment_is_named_by_its_folder() -> None:
    assert describe_interpreter(sys.prefix).full_version == ".".join(map(str, sys.version_info[:3]))


def test_what_does_not_run_is_no_python(tmp_path: Path) -> None:
    with pytest.raises(ServerNotFound) as refusal:
        describe_interpreter(tmp_path / "python")
    assert refusal.value.code == "TPB603"
    assert "does not run as a Python" in refusal.value.what and str(tmp_path / "python") in refusal.value.what
    assert refusal.value.fix == "give the path of a python executable or of a virtual environment"


def test_why_it_does_not_run_is_its_own_last_word(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho a >&2\necho 'Fatal error: no encodings' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(ServerNotFound) as refusal:
        describe_interpreter(broken)
    assert refusal.value.what == f"'{broken}' does not run as a Python: Fatal error: no encodings"


def test_variables_made_for_another_python_do_not_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", "/elsewhere")
    assert describe_interpreter().numpy


def fake_python(folder: Path, **answer: str) -> Path:
    """A program that answers the probe as a Python with these properties."""
    found = {"version": "3.11", "full_version": "3.11.9", "library_folder": "/lib", "numpy": "1.26.4", **answer}
    python = folder / "python3"
    python.write_text(f"#!/bin/sh\necho '{json.dumps(found)}'\n")
    python.chmod(0o755)
    return python


def test_a_python_without_shared_library_is_refused_with_the_package_that_brings_it(tmp_path: Path) -> None:
    with pytest.raises(ServerNotFound) as refusal:
        describe_interpreter(fake_python(tmp_path, library_folder=""))
    assert refusal.value.code == "TPB604"
    assert refusal.value.what == (
        "Python 3.11.9 has no shared library libpython3.11.so.1.0 of its own, which Triton's Python backend loads"
    )
    assert "apt install libpython3.11" in refusal.value.fix and "--enable-shared pyenv install" in refusal.value.fix
