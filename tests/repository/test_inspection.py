"""What is said about a model folder, and about the difference of two."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.repository.applications import STEP, pipeline_text, step_with, write
from triton_pyb.repository import BuildError, build
from triton_pyb.repository.difference import differences
from triton_pyb.repository.inspection import inspect_folder, model_folders


@pytest.fixture
def models(tmp_path: Path) -> Path:
    write(tmp_path, {"app.py": pipeline_text()})
    build(str(tmp_path / "app.py:pipeline"), tmp_path / "models", release="24.10")
    return tmp_path / "models"


def test_a_built_folder_says_where_it_comes_from(models: Path) -> None:
    found = inspect_folder(models / "scale")
    assert found.manifest is not None
    assert str(found.manifest.source) == "app.py:scale of pipeline 'sums'"
    assert found.to_dict() | {"requirements": [], "triton_pyb": ""} == {
        "model": "scale",
        "runs_on": "python",
        "max_batch_size": 4,
        "inputs": [{"name": "x", "dtype": "FP32", "dims": [2]}],
        "outputs": [{"name": "mid", "dtype": "FP32", "dims": [2]}],
        "versions": ["1"],
        "steps": [],
        "built_from": "app.py:scale of pipeline 'sums'",
        "triton_pyb": "",
        "release": "24.10",
        "requirements": [],
        "edited": [],
        "missing": [],
        "added": [],
        "is_what_version_was": None,
        "unreadable": None,
    }
    assert inspect_folder(models / "sums").steps == ("scale", "shift")


def test_what_was_touched_since(models: Path) -> None:
    (models / "scale/1/app.py").write_text("edited")
    (models / "scale/1/signature.json").unlink()
    (models / "scale/notes.txt").write_text("added")
    (models / "scale/1/__pycache__").unlink()
    found = inspect_folder(models / "scale")
    assert (found.edited, found.missing, found.added) == (("1/app.py",), ("1/signature.json",), ("notes.txt",))


def test_a_folder_of_somebody_else(tmp_path: Path) -> None:
    write(tmp_path, {"m/1/model.py": "", "m/config.pbtxt": 'backend: "python"'})
    assert inspect_folder(tmp_path / "m").manifest is None
    assert model_folders(tmp_path) == [tmp_path / "m"]


@pytest.mark.parametrize("name, said", [("nowhere", "there is no folder"), (".", "holds no model folder")])
def test_no_model_folder(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(BuildError, match=f"TPB460 .*{said}"):
        model_folders(tmp_path / name)


def said(a: Path, b: Path) -> list[tuple[str, str, str]]:
    return [(change.model, change.kind, change.what) for change in differences(a, b)]


def test_no_difference(models: Path, tmp_path: Path) -> None:
    shutil.copytree(models, tmp_path / "copy")
    assert differences(models, tmp_path / "copy") == []


def test_everything_that_can_differ(models: Path, tmp_path: Path) -> None:
    write(tmp_path / "other", {"app.py": "import click\n" + pipeline_text(mid="other").replace('"sums"', '"sums2"')})
    build(str(tmp_path / "other/app.py:pipeline"), tmp_path / "models2")
    found = said(models, tmp_path / "models2")
    assert ("sums", "model", "only in the first") in found
    assert ("sums2", "model", "only in the second") in found
    assert ("scale", "tensor", "output 'mid' FP32[2] is gone") in found
    assert ("scale", "tensor", "output 'other' FP32[2] is new") in found
    assert ("scale", "build", "release: 24.10 -> any") in found
    assert any(
        model == "scale" and kind == "requirement" and what.startswith("+ click==") for model, kind, what in found
    )
    change = next(c for c in differences(models, tmp_path / "models2") if c.what == "VERSION/app.py differs")
    assert "+import click" in change.lines


def test_two_model_folders_and_their_newest_versions(tmp_path: Path) -> None:
    for factor in ("2", "3"):
        write(tmp_path, {"app.py": STEP.replace("2 * x", f"{factor} * x")})
        build(str(tmp_path / "app.py"), tmp_path / "models", new_version=True)
    write(tmp_path / "alone", step_with(""))
    build(str(tmp_path / "alone/app.py:double"), tmp_path / "other")
    found = said(tmp_path / "other/double", tmp_path / "models/double")
    assert ("double", "file", "VERSION/app.py differs") in found
    assert not any("runtime" in what for _, _, what in found)
