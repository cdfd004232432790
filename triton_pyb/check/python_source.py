"""One model.py, read without running it."""

from __future__ import annotations

import ast
import functools
import os
import stat
import sys
import warnings
from typing import TYPE_CHECKING, Any

from triton_pyb.check.autocomplete import Completion, initial_config, interpret
from triton_pyb.check.finding import Place
from triton_pyb.check.module_search import PB_UTILS
from triton_pyb.check.python_walk import Function, Import, at_import, dotted, imports_of

if TYPE_CHECKING:
    from triton_pyb.check.model import Model

#: A module of more than this is generated data; its syntax is not checked.
MOST_BYTES = 4 * 1024 * 1024

#: A folder of more modules than this holds a library; the rest of it is not checked.
MOST_MODULES = 1000

#: Names that the stub attaches to pb_utils after model.py was imported (22.06 and later; measured on 24.10).
ATTACHED_LATER = frozenset(
    {"TritonError", "TritonModelException", "Tensor", "InferenceRequest", "InferenceResponse", "Logger"}
    | {"PreferredMemory", "TRITONSERVER_MEMORY_GPU", "TRITONSERVER_MEMORY_CPU", "MetricFamily", "load_model"}
    | {"unload_model", "is_model_ready", "get_model_dir"}
)


class PythonSource:
    """A Python file.

    Attributes
    ----------
    path, folder : str
        The file, and the version folder.
    state : "file", "absent", "folder", "unreadable"
    depth : int
        How many packages the module is in: model.py is ``<version>.model``, so 1; ``import helper`` beside it, 0.
    """

    def __init__(self, path: str, folder: str, model: Model) -> None:
        self.path, self.folder, self.model = path, folder, model
        self.depth = 1

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
                tree = ast.parse(self.data)
            except SyntaxError as error:
                return error
            except ValueError as error:
                return SyntaxError(str(error))
            except (RecursionError, MemoryError):
                return None
            try:
                # What only the compiler sees: `return` outside a function, two arguments of one name ...
                compile(tree, self.path.replace("\0", ""), "exec", dont_inherit=True)
            except SyntaxError as error:
                return error
            except (ValueError, RecursionError, MemoryError):
                pass
            return tree

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
    def by_type(self) -> dict[type[ast.AST], list[Any]]:
        """The nodes of `walked` by their exact type."""
        found: dict[type[ast.AST], list[Any]] = {}
        for node in self.walked:
            found.setdefault(type(node), []).append(node)
        return found

    def nodes(self, *kinds: type[ast.AST]) -> list[Any]:
        """All nodes of these exact types."""
        return [node for kind in kinds for node in self.by_type.get(kind, ())]

    @functools.cached_property
    def calls(self) -> list[tuple[ast.Call, str]]:
        """Every call with its dotted name."""
        return [(node, dotted(node.func)) for node in self.nodes(ast.Call)]

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
            elif isinstance(node, ast.Delete) and node in self.tree.body:
                names -= {target.id for target in node.targets if isinstance(target, ast.Name)}
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
    def evaluates_no_annotations(self) -> bool:
        """True with ``from __future__ import annotations``."""
        return any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and "annotations" in [alias.name for alias in node.names]
            for node in (self.tree.body if self.tree is not None else [])
        )

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
                base = _upwards(os.path.dirname(current.path), item.level - 1)
                folders = (base,) if item.level else self.search_folders
                for module in item.candidates:
                    path = self.local_file(module, folders)
                    if path and path not in found:
                        found[path] = PythonSource(path, self.folder, self.model)
                        within = os.path.dirname(path)
                        root = next(folder for folder in folders if path.startswith(folder + os.sep))
                        depth = 0 if within == root else os.path.relpath(within, root).count(os.sep) + 1
                        found[path].depth = depth + (current.depth - item.level + 1 if item.level else 0)
                        queue.append(found[path])
        del found[self.path]
        return list(found.values())

    @functools.cached_property
    def travelling(self) -> list[PythonSource]:
        """`siblings`, and for a model that was built from functions every module that travels with it.

        Its model.py names none of them: the package's runtime imports them from what stands in signature.json.
        """
        found = {other.path: other for other in self.siblings}
        if "triton_pyb.json" in self.model.folders.names(self.folder):
            own = os.path.join(self.folder, "triton_pyb")  # runs from 21.10 on, and looks before it leaps
            found = {path: other for path, other in found.items() if not path.startswith(own + os.sep)}
            for folder, inner, names in os.walk(self.folder):
                inner[:] = sorted(name for name in inner if os.path.join(folder, name) != own)
                for name in sorted(names):
                    path = os.path.join(folder, name)
                    if name.endswith(".py") and path != self.path and len(found) < MOST_MODULES:
                        found.setdefault(path, PythonSource(path, self.folder, self.model))
        return list(found.values())

    def local_file(self, module: str, folders: tuple[str, ...]) -> str:
        """The file of a module that lies beside model.py, or an empty string."""
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
            "by_type",
            "certain",
            "calls",
            "data",
            "sibling_data",
            "siblings",
            "travelling",
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
        for node in self.nodes(ast.Import):
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
        constants: dict[str, object] = {}
        for node in self.tree.body if self.tree is not None else []:
            if isinstance(node, ast.Assign):
                try:
                    value = ast.literal_eval(node.value)
                except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                    continue
                constants |= {name.id: value for name in node.targets if isinstance(name, ast.Name)}
        return interpret(function, config, constants)

    @functools.cached_property
    def imports(self) -> list[Import]:
        """Imports that are carried out while the server loads the model."""
        if self.tree is None:
            return []
        found = list(imports_of(self.tree.body, False))
        for name in ("__init__", "initialize", "auto_complete_config"):
            method = self.method(name)
            if method is not None and (name != "auto_complete_config" or self.completion is not None):
                found += imports_of(method.body, False)
        return found


def _upwards(folder: str, levels: int) -> str:
    for _ in range(levels):
        folder = os.path.dirname(folder)
    return folder
