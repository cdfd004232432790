"""A hand-kept model.py is a first-class way: what it imports is known, and our runtime travels when it is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repository.applications import STEP, pipeline_text, step_with, tree, write
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.repository import BuildError, build

CONFIG = """
backend: "python"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""
MODEL = """
from steps import double
from triton_pyb import triton_python_model

TritonPythonModel = triton_python_model(double)
"""
APP = "from triton_pyb import ExistingModel\ndoubling = ExistingModel('double')\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {"app.py": APP, "double/config.pbtxt": CONFIG, "double/1/model.py": MODEL, "double/1/steps.py": STEP}
    return write(tmp_path / "project", files)


def test_our_runtime_comes_along(project: Path, tmp_path: Path) -> None:
    built = build(str(project / "app.py:doubling"), tmp_path / "models")
    files = tree(tmp_path / "models/double")
    assert "1/triton_pyb/runtime/adapter.py" in files
    assert files["1/model.py"].decode() == MODEL
    assert files["config.pbtxt"].decode() == CONFIG
    assert [line.partition("==")[0] for line in built.requirements] == ["numpy"]
    with EmulatedTriton(tmp_path / "models") as triton:
        assert triton.infer("double", {"x": [[1.0, 2.0]]})["y"].tolist() == [[2, 4]]


def test_what_it_imports_is_listed(project: Path, tmp_path: Path) -> None:
    (project / "double/1/model.py").write_text("import cv2\n" + MODEL)
    built = build(str(project / "app.py:doubling"), tmp_path / "models")
    assert built.third_party == ("cv2",)
    assert any(line.startswith("opencv-python") for line in built.requirements)


def test_a_model_that_does_not_use_it_gets_nothing(project: Path, tmp_path: Path) -> None:
    (project / "double/1/model.py").write_text("class TritonPythonModel: pass\n")
    (project / "double/1/steps.py").unlink()
    build(str(project / "app.py:doubling"), tmp_path / "models")
    assert set(tree(tmp_path / "models/double")) == {"config.pbtxt", "1/model.py", "1/triton_pyb.json"}


def test_two_applications_of_one_name_outside_any_project(tmp_path: Path) -> None:
    write(tmp_path / "one", step_with("", {}))
    other = "import math\n\n\n" + "\n".join(f"CONSTANT_{number} = {number}" for number in range(30))
    write(tmp_path / "two", step_with(other))
    build(str(tmp_path / "one/app.py:double"), tmp_path / "models")
    old = tree(tmp_path / "models")
    with pytest.raises(BuildError, match=r"TPB413 .* from another app.py:double \(it shares \d+% of its lines"):
        build(str(tmp_path / "two/app.py:double"), tmp_path / "models")
    assert tree(tmp_path / "models") == old
    build(str(tmp_path / "two/app.py:double"), tmp_path / "models", overwrite=True)


def test_an_edited_application_is_still_the_same(tmp_path: Path) -> None:
    for mid, offset in (("mid", "1"), ("other", "9")):
        write(tmp_path, {"app.py": pipeline_text(mid=mid, offset=offset)})
        build(str(tmp_path / "app.py:pipeline"), tmp_path / "models")
