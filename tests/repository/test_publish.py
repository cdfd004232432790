"""Folders are exchanged whole: whatever goes wrong, the repository is what it was, and nothing lies around."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from triton_pyb.repository import BuildError, build, staging
from triton_pyb.repository.model_folder import ModelFolder
from triton_pyb.repository.release_check import python_needs
from triton_pyb.repository.staging import Staging

from .applications import tree
from .conftest import STEP, Write
from .test_build import FILES


def around(repository: Path) -> list[str]:
    """What lies beside the repository: a staging folder that was forgotten would show."""
    return sorted(path.name for path in repository.parent.iterdir() if path.name.startswith("."))


@pytest.fixture
def target(write: Write) -> str:
    return f"{write(**FILES)}/app.py:pipeline"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "models"


def change(write: Write) -> None:
    write(**{"words.py": "FACTOR = 3\n"})


def test_the_repository_is_made_with_the_folders_above_it(target: str, repository: Path) -> None:
    build(target, repository)
    assert len(list(repository.iterdir())) == 4 and around(repository) == []


def test_an_existing_folder_is_exchanged(target: str, repository: Path, write: Write) -> None:
    build(target, repository)
    change(write)
    build(target, repository)
    assert (repository / "after/1/words.py").read_text() == "FACTOR = 3\n" and around(repository) == []


def test_a_file_that_is_gone_from_the_source_is_gone_from_the_folder(repository: Path, write: Write) -> None:
    importing = STEP.replace("    from triton_pyb", "    import words\n    from triton_pyb", 1)
    folder = write(**{"app.py": importing, "words.py": ""})
    build(f"{folder}/app.py", repository)
    assert (repository / "shout/1/words.py").exists()
    write(**{"app.py": STEP})
    build(f"{folder}/app.py", repository)
    assert not (repository / "shout/1/words.py").exists()


def test_other_models_in_the_repository_are_left_alone(target: str, repository: Path) -> None:
    (repository / "other/1").mkdir(parents=True)
    (repository / "other/config.pbtxt").write_text('name: "other"')
    build(target, repository)
    assert (repository / "other/config.pbtxt").read_text() == 'name: "other"'


def test_every_folder_can_be_read_by_another_user(target: str, repository: Path) -> None:
    old = os.umask(0o077)
    try:
        build(target, repository)
    finally:
        os.umask(old)
    for path in repository.rglob("*"):
        assert path.stat().st_mode & 0o055 == (0o055 if path.is_dir() else 0o044), path


@pytest.mark.parametrize("failing", ["before", "core", "after", "whole"])
@pytest.mark.parametrize("first", [True, False], ids=["first build", "over an old one"])
def test_a_write_that_fails_leaves_everything_as_it_was(
    target: str, repository: Path, write: Write, monkeypatch: pytest.MonkeyPatch, failing: str, first: bool
) -> None:
    if not first:
        build(target, repository)
        change(write)
    before = tree(repository) if repository.exists() else None
    original = ModelFolder.write

    def breaking(self: ModelFolder, folder: Path) -> None:
        original(self, folder)
        if self.name == failing:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ModelFolder, "write", breaking)
    with pytest.raises(BuildError) as caught:
        build(target, repository)
    error = caught.value
    assert error.code == "TPB411" and "No space left on device" in error.what and str(repository) in error.where
    assert error.fix == "free the disk, correct the permissions, or name another folder"
    assert (tree(repository) if repository.exists() and any(repository.iterdir()) else None) == before
    assert around(repository) == []


def test_an_interruption_leaves_no_staging_folder(
    target: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Any, folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ModelFolder, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(target, repository)
    assert around(repository) == []


def test_a_file_in_place_of_the_repository(target: str, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(BuildError) as caught:
        build(target, tmp_path / "models")
    assert caught.value.code == "TPB410" and "is a file" in caught.value.what
    assert caught.value.fix == "name a folder"
    assert (tmp_path / "models").read_text() == "a file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(target: str, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    with pytest.raises(BuildError) as caught:
        build(target, closed / "models")
    assert caught.value.code == "TPB411"


def test_a_relative_repository(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    build(target, "models")
    assert (tmp_path / "models/whole").is_dir() and around(tmp_path / "models") == []


def test_two_builds_at_once(target: str, repository: Path) -> None:
    with Staging(repository):
        with pytest.raises(BuildError) as caught:
            build(target, repository)
    error = caught.value
    assert (error.code, error.what) == ("TPB421", f"another build is writing '{repository}'")
    assert error.fix == "wait until it has ended, and build again"
    build(target, repository)


def test_a_repository_on_a_mount_of_its_own(target: str, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's volume: nothing can be exchanged whole, which is said; versions cannot be published there."""
    monkeypatch.setattr(staging, "mount_of", lambda path: str(path))
    with pytest.raises(BuildError) as caught:
        build(target, repository, new_version=True)
    error = caught.value
    assert error.code == "TPB422" and "because it is a mount of its own" in error.what
    assert error.fix.startswith("build without --new-version")
    built = build(target, repository)
    assert any("mount of its own" in note for note in built.notes)
    assert (repository / "whole/config.pbtxt").is_file() and around(repository) == []


def test_a_source_that_is_saved_while_it_is_built(
    target: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = shutil.copyfile

    def saving(source: Any, copy: Any) -> Any:
        if Path(source).name == "words.py":
            Path(source).write_text("FACTOR = 99\n")
        return original(source, copy)

    monkeypatch.setattr(shutil, "copyfile", saving)
    with pytest.raises(BuildError) as caught:
        build(target, repository)
    error = caught.value
    assert error.code == "TPB425" and error.what.endswith("words.py' changed while it was built")
    assert error.fix == "build again when nothing writes it any more"
    assert around(repository) == []


def test_without_vermin_a_release_cannot_be_checked(
    target: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vermin", None)
    with pytest.raises(BuildError) as caught:
        python_needs("x = 1")
    error = caught.value
    assert error.code == "TPB434" and "the package vermin is not installed" in error.what
    assert error.fix == "install it: pip install vermin"
