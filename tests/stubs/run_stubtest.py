"""mypy's stubtest of the stubs, in a process of its own: the modules exist in this process only.

Arguments: ``emulator RELEASE ALLOWLIST``, or ``real FILE ALLOWLIST`` with the Python half that a server ships.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from mypy import stubtest

from triton_pyb.emulator import pb_utils
from triton_pyb.emulator.desk import DirectLink
from triton_pyb.emulator.stub import signatures, surface
from triton_pyb.emulator.stub.errors import MODULE
from triton_pyb.emulator.stub.stub import Stub

CONFIGURATION = Path(__file__).parent / "stubtest.ini"
ANY_NAMES = ("object", "args")  # of parameters without a name: stubtest does not compare these


def emulated(release: str) -> list[ModuleType]:
    """Both modules as a model of that release sees them in `execute`."""
    stub = Stub(DirectLink(pb_utils._NoServer()), release, "no_server_0_0", "/no_model/1", decoupled=False)
    module = surface.load_python_module(stub)
    c_module = surface.build_c_module(stub)
    surface.add_c_names(c_module, module)
    surface.add_get_model_dir(stub, module)
    describe(stub, module)
    describe(stub, c_module)
    return [module, c_module]


def describe(stub: Any, owner: ModuleType | type) -> None:
    """Say of the functions of the C++ half what they take: their Python code takes anything.

    Those that are not bound to an object become static methods to inspect; pybind11 has no such word.
    """
    for name, value in list(vars(owner).items()):
        if isinstance(value, type) and value.__module__ == MODULE:
            describe(stub, value)
        elif isinstance(value, signatures.Bound):
            vars(value)["__signature__"] = signature(stub, value)
            if value._signature.kind in ("static", "unbound"):
                type.__setattr__(owner, name, staticmethod(value))


def signature(stub: Any, function: signatures.Bound) -> inspect.Signature:
    """What `function` takes, in inspect's terms."""
    own = function._signature
    parameters = []
    if own.kind in ("constructor", "method"):
        parameters.append(inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY))
    for index, parameter in enumerate(own.parameters):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if parameter.name else inspect.Parameter.POSITIONAL_ONLY
        default = parameter.default
        if default is signatures._REQUIRED:
            default = inspect.Parameter.empty
        elif isinstance(default, signatures.StubDefault):
            default = stub.defaults[default.key]
        parameters.append(inspect.Parameter(parameter.name or ANY_NAMES[index], kind, default=default))
    # C++ functions may require a parameter after optional ones, which inspect does not believe.
    return inspect.Signature(parameters, __validate_parameters__=False)


def real(path: str) -> list[ModuleType]:
    """The Python half as the server ships it."""
    spec = importlib.util.spec_from_file_location("triton_python_backend_utils", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [module]


def main(kind: str, source: str, allowlist: str) -> int:
    modules = emulated(source) if kind == "emulator" else real(source)
    for module in modules:
        sys.modules[module.__name__] = module
    options = ["--mypy-config-file", str(CONFIGURATION), "--allowlist", allowlist, "--concise"]
    return stubtest.test_stubs(stubtest.parse_options([*options, *(module.__name__ for module in modules)]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
