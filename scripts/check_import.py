"""Import ten hand-written repositories, build them again, and ask both on a real Triton; print what differs."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from tests.repository.applications import write
from tests.repository.hand_written import REPOSITORIES
from triton_pyb.repository import build
from triton_pyb.repository.importing import import_folder
from triton_pyb.server import RealTriton


def ask(repository: Path, models: list[str]) -> dict[str, Any]:
    """The server's configuration of every model, and its answer to three requests."""
    found: dict[str, Any] = {}
    with RealTriton(repository) as server:
        for model in models:
            rows = [np.array([[1.5, -2]]), np.arange(6).reshape(3, 2), np.zeros((2, 2))]
            answers = [server.infer(model, {"X": row.astype(np.float32)})["Y"].tolist() for row in rows]
            config = server.model_config(model)
            steps = config.get("ensemble_scheduling", {}).get("step", [])
            steps.sort(key=str)
            found[model] = (answers, config)
    return found


if __name__ == "__main__":
    different = 0
    for name, files in REPOSITORIES.items():
        with tempfile.TemporaryDirectory(prefix="triton_pyb_import_") as folder:
            place = Path(folder)
            write(place / "original", files)
            imported = import_folder(place / "original", place / "application")
            build(imported.target, place / "built")
            models = list(imported.models)
            same = ask(place / "original", models) == ask(place / "built", models)
        different += not same
        print(f"{name}: {len(models)} models, {'equal' if same else 'DIFFERENT'}", flush=True)
    sys.exit(different)
