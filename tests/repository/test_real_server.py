"""Packaged folders on a real Triton, copied to an empty place."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.repository.applications import pipeline_text, write
from triton_pyb.repository import build
from triton_pyb.server import RealTriton

pytestmark = pytest.mark.real_triton

DECOY = "raise RuntimeError('this is the decoy')\n"
HELPED = "from utils import twice\n" + pipeline_text().replace("x * 2", "twice(x)")


def test_the_folders_own_code_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another triton_pyb and another utils are installed where the model runs, and even imported before it."""
    write(tmp_path / "project", {"app.py": HELPED, "utils.py": "def twice(x):\n    return 2 * x\n"})
    build(str(tmp_path / "project/app.py:pipeline"), tmp_path / "built")
    shutil.copytree(tmp_path / "built", tmp_path / "empty" / "models")
    shutil.rmtree(tmp_path / "project")
    write(
        tmp_path / "decoys",
        {
            "triton_pyb/__init__.py": "decoy = True\n",
            "triton_pyb/runtime/__init__.py": "",
            "triton_pyb/runtime/adapter.py": DECOY,
            "utils.py": "def twice(x):\n    return -x\n",
            "app.py": DECOY,
            "sitecustomize.py": "import triton_pyb, utils\nassert triton_pyb.decoy\n",
        },
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "decoys"))
    with RealTriton(tmp_path / "empty/models") as server:
        answer = server.infer("sums", {"x": np.array([[1, 2], [3, 4]], np.float32)})
        assert answer["y"].tolist() == [[3, 5], [7, 9]]
        assert "sitecustomize" not in server.log
