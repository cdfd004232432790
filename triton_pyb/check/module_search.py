"""Where ``import x`` in a model.py would find its module."""

from __future__ import annotations

import functools
import importlib.machinery
import os
import sys
from importlib import resources

PB_UTILS = ("triton_python_backend_utils", "c_python_backend_utils")


class Folders:
    """Names in folders, each listed once."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}

    def names(self, folder: str) -> frozenset[str]:
        if folder not in self._names:
            try:
                self._names[folder] = frozenset(os.listdir(folder))
            except OSError:
                self._names[folder] = frozenset()
        return self._names[folder]

    def module(self, folder: str, name: str) -> str:
        """The file or folder of a top-level module in `folder`, or an empty string."""
        names = self.names(folder)
        if name + ".py" in names:
            return os.path.join(folder, name + ".py")
        path = os.path.join(folder, name)
        if name in names and os.path.isdir(path):
            return os.path.join(path, "__init__.py") if "__init__.py" in self.names(path) else path
        for other in names:
            if other.startswith(name + ".") and other.endswith((".so", ".pyc", ".pyd")):
                return os.path.join(folder, other)
        return ""


def find_module(name: str, folders: tuple[str, ...], listing: Folders) -> str:
    """Where ``import name`` would find a module: ``"standard"``, ``"installed"``, ``"known"``, a path, or "".

    Triton appends the version folder and the model folder to ``sys.path``: an installed module wins.
    """
    top = name.split(".")[0]
    if top in sys.stdlib_module_names or top in PB_UTILS:
        return "standard"
    for folder in folders:
        found = listing.module(folder, top)
        if found:
            return found
    if _installed(top):
        return "installed"
    return "known" if _normal(top) in known_packages() else ""


@functools.lru_cache(maxsize=4096)
def _installed(top: str) -> bool:
    if not top.isidentifier():
        return False
    path = [entry for entry in sys.path if entry not in ("", os.getcwd())]
    try:
        return importlib.machinery.PathFinder.find_spec(top, path) is not None
    except (ImportError, ValueError, OSError):
        return False


def shadowed_by(name: str) -> str:
    """``"the standard library"`` or ``"an installed package"`` when one of that name wins over a sibling."""
    if name in sys.stdlib_module_names:
        return "the standard library"
    return "an installed package" if _installed(name) else ""


@functools.cache
def known_packages() -> frozenset[str]:
    """Import names of widely used packages: an import of one is no fault of the repository."""
    text = resources.files("triton_pyb.check").joinpath("known_packages.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.split() if line)


def _normal(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")
