"""Ask a real Triton whether it reads configurations with one slip each, and compare with the reader; print totals.

python scripts/check_text_format.py --count 2000             compare
python scripts/check_text_format.py --count 2000 --record    and write tests/cases/text_format_read.txt
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.check.text_mutants import mutant
from triton_pyb.config import pbtxt
from triton_pyb.server import RealTriton, ServerError

RECORDED = Path(__file__).parents[1] / "tests" / "cases" / "text_format_read.txt"


def refused_by_server(count: int, folder: Path) -> set[int]:
    """Seeds of the texts that the server cannot read.  Their backend does not exist, so that none is loaded."""
    for seed in range(count):
        version = folder / f"t{seed:05d}" / "1"
        version.mkdir(parents=True)
        (version.parent / "config.pbtxt").write_bytes(mutant(seed))
    extra = ["--exit-on-error=false", "--strict-readiness=false"]
    with RealTriton(folder, model_control_mode="explicit", extra_args=extra) as server:
        for seed in range(count):
            try:
                server.load_model(f"t{seed:05d}")
            except ServerError:
                server.raise_if_dead()
        log = server.log
    return {int(seed) for seed in re.findall(r"failed to read text proto from \S*/t(\d{5})/config", log)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        refused = refused_by_server(options.count, Path(folder))
    wrong = 0
    for seed in range(options.count):
        problems = pbtxt.parse(mutant(seed)).problems
        if bool(problems) != (seed in refused):
            wrong += 1
            print(f"seed {seed}: the server {'refused' if seed in refused else 'read'} it; we say {problems[:1]}")
    if options.record:
        read = [str(seed) for seed in range(options.count) if seed not in refused]
        RECORDED.write_text(f"{options.count}\n" + "\n".join(read) + "\n", encoding="ascii")
    print(f"{options.count} texts, {len(refused)} refused by a real Triton, {wrong} verdicts differ")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
