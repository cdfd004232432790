"""A server of a few lines for tests of the stub half, and the folders and requests they need."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from triton_pyb.emulator.desk import DirectLink
from triton_pyb.emulator.instance import Launch, ModelInstance
from triton_pyb.emulator.messages import FINAL, WireError, WireFault, WireRequest, WireResponse, wire_tensor
from triton_pyb.emulator.registry import MetricsRegistry
from triton_pyb.emulator.stub import surface
from triton_pyb.emulator.stub.stub import Stub

Answer = Callable[[WireRequest, bool], Iterator[WireResponse]]


class FakeHost:
    """Remembers what models ask, answers BLS with `answer`."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.metrics = MetricsRegistry()
        self.logged: list[tuple[str, str, int, str]] = []
        self.printed: list[tuple[str, str]] = []
        self.controlled: list[tuple[Any, ...]] = []
        self.cancelled: list[int] = []
        self.refusal: str | None = None
        self._answer = answer

    def infer(self, request: WireRequest, decoupled: bool) -> Iterator[WireResponse]:
        if self._answer is None:
            yield WireResponse(error=WireError("INTERNAL", f"Model '{request.model_name}' is not ready.", "request"))
            return
        yield from self._answer(request, decoupled)

    def load_model(self, name: str, config: str, files: dict[str, bytes]) -> str | None:
        self.controlled.append(("load", name, config, files))
        return self.refusal

    def unload_model(self, name: str, unload_dependents: bool) -> str | None:
        self.controlled.append(("unload", name, unload_dependents))
        return self.refusal

    def is_model_ready(self, name: str, version: str) -> bool:
        return name == "ready" and version in ("", "1")

    def log(self, level: str, file: str, line: int, message: str) -> None:
        self.logged.append((level, file, line, message))

    def output(self, stream: str, text: str) -> None:
        self.printed.append((stream, text))

    def cancel_infer(self, key: int) -> None:
        self.cancelled.append(key)


def pb_utils(
    release: str = "24.10", host: FakeHost | None = None, decoupled: bool = False, gpu: bool = False
) -> SimpleNamespace:
    """The names of pb_utils and of the C++ module for one stub, and the stub itself as `stub`."""
    stub = Stub(DirectLink(host or FakeHost()), release, "m_0_0", "/repo/m/1", decoupled)
    stub.gpu = gpu
    stub.phase = "execute"
    module = surface.load_python_module(stub)
    c_module = surface.build_c_module(stub)
    surface.add_c_names(c_module, module)
    surface.add_get_model_dir(stub, module)
    return SimpleNamespace(**{**vars(c_module), **vars(module)}, stub=stub, module=module, c_module=c_module)


def model_folder(root: Path, body: str, version: str = "1", name: str = "m") -> Path:
    """``<root>/<name>`` with a model.py that imports pb_utils and numpy before `body`."""
    folder = root / name / version
    folder.mkdir(parents=True)
    head = "import os, sys, time, json, threading\nimport numpy as np\nimport triton_python_backend_utils as pb_utils\n"
    (folder / "model.py").write_text(head + textwrap.dedent(body))
    return folder.parent


def executing(root: Path, body: str) -> Path:
    """A model whose `execute(self, requests)` has the given body; `ok(value)` makes a response."""
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
    source = (
        "def ok(value=1.0):\n"
        "    return pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.array([value], 'f4'))])\n"
        "class TritonPythonModel:\n"
        f"    def execute(self, requests):\n{text}\n"
    )
    return model_folder(root, source)


def launch(folder: Path, **settings: Any) -> Launch:
    """How to start the model of `folder` as ``m_0_0``."""
    config = settings.pop("config", {"name": folder.name, "max_batch_size": 0, "input": [], "output": []})
    if settings.pop("decoupled", False):
        config["model_transaction_policy"] = {"decoupled": True}
    return Launch(str(folder), "1", config, "m_0_0", **settings)


def request(*values: float, outputs: tuple[str, ...] = ("OUT",), **fields: Any) -> WireRequest:
    """A request with one FP32 input "IN"."""
    return WireRequest([wire_tensor("IN", "FP32", list(values) or [1.0])], list(outputs), **fields)


class Answers:
    """What `respond` was called with, per request."""

    def __init__(self, count: int) -> None:
        self.of: list[list[tuple[WireResponse | None, int]]] = [[] for _ in range(count)]

    def __call__(self, index: int, response: WireResponse | None, flags: int) -> None:
        self.of[index].append((response, flags))

    def only(self, index: int = 0) -> WireResponse:
        """The one final response of a request."""
        ((response, flags),) = self.of[index]
        assert response is not None
        assert flags == FINAL
        return response

    def error(self, index: int = 0) -> WireError:
        error = self.only(index).error
        assert error is not None
        return error

    def fault(self, index: int = 0) -> WireFault:
        fault = self.of[index][-1][0]
        assert fault is not None and fault.fault is not None
        return fault.fault


def execute(instance: ModelInstance, *requests: WireRequest) -> Answers:
    """Run one batch that ends without a fault of its own."""
    answers = Answers(len(requests))
    assert instance.execute(list(requests), answers) is None
    return answers


def same(actual: Any, expected: Any) -> bool:
    """Equal arrays of equal dtype and shape."""
    return bool(actual.dtype == np.asarray(expected).dtype and np.array_equal(actual, expected))
