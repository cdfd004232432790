"""Every code block of the README, in order: files are written, commands are run and their output is compared."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import triton_pyb

ROOT = Path(__file__).parents[1]
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)


def test_every_block_is_a_file_or_commands() -> None:
    assert {language for language, _ in BLOCKS} == {"python", "console"}
    assert all(re.match(r"# [\w.]+\n", text) for language, text in BLOCKS if language == "python")


def test_the_korean_page_has_the_same_blocks() -> None:
    page = (ROOT / "README.ko.md").read_text(encoding="utf-8")
    assert re.findall(r"^```(\w*)\n(.*?)^```$", page, re.M | re.S) == BLOCKS


@pytest.mark.parametrize(
    "page", ["README.md", "README.ko.md", *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))]
)
def test_links_lead_to_files(page: str) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", (ROOT / page).read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_the_changelog_begins_with_this_version() -> None:
    page = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", page, re.M)
    assert newest is not None and newest[1] == triton_pyb.__version__


@pytest.mark.real_triton
def test_the_blocks(tmp_path: Path) -> None:
    example = ROOT / "examples" / "digit_classification"
    shutil.copy(example / "core.pt", tmp_path / "core.pt")
    shutil.copy(example / "pictures" / "digit_3.jpg", tmp_path / "three.jpg")
    for language, text in BLOCKS:
        if language == "python":
            name = text.partition("\n")[0].removeprefix("# ")
            (tmp_path / name).write_text(text)
        else:
            for command, expected in _commands(text):
                _check(command, expected, _run(command, tmp_path))


def _commands(text: str) -> list[tuple[str, list[str]]]:
    """(command, lines of output) of a console block."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def _run(command: str, folder: Path) -> list[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "80", "PYTHONWARNINGS": "default"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return [line.rstrip() for line in done.stdout.splitlines()]


def _check(command: str, expected: list[str], got: list[str]) -> None:
    """Each expected line in this order; ``...`` stands for the rest of a line, or for any lines."""
    position = 0
    for line in expected:
        if line == "...":
            continue
        pattern = line.rstrip().replace("[", "[[]").replace("...", "*")
        rest = got[position:]
        match = next((index for index, have in enumerate(rest) if fnmatch.fnmatchcase(have, pattern)), None)
        assert match is not None, f"$ {command}: no line {line!r} in\n" + "\n".join(rest)
        position += match + 1
