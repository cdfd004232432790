"""Build both examples for a release and serve them from an empty place with that release's Python.

    python scripts/check_packaged.py 21.10=VENV_OF_3.8 23.05=VENV_OF_3.10 24.11=VENV_OF_3.12

Each virtual environment holds numpy, Pillow and OpenCV, and nothing of ours.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from triton_pyb.repository import build  # noqa: E402
from triton_pyb.repository.versions import read_config  # noqa: E402
from triton_pyb.server import RealTriton  # noqa: E402

EXAMPLES = ("digit_classification", "text_detection")


def picture(example: str) -> bytes:
    """The picture of an example with most to see."""
    found = sorted(path for path in (ROOT / "examples" / example).rglob("*") if path.suffix in (".png", ".jpg"))
    return next((path for path in found if path.stem in ("notice", "digit_3")), found[-1]).read_bytes()


def has_triton_pyb(python: Path) -> bool:
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('triton_pyb') is None)"
    return subprocess.run([python, "-c", code], cwd="/", env={}).returncode == 0


def serve(example: str, release: str, environment: Path | None) -> Any:
    """The answer of the pipeline of one example.

    The stand-ins that run core models need torch or onnxruntime.  In an environment without them the server has the
    two steps, and this process the core model between them.
    """
    with tempfile.TemporaryDirectory(prefix="triton_pyb_packaged_") as name:
        built = build(f"{ROOT}/examples/{example}/app.py:pipeline", Path(name, "built"), release=release)
        place = Path(name, "empty", "models")
        shutil.copytree(built.repository, place)
        core = built.models[1]
        model_file = next(Path(built.repository, core, "1").glob("model.*"))
        if environment is None:
            with RealTriton(place) as server:
                answer = server.infer(built.entry, {"image": picture(example)})
        else:
            shutil.rmtree(place / core)
            shutil.rmtree(place / built.entry)
            with RealTriton(place, python=environment) as server:
                before = server.infer("preprocessing", {"image": picture(example)})
                taken = {tensor.name for tensor in read_config(place / "postprocessing/config.pbtxt").input}
                between = {**before, **run_core(model_file, before, taken)}
                answer = server.infer("postprocessing", {name: between[name] for name in taken})
        return json.loads(answer["result"].ravel()[0])


def run_core(file: Path, given: dict[str, Any], wanted: set[str]) -> dict[str, Any]:
    """The core model on what preprocessing gave; its only output under the name that is wanted."""
    value = next(iter(given.values()))
    name = next(iter(wanted - set(given)))
    if file.suffix == ".pt":
        import torch

        return {name: torch.jit.load(str(file))(torch.from_numpy(value.copy())).detach().numpy()}
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    return {name: session.run(None, {session.get_inputs()[0].name: value})[0]}


if __name__ == "__main__":
    for example in EXAMPLES:
        expected = serve(example, "latest", None)
        for argument in sys.argv[1:]:
            release, _, environment = argument.partition("=")
            python = Path(environment) / "bin/python"
            assert not has_triton_pyb(python), f"{environment} holds triton_pyb"
            answer = serve(example, release, Path(environment))
            if example == "digit_classification":
                same = answer["label"] == expected["label"]
            else:
                same = len(answer["boxes"]) == len(expected["boxes"])
            said = "the same" if same else f"ANOTHER ANSWER: {expected}"
            print(f"{release} {environment} {example}: {json.dumps(answer)[:90]} {said}", flush=True)
