"""Random configurations get the verdict that a real Triton gave (``scripts/check_random_configs.py --record``)."""

from __future__ import annotations

from pathlib import Path

from tests.check.random_configs import config
from triton_pyb.check import check

RECORDED = Path(__file__).parents[1] / "cases" / "random_configs_polled.txt"


def test_verdicts_are_the_servers(tmp_path: Path) -> None:
    recorded = RECORDED.read_text(encoding="ascii").split()
    count, polled = 600, {int(seed) for seed in recorded[1:] if int(seed) < 600}
    assert 80 < len(polled) < count <= int(recorded[0])
    for seed in range(count):
        (tmp_path / f"t{seed:05d}" / "1").mkdir(parents=True)
        (tmp_path / f"t{seed:05d}" / "config.pbtxt").write_text(config(seed))
    errors = [f for f in check(tmp_path, strict=True) if f.severity == "error" and f.stage == "poll"]
    assert {int(finding.model[1:]) for finding in errors} == set(range(count)) - polled
