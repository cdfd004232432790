"""``build``, ``inspect``, ``diff`` and ``rollback`` as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.repository.applications import pipeline_text, write
from triton_pyb.cli import main


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def target(tmp_path: Path) -> str:
    write(tmp_path, {"app.py": pipeline_text()})
    return str(tmp_path / "app.py:pipeline")


def test_build_draws_the_graph_and_names_the_folders(tmp_path: Path, target: str) -> None:
    result = run("build", target, tmp_path / "models")
    assert result.exit_code == 0
    graph = result.output.split("\n\n")[1]
    assert graph.splitlines() == [
        "client",
        "  │ x FP32 [2]",
        "  ▼",
        "scale  (python)",
        "  │ mid FP32 [2]",
        "  ▼",
        "shift  (python)",
        "  │ y FP32 [2]",
        "  ▼",
        "client",
    ]
    assert "what a client calls" in result.output
    assert "needs where Triton runs: numpy==" in result.output


def test_build_for_programs(tmp_path: Path, target: str) -> None:
    result = run("build", target, tmp_path / "models", "--json", "--release", "24.10")
    said = json.loads(result.output)
    assert (said["entry"], said["models"], said["release"]) == ("sums", ["scale", "shift", "sums"], "24.10")


def test_an_error_is_three_lines_and_status_1(tmp_path: Path, target: str) -> None:
    result = run("build", target.replace("pipeline", "pipelin"), tmp_path / "models")
    assert result.exit_code == 1
    assert result.stderr.startswith("TPB403 the module has no 'pipelin'; did you mean 'pipeline'?\n  where: ")


def test_another_source_needs_overwrite(tmp_path: Path, target: str) -> None:
    assert run("build", target, tmp_path / "models").exit_code == 0
    write(tmp_path, {"other.py": pipeline_text()})
    result = run("build", tmp_path / "other.py:pipeline", tmp_path / "models")
    assert result.exit_code == 1
    assert "was built from app.py:scale of pipeline 'sums', and other.py:scale of pipeline 'sums'" in result.stderr
    assert run("build", tmp_path / "other.py:pipeline", tmp_path / "models", "--overwrite").exit_code == 0


def test_inspect(tmp_path: Path, target: str) -> None:
    run("build", target, tmp_path / "models")
    result = run("inspect", tmp_path / "models")
    assert "scale  python  max_batch_size 4\n  in   'x' FP32[2]\n" in result.output
    assert "built     from app.py:scale of pipeline 'sums' by triton_pyb" in result.output
    said = json.loads(run("inspect", tmp_path / "models/scale", "--json").output)
    assert [model["model"] for model in said["models"]] == ["scale"]


def test_diff(tmp_path: Path, target: str) -> None:
    run("build", target, tmp_path / "models")
    run("build", target, tmp_path / "again")
    same = run("diff", tmp_path / "models", tmp_path / "again")
    assert (same.exit_code, same.output) == (0, "no difference\n")
    write(tmp_path, {"app.py": pipeline_text(offset="9")})
    run("build", target, tmp_path / "again")
    result = run("diff", tmp_path / "models", tmp_path / "again")
    assert result.exit_code == 1
    assert "  file         VERSION/app.py differs\n" in result.output
    assert "    -    return mid.reshape(2) + 1\n    +    return mid.reshape(2) + 9\n" in result.output
    assert json.loads(run("diff", tmp_path / "models", tmp_path / "again", "--json").output)["changes"]


def test_rollback(tmp_path: Path, target: str) -> None:
    run("build", target, tmp_path / "models", "--new-version")
    write(tmp_path, {"app.py": pipeline_text(offset="9")})
    run("build", target, tmp_path / "models", "--new-version", "--keep", 1)
    result = run("rollback", tmp_path / "models", "sums")
    assert result.output == "sums: version 3 is what version 1 was\n"
    assert "  is        what version 1 was (rolled back)\n" in run("inspect", tmp_path / "models/sums").output


def test_a_new_version_says_its_number(tmp_path: Path, target: str) -> None:
    models = tmp_path / "models"
    assert (
        "published: version 1 of scale, version 1 of shift, version 1 of sums\n"
        in run("build", target, models, "--new-version").output
    )
    assert (
        "nothing changed: version 1 of sums is this already\n" in run("build", target, models, "--new-version").output
    )
    same = json.loads(run("build", target, models, "--new-version", "--json").output)
    assert (same["versions"], same["published"]) == ({"scale": 1, "shift": 1, "sums": 1}, [])
    write(tmp_path, {"app.py": pipeline_text(offset="9")})
    new = json.loads(run("build", target, models, "--new-version", "--json").output)
    assert (new["versions"]["sums"], new["published"]) == (2, ["scale", "shift", "sums"])
    assert run("rollback", models, "sums", "--keep", 1).output == (
        "sums: version 3 is what version 1 was\nno longer kept: version 1\n"
    )
    plain = json.loads(run("build", target, tmp_path / "plain", "--json").output)
    assert (plain["versions"], plain["published"]) == (None, [])


def test_keep_needs_new_version(tmp_path: Path, target: str) -> None:
    result = run("build", target, tmp_path / "models", "--keep", 1)
    assert result.exit_code == 2 and "--keep says how many old versions stay: it needs --new-version" in result.stderr


def test_versions_of_another_python_are_told(tmp_path: Path, target: str) -> None:
    result = run("build", target, tmp_path / "models", "--release", "21.10")
    assert "(versions in use here, on Python 3." in result.output
    assert "; that container has 3.8)" in result.output


def test_import(tmp_path: Path) -> None:
    write(tmp_path, {"theirs/m/config.pbtxt": 'backend: "python"', "theirs/m/1/model.py": ""})
    result = run("import", tmp_path / "theirs", "--into", tmp_path / "application")
    assert result.output == (
        f"{tmp_path}/application/app.py holds m\n"
        f"build it again:  triton-pyb build {tmp_path}/application/app.py:repository REPOSITORY\n"
    )
    assert run("build", f"{tmp_path}/application/app.py:repository", tmp_path / "models").exit_code == 0
