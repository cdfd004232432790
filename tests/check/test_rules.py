"""Every rule fires on its fault in every shape, and on nothing else."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

from tests.check.examples import BY_HAND, EXAMPLES
from tests.check.variants import variants, write
from triton_pyb.check import check
from triton_pyb.check.rules import RULES


def test_every_rule_has_an_example() -> None:
    assert set(RULES) == set(EXAMPLES) | BY_HAND


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_rule_fires_on_the_fault_and_not_on_the_repair(code: str, tmp_path: Path) -> None:
    example = EXAMPLES[code]
    broken = write(example.broken, tmp_path / "broken")
    good = write(example.good, tmp_path / "good")
    found = [finding for finding in check(broken, **example.options) if finding.code == code]
    assert found, [str(f) for f in check(broken, **example.options)]
    for finding in found:
        assert finding.severity == RULES[code].severity
        assert finding.message and finding.fix
        assert not re.search(r"(?<!\$)\{[a-z_]+\}", finding.message + finding.fix + finding.said), finding
        assert os.path.exists(finding.place.file)
    after = check(good, **example.options)
    assert code not in {finding.code for finding in after}
    assert [str(f) for f in after if f.severity == "error"] == []


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_rule_fires_on_other_shapes_of_the_fault(code: str, tmp_path: Path) -> None:
    example = EXAMPLES[code]
    shapes = list(variants(example.broken))
    assert len(shapes) >= 3
    for name, files in random.Random(code).sample(shapes, min(4, len(shapes))):
        folder = write(files, tmp_path / name)
        codes = {finding.code for finding in check(folder, **example.options)}
        assert code in codes, f"{name}: {codes}"


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_other_shapes_of_the_repair_stay_good(code: str, tmp_path: Path) -> None:
    example = EXAMPLES[code]
    for name, files in random.Random(code).sample(list(variants(example.good)), 1):
        folder = write(files, tmp_path / name)
        found = check(folder, **example.options)
        assert code not in {finding.code for finding in found}, name
        assert [str(f) for f in found if f.severity == "error"] == [], name


def test_rules_explain_themselves() -> None:
    for code, rule in RULES.items():
        documentation = type(rule).__doc__ or ""
        assert "Source:" in documentation, code
        assert rule.title() and len(rule.title()) < 120, code
        assert rule.severity == "warning" or rule.stage, code
