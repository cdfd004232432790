"""One model.py, read without running it."""

from __future__ import annotations

import ast
import functools
import importlib.machinery
import os
import stat
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from triton_pyb.check.autocomplete import Completion, initial_config, interpret
from triton_pyb.check.finding import Place

if TYPE_CHECKING:
    from triton_pyb.check.model import Model

#: A module of more than this is generated data; its syntax is not checked.
MOST_BYTES = 4 * 1024 * 1024

PB_UTILS = ("triton_python_backend_utils", "c_python_backend_utils")

#: Names that the stub attaches to pb_utils after model.py was imported (22.06 and later; measured on 24.10).
ATTACHED_LATER = frozenset(
    {"TritonError", "TritonModelException", "Tensor", "InferenceRequest", "InferenceResponse", "Logger"}
    | {"PreferredMemory", "TRITONSERVER_MEMORY_GPU", "TRITONSERVER_MEMORY_CPU", "MetricFamily", "load_model"}
    | {"unload_model", "is_model_ready", "get_model_dir"}
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Import:
    """One import as it would be carried out: ``from .a import b`` has module "a", level 1, names ("b",)."""

    module: str
    level: int
    names: tuple[str, ...]
    node: ast.AST
    guarded: bool

    @property
    def candidates(self) -> list[str]:
        """Modules that the import may load: the named one, and names in it that may be modules."""
        if self.module:
            return [self.module, *(f"{self.module}.{name}" for name in self.names)]
        return list(self.names)


class PythonSource:
    """A Python file.

    Attributes
    ----------
    path, folder : str
        The file, and the version folder.
    state : "file", "absent", "folder", "unreadable"
    """

    def __init__(self, path: str, folder: str, model: Model) -> None:
        self.path, self.folder, self.model = path, folder, model

    @functools.cached_property
    def state(self) -> str:
        try:
            mode = os.stat(self.path).st_mode
        except FileNotFoundError:
            return "absent"
        except (OSError, ValueError):
            return "unreadable"
        return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "unreadable"

    @functools.cached_property
    def data(self) -> bytes:
        if self.state != "file":
            return b""
        try:
            with open(self.path, "rb") as stream:
                return stream.read(MOST_BYTES)
        except OSError:
            self.state = "unreadable"
            return b""

    @functools.cached_property
    def _parsed(self) -> ast.Module | SyntaxError | None:
        if self.state != "file" or len(self.data) >= MOST_BYTES or self.state != "file":
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return ast.parse(self.data)
            except SyntaxError as error:
                return error
            except ValueError as error:
                return SyntaxError(str(error))
            except (RecursionError, MemoryError):
                return None

    @property
    def syntax_error(self) -> SyntaxError | None:
        return self._parsed if isinstance(self._parsed, SyntaxError) else None

    @property
    def tree(self) -> ast.Module | None:
        return self._parsed if isinstance(self._parsed, ast.Module) else None

    @functools.cached_property
    def _lines(self) -> list[str]:
        return self.data.decode("utf-8", "replace").splitlines()

    def place(self, node: ast.AST | int | None = None, column: int = 1) -> Place:
        """Where a node stands; columns count characters."""
        if node is None:
            return Place(self.path)
        line = node if isinstance(node, int) else getattr(node, "lineno", 0)
        text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        end = 0
        if isinstance(node, ast.AST):
            offset = getattr(node, "col_offset", 0)
            column = len(text.encode()[:offset].decode("utf-8", "ignore")) + 1
            if getattr(node, "end_lineno", 0) == line:
                end = len(text.encode()[: getattr(node, "end_col_offset", 0)].decode("utf-8", "ignore")) + 1
        return Place(self.path, line, column, end or len(text) + 1, text)

    # -- what it defines ----------------------------------------------------------------------------------

    @functools.cached_property
    def walked(self) -> list[ast.AST]:
        """Every node, outer before inner."""
        return list(ast.walk(self.tree)) if self.tree is not None else []

    @functools.cached_property
    def calls(self) -> list[tuple[ast.Call, str]]:
        """Every call with its dotted name."""
        return [(node, dotted(node.func)) for node in self.walked if isinstance(node, ast.Call)]

    @functools.cached_property
    def top_level_names(self) -> set[str] | None:
        """Names that exist after the import; None when that cannot be known (``from x import *``)."""
        if self.tree is None:
            return None
        names: set[str] = set()
        for node in at_import(self.tree.body):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(node.name)
                if node.name == "__getattr__":
                    return None
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                if any(alias.name == "*" for alias in node.names):
                    return None
                names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.ExceptHandler) and node.name:
                names.add(node.name)
            elif isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "globals",
                "exec",
                "setattr",
                "vars",
            ):
                return None
        return names

    @functools.cached_property
    def model_class(self) -> ast.ClassDef | None:
        """The class TritonPythonModel, when it is written in this file."""
        if self.tree is None:
            return None
        classes = [n for n in at_import(self.tree.body) if isinstance(n, ast.ClassDef)]
        return next((node for node in reversed(classes) if node.name == "TritonPythonModel"), None)

    @property
    def inherits(self) -> bool:
        """True when methods may come from a base class, a metaclass or a decorator."""
        found = self.model_class
        if found is None:
            return True
        bases = [base for base in found.bases if not (isinstance(base, ast.Name) and base.id == "object")]
        return bool(bases or found.keywords or found.decorator_list)

    def method(self, name: str) -> Function | None:
        """A method of TritonPythonModel as written in its body."""
        body = self.model_class.body if self.model_class is not None else []
        found: Function | None = None
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                found = node
        return found

    def may_have(self, name: str) -> bool:
        """True when the class has that attribute, or may inherit or assign it."""
        if self.inherits or self.method(name) is not None:
            return True
        assert self.model_class is not None
        nodes = at_import(self.model_class.body)
        return any(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == name for n in nodes)

    def uses_attribute(self, name: str) -> bool:
        """True when ``.name`` stands anywhere in this file or in a sibling module."""
        return name.encode() in self.data or any(name.encode() in other for other in self.sibling_data)

    @property
    def search_folders(self) -> tuple[str, ...]:
        """What Triton appends to ``sys.path``: the version folder and the model folder."""
        return (self.folder, self.model.path)

    @functools.cached_property
    def siblings(self) -> list[PythonSource]:
        """Modules of the version and model folder that are imported while the model loads, each once."""
        found: dict[str, PythonSource] = {self.path: self}
        queue: list[PythonSource] = [self]
        while queue and len(found) < 200:
            current = queue.pop()
            for item in current.imports:
                folders = (os.path.dirname(current.path),) if item.level else self.search_folders
                for module in item.candidates:
                    path = self._local_file(module, folders)
                    if path and path not in found:
                        found[path] = PythonSource(path, self.folder, self.model)
                        queue.append(found[path])
        del found[self.path]
        return list(found.values())

    def _local_file(self, module: str, folders: tuple[str, ...]) -> str:
        top, _, rest = module.partition(".")
        if top in sys.stdlib_module_names:
            return ""
        for folder in folders:
            found = self.model.folders.module(folder, top)
            if not found:
                continue
            for part in rest.split(".") if rest else ():
                inner = os.path.dirname(found) if os.path.basename(found) == "__init__.py" else found
                found = self.model.folders.module(inner, part)
                if not found:
                    return ""
            return found if found.endswith(".py") else ""
        return ""

    def forget(self) -> None:
        """Drop what takes memory; what was concluded stays."""
        _ = self.completion
        for name in (
            "_parsed",
            "walked",
            "calls",
            "data",
            "sibling_data",
            "siblings",
            "_lines",
            "imports",
            "model_class",
        ):
            self.__dict__.pop(name, None)

    @functools.cached_property
    def sibling_data(self) -> list[bytes]:
        """The other Python files of the version folder (not their sub folders)."""
        found = []
        for name in sorted(self.model.folders.names(self.folder))[:200]:
            path = os.path.join(self.folder, name)
            if name.endswith(".py") and path != self.path:
                found.append(PythonSource(path, self.folder, self.model).data)
        return found

    @functools.cached_property
    def pb_utils_names(self) -> set[str]:
        """What pb_utils is called here."""
        names = set()
        for node in self.walked:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name == PB_UTILS[0]:
                        names.add(alias.asname or alias.name)
        return names

    @functools.cached_property
    def completion(self) -> Completion | None:
        """What auto_complete_config does; None when there is none or the server does not call it."""
        target = self.model.target
        if target.strict or not target.at_least("22.06"):
            return None
        function = self.method("auto_complete_config")
        if function is None:
            if self.tree is not None and self.inherits:  # the hook may come with a base class or an import
                return Completion(initial_config(self.model.name, self.model.config))
            return None
        config = initial_config(self.model.name, self.model.config)
        if not isinstance(function, ast.FunctionDef):
            return Completion(config)
        constants = {}
        for node in self.tree.body if self.tree is not None else []:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                for name in node.targets:
                    if isinstance(name, ast.Name):
                        constants[name.id] = node.value.value
        return interpret(function, config, constants)

    @functools.cached_property
    def imports(self) -> list[Import]:
        """Imports that are carried out while the server loads the model."""
        if self.tree is None:
            return []
        found = list(_imports(self.tree.body, False))
        for name in ("__init__", "initialize"):
            method = self.method(name)
            if method is not None:
                found += _imports(method.body, False)
        return found


def at_import(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Nodes that are evaluated when a body runs: not the insides of functions, but decorators and defaults."""
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            stack += node.decorator_list + node.args.defaults + [d for d in node.args.kw_defaults if d is not None]
        elif isinstance(node, ast.Lambda):
            stack += node.args.defaults
        else:
            stack += reversed(list(ast.iter_child_nodes(node)))


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, (ast.Name, ast.Attribute)) and ast.unparse(test).endswith("TYPE_CHECKING")


def _imports(body: list[ast.stmt], guarded: bool) -> Iterator[Import]:
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, 0, (), node, guarded)
        elif isinstance(node, ast.ImportFrom):
            yield Import(node.module or "", node.level, tuple(a.name for a in node.names), node, guarded)
        elif isinstance(node, ast.If):
            if not _is_type_checking(node.test):
                yield from _imports(node.body, True)
            yield from _imports(node.orelse, True)
        elif isinstance(node, ast.Try):
            yield from _imports(node.body, guarded or bool(node.handlers))
            for handler in node.handlers:
                yield from _imports(handler.body, True)
            yield from _imports(node.orelse, True)
            yield from _imports(node.finalbody, guarded)
        elif isinstance(node, (ast.With, ast.ClassDef)):
            yield from _imports(node.body, guarded)
        elif isinstance(node, (ast.For, ast.While)):
            yield from _imports(node.body, True)


def certain_end(body: list[ast.stmt]) -> ast.AST | None:
    """The statement at which a body certainly raises or exits, or None."""
    for node in body:
        if isinstance(node, ast.Raise):
            return node
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant) and not node.test.value:
            return node
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and exit_call(node.value):
            return node.value
        if isinstance(node, ast.With):
            if "suppress" in ast.unparse(node.items[0].context_expr) or "raises" in ast.unparse(
                node.items[0].context_expr
            ):
                return None
            if (found := certain_end(node.body)) is not None:
                return found
        elif isinstance(node, ast.If):
            first, second = certain_end(node.body), certain_end(node.orelse)
            if first is not None and second is not None:
                return first
            if isinstance(node.test, ast.Constant):
                taken = first if node.test.value else second
                if taken is not None:
                    return taken
        if any(isinstance(inner, (ast.Return, ast.Yield, ast.YieldFrom)) for inner in ast.walk(node)):
            return None
    return None


def exit_call(node: ast.Call) -> str:
    """``"os._exit"``, ``"sys.exit"`` ... or an empty string."""
    name = ast.unparse(node.func)
    return name if name in ("os._exit", "sys.exit", "exit", "quit", "os.abort") else ""


# -- finding modules --------------------------------------------------------------------------------------


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


def dotted(node: ast.AST) -> str:
    """``np.float32`` as written, or an empty string for anything that is no plain dotted name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def literal(node: Any) -> Any:
    """The value of a constant node, else None."""
    return node.value if isinstance(node, ast.Constant) else None
