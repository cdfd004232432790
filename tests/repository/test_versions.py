"""New versions: what is published, what is left alone, what is kept, and the way back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repository.applications import STEP, pipeline_text, tree, write
from triton_pyb.repository import BuildError, build
from triton_pyb.repository.rollback import rollback
from triton_pyb.repository.versions import pinned, read_config

STEP_TEXT = STEP + "\npipeline = double\n"


def publish(folder: Path, text: str, keep: int = 2) -> Path:
    write(folder, {"app.py": text})
    build(str(folder / "app.py:pipeline"), folder / "models", new_version=True, keep=keep)
    return folder / "models"


def versions(repository: Path) -> dict[str, list[str]]:
    return {
        model.name: sorted(entry.name for entry in model.iterdir() if entry.is_dir()) for model in repository.iterdir()
    }


def pins(repository: Path, version: str) -> set[tuple[str, int]]:
    return pinned(repository / "sums" / version)


def test_the_ensemble_pins_what_it_was_built_with(tmp_path: Path) -> None:
    models = publish(tmp_path, pipeline_text())
    assert versions(models) == {"scale": ["1"], "shift": ["1"], "sums": ["1"]}
    assert pins(models, "1") == {("scale", 1), ("shift", 1)}


def test_only_what_changed_gets_a_new_version(tmp_path: Path) -> None:
    publish(tmp_path, pipeline_text())
    before = tree(tmp_path / "models")
    models = publish(tmp_path, pipeline_text())
    assert tree(models) == before
    write(tmp_path, {"app.py": pipeline_text(offset="5")})
    models = publish(tmp_path, pipeline_text(offset="5"))
    assert versions(models) == {"scale": ["1", "2"], "shift": ["1", "2"], "sums": ["1", "2"]}
    assert pins(models, "2") == {("scale", 2), ("shift", 2)}
    assert {name: text for name, text in tree(models).items() if name.startswith(("scale/1/", "shift/1/"))} == {
        name: text for name, text in before.items() if name.startswith(("scale/1/", "shift/1/"))
    }


def test_another_tensor_between_two_steps_makes_new_models(tmp_path: Path) -> None:
    publish(tmp_path, pipeline_text())
    models = publish(tmp_path, pipeline_text(mid="other"))
    assert versions(models) == {"scale": ["1"], "scale_2": ["1"], "shift": ["1"], "shift_2": ["1"], "sums": ["1", "2"]}
    assert pins(models, "2") == {("scale_2", 1), ("shift_2", 1)}
    assert read_config(models / "scale_2/config.pbtxt").name == "scale_2"
    models = publish(tmp_path, pipeline_text(mid="other", offset="7"))
    assert pins(models, "3") == {("scale_2", 2), ("shift_2", 2)}


def test_only_what_a_kept_ensemble_names_is_kept(tmp_path: Path) -> None:
    for offset in range(5):
        models = publish(tmp_path, pipeline_text(offset=str(offset)), keep=1)
    assert versions(models) == {"scale": ["4", "5"], "shift": ["4", "5"], "sums": ["4", "5"]}
    for offset in range(5, 7):
        publish(tmp_path, pipeline_text(mid="other", offset=str(offset)), keep=1)
    assert versions(models) == {"scale_2": ["1", "2"], "shift_2": ["1", "2"], "sums": ["6", "7"]}


def test_keeping_none(tmp_path: Path) -> None:
    publish(tmp_path, pipeline_text(), keep=0)
    models = publish(tmp_path, pipeline_text(offset="3"), keep=0)
    assert versions(models) == {"scale": ["2"], "shift": ["2"], "sums": ["2"]}


def test_rollback_brings_back_what_was_pinned(tmp_path: Path) -> None:
    publish(tmp_path, pipeline_text())
    publish(tmp_path, pipeline_text(mid="other"))
    models = tmp_path / "models"
    assert rollback(models, "sums").version == 3
    assert pins(models, "3") == pins(models, "1") == {("scale", 1), ("shift", 1)}
    config = read_config(models / "sums/config.pbtxt")
    assert [step.model_name for step in config.ensemble_scheduling.step] == ["scale", "shift"]
    assert rollback(models, "sums", to=2).version == 4
    assert pins(models, "4") == {("scale_2", 1), ("shift_2", 1)}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.py", "models"]


def test_rollback_of_a_step_built_alone(tmp_path: Path) -> None:
    for factor in ("2", "3"):
        write(tmp_path, {"app.py": STEP.replace("2 * x", f"{factor} * x")})
        build(str(tmp_path / "app.py"), tmp_path / "models", new_version=True)
    assert rollback(tmp_path / "models", "double").version == 3
    assert "2 * x" in (tmp_path / "models/double/3/app.py").read_text()
    assert "3 * x" in (tmp_path / "models/double/2/app.py").read_text()


def test_no_way_back(tmp_path: Path) -> None:
    models = publish(tmp_path, pipeline_text())
    with pytest.raises(BuildError, match="TPB423 model 'sums' has no version before its newest to go back to"):
        rollback(models, "sums")
    publish(tmp_path, pipeline_text(offset="3"))
    (models / "scale/1").rename(tmp_path / "elsewhere")
    with pytest.raises(BuildError, match="TPB424 version 1 names version 1 of 'scale', which is gone"):
        rollback(models, "sums")


def test_an_exchange_after_versions_is_refused_where_edits_would_be_lost(tmp_path: Path) -> None:
    models = publish(tmp_path, pipeline_text())
    (models / "scale/1/app.py").write_text("edited")
    with pytest.raises(BuildError, match="TPB414 .*scale/1/app.py' was edited after it was built from app.py:scale"):
        build(str(tmp_path / "app.py:pipeline"), models)


def test_after_an_exchange_nothing_goes_that_the_old_ensemble_uses(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": pipeline_text()})
    build(str(tmp_path / "app.py:pipeline"), tmp_path / "models")
    models = publish(tmp_path, pipeline_text(offset="3"), keep=1)
    assert versions(models) == {"scale": ["1", "2"], "shift": ["1", "2"], "sums": ["1", "2"]}
    publish(tmp_path, pipeline_text(offset="4"), keep=1)
    assert versions(models) == {"scale": ["2", "3"], "shift": ["2", "3"], "sums": ["2", "3"]}


def test_a_plain_build_is_the_first_version_that_is_kept(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": pipeline_text()})
    build(f"{tmp_path}/app.py:pipeline", tmp_path / "models")
    models = publish(tmp_path, pipeline_text(offset="9"))
    assert versions(models) == {"scale": ["1", "2"], "shift": ["1", "2"], "sums": ["1", "2"]}
    assert pins(models, "1") == {("scale", 1), ("shift", 1)}
    assert rollback(models, "sums").version == 3
    assert pins(models, "3") == {("scale", 1), ("shift", 1)}
    publish(tmp_path, pipeline_text(offset="10"), keep=1)
    publish(tmp_path, pipeline_text(offset="11"), keep=1)
    assert pins(models, "5") == {("scale", 4), ("shift", 4)} and not (models / "scale" / "1").exists()


def test_a_plain_build_of_a_step_is_kept(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": STEP})
    build(f"{tmp_path}/app.py", tmp_path / "models")
    write(tmp_path, {"app.py": STEP.replace("2 * x", "3 * x")})
    build(f"{tmp_path}/app.py", tmp_path / "models", new_version=True)
    assert rollback(tmp_path / "models", "double").version == 3


def test_twice_back_is_two_versions_back(tmp_path: Path) -> None:
    for offset in ("1", "2", "3"):
        models = publish(tmp_path, pipeline_text(offset=offset))
    assert rollback(models, "sums") == (4, 2, (2,))
    assert versions(models) == {"scale": ["1", "2", "3"], "shift": ["1", "2", "3"], "sums": ["1", "3", "4"]}
    assert rollback(models, "sums") == (5, 1, (1,))
    assert pins(models, "5") == {("scale", 1), ("shift", 1)}
    with pytest.raises(BuildError) as caught:
        rollback(models, "sums")
    assert caught.value.what == (
        "model 'sums' has no version before version 1, which its newest is, to go back to; kept: 3, 4"
    )
    assert rollback(models, "sums", to=2) == (6, 2, (4,))
    assert pins(models, "6") == {("scale", 2), ("shift", 2)}


def test_from_a_new_version_back_to_what_it_replaced(tmp_path: Path) -> None:
    publish(tmp_path, pipeline_text(offset="1"))
    models = publish(tmp_path, pipeline_text(offset="2"))
    rollback(models, "sums")
    publish(tmp_path, pipeline_text(offset="3"))
    assert rollback(models, "sums")[:2] == (5, 1)


def test_the_source_of_what_was_rolled_back_to_is_there_already(tmp_path: Path) -> None:
    publish(tmp_path, STEP_TEXT)
    models = publish(tmp_path, STEP_TEXT.replace("2 * x", "3 * x"))
    rollback(models, "double")
    publish(tmp_path, STEP_TEXT)
    assert versions(models) == {"double": ["1", "2", "3"]}


def test_rollback_keeps_as_many_as_it_is_told(tmp_path: Path) -> None:
    for mid in ("mid", "other"):
        models = publish(tmp_path, pipeline_text(mid=mid))
    rollback(models, "sums", keep=0)
    assert versions(models) == {"scale": ["1"], "shift": ["1"], "sums": ["3"]}
    publish(tmp_path, pipeline_text(offset="8"))
    publish(tmp_path, pipeline_text(offset="9"))
    assert rollback(models, "sums", keep=1) == (6, 4, (3, 4))
    assert versions(models) == {"scale": ["2", "3"], "shift": ["2", "3"], "sums": ["5", "6"]}


def test_rollback_and_an_edit_by_hand(tmp_path: Path) -> None:
    publish(tmp_path, pipeline_text())
    models = publish(tmp_path, pipeline_text(offset="3"))
    with (models / "sums/config.pbtxt").open("a") as file:
        file.write("# mine\n")
    before = tree(models)
    with pytest.raises(BuildError, match="TPB414 .*sums/config.pbtxt' was edited after it was built") as caught:
        rollback(models, "sums")
    assert caught.value.fix.endswith("or say --overwrite to lose it") and tree(models) == before
    rollback(models, "sums", overwrite=True)
    assert "# mine" not in (models / "sums/config.pbtxt").read_text()


def test_rollback_in_no_folder_and_of_no_model(tmp_path: Path) -> None:
    with pytest.raises(BuildError) as caught:
        rollback(tmp_path / "nope", "sums")
    assert (caught.value.code, caught.value.what) == ("TPB439", f"there is no folder '{tmp_path}/nope'")
    models = publish(tmp_path, pipeline_text())
    with pytest.raises(BuildError) as caught:
        rollback(models, "sum")
    assert (caught.value.code, caught.value.what) == ("TPB444", "there is no model 'sum'; did you mean 'sums'?")
    assert caught.value.fix == "it has 'scale', 'shift', 'sums'"
