"""Which model's pb_utils code of this process means: the one whose code runs, else the only inline one."""

from __future__ import annotations

import contextlib
import contextvars
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .stub import surface
from .stub.errors import MODULE
from .stub.lifecycle import Model

_current: contextvars.ContextVar[Model | None] = contextvars.ContextVar("model", default=None)
_alive: list[Model] = []
_lock = threading.Lock()
_replaced: dict[str, ModuleType | None] = {}


class _Proxy(ModuleType):
    """A module that shows the pb_utils of the current inline model."""

    def __init__(self, name: str, attribute: str) -> None:
        super().__init__(name)
        self.__dict__["_attribute"] = attribute

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(current(), self.__dict__["_attribute"]), name)

    def __dir__(self) -> list[str]:
        return dir(getattr(current(), self.__dict__["_attribute"]))


_start_thread = threading.Thread.start


def _start_in_context(thread: threading.Thread) -> None:
    """`Thread.start` while inline models live: a thread that a model starts is that model's too."""
    if _current.get() is not None:
        context, run = contextvars.copy_context(), thread.run
        setattr(thread, "run", lambda: context.run(run))  # noqa: B010 (a method, to mypy)
    _start_thread(thread)


def current() -> Model:
    """The model whose code runs in this context, else the newest inline model."""
    model = _current.get()
    if model is not None:
        return model
    with _lock:
        if _alive:
            return _alive[-1]
    raise ImportError("triton_python_backend_utils is only there while a model runs inline")


class running:
    """`model` is the current one for what runs inside."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def __enter__(self) -> None:
        self._token = _current.set(self._model)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def admit(model: Model) -> None:
    """An inline model starts: with the first, ``import triton_python_backend_utils`` works in this process."""
    with _lock:
        if not _alive:
            for name, attribute in ((surface.PB_UTILS, "pb_utils"), (MODULE, "c_module")):
                _replaced[name] = sys.modules.get(name)
                sys.modules[name] = _Proxy(name, attribute)
            setattr(threading.Thread, "start", _start_in_context)  # noqa: B010
        _alive.append(model)


def dismiss(model: Model) -> None:
    """An inline model ended; with the last, `sys.modules` is as it was."""
    with _lock:
        if model not in _alive:
            return
        _alive.remove(model)
        if _alive:
            return
        for name, module in _replaced.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
        _replaced.clear()
        setattr(threading.Thread, "start", _start_thread)  # noqa: B010


@contextlib.contextmanager
def stand_in(module: ModuleType) -> Iterator[None]:
    """``import triton_python_backend_utils`` gives `module` inside, and afterwards what it gave before."""
    before = sys.modules.get(surface.PB_UTILS)
    sys.modules[surface.PB_UTILS] = module
    try:
        yield
    finally:
        with _lock:
            for name, there in _replaced.items():  # an inline model is alive: it took the name over
                if there is module:
                    _replaced[name] = before
            if sys.modules.get(surface.PB_UTILS) is module:
                sys.modules.pop(surface.PB_UTILS)
            over = isinstance(before, _Proxy) and not _alive
            if surface.PB_UTILS not in sys.modules and before is not None and not over:
                sys.modules[surface.PB_UTILS] = before
