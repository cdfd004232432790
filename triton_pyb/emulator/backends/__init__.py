"""CPU stand-ins for Triton's onnxruntime and pytorch backends, one folder per backend.

Each ``<backend>/model.py`` is a Triton *Python-based backend*: it stands alone (numpy, its engine and
``triton_python_backend_utils`` only, Python 3.8), so the real server and the emulator run the same file.
"""

from __future__ import annotations

from pathlib import Path

#: The folder to copy or to load from: ``FOLDER / name / "model.py"`` for every name in `NAMES`.
FOLDER = Path(__file__).parent

#: Backends that have a stand-in.
NAMES = ("onnxruntime", "pytorch")
