"""A config.pbtxt that cannot be read: told with its line, before anything is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.repository.applications import write
from triton_pyb.cli import main
from triton_pyb.repository import BuildError, build

BROKEN = 'backend: "python"\ninput [ {\n  name: "x"\n  data_type: FLOAT32\n  dims: [ 1 ]\n} ]\n'


@pytest.fixture
def application(tmp_path: Path) -> Path:
    write(
        tmp_path,
        {"h/m/config.pbtxt": BROKEN, "h/m/1/model.py": "", "app.py": "from triton_pyb import ExistingModel\n"
         "m = ExistingModel('h/m')\n"},
    )  # fmt: skip
    return tmp_path


def test_build_writes_nothing(application: Path) -> None:
    with pytest.raises(BuildError) as caught:
        build(f"{application}/app.py:m", application / "models")
    path = application / "h/m/config.pbtxt"
    assert (caught.value.code, caught.value.where) == ("TPB445", f"{path}:4")
    assert caught.value.what.startswith(f"'{path}' cannot be read: ") and "FLOAT32" in caught.value.what
    assert caught.value.fix == "correct that line; Triton cannot read it either"
    assert not (application / "models").exists()


def test_what_is_no_text(application: Path) -> None:
    (application / "h/m/config.pbtxt").write_bytes(b'backend: "python"\n# \xff\n')
    with pytest.raises(BuildError, match="TPB445 .*cannot be read: byte 0xff is no UTF-8") as caught:
        build(f"{application}/app.py:m", application / "models")
    assert caught.value.where.endswith("config.pbtxt:2")


def test_import_names_it(application: Path) -> None:
    result = CliRunner().invoke(main, ["import", f"{application}/h", "--into", f"{application}/a"])
    assert result.exit_code == 0
    assert f"cannot be read, correct it before you build: {application}/a/models/m/config.pbtxt:4: " in result.output


def test_inspect_says_so(application: Path) -> None:
    result = CliRunner().invoke(main, ["inspect", f"{application}/h"])
    assert result.output.startswith(f"m  config.pbtxt cannot be read\n  {application}/h/m/config.pbtxt:4: ")
    assert "max_batch_size" not in result.output
    said = json.loads(CliRunner().invoke(main, ["inspect", f"{application}/h", "--json"]).output)
    assert said["models"][0]["unreadable"].startswith(f"{application}/h/m/config.pbtxt:4: ")
