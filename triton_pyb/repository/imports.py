"""What a module imports, read from its text and never by running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .target import BuildError

#: An import below a handler of one of these may fail.
_CAUGHT = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
#: A condition with one of these chooses by platform: the branch not taken here may be taken there.
_BY_PLATFORM = ("sys.version_info", "sys.platform", "os.name", "platform.")
_RESOURCE_READERS = {"open_text", "open_binary", "read_text", "read_binary", "path", "is_resource", "contents"}


class Import(NamedTuple):
    """One import statement, or a call that imports.

    Attributes
    ----------
    module : str
        Absolute name of what must be a module.
    names : tuple of str
        What is taken out of it: attributes or submodules; ``("*",)``.
    optional : bool
        The code goes on without it: below ``except ImportError``, or chosen by platform.
    lazy : bool
        Inside a function.
    """

    module: str
    names: tuple[str, ...]
    line: int
    optional: bool
    lazy: bool


class Resource(NamedTuple):
    """A use of ``importlib.resources``: `name` is empty when it may be any file of the package."""

    package: str
    name: str
    line: int


class Reading(NamedTuple):
    """All that one module asks for.

    Attributes
    ----------
    exported : tuple of str
        A literal ``__all__``.
    unknown : tuple of int
        Lines on which something is imported whose name only running the code would tell.
    beside : tuple of str
        Texts of a module that uses ``__file__``: some may be names of files that it reads.
    """

    imports: tuple[Import, ...]
    resources: tuple[Resource, ...]
    exported: tuple[str, ...]
    unknown: tuple[int, ...]
    beside: tuple[str, ...]


def read_imports(path: Path, module: str) -> Reading:
    """Parse one file.

    Parameters
    ----------
    module : str
        Its absolute name, which relative imports count from.

    Raises
    ------
    BuildError
        When the file has a syntax error.
    """
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError) as error:
        raise BuildError(
            "TPB402",
            f"'{path}' cannot be parsed: {getattr(error, 'msg', error)}",
            f"{path}:{getattr(error, 'lineno', 1)}",
            "correct the syntax",
        ) from None
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    reader = _Reader(package)
    reader.visit(tree)
    uses_file = any(isinstance(node, ast.Name) and node.id == "__file__" for node in ast.walk(tree))
    beside = _texts(tree) if uses_file else ()
    return Reading(
        tuple(reader.imports), tuple(reader.resources), _exported(tree), tuple(reader.unknown), tuple(beside)
    )


class _Reader(ast.NodeVisitor):
    def __init__(self, package: str) -> None:
        self.package = package
        self.imports: list[Import] = []
        self.resources: list[Resource] = []
        self.unknown: list[int] = []
        self.optional = False
        self.lazy = False

    # ---- where an import stands

    def visit_If(self, node: ast.If) -> None:
        condition = ast.unparse(node.test)
        never = condition.rpartition(".")[2] == "TYPE_CHECKING" or condition.startswith("__name__ ==")
        outer = self.optional
        self.optional = outer or any(word in condition for word in _BY_PLATFORM)
        for statement in [*([] if never else node.body), *node.orelse]:
            self.visit(statement)
        self.optional = outer

    def visit_Try(self, node: ast.Try) -> None:
        outer = self.optional
        self.optional = outer or any(_catches_import_error(handler.type) for handler in node.handlers)
        for statement in node.body:
            self.visit(statement)
        self.optional = outer
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    def visit_With(self, node: ast.With) -> None:
        outer = self.optional
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("suppress"):
                self.optional = self.optional or any(_catches_import_error(argument) for argument in call.args)
        self.generic_visit(node)
        self.optional = outer

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outer, self.lazy = self.lazy, True
        self.generic_visit(node)
        self.lazy = outer

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    # ---- imports

    def add(self, module: str, names: tuple[str, ...], line: int) -> None:
        if module:
            self.imports.append(Import(module, names, line, self.optional, self.lazy))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.add(alias.name, (), node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = self.absolute(node.level, node.module or "")
        self.add(module, tuple(alias.name for alias in node.names), node.lineno)

    def absolute(self, level: int, name: str) -> str:
        parts = self.package.split(".") if self.package else []
        around = parts[: len(parts) - level + 1] if level else []
        return ".".join([*around, *([name] if name else [])])

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        called = ast.unparse(node.func)
        last = called.rpartition(".")[2]
        if last in ("import_module", "__import__"):
            self._import_call(node)
        elif called in ("resources.files", "importlib.resources.files", "files") and node.args:
            package = self._package_named(node.args[0])
            if package:
                self.resources.append(Resource(package, "", node.lineno))
        elif (last in _RESOURCE_READERS and "resources" in called) or called in ("pkgutil.get_data", "get_data"):
            package = self._package_named(node.args[0]) if node.args else ""
            name = _text(node.args[1]) if len(node.args) > 1 else ""
            if package:
                self.resources.append(Resource(package, name, node.lineno))

    def _import_call(self, node: ast.Call) -> None:
        name = _text(node.args[0]) if node.args else ""
        if not name:
            self.unknown.append(node.lineno)
            return
        bare = name.lstrip(".")
        self.add(self.absolute(len(name) - len(bare), bare), (), node.lineno)

    def _package_named(self, node: ast.expr) -> str:
        """``"pkg"``, ``__package__``, or an imported package's own name."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        text = ast.unparse(node)
        if text in ("__package__", "__name__", "__spec__.parent"):
            return self.package
        for made in self.imports:
            if text == made.module:
                return made.module
            if text in made.names:
                return f"{made.module}.{text}"
        return ""


def _catches_import_error(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    parts = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(ast.unparse(part).rpartition(".")[2] in _CAUGHT for part in parts)


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _exported(tree: ast.Module) -> tuple[str, ...]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == "__all__" for target in node.targets):
            if isinstance(node.value, (ast.List, ast.Tuple)):
                return tuple(filter(None, map(_text, node.value.elts)))
    return ()


def _texts(tree: ast.Module) -> Iterator[str]:
    """Short texts that look like the name of a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if 0 < len(node.value) < 200 and "." in node.value and not node.value.startswith(("/", ".")):
                if "\n" not in node.value and ".." not in node.value:
                    yield node.value
