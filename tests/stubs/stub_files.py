"""The stub files as data: what a class or a module offers, with parameters, and what its docstrings say."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

STUBS = Path(__file__).parents[2] / "stubs"


@dataclass(frozen=True)
class Parameter:
    """One parameter; `name` is empty where it can only be given by position."""

    name: str
    optional: bool


@dataclass
class Scope:
    """A class or a module: functions by name, with all their overloads, and everything else that has a name."""

    functions: dict[str, list[ast.FunctionDef]] = field(default_factory=dict)
    classes: dict[str, Scope] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    documents: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        return {*self.functions, *self.classes, *self.others}

    def parameters(self, name: str) -> list[Parameter]:
        """Those of a function, without ``self``; of overloads, what any of them lets a caller leave out is optional."""
        overloads = [parameters_of(function) for function in self.functions[name]]
        # C++ may require a parameter after optional ones: only the overload with all of them by position has the order.
        by_position = [len(function.args.posonlyargs) + len(function.args.args) for function in self.functions[name]]
        ordered = overloads[by_position.index(max(by_position))]
        may_be_absent = {
            own.name
            for own in ordered
            if any(all(other.optional for other in overload if other.name == own.name) for overload in overloads)
        }
        return [Parameter(own.name, own.name in may_be_absent) for own in ordered]


def parameters_of(function: ast.FunctionDef) -> list[Parameter]:
    """Parameters in order, those that can only be given by name last."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    listed = [
        Parameter("" if argument in arguments.posonlyargs else argument.arg, index >= required)
        for index, argument in enumerate(positional)
        if argument.arg != "self"
    ]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [*listed, *(Parameter(argument.arg, default is not None) for argument, default in named)]


def read(module: str) -> Scope:
    """The stub of `module`."""
    return scope(ast.parse((STUBS / module / "__init__.pyi").read_text(encoding="utf-8")))


def scope(tree: ast.Module | ast.ClassDef) -> Scope:
    found = Scope()
    previous = ""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.functions.setdefault(node.name, []).append(node)
            previous = node.name
            _document(found, node.name, ast.get_docstring(node))
        elif isinstance(node, ast.ClassDef):
            found.classes[node.name] = scope(node)
            _document(found, node.name, ast.get_docstring(node))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            previous = node.target.id
            found.others.add(previous)
        elif isinstance(node, ast.ImportFrom):
            found.others |= {alias.asname for alias in node.names if alias.asname}
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and previous:
            _document(found, previous, str(node.value.value))
    return found


def _document(found: Scope, name: str, text: str | None) -> None:
    found.documents[name] = found.documents.get(name, "") + (text or "")


def documents(found: Scope, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Dotted names and the text that stands with each; an empty text where there is none."""
    for name in found.names:
        yield prefix + name, found.documents.get(name, "")
    for name, inner in found.classes.items():
        yield from documents(inner, f"{prefix}{name}.")
