"""mypy --strict over right and wrong use; ``wrong_use.py`` fails where a mistake is no longer seen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def mypy(*files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    return subprocess.run([*command, *map(str, files)], cwd=ROOT, capture_output=True, text=True)


def test_right_use_is_clean_and_every_wrong_use_is_seen() -> None:
    pytest.importorskip("mypy")
    done = mypy(HERE / "right_use.py", HERE / "wrong_use.py")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_mistake_that_is_not_marked_is_reported_with_its_line(tmp_path: Path) -> None:
    """The test above can fail: without the marks every wrong line is an error of its own."""
    pytest.importorskip("mypy")
    text = (HERE / "wrong_use.py").read_text(encoding="utf-8")
    unmarked = tmp_path / "unmarked.py"
    unmarked.write_text("\n".join(line.partition("  # type: ignore")[0] for line in text.splitlines()) + "\n")
    done = mypy(unmarked)
    marked = {number for number, line in enumerate(text.splitlines(), 1) if "# type: ignore[" in line}
    reported = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert reported == marked


def test_right_use_runs() -> None:
    from tests.typing import right_use

    assert right_use.named("a").label == "a"
    assert len(right_use.declare().steps) == 3
