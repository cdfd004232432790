"""Pack an environment for a release and serve a step on a Python that lacks its package; print the answer.

    python scripts/check_environment.py 21.10=VENV_OF_3.8 24.11=VENV_OF_3.12

The step needs click, which the virtual environment must not hold.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from tests.repository.applications import STEP, write
from triton_pyb.repository import build
from triton_pyb.server import RealTriton

APP = "from __future__ import annotations\nimport click\n" + STEP.replace("2 * x", "x * len(click.unstyle('abcd'))")

if __name__ == "__main__":
    wrong = 0
    for argument in sys.argv[1:]:
        release, _, environment = argument.partition("=")
        python = Path(environment) / "bin/python"
        assert subprocess.run([python, "-c", "import click"], stderr=-3, env={}).returncode, (
            f"{environment} holds click"
        )
        with tempfile.TemporaryDirectory(prefix="triton_pyb_environment_") as name:
            write(Path(name), {"app.py": APP})
            built = build(f"{name}/app.py:double", Path(name, "models"), release=release, env="pack")
            (archive,) = Path(name, "models/double").glob("env-*.tar.gz")
            with RealTriton(Path(name, "models"), python=environment) as server:
                answer = server.infer("double", {"x": np.ones((1, 2), np.float32)})["y"].tolist()
            wrong += answer != [[4, 4]]
            size = archive.stat().st_size >> 20
            print(f"{release} {environment}: {', '.join(built.requirements)}: {size} MiB, answer {answer}", flush=True)
    sys.exit(wrong)
