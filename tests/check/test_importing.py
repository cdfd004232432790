"""``--import``: what only running a model can show."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.check.examples import GOOD_CONFIG, MODEL_PY, method, model
from tests.check.variants import write
from triton_pyb.check import check, importing
from triton_pyb.check.repository import open_repository
from triton_pyb.check.target import Target


def test_every_model_is_loaded_and_points_at_its_line(tmp_path: Path) -> None:
    failing = method("def initialize(self, args):\n    table = {}\n    self.x = table[args['model_name']]")
    write(model(), tmp_path)
    write({"bad/config.pbtxt": GOOD_CONFIG.replace('"m"', '"bad"'), "bad/1/model.py": failing}, tmp_path)
    missing = f"import cupy\n{MODEL_PY}"
    write({"gpu/config.pbtxt": GOOD_CONFIG.replace('"m"', '"gpu"'), "gpu/1/model.py": missing}, tmp_path)
    assert check(tmp_path) == []
    bad, gpu = check(tmp_path, import_models=True)
    assert (bad.code, bad.severity, bad.message) == ("TPB1750", "error", "KeyError: 'bad'")
    assert (bad.place.file, bad.place.line) == (str(tmp_path / "bad" / "1" / "model.py"), 12)
    assert bad.place.text.strip() == "self.x = table[args['model_name']]"
    assert (gpu.severity, gpu.message) == ("warning", "ModuleNotFoundError: No module named 'cupy'")
    assert gpu.fix == "install cupy here to have this model imported too"
    assert bad.fix == "correct the line and check again"


def test_what_only_triton_s_python_does_is_explained(tmp_path: Path) -> None:
    code = "def initialize(self, args):\n    path = args['model_repository'] + '/names'\n    self.x = open(path).read()"
    write({**model(source=method(code)), "m/names": "고양이\n"}, tmp_path)
    found = check(tmp_path, import_models=True, select=["TPB1750"], release="24.10")
    if os.environ.get("LC_ALL", os.environ.get("LANG", "")).upper().endswith("UTF-8") and sys.version_info < (3, 11):
        assert found == []  # up to Python 3.10 the stub listens to the locale
        return
    assert found[0].message.startswith("UnicodeDecodeError: 'ascii' codec can't decode byte")
    assert found[0].fix.startswith("name the encoding, e.g. open(path, encoding='utf-8')")
    assert found[0].place.text.strip() == "self.x = open(path).read()"


def test_a_model_that_never_loads_is_ended(tmp_path: Path) -> None:
    write(model(source=method("def initialize(self, args):\n    import time\n    time.sleep(600)")), tmp_path)
    (only,) = open_repository([tmp_path], Target()).models
    assert importing.run_child(only, 0.5) == "the model did not load within 0.5 s"
