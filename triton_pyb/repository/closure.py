"""The author's own modules behind a step: found by reading imports, never by running them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from triton_pyb.runtime.steps import StepMark

from .target import BuildError


class Closure(NamedTuple):
    """What a step's code needs.

    Attributes
    ----------
    function : str
        ``"module:name"``, as a packaged model imports it.
    files : dict of str to Path
        Path inside the version folder -> file on this machine; sorted.
    third_party : tuple of str
        Top-level names of imported packages that are neither the author's nor of the standard library.
    """

    function: str
    files: dict[str, Path]
    third_party: tuple[str, ...]


def find_closure(mark: StepMark, step: object) -> Closure:
    """Walk the imports of the module in which a step is declared.

    Raises
    ------
    BuildError
        When the step cannot be found again by name, or one of the modules is named like one of the standard library.
    """
    file = mark.scope.get("__file__")
    if not file:
        raise BuildError(
            "TPB404", "the step is declared in no file", str(mark.place), "write it into a module, not a prompt"
        )
    path = Path(file).resolve()
    module = mark.scope.get("__name__", "")
    module = path.stem if module == "__main__" else module
    root = path.parents[module.count(".") + (path.name == "__init__.py")]
    walk = _Walk(root)
    walk.module(module, path)
    return Closure(
        f"{module}:{_name_of(mark, step)}",
        dict(sorted(walk.files.items())),
        tuple(sorted(walk.third_party)),
    )


def _name_of(mark: StepMark, step: object) -> str:
    """The name under which the module holds the step."""
    for name, value in mark.scope.items():
        if value is step and not name.startswith("__"):
            return name
    raise BuildError(
        "TPB405",
        f"'{mark.name}' is not at the top level of its module, so a packaged model cannot import it",
        str(mark.place),
        "define it at module level, and assign what wrap() returns to a module-level name",
    )


class _Walk:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: dict[str, Path] = {}
        self.third_party: set[str] = set()

    def module(self, name: str, path: Path) -> None:
        """Take one module, the packages around it, and what they import."""
        inside = str(path.relative_to(self.root).as_posix())
        if inside in self.files:
            return
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names:
            raise BuildError(
                "TPB406",
                f"'{inside}' is named like the standard library's module '{top}'",
                str(path),
                "rename it: inside a model folder one of the two would hide the other",
            )
        self.files[inside] = path
        for package in list(path.parents)[: len(path.relative_to(self.root).parts) - 1]:
            init = package / "__init__.py"
            if init.is_file():
                self.module(".".join(package.relative_to(self.root).parts), init)
        package_name = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for imported in _imports(path, package_name):
            self.imported(imported)

    def imported(self, name: str) -> None:
        """Follow ``a.b.c`` as far as it names modules; the last part may be an attribute."""
        parts = name.split(".")
        found = False
        for length in range(1, len(parts) + 1):
            base = self.root.joinpath(*parts[:length])
            path = next((p for p in (base.with_name(base.name + ".py"), base / "__init__.py") if p.is_file()), None)
            if path is not None:
                self.module(".".join(parts[:length]), path)
                found = True
            elif not base.is_dir():
                break
        top = parts[0]
        if not found and top not in sys.stdlib_module_names and top != "triton_pyb":
            self.third_party.add(top)


def _imports(path: Path, package: str) -> Iterator[str]:
    """Absolute names of all that a file imports, anywhere in it."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except SyntaxError as error:
        raise BuildError(
            "TPB402", f"'{path}' cannot be parsed: {error.msg}", f"{path}:{error.lineno}", "correct the syntax"
        ) from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)
