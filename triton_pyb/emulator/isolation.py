"""Imports of one inline model, kept apart: nothing of its folder stays in `sys.modules` or on `sys.path`.

Modules found in the model's own folder are loaded once per instance and live in its own table; code loaded
here imports through that table, in functions and threads too. `importlib.import_module` and pickle look into
`sys.modules` and do not see them: a model that needs that runs in a child process.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .stub import surface
from .stub.lifecycle import ModelFailed, enter

_original_import = builtins.__import__
# sys.path and sys.modules are the whole process's: one model at a time loads modules.
_loading = threading.RLock()


class PrivateImporter:
    """Loads the model's module and whatever of its folder that imports."""

    own_process = False

    def __init__(self, version_dir: str, version: str, model_file: str | None) -> None:
        self.version_dir, self.version, self.model_file = version_dir, version, model_file
        self._modules: dict[str, ModuleType] = {}
        self._own: dict[str, bool] = {}
        self._folder = os.path.realpath(os.path.dirname(version_dir)) + os.sep
        self._path: list[str] = []
        self._builtins = {**vars(builtins), "__import__": self._import}

    def load(self, pb_utils: ModuleType, c_module: ModuleType) -> ModuleType:
        self._modules.update({surface.PB_UTILS: pb_utils, c_module.__name__: c_module})
        path = self.model_file or os.path.join(self.version_dir, "model.py")
        folder, stem = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
        inside = folder == self.version_dir  # else the stand-in of another backend
        name = f"{self.version}.{stem}" if inside else stem
        if not os.path.exists(path):
            raise ModelFailed(f"Python model file not found in '{path}'")
        own = [folder, os.path.dirname(folder)] if inside else [folder]
        self._path = [*sys.path, *own, surface.BACKEND_FOLDER]
        if inside:
            package = ModuleType(self.version)
            package.__path__ = [folder]
            self._modules[self.version] = package
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        return self._execute(spec)

    def unload(self) -> None:
        self._modules.clear()

    def _import(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        full = name
        if level:
            package = (globals or {}).get("__package__") or ""
            full = importlib.util.resolve_name("." * level + name, package)
        top = full.partition(".")[0]
        if not self._is_own(top):
            return _original_import(name, globals, locals, fromlist or (), level)
        module = self._get(full)
        if not fromlist:
            return module if level else self._modules[top]
        for item in fromlist:
            if item != "*" and not hasattr(module, item) and hasattr(module, "__path__"):
                with contextlib.suppress(ModuleNotFoundError):
                    self._get(f"{full}.{item}")
        return module

    def _is_own(self, top: str) -> bool:
        if top in self._modules:
            return True
        if top not in self._own:
            spec = None
            if top not in sys.builtin_module_names and not importlib.machinery.FrozenImporter.find_spec(top):
                spec = importlib.machinery.PathFinder.find_spec(top, self._path)
            places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
            self._own[top] = any(place and os.path.realpath(place).startswith(self._folder) for place in places)
        return self._own[top]

    def _get(self, full: str) -> ModuleType:
        """The module of that full name, loaded with its parents if need be."""
        path: Any = self._path
        parent: ModuleType | None = None
        parts = full.split(".")
        for length in range(1, len(parts) + 1):
            name = ".".join(parts[:length])
            module = self._modules.get(name)
            if module is None:
                spec = importlib.machinery.PathFinder.find_spec(name, path)
                if spec is None:
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)
                module = self._execute(spec)
            if parent is not None:
                setattr(parent, parts[length - 1], module)
            parent, path = module, getattr(module, "__path__", None)
        assert parent is not None
        return parent

    def _execute(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.util.module_from_spec(spec)
        loader: Any = spec.loader
        code = loader.get_code(spec.name) if hasattr(loader, "get_code") else None
        module.__dict__["__builtins__"] = self._builtins
        self._modules[spec.name] = module
        try:
            with self._visible(spec.name, module):
                if code is not None:
                    enter(exec, code, module.__dict__)
                elif loader is not None:
                    loader.exec_module(module)  # an extension module; a namespace package has nothing to run
        except BaseException:
            self._modules.pop(spec.name, None)
            raise
        return self._modules[spec.name]

    @contextlib.contextmanager
    def _visible(self, name: str, module: ModuleType) -> Iterator[None]:
        """While a module runs it is in `sys.modules` (dataclasses look there), and sys.path is the model's."""
        with _loading:
            before, path = sys.modules.get(name), sys.path[:]
            sys.modules[name], sys.path[:] = module, self._path
            written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
            try:
                yield
            finally:
                self._path, sys.path[:] = sys.path[:], path
                sys.dont_write_bytecode = written
                if before is None:
                    sys.modules.pop(name, None)
                else:
                    sys.modules[name] = before


class FactoryImporter:
    """Stands for model.py where the model is already a callable of this process."""

    own_process = False

    def __init__(self, factory: Any) -> None:
        self._module = ModuleType("model")
        vars(self._module)["TritonPythonModel"] = factory

    def load(self, pb_utils: ModuleType, c_module: ModuleType) -> ModuleType:
        return self._module

    def unload(self) -> None:
        pass
