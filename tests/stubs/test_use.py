"""mypy --strict over right and wrong use of pb_utils; ``check_wrong_use.py`` fails where a mistake is not seen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def mypy(*files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    return subprocess.run([*command, *map(str, files)], cwd=ROOT, capture_output=True, text=True)


def test_right_use_is_clean_and_every_wrong_use_is_seen() -> None:
    done = mypy(*sorted(HERE.glob("check_*.py")))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_mistake_that_is_not_marked_is_reported_with_its_line(tmp_path: Path) -> None:
    """The test above can fail: without the marks every wrong line is an error of its own."""
    text = (HERE / "check_wrong_use.py").read_text(encoding="utf-8")
    unmarked = tmp_path / "unmarked.py"
    unmarked.write_text("\n".join(line.partition("  # type: ignore")[0] for line in text.splitlines()) + "\n")
    done = mypy(unmarked)
    marked = {number for number, line in enumerate(text.splitlines(), 1) if "# type: ignore[" in line}
    reported = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert reported == marked


def test_the_documented_errors_are_what_mypy_says(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "emulator.md").read_text(encoding="utf-8").partition("## Types for hand-written models")[2]
    model = tmp_path / "model.py"
    model.write_text(text.split("```python\n")[1].split("```")[0])
    documented = {
        number: line.partition("# error: ")[2]
        for number, line in enumerate(model.read_text().splitlines(), 1)
        if "# error: " in line
    }
    errors = [line for line in mypy(model).stdout.splitlines() if ": error: " in line]
    assert {int(line.split(":")[1]) for line in errors} == documented.keys()
    for line in errors:
        assert documented[int(line.split(":")[1])] in line
