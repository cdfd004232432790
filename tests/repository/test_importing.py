"""Hand-written repositories: import, build, and the same again."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from tests.repository.applications import tree, write
from tests.repository.hand_written import REPOSITORIES, config, ensemble, step
from triton_pyb.repository import BuildError, build
from triton_pyb.repository.importing import Imported, import_folder
from triton_pyb.repository.manifest import MANIFEST_FILE


def again(folder: Path, files: dict[str, str]) -> tuple[Imported, Path]:
    write(folder / "original", files)
    imported = import_folder(folder / "original", folder / "application")
    build(imported.target, folder / "built")
    return imported, folder / "built"


def parsed(content: bytes) -> model_config_pb2.ModelConfig:
    message = text_format.Parse(content.decode(), model_config_pb2.ModelConfig())
    steps = sorted(message.ensemble_scheduling.step, key=str)
    del message.ensemble_scheduling.step[:]
    message.ensemble_scheduling.step.extend(steps)
    return message


@pytest.mark.parametrize("name", REPOSITORIES)
def test_the_same_folders_come_out(tmp_path: Path, name: str) -> None:
    _, built = again(tmp_path, REPOSITORIES[name])
    before, after = tree(tmp_path / "original"), tree(built)
    after = {inside: content for inside, content in after.items() if not inside.endswith(MANIFEST_FILE)}
    if "entry/config.pbtxt" in before:
        assert parsed(before.pop("entry/config.pbtxt")) == parsed(after.pop("entry/config.pbtxt"))
        before.pop("entry/1/.keep"), after.pop("entry/1/.keep", None)
    assert before == after


def test_an_ensemble_becomes_a_pipeline_that_can_be_read(tmp_path: Path) -> None:
    imported, _ = again(tmp_path, REPOSITORIES["backwards"])
    assert imported.kept == {}
    assert imported.module.read_text().splitlines()[2:] == [
        "from __future__ import annotations",
        "",
        "from triton_pyb import ExistingModel, Pipeline, Step",
        "from triton_pyb.runtime.model_options import ModelOptions",
        "",
        'a = ExistingModel("models/a")',
        'b = ExistingModel("models/b")',
        "entry = Pipeline(",
        "    'entry',",
        "    [",
        "        Step(a, input_map={'X': 'X'}, output_map={'Y': 'MID'}),",
        "        Step(b, input_map={'X': 'MID'}, output_map={'Y': 'Y'}),",
        "    ],",
        "    max_batch_size=8,",
        "    outputs=['Y'],",
        '    config=ModelOptions(config_extra=\'parameters { key: "owner" value { string_value: "me" } }\'),',
        ")",
        "",
        "repository = [a, b, entry]",
    ]


def test_an_ensemble_that_no_pipeline_can_say_stays_a_folder(tmp_path: Path) -> None:
    imported, built = again(tmp_path, REPOSITORIES["twice"])
    assert "named 'a' like step 0" in imported.kept["entry"]
    assert (built / "entry/config.pbtxt").read_bytes() == (tmp_path / "original/entry/config.pbtxt").read_bytes()


def test_an_ensemble_inside_another_stays_a_folder(tmp_path: Path) -> None:
    files = {
        **REPOSITORIES["ensemble"],
        "outer/config.pbtxt": ensemble("outer", step("entry", "X", "Y")),
        "outer/1/.k": "",
    }
    imported, _ = again(tmp_path, files)
    assert imported.kept == {"entry": "it is a step of 'outer'"}


def test_another_tensor_declaration_stays_a_folder(tmp_path: Path) -> None:
    files = dict(REPOSITORIES["ensemble"])
    files["entry/config.pbtxt"] = files["entry/config.pbtxt"].replace("[ 2 ]", "[ -1 ]")
    imported, _ = again(tmp_path, files)
    assert imported.kept["entry"].startswith("input would become ")


def test_fields_that_are_not_known_here_are_kept(tmp_path: Path) -> None:
    text = config("m", "a_field_of_2031 { enable: true }")
    _, built = again(tmp_path, {"m/config.pbtxt": text, "m/1/model.py": ""})
    assert (built / "m/config.pbtxt").read_text() == text


def test_one_model_folder(tmp_path: Path) -> None:
    write(tmp_path, REPOSITORIES["plain"])
    imported = import_folder(tmp_path / "m", tmp_path / "application")
    assert imported.models == ("m",)
    build(f"{imported.module}:m", tmp_path / "built")
    assert (tmp_path / "built/m/1/model.py").is_file()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    write(tmp_path, {**REPOSITORIES["plain"], "application/app.py": "mine"})
    with pytest.raises(BuildError, match="TPB470 '.*application' is not empty"):
        import_folder(tmp_path / "m", tmp_path / "application")


def test_two_models_of_one_name(tmp_path: Path) -> None:
    write(tmp_path, {f"{place}/m/{inside}": place for place in ("x", "y") for inside in ("1/model.py",)})
    write(
        tmp_path, {"app.py": "from triton_pyb import ExistingModel\na = [ExistingModel('x/m'), ExistingModel('y/m')]"}
    )
    with pytest.raises(BuildError, match="TPB426 two models are named 'm'"):
        build(str(tmp_path / "app.py:a"), tmp_path / "models")
