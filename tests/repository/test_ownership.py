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


def test_kept_versions(target: str, tmp_path: Path) -> None:
    repository, application = tmp_path / "models", Path(target.rpartition(":")[0])
    for ending in ("'.'", "'?'", "'!'"):
        text = application.read_text().replace("text.upper()", f"(text.upper() + {ending})")
        application.write_text(text)
        build(target, repository, new_version=True)
    error = refused(target, repository, "TPB446")
    assert error.what.startswith(f"'{repository}/shout' keeps versions 1, 2 to go back to, and a build without")
    assert error.fix == "publish with --new-version, or build with --overwrite to lose the kept versions"
    build(target, repository, overwrite=True)
    assert sorted(entry.name for entry in (repository / "shout").iterdir()) == ["1", "config.pbtxt"]


def test_keep_without_new_version(target: str, tmp_path: Path) -> None:
    with pytest.raises(BuildError) as caught:
        build(target, tmp_path / "models", keep=3)
    assert (caught.value.code, caught.value.where) == ("TPB447", "keep=")
    assert caught.value.what == "keep=3 says how many old versions stay, and without new_version none does"


def test_a_model_folder_is_no_repository(target: str, tmp_path: Path) -> None:
    build(target, tmp_path / "models")
    for options in ({}, {"overwrite": True}, {"new_version": True}):
        with pytest.raises(BuildError) as caught:
            build(target, tmp_path / "models/shout", **options)  # type: ignore[arg-type]
        assert caught.value.code == "TPB448"
        assert caught.value.what == f"'{tmp_path}/models/shout' is a model folder: it holds a config.pbtxt"
        assert caught.value.fix == f"name the folder that holds model folders: '{tmp_path}/models'"
