"""Publishing that goes wrong leaves the old folder byte for byte, and no litter."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repository.applications import pipeline_text, step_with, tree, write
from triton_pyb.repository import BuildError, build, publish, staging


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose pipeline is built into ``models`` beside it."""
    write(tmp_path / "project", {"app.py": pipeline_text()})
    build(str(tmp_path / "project/app.py:pipeline"), tmp_path / "models")
    write(tmp_path / "project", {"app.py": pipeline_text(offset="9")})
    return tmp_path


def rebuild(place: Path, **options: bool) -> None:
    build(str(place / "project/app.py:pipeline"), place / "models", **options)  # type: ignore[arg-type]


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("new_version", [False, True])
@pytest.mark.parametrize("failing", [1, 2, 3])
def test_when_one_move_fails_all_go_back(
    project: Path, monkeypatch: pytest.MonkeyPatch, failing: int, new_version: bool
) -> None:
    old = tree(project / "models")
    calls = 0
    real = publish._move

    def move(step: publish.Move) -> None:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise OSError(errno.EIO, "the disk is broken")
        real(step)

    monkeypatch.setattr(publish, "_move", move)
    with pytest.raises(BuildError, match="TPB411 the repository cannot be written: .*the disk is broken"):
        rebuild(project, new_version=new_version)
    assert tree(project / "models") == old
    assert names(project) == ["models", "project"]


def test_a_full_disk(project: Path) -> None:
    """A limit on the size of files stands for the disk: EFBIG comes where ENOSPC would."""
    write(project / "project", {"app.py": pipeline_text() + "#" * 300_000})
    old = tree(project / "models")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        with pytest.raises(BuildError, match="TPB411 the repository cannot be written: .*File too large"):
            rebuild(project)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert tree(project / "models") == old
    assert names(project) == ["models", "project"]


def test_two_builds_at_once(project: Path) -> None:
    folder = project / ".models.triton_pyb-staging"
    folder.mkdir()
    handle = os.open(folder, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(BuildError, match="TPB421 another build is writing '.*models'"):
            rebuild(project)
    finally:
        os.close(handle)
    rebuild(project)
    assert names(project) == ["models", "project"]


def test_what_a_killed_build_left_is_cleared(project: Path) -> None:
    write(project / ".models.triton_pyb-staging", {"scale/1/model.py": "half", staging.MARKER: ""})
    rebuild(project)
    assert names(project) == ["models", "project"]
    assert "mid.reshape(2) + 9" in (project / "models/shift/1/app.py").read_text()


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """A small sample of scripts/check_kills.py."""
    for index in range(2):
        write(tmp_path / f"app{index}", {"app.py": pipeline_text(offset=str(index))})
        build(str(tmp_path / f"app{index}/app.py:pipeline"), tmp_path / f"whole{index}")
    build(str(tmp_path / "app0/app.py:pipeline"), tmp_path / "models")
    chance = random.Random(7)
    for kill in range(8):
        target = str(tmp_path / f"app{(kill + 1) % 2}/app.py:pipeline")
        child = os.fork()
        if child == 0:
            try:
                build(target, tmp_path / "models")
            finally:
                os._exit(0)
        while not (tmp_path / ".models.triton_pyb-staging").exists():
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                break
        signal.sigtimedwait([], chance.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for model in ("scale", "shift", "sums"):
            seen = tree(tmp_path / "models" / model)
            assert seen in [tree(tmp_path / f"whole{index}" / model) for index in range(2)], (kill, model)
    build(str(tmp_path / "app1/app.py:pipeline"), tmp_path / "models")
    assert tree(tmp_path / "models") == tree(tmp_path / "whole1")
    assert [name for name in names(tmp_path) if name.startswith(".")] == []


def test_a_path_on_which_triton_hangs_is_told(tmp_path: Path) -> None:
    write(tmp_path, step_with(""))
    said = build(str(tmp_path / "app.py:double"), tmp_path / "my $models").notes
    assert f"the path '{tmp_path}/my $models' holds ' ' '$': Triton up to 25.07 hangs" in said[-1]


# ---- where folders cannot be exchanged


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A repository that is a bind mount of a folder elsewhere."""
    place = tmp_path / "mounted" / "models"
    place.mkdir(parents=True)
    (tmp_path / "origin").mkdir()
    if os.geteuid() or subprocess.run(["mount", "--bind", tmp_path / "origin", place], stderr=-3).returncode:
        pytest.skip("needs the right to mount")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_bind_mount_is_seen_and_told(tmp_path: Path, mounted: Path) -> None:
    write(tmp_path / "project", {"app.py": pipeline_text()})
    target = str(tmp_path / "project/app.py:pipeline")
    said = build(target, mounted).notes
    assert said[0].endswith(
        "because it is a mount of its own: each version folder appeared whole, and config.pbtxt after it"
    )
    write(tmp_path / "project", {"app.py": pipeline_text(offset="9")})
    build(target, mounted)
    assert names(mounted) == ["scale", "shift", "sums"]
    assert names(mounted / "shift") == ["2", "config.pbtxt"]
    assert "mid.reshape(2) + 9" in (mounted / "shift/2/app.py").read_text()
    assert names(mounted.parent) == ["models"]
    with pytest.raises(BuildError, match="TPB422 versions cannot be published into .* is a mount of its own"):
        build(target, mounted, new_version=True)


def test_what_a_build_killed_on_a_mount_left_is_cleared(tmp_path: Path, mounted: Path) -> None:
    write(mounted, {"scale/.triton_pyb-staging/1/model.py": "half"})
    write(tmp_path / "project", {"app.py": pipeline_text()})
    build(str(tmp_path / "project/app.py:pipeline"), mounted)
    assert names(mounted / "scale") == ["1", "config.pbtxt"]


def test_a_full_mount(tmp_path: Path) -> None:
    """A real full disk: a tmpfs of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], stderr=-3).returncode:
        pytest.skip("needs the right to mount")
    try:
        write(tmp_path / "project", step_with("", {"big.bin": "x" * 900_000}))
        application = tmp_path / "project/app.py"
        build(str(application), place / "models")
        old = tree(place / "models")
        application.write_text(application.read_text().replace("@model", '@model(assets=("big.bin",))'))
        with pytest.raises(BuildError, match="TPB411 .*No space left on device"):
            build(str(application), place / "models")
        assert tree(place / "models") == old
        assert names(place) == ["models"]
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_file_system_that_cannot_exchange(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(new: Path, old: Path) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(staging, "exchange", refuse)
    said = build(str(project / "project/app.py:pipeline"), project / "models").notes
    assert "because its file system cannot exchange folders (Invalid argument)" in said[0]
    assert names(project / "models/shift") == ["2", "config.pbtxt"]
    assert names(project) == ["models", "project"]


# ---- whose folder it is


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    write(tmp_path, step_with(""))
    write(tmp_path / "models/double", {"config.pbtxt": 'backend: "python"', "1/model.py": "theirs"})
    old = tree(tmp_path / "models")
    with pytest.raises(BuildError) as caught:
        build(str(tmp_path / "app.py:double"), tmp_path / "models")
    assert caught.value.code == "TPB412"
    assert caught.value.what == (
        f"'{tmp_path}/models/double' was not built by triton_pyb, and app.py:double would replace it"
    )
    assert tree(tmp_path / "models") == old
    build(str(tmp_path / "app.py:double"), tmp_path / "models", overwrite=True)
    assert "1/app.py" in tree(tmp_path / "models/double")


def test_a_file_in_the_place_of_a_model_folder(tmp_path: Path) -> None:
    write(tmp_path, step_with("", {"models/double": "a file"}))
    with pytest.raises(BuildError, match="TPB412 '.*models/double' is a file"):
        build(str(tmp_path / "app.py:double"), tmp_path / "models")


@pytest.mark.parametrize("inside, how", [("shift/1/app.py", "edited"), ("shift/config.pbtxt", "edited"),
                                         ("shift/1/more.py", "added"), ("shift/notes.txt", "added")])  # fmt: skip
def test_edits_by_hand_are_not_lost(project: Path, inside: str, how: str) -> None:
    path = project / "models" / inside
    path.write_text((path.read_text() if path.exists() else "") + "# mine\n")
    with pytest.raises(BuildError, match=f"TPB414 '.*{inside}' was {how} after it was built from app.py:shift"):
        rebuild(project)
    rebuild(project, overwrite=True)


def test_the_same_source_in_two_checkouts_gives_the_same_bytes(tmp_path: Path) -> None:
    for checkout in ("one", "a/deeper/two"):
        root = write(tmp_path / checkout, {"services/sums/app.py": pipeline_text(), "pyproject.toml": ""})
        build(str(root / "services/sums/app.py:pipeline"), tmp_path / "built" / checkout[-3:])
    assert tree(tmp_path / "built/one") == tree(tmp_path / "built/two")
    assert b"services/sums/app.py" in tree(tmp_path / "built/one")["sums/1/triton_pyb.json"]
