"""Inline models: their modules, their pb_utils, and nothing left behind."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.stub.kit import execute, launch, model_folder, request
from triton_pyb.emulator.instance import ModelInstance

Start = Callable[..., ModelInstance]

_IMPORTS = """
import dataclasses
import helper
from package import inner
from package.inner import NUMBER as again

@dataclasses.dataclass
class Own:
    value: "int" = 0

class TritonPythonModel:
    def execute(self, requests):
        import late
        from . import sibling
        shown = json.dumps([helper.WHO, inner.NUMBER, again, late.WHO, sibling.WHO, Own().value])
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([shown], dtype=object))])]
"""


def _folder(root: Path, name: str) -> Path:
    folder = model_folder(root, _IMPORTS, name=name)
    version = folder / "1"
    (version / "helper.py").write_text(f"WHO = {name!r}")
    (version / "late.py").write_text("import helper\nWHO = 'late ' + helper.WHO")
    (version / "sibling.py").write_text("WHO = 'sibling'")
    (version / "package").mkdir()
    (version / "package" / "__init__.py").write_text("")
    (version / "package" / "inner.py").write_text("from . import __name__ as parent\nNUMBER = len(parent)")
    return folder


def _shown(instance: ModelInstance) -> str:
    text: str = execute(instance, request()).only().outputs[0].array[0].decode()
    return text


def test_two_models_with_modules_of_the_same_names(start: Start, tmp_path: Path) -> None:
    one = start(launch(_folder(tmp_path, "one"), inline=True))
    two = start(launch(_folder(tmp_path, "two"), inline=True))
    assert _shown(one) == '["one", 7, 7, "late one", "sibling", 0]'
    assert _shown(two) == '["two", 7, 7, "late two", "sibling", 0]'


def test_nothing_is_left(start: Start, tmp_path: Path) -> None:
    modules, path = dict(sys.modules), list(sys.path)
    instance = start(launch(_folder(tmp_path, "m"), inline=True))
    _shown(instance)
    instance.finalize()
    assert not [name for name, module in sys.modules.items() if str(tmp_path) in str(vars(module).get("__file__"))]
    assert "triton_python_backend_utils" not in sys.modules or "triton_python_backend_utils" in modules
    assert sys.path == path
    assert not list(tmp_path.rglob("__pycache__"))


def test_a_model_that_is_a_callable_of_this_process(start: Start, tmp_path: Path) -> None:
    class Model:
        def initialize(self, args: dict[str, str]) -> None:
            self.pb_utils: Any = importlib.import_module("triton_python_backend_utils")

        def execute(self, requests: list[Any]) -> list[Any]:
            return [self.pb_utils.InferenceResponse(request.inputs()) for request in requests]

    instance = start(launch(tmp_path, inline=True, factory=Model))
    assert execute(instance, request(3.0, outputs=("IN",))).only().outputs[0].array.tolist() == [3.0]
    instance.finalize()
    with pytest.raises(ImportError):
        importlib.import_module("triton_python_backend_utils")


def test_threads_belong_to_the_model_that_started_them(start: Start, tmp_path: Path) -> None:
    def model() -> Any:
        class Model:
            def execute(self, requests: list[Any]) -> list[Any]:
                pb_utils: Any = importlib.import_module("triton_python_backend_utils")
                with ThreadPoolExecutor(1) as pool:
                    made = pool.submit(lambda: pb_utils.InferenceResponse([])).result()
                return [made for _ in requests]

        return Model()

    instances = [start(launch(tmp_path, inline=True, factory=model)) for _ in range(2)]
    for instance in instances:  # the first is not the newest
        assert execute(instance, request()).only().error is None
    for instance in instances:
        instance.finalize()
    assert threading.Thread.start.__module__ == "threading"


def test_each_inline_model_has_its_own_classes(start: Start, tmp_path: Path) -> None:
    seen: list[Any] = []

    def model() -> Any:
        class Model:
            def execute(self, requests: list[Any]) -> list[Any]:
                pb_utils: Any = importlib.import_module("triton_python_backend_utils")
                seen.append(pb_utils.Tensor)
                return [pb_utils.InferenceResponse([]) for _ in requests]

        return Model()

    instances = [start(launch(tmp_path, inline=True, factory=model)) for _ in range(2)]
    for instance in [*instances, instances[0]]:
        assert execute(instance, request()).only().error is None
    first, second, again = seen
    assert first is again
    assert first is not second
