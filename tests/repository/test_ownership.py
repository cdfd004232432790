"""A build replaces what the same declaration built, and nothing else unless the author insists."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_pyb.repository import BuildError, build

from .applications import tree
from .conftest import STEP, Write


def refused(target: str, repository: Path, code: str) -> BuildError:
    before = tree(repository)
    with pytest.raises(BuildError) as caught:
        build(target, repository)
    assert caught.value.code == code and caught.value.where == "model 'shout'"
    assert tree(repository) == before
    return caught.value


@pytest.fixture
def target(write: Write) -> str:
    return f"{write(**{'app.py': STEP})}/app.py:shout"


def test_a_folder_of_somebody_elses(target: str, tmp_path: Path) -> None:
    repository = tmp_path / "models"
    (repository / "shout/1").mkdir(parents=True)
    (repository / "shout/config.pbtxt").write_text('name: "shout"')
    error = refused(target, repository, "TPB412")
    assert "was not built by triton_pyb" in error.what and error.fix.endswith("or build with --overwrite")
    build(target, repository, overwrite=True)
    assert (repository / "shout/1/model.py").is_file()


def test_a_file_in_place_of_a_model(target: str, tmp_path: Path) -> None:
    repository = tmp_path / "models"
    repository.mkdir()
    (repository / "shout").write_text("a file")
    error = refused(target, repository, "TPB412")
    assert error.what == f"'{repository / 'shout'}' is a file" and error.fix == "move it away"


def test_another_declaration_of_the_same_name(target: str, tmp_path: Path, write: Write) -> None:
    repository = tmp_path / "models"
    build(target, repository)
    other = write("other", **{"loud.py": STEP.replace("text.upper()", "text + '!'")})
    error = refused(f"{other}/loud.py:shout", repository, "TPB413")
    assert "was built from " in error.what and "would replace it" in error.what
    assert error.fix.startswith("give the model another name")
    build(f"{other}/loud.py:shout", repository, overwrite=True)


def test_an_edit_by_hand(target: str, tmp_path: Path) -> None:
    repository = tmp_path / "models"
    build(target, repository)
    with (repository / "shout/config.pbtxt").open("a") as file:
        file.write("# mine\n")
    error = refused(target, repository, "TPB414")
    assert "was edited after it was built" in error.what and "--overwrite to lose it" in error.fix
