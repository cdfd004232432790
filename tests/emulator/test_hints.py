"""Errors that come from the way Triton starts Python say what to do about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.emulator.stub.kit import executing, model_folder
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.errors import InferenceFailed, LoadFailed
from triton_pyb.emulator.hints import fix_of_python

_CONFIG = """backend: "python"
input [{ name: "IN" data_type: TYPE_FP32 dims: [-1] }]
output [{ name: "OUT" data_type: TYPE_FP32 dims: [-1] }]
"""
_READ = "open(os.path.join(os.path.dirname(__file__), 'labels.txt')).read()"


def _repository(model: Path) -> Path:
    (model / "config.pbtxt").write_text(_CONFIG)
    (model / "1" / "labels.txt").write_bytes(b"caf\xc3\xa9")
    return model.parent


def test_reading_and_printing_what_is_not_ascii(tmp_path: Path) -> None:
    body = f"if requests[0].inputs()[0].as_numpy()[0]: {_READ}\nprint('é')"
    with EmulatedTriton(_repository(executing(tmp_path, body))) as triton:
        with pytest.raises(
            InferenceFailed, match="UnicodeDecodeError: 'ascii' codec can't decode byte 0xc3"
        ) as reading:
            triton.infer("m", {"IN": [1.0]})
        with pytest.raises(InferenceFailed, match="UnicodeEncodeError: 'ascii' codec can't encode") as printing:
            triton.infer("m", {"IN": [0.0]})
    assert "open(path, encoding='utf-8')" in reading.value.fix
    assert "sys.stdout.reconfigure(encoding='utf-8')" in printing.value.fix


def test_a_module_that_only_pythonpath_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "only_here.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/nowhere", str(packages)]))
    monkeypatch.syspath_prepend(packages)
    repository = _repository(
        model_folder(tmp_path / "repository", "import only_here\nclass TritonPythonModel:\n    pass")
    )
    with pytest.raises(LoadFailed, match="ModuleNotFoundError: No module named 'only_here'") as failed:
        EmulatedTriton(repository).start()
    assert failed.value.fix.startswith(f"'only_here' is in {packages}, which only PYTHONPATH names: the Python inside")
    with EmulatedTriton(repository, release="24.11") as triton:  # there it counts
        assert triton.is_model_ready("m")


def test_a_module_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_package").mkdir()
    (tmp_path / "a_package" / "__init__.py").write_text("")
    text = "ModuleNotFoundError: No module named 'a_package.part'; 'a_package' is not a package"
    assert fix_of_python(text) == ""
    monkeypatch.syspath_prepend(tmp_path)
    assert fix_of_python(text).startswith(
        f"'a_package' is in {tmp_path}: the Python inside this Triton does not look there"
    )


def test_other_errors_have_no_such_fix() -> None:
    assert fix_of_python("ValueError: 'ascii'") == ""
    assert fix_of_python("UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff") == ""


@pytest.mark.parametrize(
    ("body", "fix"),
    [
        ("pb_utils.get_input_tensor_by_name(requests[0], 'X').as_numpy()", "compare the names in model.py with"),
        ("pb_utils.Tensor('OUT', [1.0])", "give pb_utils.Tensor a name and a numpy array"),
        ("raise pb_utils.TritonError('x')", "raise pb_utils.TritonModelException"),
        ("return []", "return one InferenceResponse per request"),
    ],
)
def test_errors_with_one_usual_cause(tmp_path: Path, body: str, fix: str) -> None:
    with EmulatedTriton(_repository(executing(tmp_path, body))) as triton:
        with pytest.raises(InferenceFailed) as failed:
            triton.infer("m", {"IN": [0.0]})
        assert failed.value.fix.startswith(fix)


@pytest.mark.parametrize(
    ("body", "end"),
    [
        ("os._exit(3)", "ended with exit status 3"),
        ("import signal; os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
    ],
)
def test_how_a_process_ended(tmp_path: Path, body: str, end: str) -> None:
    with EmulatedTriton(_repository(executing(tmp_path, "import os; " + body))) as triton:
        with pytest.raises(InferenceFailed, match="Stub process 'm_0' is not healthy") as failed:
            triton.infer("m", {"IN": [0.0]})
        assert failed.value.log == f"the process of 'm_0' {end}"
        assert failed.value.fix.startswith("look for what ended the model's process")


def test_an_execute_that_never_returns(tmp_path: Path) -> None:
    with EmulatedTriton(
        _repository(executing(tmp_path, "import time; time.sleep(60)")), execute_timeout_s=0.5
    ) as triton:
        with pytest.raises(InferenceFailed, match="TPB509 execute of 'm_0' did not return within 0.5 s"):
            triton.infer("m", {"IN": [0.0]})
        assert not any("ended" in record.message for record in triton.log)  # that was us
