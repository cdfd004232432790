"""Errors that need a corner of their own."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.repository.applications import STEP, step_with, write
from triton_pyb.config.releases import find_release
from triton_pyb.repository import BuildError, build, resolution
from triton_pyb.repository.archive_check import _elf
from triton_pyb.repository.model_folder import ModelFolder
from triton_pyb.repository.release_check import python_needs
from triton_pyb.repository.resolution import install_wheels
from triton_pyb.runtime.errors import TritonPybError


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make one package look as if it were not installed."""
    real = builtins.__import__

    def hide(package: str) -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            monkeypatch.delitem(sys.modules, name)

        def importing(name: str, *rest: Any) -> Any:
            if name.partition(".")[0] == package:
                raise ImportError(f"No module named '{package}'")
            return real(name, *rest)

        monkeypatch.setattr(builtins, "__import__", importing)

    return hide


def test_without_vermin(without: Any) -> None:
    without("vermin")
    with pytest.raises(BuildError, match="TPB434 .*: the package vermin is not installed"):
        python_needs("x = 1")


def test_without_pyelftools(without: Any) -> None:
    without("elftools")
    with pytest.raises(BuildError, match="TPB451 .*: the package pyelftools is not installed"):
        _elf(b"")


def test_without_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer = subprocess.CompletedProcess([], 1, "", f"{sys.executable}: No module named pip\n")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: answer)
    with pytest.raises(BuildError, match=f"TPB457 {sys.executable} has no pip"):
        install_wheels(["click==8"], find_release("24.10"), tmp_path)


def test_pip_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer = subprocess.CompletedProcess([], 1, "", "WARNING: x\nERROR: No matching distribution found for a==1\n")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: answer)
    with pytest.raises(resolution._NoWheel, match="^No matching distribution found for a==1$"):
        install_wheels(["a==1"], find_release("24.10"), tmp_path)


def test_a_source_that_changes_while_it_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, step_with(""))
    real = ModelFolder.write

    def edit_then_write(self: ModelFolder, folder: Path) -> None:
        (tmp_path / "app.py").write_text("edited just now")
        real(self, folder)

    monkeypatch.setattr(ModelFolder, "write", edit_then_write)
    with pytest.raises(BuildError, match="TPB425 '.*app.py' changed while it was built"):
        build(str(tmp_path / "app.py:double"), tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_instances_said_twice(tmp_path: Path) -> None:
    imports = "from triton_pyb.runtime.model_options import InstanceGroup, ModelOptions"
    text = STEP.replace("@model", "@model(instances=2, config=ModelOptions(instance_group=[InstanceGroup(3)]))")
    write(tmp_path, {"app.py": f"{imports}\n{text}"})
    with pytest.raises(BuildError, match="TPB443 'double' says instances=2 and config= an instance_group"):
        build(str(tmp_path / "app.py"), tmp_path / "models")


def test_labels_that_do_not_exist(tmp_path: Path) -> None:
    imports = "from triton_pyb.runtime.model_options import ModelOptions"
    text = STEP.replace("@model", '@model(config=ModelOptions(labels={"y": "labels.txt"}))')
    write(tmp_path, {"app.py": f"{imports}\n{text}"})
    with pytest.raises(BuildError, match="TPB418 config= names 'labels.txt', and there is no such file"):
        build(str(tmp_path / "app.py"), tmp_path / "models")
    write(tmp_path, {"labels.txt": "cat\n"})
    build(str(tmp_path / "app.py"), tmp_path / "models")
    assert (tmp_path / "models/double/labels.txt").read_text() == "cat\n"
    assert 'label_filename: "labels.txt"' in (tmp_path / "models/double/config.pbtxt").read_text()


@pytest.mark.parametrize("name", ["two words", "a$b", "a/b", "..", ""])
def test_a_name_on_which_triton_would_hang(tmp_path: Path, name: str) -> None:
    declaration = f"m = ExistingModel('m', name={name or ' '!r})"
    write(tmp_path, {"app.py": f"from triton_pyb import ExistingModel\n{declaration}\n"})
    with pytest.raises(TritonPybError) as caught:
        build(str(tmp_path / "app.py:m"), tmp_path / "models")
    assert caught.value.code == "TPB120"
    assert not (tmp_path / "models").exists()
