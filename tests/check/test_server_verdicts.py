"""A sample of the examples, asked of a real Triton; ``scripts/check_rules.py`` asks about all of them."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.check.server_verdicts import asked, needs_own_server, stage, together

#: Changes with the code of a release, not from run to run.
SEED = 20241


@pytest.mark.real_triton
@pytest.mark.skipif(not os.environ.get("CI"), reason="runs in CI; elsewhere scripts/check_rules.py asks about all")
def test_a_sample_gets_the_same_verdict(tmp_path: Path) -> None:
    candidates = [code for code in asked() if stage(code) and not needs_own_server(code)]
    codes = sorted(random.Random(SEED).sample(candidates, 6))
    answers = list(together(codes, tmp_path))
    assert len(answers) == 2 * len(codes)
    assert [answer for answer in answers if not answer.agrees or not answer.same_words] == []
