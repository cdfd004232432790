"""Written by triton_pyb @VERSION@ from @SOURCE@.  Do not edit: edit the source and build again."""

import os
import sys

# Triton appends this folder to sys.path, so an installed triton_pyb, or another module of the same name as one
# of these, would win.
_here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, _here)

from triton_pyb.runtime.adapter import packaged_model  # noqa: E402  # after the path is set

TritonPythonModel = packaged_model(_here)
