"""Find a Triton on this machine: a native tritonserver, or the one inside the wheel nvidia-pytriton."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from triton_pyb.emulator import backends as stand_ins
from triton_pyb.server.errors import ServerNotFound
from triton_pyb.server.interpreter import Interpreter, describe_interpreter

#: Container release whose server the wheel holds.  Source: ``tritonserver --version`` of 0.7.0 says 2.51.0.
WHEEL_RELEASE = "24.10"


@dataclass(frozen=True)
class Installation:
    """A Triton that can be started.

    Attributes
    ----------
    kind : {"native", "wheel"}
    libraries : pathlib.Path or None
        The wheel's own shared libraries; None for a native server.
    stubs : pathlib.Path or None
        The wheel's folder of Python backend stubs, one per Python version; None for a native server.
    """

    kind: str
    binary: Path
    backends: Path
    libraries: Path | None = None
    stubs: Path | None = None

    @property
    def stand_ins(self) -> tuple[str, ...]:
        """Backends that run on our CPU stand-ins: those the wheel lacks."""
        return stand_ins.NAMES if self.kind == "wheel" else ()

    def describe(self, interpreter: Interpreter | None) -> str:
        """One line for people: what runs, from where, with which Python."""
        if self.kind == "native" or interpreter is None:
            return f"Triton at {self.binary}"
        return f"Triton {WHEEL_RELEASE} (nvidia-pytriton), Python {interpreter.full_version}, CPU stand-ins: " + (
            ", ".join(stand_ins.NAMES)
        )


def find_installation(
    python: str | os.PathLike[str] | None = None,
) -> tuple[Installation, Interpreter | None]:
    """Find the server, and the Python its models will run on (None: a native server brings its own).

    A native server wins, except when `python` is given: only the wheel's server can change its Python.

    Raises
    ------
    ServerNotFound
        If there is none, or the wheel's server cannot run that Python.
    """
    native = None if python is not None else _native()
    if native is not None:
        return native, None
    installation = _wheel()
    if installation is None:
        raise ServerNotFound(
            "TPB601",
            "there is no Triton on this machine: no `tritonserver` on PATH, no /opt/tritonserver, and the "
            "wheel nvidia-pytriton is not installed in this environment",
            "looking for a server",
            "run `pip install 'triton_pyb[server]'` (Linux x86_64, Python 3.10 to 3.12), or work inside "
            "NVIDIA's tritonserver container",
        )
    interpreter = describe_interpreter(python)
    _check_interpreter(installation, interpreter)
    return installation, interpreter


def _native() -> Installation | None:
    on_path = shutil.which("tritonserver")
    for binary in [Path(on_path)] if on_path else []:
        for backends in (binary.resolve().parent.parent / "backends", Path("/opt/tritonserver/backends")):
            if backends.is_dir():
                return Installation("native", binary, backends)
    binary = Path("/opt/tritonserver/bin/tritonserver")
    return Installation("native", binary, Path("/opt/tritonserver/backends")) if binary.is_file() else None


def _wheel() -> Installation | None:
    """Read from the metadata: importing pytriton starts threads and loads half the package."""
    try:
        wheel = distribution("nvidia-pytriton")
    except PackageNotFoundError:
        return None
    folder = Path(str(wheel.locate_file("pytriton/tritonserver")))
    libraries = Path(str(wheel.locate_file("nvidia_pytriton.libs")))
    binary = folder / "bin" / "tritonserver"
    if not binary.is_file():
        return None
    return Installation("wheel", binary, folder / "backends", libraries, folder / "python_backend_stubs")


def _check_interpreter(installation: Installation, interpreter: Interpreter) -> None:
    assert installation.stubs is not None
    known = sorted(
        (stub.parent.name for stub in installation.stubs.glob("*/triton_python_backend_stub")),
        key=lambda version: [int(part) for part in version.split(".")],
    )
    if interpreter.version not in known:
        raise ServerNotFound(
            "TPB605",
            f"the wheel has no stub for Python {interpreter.full_version}; it has {', '.join(known)}",
            str(interpreter.executable),
            "use one of them: python= (command line: --python) takes its path or its virtual environment",
        )
    if not interpreter.numpy:
        raise ServerNotFound(
            "TPB606",
            f"Python {interpreter.full_version} has no numpy, which every model of the Python backend needs",
            str(interpreter.executable),
            f"run `{interpreter.executable} -m pip install 'numpy<2'`",
        )
    if int(interpreter.numpy.split(".")[0]) >= 2:
        # Built with a pybind11 from before NumPy 2: no error, but every tensor it sends has zero bytes.
        raise ServerNotFound(
            "TPB607",
            f"numpy {interpreter.numpy} does not work with the Python backend of Triton {WHEEL_RELEASE}: "
            "it sends empty tensors, without an error (fixed in 24.12)",
            str(interpreter.executable),
            f"run `{interpreter.executable} -m pip install 'numpy<2'` (it needs Python 3.12 or older)",
        )
