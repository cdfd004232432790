"""Feed the checker malformed repositories; print totals.  A traceback, or an input that takes long, is a fault.

python scripts/fuzz_check.py --inputs 20000 --seed 0
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.check.fuzzing import one_input


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most-seconds", type=float, default=5.0)
    options = parser.parse_args()
    faults, findings, slowest = 0, 0, (0.0, 0)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(options.seed, options.seed + options.inputs):
            folder = Path(scratch) / "repository"
            start = time.process_time()
            try:
                findings += one_input(seed, folder)
            except Exception:
                faults += 1
                print(f"seed {seed}:\n{traceback.format_exc()}")
            took = time.process_time() - start
            slowest = max(slowest, (took, seed))
            if took > options.most_seconds:
                faults += 1
                print(f"seed {seed}: took {took:.1f} s")
            shutil.rmtree(folder, ignore_errors=True)
    print(
        f"{options.inputs} inputs, {findings} findings, {faults} faults in {time.perf_counter() - began:.0f} s; "
        f"slowest {slowest[0] * 1000:.0f} ms (seed {slowest[1]})"
    )
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
