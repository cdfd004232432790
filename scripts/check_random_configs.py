"""Ask a real Triton about random configurations, without auto-complete, and compare verdict and words; print totals.

python scripts/check_random_configs.py --count 2000             compare
python scripts/check_random_configs.py --count 2000 --record    and write tests/cases/random_configs_polled.txt
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.check.random_configs import config
from triton_pyb.check import Finding, check
from triton_pyb.server import RealTriton

RECORDED = Path(__file__).parents[1] / "tests" / "cases" / "random_configs_polled.txt"


def server_messages(count: int, folder: Path) -> dict[int, str]:
    """Seed -> why the server did not poll it."""
    extra = ["--exit-on-error=false", "--strict-readiness=false", "--disable-auto-complete-config"]
    with RealTriton(folder, model_control_mode="explicit", extra_args=extra) as server:
        for seed in range(count):
            url = f"{server.http_url}/v2/repository/models/t{seed:05d}/load"
            try:
                urllib.request.urlopen(urllib.request.Request(url, data=b"{}", method="POST"), timeout=60)
            except urllib.error.HTTPError as error:
                error.read()
        log = server.log
    found = re.findall(r"Poll failed for model directory 't(\d{5})': (.*?)\"?$", log, re.M)
    return {int(seed): message.replace('\\"', '"') for seed, message in found}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "repository"
        for seed in range(options.count):
            version = folder / f"t{seed:05d}" / "1"
            version.mkdir(parents=True)
            (version.parent / "config.pbtxt").write_text(config(seed))
        ours: dict[int, list[Finding]] = {}
        for finding in check(folder, strict=True):
            if finding.severity == "error" and finding.stage == "poll":
                ours.setdefault(int(finding.model[1:]), []).append(finding)
        theirs = server_messages(options.count, folder)
    verdicts = words = 0
    for seed in range(options.count):
        mine, said = ours.get(seed, []), theirs.get(seed, "")
        if bool(mine) != bool(said):
            verdicts += 1
            print(f"seed {seed}: the server says {said!r}, we say {[finding.said for finding in mine]}")
        elif mine and not any(finding.said and finding.said in said for finding in mine):
            words += 1
            print(f"seed {seed}: the server says {said!r}, in other words {[finding.said for finding in mine]}")
    if options.record:
        polled = [str(seed) for seed in range(options.count) if seed not in theirs]
        RECORDED.write_text(f"{options.count}\n" + "\n".join(polled) + "\n", encoding="ascii")
    print(f"{options.count} configurations, {len(theirs)} refused by a real Triton;", end=" ")
    print(f"{verdicts} verdicts and {words} words differ")
    return int(bool(verdicts or words))


if __name__ == "__main__":
    sys.exit(main())
