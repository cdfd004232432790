"""Written by triton_pyb @VERSION@ from @SOURCE@.  Do not edit: edit the source and build again."""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))

# Triton appends this folder to sys.path, so an installed triton_pyb, or another module of the same name as one
# of these, would win.  One may even be imported already, by a .pth file of the environment.
sys.path.insert(0, _here)
_ours = {name.partition(".")[0] for name in os.listdir(_here)} - {"model"}
for _name in [name for name in sys.modules if name.partition(".")[0] in _ours]:
    del sys.modules[_name]

# A server that polls would take a new cache for a new version and load this model once more.  The file
# __pycache__ beside this one keeps Python from writing one for model.py itself.
sys.dont_write_bytecode = True

from triton_pyb.runtime.adapter import packaged_model  # noqa: E402  # after the path is set

TritonPythonModel = packaged_model(_here)
