"""Ways through the syntax tree of a model.py."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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


def at_import(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Nodes that are evaluated when a body runs: not the insides of functions, but decorators and defaults.

    Nor what stands under ``if __name__ == "__main__"``: Triton imports the module as ``<version>.model``.
    """
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            stack += node.decorator_list + node.args.defaults + [d for d in node.args.kw_defaults if d is not None]
        elif isinstance(node, ast.Lambda):
            stack += node.args.defaults
        elif isinstance(node, ast.If) and is_never_true(node.test):
            stack += reversed(node.orelse)
        else:
            stack += reversed(list(ast.iter_child_nodes(node)))


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, (ast.Name, ast.Attribute)) and ast.unparse(test).endswith("TYPE_CHECKING")


def is_never_true(test: ast.expr) -> bool:
    """True for what a type checker or a script would take and Triton does not: ``__name__ == "__main__"``."""
    if isinstance(test, ast.Constant):
        return not test.value
    return _is_type_checking(test) or ast.unparse(test) in ("__name__ == '__main__'", "'__main__' == __name__")


def imports_of(body: list[ast.stmt], guarded: bool) -> Iterator[Import]:
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, 0, (), node, guarded)
        elif isinstance(node, ast.ImportFrom):
            yield Import(node.module or "", node.level, tuple(a.name for a in node.names), node, guarded)
        elif isinstance(node, ast.If):
            if not _is_type_checking(node.test):
                yield from imports_of(node.body, True)
            yield from imports_of(node.orelse, True)
        elif isinstance(node, ast.Try):
            yield from imports_of(node.body, guarded or bool(node.handlers))
            for handler in node.handlers:
                yield from imports_of(handler.body, True)
            yield from imports_of(node.orelse, True)
            yield from imports_of(node.finalbody, guarded)
        elif isinstance(node, (ast.With, ast.ClassDef)):
            yield from imports_of(node.body, guarded)
        elif isinstance(node, (ast.For, ast.While)):
            yield from imports_of(node.body, True)


def within(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, not the insides of functions and classes."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if not isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack += list(ast.iter_child_nodes(current))


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
        elif isinstance(node, ast.Try):
            swallows = any(isinstance(inner, ast.Return) for last in node.finalbody for inner in within(last))
            found = certain_end(node.finalbody) or (None if node.handlers or swallows else certain_end(node.body))
            if found is not None:
                return found
        elif isinstance(node, ast.If):
            first, second = certain_end(node.body), certain_end(node.orelse)
            if first is not None and second is not None:
                return first
            if isinstance(node.test, ast.Constant):
                taken = first if node.test.value else second
                if taken is not None:
                    return taken
        if any(isinstance(inner, (ast.Return, ast.Yield, ast.YieldFrom)) for inner in within(node)):
            return None
    return None


def exit_call(node: ast.Call) -> str:
    """``"os._exit"``, ``"sys.exit"`` ... or an empty string."""
    name = ast.unparse(node.func)
    return name if name in ("os._exit", "sys.exit", "exit", "quit", "os.abort") else ""


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
