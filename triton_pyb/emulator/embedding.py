"""How Triton's stub starts the Python inside it, by release and version, and a command that starts ours the same way.

Three ways, by the pybind11 that the stub was built with:

- up to 24.10, Python 3.8 to 3.10 (``Py_InitializeEx``): the variables ``PYTHON*`` count, but neither PYTHONUTF8 nor
  the coercion of the C locale: where LANG and LC_* name no UTF-8, Python reads and writes ASCII;
- up to 24.10, Python 3.11 and later (``PyConfig_InitIsolatedConfig``): nothing of the environment counts, neither
  PYTHONPATH nor LANG nor the user's site-packages: always ASCII;
- since 24.11 (``PyConfig_InitPythonConfig``): as the command ``python`` does.

Source: pybind11/embed.h of 2.6, 2.10.0 and 2.12.0, which CMakeLists.txt of python_backend names from r21.08, r22.12
and r24.11 on.  The stubs of 24.10 for 3.8, 3.10, 3.11 and 3.12 were asked (sys.flags, sys.path, encodings, with LANG
set and unset), and a C program that calls the third.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys

from .stub.releases import Release

_STUB_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stub")

# The stub's package gets a private name: the model's imports see nothing of us. What is only there to start Python
# the stub's way is taken back before the model can see it.
_BOOTSTRAP = """
import os, sys
if sys.path and sys.path[0] == "":
    del sys.path[0]
import importlib.util
folder, hidden, *descriptors = sys.argv[1:]
if hidden:
    name, given, value = hidden.partition("=")
    del os.environ[name]
    if given:
        os.environ[name] = value
sys.argv[:] = [""]
sys._xoptions.clear()
if hasattr(sys, "orig_argv"):
    sys.orig_argv[:] = []
spec = importlib.util.spec_from_file_location(
    "_triton_pyb_stub", folder + "/__init__.py", submodule_search_locations=[folder])
package = importlib.util.module_from_spec(spec)
sys.modules["_triton_pyb_stub"] = package
spec.loader.exec_module(package)
from _triton_pyb_stub import child
sys.path.insert(0, "")
del spec, package, folder, hidden
child.main(*map(int, descriptors))
"""


def command(
    python: str | None, release: str, environment: dict[str, str], descriptors: list[int]
) -> tuple[list[str], dict[str, str]]:
    """The command line of a stub process, and its environment variables.

    Parameters
    ----------
    python : str or None
        Default: this Python.
    environment : dict
        Added to the variables of this process.
    descriptors : list of int
        The child's ends of the two socket pairs.
    """
    variables = {**os.environ, **environment}
    if python is not None and python != sys.executable:
        for name in {"PYTHONHOME", "PYTHONPATH"} - set(environment):  # made for this Python only
            variables.pop(name, None)
    # Bytecode beside model.py would outlive a test that writes two models in one second.
    options, hidden = ["-u", "-B"], ""
    if not Release(release).has("the environment of Python counts"):
        isolated = version_of(python or sys.executable) >= (3, 11) and Release(release).has("Python is isolated")
        name, value = ("LC_ALL", "C") if isolated else ("PYTHONCOERCECLOCALE", "0")
        hidden = f"{name}={variables[name]}" if name in variables else name
        variables[name] = value
        options += ["-X", "utf8=0", *(["-I"] if isolated else [])]
    arguments = [_STUB_FOLDER, hidden, *map(str, descriptors)]
    return [python or sys.executable, *options, "-c", _BOOTSTRAP, *arguments], variables


@functools.cache
def version_of(python: str) -> tuple[int, ...]:
    """``(3, 11)`` of an executable; this Python's own where it does not run, which starting it will tell."""
    if python == sys.executable:
        return sys.version_info[:2]
    asked = [python, "-I", "-S", "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True).stdout
        return tuple(map(int, answer.split()))
    except (OSError, ValueError, subprocess.SubprocessError):
        return sys.version_info[:2]
