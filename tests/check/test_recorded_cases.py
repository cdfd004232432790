"""The checker against the verdicts of a real Triton: nothing missed, nothing invented, the same cause named."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.check.recorded import cases, check_case, judge

GROUPS = sorted({case["group"] for case in cases()})

#: Recorded with an index that only says "no version": the cause is in the log, which the case does not hold.
WITHOUT_WORDS = {"Q_explicit_load_poll_error", "Q_explicit_load_load_error", "Q_explicit_load_no_version"}
WITHOUT_WORDS |= {"Q_explicit_load_ensemble_error"}


@pytest.mark.parametrize("group", GROUPS)
def test_every_refusal_is_found_with_its_cause(group: str, tmp_path: Path, record_property: object) -> None:
    totals: Counter[str] = Counter()
    missed, other_words, invented = [], [], []
    for case in cases():
        if case["group"] != group:
            continue
        verdict = judge(case, check_case(case, tmp_path / case["name"]))
        invented += [f"{case['name']}: {finding.code} {finding.message}" for finding in verdict.false_errors]
        if case["expected"] == "ok":
            totals["accepted"] += 1
            continue
        totals["refused"] += 1
        totals["found"] += verdict.found
        totals["host dependent"] += bool(case["host_dependent"])
        missed += [] if verdict.found else [case["name"]]
        if verdict.found and not verdict.same_words and case["name"] not in WITHOUT_WORDS:
            other_words.append(case["name"])
    print(f"group {group}: {dict(totals)}")
    assert missed == []
    assert other_words == []
    assert invented == []
    assert totals["refused"] == totals["found"]


def test_host_dependent_cases_on_the_usual_target(tmp_path: Path) -> None:
    """What only the recording machine lacks (GPUs, other backends) is no fault for NVIDIA's container."""
    findings = {}
    for case in cases():
        if case["host_dependent"] and case["name"].startswith(("C_ig_", "C_platform_pytorch")):
            folder = tmp_path / case["name"]
            check_case(case, folder)
            from triton_pyb.check import check

            errors = [f.code for f in check(folder / "repository") if f.severity == "error"]
            findings[case["name"]] = errors
    assert findings == {
        "C_ig_gpu_no_gpu": [],
        "C_ig_gpu_id_no_gpu": [],
        "C_ig_auto_with_gpus_no_gpu": [],
        "C_platform_pytorch": ["TPB1133"],  # model.pt is missing: refused everywhere
    }
