"""Only what is safe is repaired, and what was wrong is right afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.check.examples import EXAMPLES, GOOD_CONFIG, MODEL_PY, ensemble, model, part, step
from tests.check.variants import write
from triton_pyb.check import check
from triton_pyb.check.command import Options, run_command

FIXED = ("TPB1007", "TPB1009", "TPB1012", "TPB1020", "TPB1123", "TPB1622")


@pytest.mark.parametrize("code", FIXED)
def test_repair_makes_the_finding_go_away(code: str, tmp_path: Path) -> None:
    write(EXAMPLES[code].broken, tmp_path)
    outcome = run_command([str(tmp_path)], Options(), repair=True)
    assert outcome.repairs
    assert outcome.findings == []
    again = run_command([str(tmp_path)], Options(), repair=True)
    assert again.repairs == []


def test_several_repairs_in_one_file_keep_the_rest(tmp_path: Path) -> None:
    text = "\ufeff# \uc8fc\uc11d\r\n" + GOOD_CONFIG.replace("TYPE_FP32", "FP32").replace("} ]", "}, ]").replace(
        "\n", "\r\n"
    )
    write(model(text), tmp_path)
    file = tmp_path / "m" / "config.pbtxt"
    file.chmod(0o640)
    outcome = run_command([str(tmp_path)], Options(), repair=True)
    assert len(outcome.repairs) == 5 and outcome.findings == []
    assert file.read_bytes() == ("# \uc8fc\uc11d\r\n" + GOOD_CONFIG.replace("\n", "\r\n")).encode()
    assert file.stat().st_mode & 0o777 == 0o640
    assert set(os.listdir(tmp_path / "m")) == {"config.pbtxt", "1"}


def test_version_folders(tmp_path: Path) -> None:
    files = {path: text for path, text in ensemble().items() if path != "e/1"}
    files.update({"b/config.pbtxt": GOOD_CONFIG.replace('"m"', '"b"'), "b/model.py": MODEL_PY})
    write(files, tmp_path)
    outcome = run_command([str(tmp_path)], Options(), repair=True)
    assert (tmp_path / "e" / "1" / ".keep").exists()
    assert (tmp_path / "b" / "1" / "model.py").read_text() == MODEL_PY
    assert len(outcome.repairs) == 2 and outcome.findings == []


def test_a_wrong_version_is_not_guessed(tmp_path: Path) -> None:
    write(ensemble(step("a", version="model_version: 7"), parts=(part("a"),)), tmp_path)
    outcome = run_command([str(tmp_path)], Options(), repair=True)
    assert outcome.repairs == [] and [f.code for f in outcome.findings] == ["TPB1622"]


def test_what_is_ignored_is_not_repaired(tmp_path: Path) -> None:
    write(EXAMPLES["TPB1123"].broken, tmp_path)
    outcome = run_command([str(tmp_path)], Options(ignore={"TPB1123": "a sequence"}), repair=True)
    assert outcome.repairs == [] and outcome.findings == []
    assert {f.code for f in check(tmp_path)} == {"TPB1123"}


@pytest.mark.parametrize(
    "dims", [("-1, 3, 8, 8", "10"), ("1, 4", "1, 4"), ("-1, 3, 8, 8", "1, 10"), ("-1, 3, 8, 8", "-1")]
)
def test_dims_that_may_belong_to_each_item_stay(dims: tuple[str, str], tmp_path: Path) -> None:
    """The model takes requests before the repair; it has to take the same ones after it."""
    first, second = dims
    text = GOOD_CONFIG.replace("[ 4 ]", f"[ {first} ]", 1).replace("[ 4 ]", f"[ {second} ]")
    assert "max_batch_size: 8" in text
    write(model(text), tmp_path)
    outcome = run_command([str(tmp_path)], Options(), repair=True)
    assert outcome.repairs == [] and (tmp_path / "m/config.pbtxt").read_text() == text
    for finding in outcome.findings:
        assert finding.code == "TPB1123" and "--fix does not touch it" in finding.fix


def test_a_batch_axis_in_every_tensor_goes(tmp_path: Path) -> None:
    text = GOOD_CONFIG.replace("[ 4 ]", "[ -1, 3, 8, 8 ]", 1).replace("[ 4 ]", "[ -1, 10 ]")
    write(model(text), tmp_path)
    assert {f.fix for f in check(tmp_path)} == {
        "write dims: [ 3, 8, 8 ], or max_batch_size: 0",
        "write dims: [ 10 ], or max_batch_size: 0",
    }
    outcome = run_command([str(tmp_path)], Options(), repair=True)
    assert len(outcome.repairs) == 2 and outcome.findings == []
    repaired = (tmp_path / "m/config.pbtxt").read_text()
    assert repaired == text.replace("-1, 3, 8, 8", "3, 8, 8").replace("-1, 10", "10")
