"""Ask a real Triton about the smallest broken and the smallest good repository of every rule; print totals.

python scripts/check_rules.py [TPB1201 ...] [--hang-timeout-s 20]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.check.examples import EXAMPLES
from tests.check.server_verdicts import Answer, alone, asked, needs_own_server, together


def answers(codes: list[str], hang_timeout_s: float) -> Iterator[Answer]:
    """First all that can share a server, then one server for each that takes it down."""
    with tempfile.TemporaryDirectory() as folder:
        yield from together(codes, Path(folder) / "together")
        for code in codes:
            if needs_own_server(code):
                yield alone(code, Path(folder) / f"alone{code}", hang_timeout_s)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("codes", nargs="*")
    parser.add_argument("--hang-timeout-s", type=float, default=20.0)
    options = parser.parse_args()
    codes = asked(options.codes)
    totals: Counter[str] = Counter()
    wrong = 0
    for answer in answers(codes, options.hang_timeout_s):
        totals[f"{answer.side} {answer.expected}: {'agree' if answer.agrees else 'DIFFER'}"] += 1
        totals["the same words" if answer.same_words else "OTHER words"] += 1
        if not answer.agrees or not answer.same_words:
            wrong += 1
            print(
                f"{answer.code} {answer.side}: expected {answer.expected}, got {answer.got}\n  {answer.detail}",
                flush=True,
            )
    for code, example in EXAMPLES.items():
        if example.not_asked and not options.codes:
            print(f"{code}: not asked ({example.not_asked})")
    for name, count in sorted(totals.items()):
        print(f"{count:5} {name}")
    print(f"{len(codes)} rules asked of a real Triton, {wrong} answers differ")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
