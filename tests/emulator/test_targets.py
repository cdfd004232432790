"""What can be served, and what cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulator.models import tensors, write
from triton_pyb.emulator import targets
from triton_pyb.emulator.targets import EmulatorMisused, resolve

IO = tensors(("input", "IN", "FP32", [2]), ("output", "OUT", "FP32", [2]))


def test_folders(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", "m", IO)
    write(tmp_path / "b", "n", IO)
    assert resolve(tmp_path / "a", None).repositories == [tmp_path / "a"]
    one = resolve(str(folder), None)
    assert (one.repositories, one.only, one.entry) == ([tmp_path / "a"], ["m"], "m")
    several = resolve([folder, tmp_path / "b" / "n"], None)
    assert (several.repositories, several.only) == ([tmp_path / "a", tmp_path / "b"], ["m", "n"])


def test_a_model_without_a_configuration_is_a_model(tmp_path: Path) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "model.py").touch()
    assert resolve(tmp_path / "m", None).only == ["m"]


def test_without_a_builder_nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "_registered", [])
    monkeypatch.setattr(targets, "entry_points", lambda group, name: [])
    with pytest.raises(EmulatorMisused, match="TPB564 nothing here can build"):
        resolve(object(), None)


def test_a_builder_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Path] = []

    def build(target: object, repository: Path) -> object:
        seen.append(repository)
        raise ValueError("no")

    monkeypatch.setattr(targets, "_registered", [])
    targets.register_builder(build)
    with pytest.raises(ValueError, match="no"):
        resolve(object(), None)
    assert not seen[0].exists()


APP = """
from triton_pyb import Annotated, Name, model


@model
def shout(text: str) -> Annotated[str, Name("loud")]:
    return text.upper()
"""


def test_a_file_of_an_application_is_one(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    for target in (tmp_path / "app.py", f"{tmp_path}/app.py"):
        served = resolve(target, None)
        assert served.entry == "shout" and (served.repositories[0] / "shout/config.pbtxt").is_file()
        assert served.temporary is not None
        served.temporary.cleanup()
