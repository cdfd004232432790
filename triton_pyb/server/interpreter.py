"""The Python that runs the models inside a Triton: its version, its libpython, its numpy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from triton_pyb.server.errors import ServerNotFound

# Runs in the other interpreter, which may be as old as 3.8.
_PROBE = """
import json, os, sys, sysconfig
try:
    from importlib.metadata import version
    numpy = version("numpy")
except Exception:
    numpy = ""
library = sysconfig.get_config_var("INSTSONAME") or ""
places = [sysconfig.get_config_var("LIBDIR") or "", os.path.join(sys.base_prefix, "lib")]
multiarch = sysconfig.get_config_var("MULTIARCH") or ""
places += [os.path.join(place, multiarch) for place in places if multiarch]
found = [place for place in places if ".so" in library and os.path.isfile(os.path.join(place, library))]
print(json.dumps({
    "version": "%d.%d" % sys.version_info[:2],
    "full_version": "%d.%d.%d" % sys.version_info[:3],
    "library_folder": found[0] if found else "",
    "numpy": numpy,
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """What a server has to know about a Python.

    Attributes
    ----------
    version : str
        ``"3.11"``: chooses the stub.
    library_folder : pathlib.Path
        Holds the very ``libpython3.X.so.1.0`` of this Python: the dynamic linker would take another one of
        the same minor version, or none.
    numpy : str
        Version of numpy that its models see, empty when there is none.
    """

    executable: Path
    version: str
    full_version: str
    library_folder: Path
    numpy: str


def describe_interpreter(python: str | os.PathLike[str] | None = None) -> Interpreter:
    """Look at this Python, at another one, or at that of a virtual environment's folder.

    Raises
    ------
    ServerNotFound
        If the path is no Python, or the Python has no shared library, which Triton needs.
    """
    executable = _executable(python)
    try:
        answer = subprocess.run(
            [executable, "-c", _PROBE],
            env=environment_of(executable),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1]
        raise ServerNotFound(
            "TPB603",
            f"'{executable}' does not run as a Python: {reason}",
            "looking for the Python that runs the models",
            "give the path of a python executable or of a virtual environment",
        ) from error
    try:
        found = json.loads(answer)
    except ValueError:
        raise ServerNotFound(
            "TPB603",
            f"'{executable}' does not run as a Python: it answered {answer[:60]!r}",
            "looking for the Python that runs the models",
            "give the path of a python executable or of a virtual environment",
        ) from None
    version = found["version"]
    if not found["library_folder"]:
        raise ServerNotFound(
            "TPB604",
            f"Python {found['full_version']} has no shared library libpython{version}.so.1.0 of its own, "
            "which Triton's Python backend loads",
            str(executable),
            f"install it (Debian, Ubuntu: `apt install libpython{version}` or python{version}-dev), or use a "
            "Python built with it (pyenv: "
            f"`PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {version}`)",
        )
    return Interpreter(executable, version, found["full_version"], Path(found["library_folder"]), found["numpy"])


def environment_of(executable: Path) -> dict[str, str]:
    """This process's environment variables, less those that are made for this Python only."""
    environment = dict(os.environ)
    environment.pop("PYTHONHOME", None)
    if executable != Path(sys.executable):
        environment.pop("PYTHONPATH", None)
    return environment


def _executable(python: str | os.PathLike[str] | None) -> Path:
    """The absolute path, not resolved: the name inside a virtual environment is what makes it one."""
    if python is None:
        return Path(sys.executable)
    path = Path(os.path.abspath(os.path.expanduser(python)))
    return path / "bin" / "python" if path.is_dir() else path
