"""What hangs or kills a real server at the load is named at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.errors import LoadFailed

_HANGS = ": releases up to 25.07 never finish starting here"


def _load(repository: Path, more: str, release: str = "24.10") -> str:
    """The reason why a model with `more` in its configuration does not load, or an empty string."""
    folder = repository / "m" / "1"
    folder.mkdir(parents=True)
    (folder / "model.py").write_text("class TritonPythonModel:\n    pass\n")
    (folder.parent / "config.pbtxt").write_text(
        'backend: "python" input [{ name: "I" data_type: TYPE_FP32 dims: [1] }]'
        f' output [{{ name: "O" data_type: TYPE_FP32 dims: [1] }}] {more}'
    )
    try:
        with EmulatedTriton(repository, release=release):
            return ""
    except LoadFailed as failed:
        return failed.reason


@pytest.mark.parametrize("name", ["a-b", "a/b", "é", " a", "a#b", "a!b", "$HOME", "*", "~", "$(x y)"])
def test_names_that_the_shell_leaves_one_word(tmp_path: Path, name: str) -> None:
    assert _load(tmp_path, f'instance_group [{{ name: "{name}" }}]') == ""


@pytest.mark.parametrize("name", ["a b", "é g", "{a,b}"])
def test_names_that_the_shell_splits(tmp_path: Path, name: str) -> None:
    reason = "ModuleNotFoundError: No module named 'model'"
    assert _load(tmp_path, f'instance_group [{{ name: "{name}" }}]') == reason


@pytest.mark.parametrize("name", ["a'b", "a;b", "a&b", "a #b"])
def test_names_that_end_the_stubs_command(tmp_path: Path, name: str) -> None:
    said = f"the instance group's name {name!r} has a character that ends the stub's command"
    assert _load(tmp_path / "old", f'instance_group [{{ name: "{name}" }}]') == said + _HANGS
    assert _load(tmp_path / "new", f'instance_group [{{ name: "{name}" }}]', "25.08") == said


def test_a_model_without_its_file(tmp_path: Path) -> None:
    said = f"Python model file not found in '{tmp_path}/%s/m/1/other.py'"
    more = 'default_model_filename: "other.py"'
    assert _load(tmp_path / "old", more) == said % "old" + _HANGS
    assert _load(tmp_path / "new", more, "25.08") == said % "new"
