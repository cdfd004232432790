"""Random models and requests to the emulator and to a real Triton in one run; print totals and disagreements.

python scripts/check_random_models.py --models 120 --requests 20 --seed 1
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from tests.emulator.random_models import Model
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.server import RealTriton


def answer(server: Any, model: str, inputs: dict[str, Any]) -> Any:
    """Outputs as plain values, or status and message."""
    try:
        outputs = server.infer(model, inputs)
    except InferenceFailed as error:
        return error.code, error.message
    return {name: (str(array.dtype), array.shape, array.tolist()) for name, array in sorted(outputs.items())}


def compare(models: int, requests: int, seed: int) -> int:
    """The number of disagreements."""
    made = [Model(number, seed) for number in range(models)]
    asked = wrong = refused = 0
    with tempfile.TemporaryDirectory(prefix="triton_pyb_random_") as folder:
        repository = Path(folder, "models")
        for model in made:
            model.write(repository)
        with RealTriton(repository, timeout_s=600) as real, EmulatedTriton(repository, mode="faithful") as emulated:
            for model in made:
                for _ in range(requests):
                    inputs = model.request()
                    expected, got = answer(real, model.name, inputs), answer(emulated, model.name, inputs)
                    asked += 1
                    refused += isinstance(expected, tuple)
                    if repr(expected) != repr(got):
                        wrong += 1
                        shapes = {name: (str(array.dtype), array.shape) for name, array in inputs.items()}
                        print(f"{model.name} ({model.body}) {shapes}\n  real:     {expected}\n  emulated: {got}")
    print(f"{models} models, {asked} requests ({refused} answered with an error): {wrong} disagreements")
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=120)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    np.seterr(all="ignore")
    begun = time.monotonic()
    failed = compare(**vars(parser.parse_args()))
    print(f"{time.monotonic() - begun:.0f} s")
    sys.exit(bool(failed))
