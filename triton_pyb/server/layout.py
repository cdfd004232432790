"""Lay out what the wheel's server needs: a backend directory, and an environment for one Python."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from triton_pyb.emulator import backends as stand_ins
from triton_pyb.server.installation import Installation
from triton_pyb.server.interpreter import Interpreter, environment_of


def make_backends(installation: Installation, interpreter: Interpreter | None, folder: Path) -> Path:
    """The backend directory: a native server's own, else one below `folder`.

    The Python backend looks for its stub beside its library, so that is copied in with the stub of the
    wanted Python; the stand-ins are Python-based backends, folders with a ``model.py``.
    """
    if installation.stubs is None or interpreter is None:
        return installation.backends
    backends = folder / "backends"
    python = backends / "python"
    python.mkdir(parents=True)
    for name in ("libtriton_python.so", "triton_python_backend_utils.py"):
        shutil.copy2(installation.backends / "python" / name, python / name)  # a link is refused: it "escapes"
    stub = python / "triton_python_backend_stub"
    shutil.copy2(installation.stubs / interpreter.version / stub.name, stub)
    stub.chmod(0o755)  # wheels lose the bit with some installers
    for name in stand_ins.NAMES:
        shutil.copytree(stand_ins.FOLDER / name, backends / name, ignore=shutil.ignore_patterns("__pycache__"))
    return backends


def make_environment(installation: Installation, interpreter: Interpreter | None, folder: Path) -> dict[str, str]:
    """The server's environment variables; `folder` may get a `bin` with the name ``python3``."""
    if installation.libraries is None or interpreter is None:
        return dict(os.environ)
    environment = environment_of(interpreter.executable)
    libraries = [str(installation.libraries), str(interpreter.library_folder)]
    libraries += filter(None, [environment.get("LD_LIBRARY_PATH")])
    environment["LD_LIBRARY_PATH"] = ":".join(libraries)
    # The embedded Python finds its site-packages through the `python3` on PATH.
    programs = _folder_of_python3(interpreter, folder)
    environment["PATH"] = f"{programs}:{environment.get('PATH', os.defpath)}"
    environment["PYTHONUNBUFFERED"] = "1"  # what a model prints is in the log when it is needed
    return environment


def _folder_of_python3(interpreter: Interpreter, folder: Path) -> Path:
    programs = interpreter.executable.parent
    try:
        answer = subprocess.run(
            [programs / "python3", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"],
            env=environment_of(interpreter.executable),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        answer = ""
    if answer == interpreter.full_version:
        return programs
    made = folder / "bin"  # /usr/bin/python3.8 beside a python3 that is 3.11
    made.mkdir()
    (made / "python3").symlink_to(interpreter.executable)
    return made
