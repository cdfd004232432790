"""Which file is behind a module's name, and whose it is: the author's, a package's, or Python's own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from pathlib import Path
from typing import Literal, NamedTuple

from .requirements import distributions_of
from .source import project_root
from .target import BuildError

Owner = Literal["author", "package", "standard", "triton", "missing"]

#: What Triton itself puts on ``sys.path``, and what travels with every model.
TRITON_MODULES = frozenset({"triton_python_backend_utils", "c_python_backend_utils", "triton_pyb"})
_INSTALLED = ("site-packages", "dist-packages")


class Module(NamedTuple):
    """One of the author's modules.

    Attributes
    ----------
    inside : str
        Path inside the version folder.
    """

    name: str
    path: Path
    inside: str


class Finder:
    """Finds modules as ``python app.py`` would, without importing any.

    Parameters
    ----------
    root : Path
        The folder in which the application's own top-level modules lie.
    top : str
        The top-level module of the application itself: it travels even when it is installed.
    """

    def __init__(self, root: Path, top: str = "") -> None:
        importlib.invalidate_caches()
        self.root = root
        self.top = top
        self.project = project_root(root / "x") or root
        self.path = [str(root), *(entry for entry in sys.path if entry != str(root))]

    def owner(self, name: str) -> Owner:
        """Whose the top-level module of `name` is.

        Raises
        ------
        BuildError
            When it lies neither in the project nor in an installed package, or is named like one of the
            standard library.
        """
        top = name.partition(".")[0]
        if top in TRITON_MODULES:
            return "triton"
        spec = self._top(top)
        where = _places(spec)
        if where and all(self._is_authors(place) for place in where):
            self._check_name(top, where[0])
            return "author"
        if top in sys.stdlib_module_names:
            return "standard"
        if spec is None:
            return "missing"
        if any(self._is_authors(place) for place in where) or all(_is_installed(place) for place in where):
            # A namespace that is both the author's and a package's is followed: what is no file of the
            # author's there is the package's.
            return "author" if any(self._is_authors(place) for place in where) else "package"
        if not where or distributions_of(name):
            return "package"
        raise BuildError(
            "TPB409",
            f"module '{name}' lies outside the project: {where[0]}",
            f"the project is '{self.project}'",
            "move it into the project, or install it as a package",
        )

    def find(self, name: str) -> tuple[list[Module], bool]:
        """The modules of ``a.b.c`` that have a file, packages first, and whether all of `name` was found.

        Raises
        ------
        BuildError
            When a file is a compiled extension, lies outside the project, or has a twin.
        """
        found: list[Module] = []
        path: Sequence[str] | None = self.path
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            if path is None:
                return found, False
            part = ".".join(parts[:length])
            spec = self._top(part) if length == 1 else PathFinder.find_spec(part, list(path))
            if spec is None or not any(self._is_authors(place) for place in _places(spec)):
                return found, spec is not None
            if spec.has_location and spec.origin:
                found.append(self._module(part, Path(spec.origin)))
            path = spec.submodule_search_locations
        return found, True

    def folder_of(self, package: str) -> Path | None:
        """The folder of one of the author's packages."""
        modules, whole = self.find(package)
        if whole and modules and modules[-1].name == package and modules[-1].path.name == "__init__.py":
            return modules[-1].path.parent
        folder = self.root.joinpath(*package.split("."))
        return folder if folder.is_dir() else None

    def names(self) -> list[str]:
        """Top-level modules beside the application, to offer the nearest."""
        return sorted(
            entry.stem
            for entry in self.root.iterdir()
            if entry.suffix == ".py" or (entry.is_dir() and (entry / "__init__.py").is_file())
        )

    def _top(self, name: str) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, self.path)
        if spec is not None:
            return spec
        for finder in sys.meta_path:  # an editable installation may bring a finder of its own
            if finder is not PathFinder and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, None)
                if spec is not None:
                    return spec
        return None

    def _is_authors(self, place: Path) -> bool:
        if self.top and any(place.is_relative_to(own) for own in (self.root / self.top, self.root / f"{self.top}.py")):
            return True
        inside = any(place.is_relative_to(folder) for folder in {self.root, self.project})
        return inside and not _is_installed(place) and not _is_standard(place)

    def _module(self, name: str, path: Path) -> Module:
        parts = name.split(".")
        if path.suffix != ".py":
            kind = "a compiled extension" if path.name.endswith(tuple(EXTENSION_SUFFIXES)) else "no Python source"
            raise BuildError(
                "TPB417",
                f"module '{name}' is {kind}: it runs on no other Python than this one",
                str(path),
                "make it a package with wheels, install that, and build with --env pack",
            )
        package = path.name == "__init__.py"
        twin = path.parent.with_suffix(".py") if package else path.with_suffix("") / "__init__.py"
        if twin.is_file():
            raise BuildError(
                "TPB416",
                f"two modules are named '{name}': {path} and {twin}",
                f"the package hides the module: '{self.root}'",
                "rename one of them",
            )
        self.check_inside(path)
        if parts[0] == "model" or parts[0] in TRITON_MODULES:
            raise BuildError(
                "TPB415",
                f"module '{name}' would hide the '{parts[0]}' that a model folder needs",
                str(path),
                "rename the module",
            )
        return Module(name, path, "/".join(parts) + ("/__init__.py" if package else ".py"))

    def check_inside(self, path: Path) -> None:
        """Refuse a symbolic link that leads out of the project."""
        real = path.resolve()
        if not any(real.is_relative_to(folder.resolve()) for folder in (self.project, self.root)):
            raise BuildError(
                "TPB409",
                f"'{path}' leads out of the project, to {real}",
                f"the project is '{self.project}'",
                "put the file itself there instead of a symbolic link",
            )

    def _check_name(self, top: str, place: Path) -> None:
        if top in sys.stdlib_module_names:
            inside = place.relative_to(self.root) if place.is_relative_to(self.root) else place
            raise BuildError(
                "TPB406",
                f"'{inside}' is named like the standard library's module '{top}'",
                str(place),
                "rename it: inside a model folder one of the two would hide the other",
            )


def _places(spec: ModuleSpec | None) -> list[Path]:
    """Where a module lies: its file, or the folders of a namespace package; empty for built-in modules."""
    if spec is None:
        return []
    if spec.has_location and spec.origin:
        return [Path(spec.origin).absolute()]
    return [Path(place).absolute() for place in spec.submodule_search_locations or []]


def _is_installed(place: Path) -> bool:
    return any(part in _INSTALLED for part in place.parts)


def _is_standard(place: Path) -> bool:
    home = Path(importlib.__file__ or "").parent.parent
    return place.is_relative_to(home)
