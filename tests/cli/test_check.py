"""``triton-pyb check`` as a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.check.examples import ENSEMBLE, EXAMPLES, GOOD_CONFIG, MODEL_PY, model
from tests.check.variants import write
from triton_pyb.cli.check import command
from triton_pyb.config import releases


def run(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def test_exit_status(tmp_path: Path) -> None:
    write(model(), tmp_path / "good")
    write(EXAMPLES["TPB1011"].broken, tmp_path / "bad")
    write(EXAMPLES["TPB1208"].broken, tmp_path / "warned")
    assert run(tmp_path / "good") == (0, "0 errors, 0 warnings in 1 model (Triton 24.10)\n")
    status, output = run(tmp_path / "bad")
    assert status == 1 and "TPB1011" in output and "did you mean 'dims'?" in output
    assert run(tmp_path / "warned")[0] == 0
    assert run("--warnings-as-errors", tmp_path / "warned")[0] == 1
    assert run()[0] == 2
    assert run(tmp_path / "good", "--release", "30.01")[0] == 2
    assert run(tmp_path / "good", "--select", "XX")[0] == 2
    status, output = run(tmp_path / "nowhere")
    assert status == 2 and "error TPB1512 the model repository does not exist" in output
    (tmp_path / "empty").mkdir()
    status, output = run(tmp_path / "empty", "--select", "TPB17")
    assert status == 2 and "TPB1512 the model repository holds no model folder" in output
    assert run(tmp_path / "empty", "--ignore", "TPB1512=filled later")[0] == 0


def test_what_is_selected_and_ignored(tmp_path: Path) -> None:
    write(EXAMPLES["TPB1208"].broken, tmp_path)
    assert "TPB1208" in run(tmp_path, "--select", "TPB17,TPB12")[1]
    assert "TPB1208" not in run(tmp_path, "--select", "TPB17,TPB16")[1]
    assert run(tmp_path, "--ignore", "TPB16,TPB1208=both, for now")[1].startswith("0 errors, 0 warnings")
    status, output = run(tmp_path, "--ignore", "TPB1208:mm=why")
    assert status == 0 and "TPB1208" in output
    assert "warning: --ignore TPB1208:mm leaves nothing out: there is no model 'mm'; did you mean 'm'?" in output
    output = run(tmp_path, "--ignore", "TPB1739:m")[1]
    assert "warning: --ignore TPB1739:m leaves nothing out: nothing of that code was found; remove it" in output
    assert "warning: --ignore" not in run(tmp_path, "--ignore", "TPB1208:m=known")[1]
    status, output = run(tmp_path, "--ignore", "TPB17:=why")
    assert status == 2 and "TPB717 'TPB17:' has no model behind the colon" in output
    assert "write TPB17:MODEL for one model, or TPB17 for all of them" in output


def test_the_latest_release(tmp_path: Path) -> None:
    write(model(), tmp_path)
    newest = list(releases.table())[-1]
    assert run(tmp_path, "--release", "latest") == (0, f"0 errors, 0 warnings in 1 model (Triton {newest})\n")


def test_options_reach_the_check(tmp_path: Path) -> None:
    write(EXAMPLES["TPB1801"].broken, tmp_path / "old")
    assert run(tmp_path / "old")[0] == 0
    assert run(tmp_path / "old", "--release", "21.10")[0] == 1
    assert run(tmp_path / "old", "--release", "21.10", "--ignore", "TPB1801=we patch it")[0] == 0
    write(EXAMPLES["TPB1516"].broken, tmp_path / "strict")
    assert run(tmp_path / "strict")[0] == 0
    assert run("--strict-model-config", tmp_path / "strict")[0] == 1
    assert run("--disable-auto-complete-config", tmp_path / "strict")[0] == 1
    write(EXAMPLES["TPB1102"].broken, tmp_path / "custom")
    assert run(tmp_path / "custom")[0] == 1
    assert run(tmp_path / "custom", "--backends", "pyhton,other")[0] == 0
    write(EXAMPLES["TPB1211"].broken, tmp_path / "gpu")
    assert run(tmp_path / "gpu")[0] == 0
    assert run(tmp_path / "gpu", "--gpus", "0")[0] == 1
    write(EXAMPLES["TPB1217"].broken, tmp_path / "rate")
    assert run(tmp_path / "rate", "--rate-limit", "--rate-limit-resource", "R:2")[0] == 1
    assert run(tmp_path / "rate", "--rate-limit-resource", "R")[0] == 2


def test_json_stays_json_while_repairing(tmp_path: Path) -> None:
    write(EXAMPLES["TPB1020"].broken, tmp_path)
    result = CliRunner().invoke(command, ["--fix", "--format", "json", str(tmp_path)])
    assert json.loads(result.stdout)["errors"] == 0
    assert "removed the byte order mark" in result.stderr


def test_explain() -> None:
    status, output = run("--explain", "TPB1123")
    assert status == 0
    assert output.startswith("TPB1123 (warning): dims begin with the batch axis although max_batch_size adds one")
    assert "Source: core/src/infer_request.cc" in output
    assert run("--explain", "tpb16")[1].count("Source:") > 15
    assert run("--explain", "TPB9")[0] == 2


def test_what_the_examples_build_is_clean() -> None:
    examples = Path(__file__).parents[2] / "examples"
    for target in ("digit_classification/app.py:pipeline", "text_detection/app.py:pipeline"):
        status, output = run(examples / target)
        assert (status, output) == (0, "0 errors, 0 warnings in 4 models (Triton 24.10)\n"), output
    assert run(examples / "language_router/app.py:greet")[0] == 0
    output = run(examples / "language_router/app.py:greet", "--release", "21.10")[1]
    assert "triton_pyb/runtime" not in output and "app.py:" not in output, output


def test_what_is_built_is_clean_where_the_package_is_installed(tmp_path: Path) -> None:
    """Outside a checkout, `triton_pyb` is found by the checker as by the container: installed."""
    target = Path(__file__).parents[2] / "examples/language_router/app.py:greet"
    checked = subprocess.run(
        [sys.executable, "-m", "triton_pyb.cli", "check", str(target)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert checked.stdout == "0 errors, 0 warnings in 1 model (Triton 24.10)\n", checked.stdout + checked.stderr


AUTHORED = '''"""An app."""
from beside import loud
from triton_pyb import Annotated, Name, Pipeline, model


@model
def greet(text: str) -> Annotated[str, Name("greeting")]:
    match text:
        case _:
            return loud(text)


@model
def part(greeting: str) -> Annotated[str, Name("end")]:
    return loud(greeting)


chain = Pipeline("chain", [greet, part])
'''


def test_findings_of_a_pipeline_stand_in_the_authors_files(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(AUTHORED)
    (tmp_path / "beside.py").write_text("def loud(text):\n    return text.removesuffix('x')\n")
    output = run(f"{tmp_path / 'app.py'}:chain", "--release", "22.12", "--select", "TPB18", "--format", "json")[1]
    places = [(Path(f["file"]), f["line"], f["text"].strip()) for f in json.loads(output)["findings"]]
    assert sorted(places) == [
        (tmp_path / "app.py", 8, "match text:"),
        (tmp_path / "beside.py", 2, "return text.removesuffix('x')"),
    ]


def test_what_a_function_was_made_into_is_told_at_the_function(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(AUTHORED)
    (tmp_path / "beside.py").write_text("def loud(text):\n    return text\n")
    output = run(f"{tmp_path / 'app.py'}:greet", "--backends", "=,x", "--format", "json")[1]
    (found,) = [f for f in json.loads(output)["findings"] if f["code"] == "TPB1102"]
    assert (found["file"], found["line"]) == (str(tmp_path / "app.py"), 7)
    assert found["text"] == 'def greet(text: str) -> Annotated[str, Name("greeting")]:'


def test_the_folder_of_one_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write({**EXAMPLES["TPB1208"].broken, "other/config.pbtxt": "nonsense", "bare/1/model.py": MODEL_PY}, tmp_path)
    status, output = run(tmp_path / "m")
    assert status == 0 and "TPB1208" in output and "0 errors, 1 warning in 1 model" in output
    assert run(tmp_path)[0] == run(tmp_path, tmp_path / "m")[0] == run(tmp_path / "m", tmp_path)[0] == 1
    assert "in 2 models" in run(tmp_path / "m", f"{tmp_path / 'bare'}/")[1]
    monkeypatch.chdir(tmp_path / "m")
    assert f"..{os.sep}m{os.sep}config.pbtxt:3" in run(".")[1]
    monkeypatch.chdir(tmp_path)
    output = run("m")[1]
    assert f"m{os.sep}config.pbtxt:3" in output and str(tmp_path) not in output
    note = "warning: --ignore TPB1208:other leaves nothing out: there is no model 'other'"
    assert note in run("m", "--ignore", "TPB1208:other")[1]


def test_the_folder_of_one_ensemble(tmp_path: Path) -> None:
    config = GOOD_CONFIG.replace('"m"', '"a"').replace("dynamic_batching { }", "")
    write({**ENSEMBLE, "a/config.pbtxt": config, "unasked/config.pbtxt": "nonsense"}, tmp_path)
    assert run(tmp_path / "e") == (0, "0 errors, 0 warnings in 1 model (Triton 24.10)\n")
    (tmp_path / "a" / "1" / "model.py").write_text("def (")
    status, output = run(tmp_path / "e")
    assert status == 1 and "TPB1703" not in output and "'a'" in output, output
    assert "TPB1703" in run(tmp_path / "a")[1]


def test_only_the_named_model_is_repaired_and_imported(tmp_path: Path) -> None:
    config = GOOD_CONFIG.replace('"m"', '"a"').replace("TYPE_FP32", "FP32")
    write({**ENSEMBLE, "a/config.pbtxt": config}, tmp_path)
    assert "fixed: " not in run(tmp_path / "e", "--fix")[1]
    assert (tmp_path / "a" / "config.pbtxt").read_text() == config
    assert "fixed: " in run(tmp_path / "a", "--fix")[1]
    assert "TYPE_FP32" in (tmp_path / "a" / "config.pbtxt").read_text()
    (tmp_path / "a" / "1" / "model.py").write_text("raise_nothing = {}['x']\n" + MODEL_PY)
    assert "TPB1750" not in run(tmp_path / "e", "--import", "--select", "TPB1750")[1]
    assert "TPB1750" in run(tmp_path / "a", "--import", "--select", "TPB1750")[1]
