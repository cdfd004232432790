"""Faults found by trying to break the build."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.repository.conftest import STEP, Write
from triton_pyb.cli import main
from triton_pyb.repository.build import BuildError, build


def test_a_link_named_like_the_staging_folder_costs_nobody_a_file(tmp_path: Path, write: Write) -> None:
    author = write(**{"app.py": STEP})
    precious = write("elsewhere", **{"thesis.txt": "ten years of work"}) / "thesis.txt"
    (tmp_path / ".models.triton_pyb-staging").symlink_to(precious.parent)
    with pytest.raises(BuildError) as caught:
        build(f"{author}/app.py:shout", tmp_path / "models")
    assert caught.value.code == "TPB435" and "is a symbolic link" in caught.value.what
    assert caught.value.fix == "remove the link"
    assert precious.exists() and not (tmp_path / "models").exists()


def test_an_application_that_changes_the_folder_is_built_where_it_was_asked(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    author = write(**{"app.py": STEP.replace("    @preprocess", "    import os; os.chdir('..')\n\n    @preprocess")})
    monkeypatch.chdir(author)
    build("app.py:shout", "models")
    assert (author / "models" / "shout" / "config.pbtxt").is_file()


def test_json_of_build_is_json_when_the_application_prints(tmp_path: Path, write: Write) -> None:
    author = write(**{"app.py": STEP.replace("    @preprocess", "    print('hello')\n\n    @preprocess")})
    result = CliRunner().invoke(main, ["build", f"{author}/app.py:shout", str(tmp_path / "models"), "--json"])
    assert json.loads(result.stdout)["entry"] == "shout"


def test_a_file_with_a_dot_in_its_name_is_refused_for_that(tmp_path: Path, write: Write) -> None:
    author = write(**{"my.app.py": STEP})
    result = CliRunner().invoke(main, ["build", f"{author}/my.app.py:shout", str(tmp_path / "models")])
    assert result.exit_code == 1
    assert "TPB429 'my.app.py' cannot be imported by this name" in result.stderr
    assert "rename the file" in result.stderr
    assert os.listdir(tmp_path) == ["author"]


def test_a_folder_named_like_the_staging_folder_costs_nobody_a_file(tmp_path: Path, write: Write) -> None:
    author = write(**{"app.py": STEP})
    staging = tmp_path / ".models.triton_pyb-staging"
    precious = write(staging.name, **{"thesis.txt": "ten years of work"}) / "thesis.txt"
    with pytest.raises(BuildError) as caught:
        build(f"{author}/app.py:shout", tmp_path / "models")
    assert caught.value.code == "TPB438"
    assert caught.value.what == f"'{staging}' was not made by triton_pyb, and what lies in it would be cleared"
    assert precious.read_text() and not (tmp_path / "models").exists()
    precious.unlink()
    build(f"{author}/app.py:shout", tmp_path / "models")  # an empty one costs nothing
    assert not staging.exists()


def test_a_link_to_nothing_is_named(tmp_path: Path, write: Write) -> None:
    author = write(**{"app.py": STEP})
    (tmp_path / "models").symlink_to("gone")
    with pytest.raises(BuildError) as caught:
        build(f"{author}/app.py:shout", tmp_path / "models")
    assert caught.value.code == "TPB436"
    assert caught.value.what == f"'{tmp_path}/models' is a symbolic link to 'gone', which does not exist"


def test_a_repository_without_a_name(write: Write) -> None:
    with pytest.raises(BuildError) as caught:
        build(f"{write(**{'app.py': STEP})}/app.py:shout", "")
    assert (caught.value.code, caught.value.what) == ("TPB437", "the repository has no name")


def test_a_list_of_several_models_has_no_entry(tmp_path: Path, write: Write) -> None:
    more = "    @preprocess\n    def quiet(text: str) -> Annotated[str, Name('b')]:\n        return text\n"
    author = write(
        **{"app.py": STEP + "\n    from triton_pyb import Annotated, Name\n" + more + "    both = [shout, quiet]\n"}
    )
    built = build(f"{author}/app.py:both", tmp_path / "models")
    assert (built.models, built.entry) == (("shout", "quiet"), "")
    result = CliRunner().invoke(main, ["build", f"{author}/app.py:both", str(tmp_path / "models")])
    assert result.exit_code == 0 and "what a client calls" not in result.output
