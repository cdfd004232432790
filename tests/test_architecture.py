"""The floors of the package, as a test: imports point down, and floor 0 stays light enough to travel."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "triton_pyb"
FLOORS = ["runtime", "config", "emulator", "repository", "check", "server", "cli"]  # ground floor first
TOP_FILES = {"__init__.py", "py.typed"}
#: All that floor 0 may import anywhere, besides the standard library and itself.
TRAVELS = {"numpy", "triton_python_backend_utils"}
#: What floor 0 may import inside a function only, where the author's value is of that library anyway.
LAZY = {
    ("runtime/arrays.py", "torch"),
    ("runtime/images.py", "PIL"),
    ("runtime/images.py", "cv2"),
    ("runtime/outputs.py", "torch"),
    ("runtime/received.py", "PIL"),
    ("runtime/triton_tensors.py", "torch"),
}
#: Names for type checkers only, under TYPE_CHECKING.
TYPING_ONLY = {("runtime/steps.py", "typing_extensions")}
#: Names under which anything can be hidden.
NOUNLESS = {"utils", "util", "core", "common", "helpers", "helper", "base", "misc"}


class Import(NamedTuple):
    line: int
    name: str  # absolute, one per imported name: "triton_pyb.runtime.errors.nearest"
    lazy: bool  # inside a function
    typing: bool  # under TYPE_CHECKING: no program runs it


@functools.cache
def imports(path: Path, package: Path) -> list[Import]:
    """What `path` imports, relative imports resolved, ``from x import y`` as ``x.y``."""
    return list(_imports(path, package))


def _imports(path: Path, package: Path) -> Iterator[Import]:
    around = [package.name, *path.relative_to(package).parts[:-1]]
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    lazy, typing = set(), set()
    for outer in ast.walk(tree):
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lazy |= {id(inner) for inner in ast.walk(outer)}
        if isinstance(outer, ast.If) and ast.unparse(outer.test) == "TYPE_CHECKING":
            typing |= {id(inner) for statement in outer.body for inner in ast.walk(statement)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, id(node) in lazy, id(node) in typing)
        elif isinstance(node, ast.ImportFrom):
            base = around[: len(around) - node.level + 1] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                yield Import(node.lineno, ".".join([*base, alias.name]), id(node) in lazy, id(node) in typing)


def modules(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def floor_of(name: str) -> int | None:
    """The floor behind an absolute import; what ``triton_pyb/__init__`` itself re-exports is floor 0."""
    top, *rest = name.split(".")
    if top != PACKAGE.name:
        return None
    return FLOORS.index(rest[0]) if rest and rest[0] in FLOORS else 0


def violations(package: Path) -> list[str]:
    """Every breach of the floors below `package`, as ``file:line: what``."""
    found = []
    for path in sorted(package.iterdir()):
        if path.name not in {*FLOORS, *TOP_FILES, "__pycache__"}:
            found.append(f"{path.name}: neither a floor nor the package's own __init__.py")
    for path in modules(package):
        inside = path.relative_to(package)
        floor = inside.parts[0] if inside.parts[0] in FLOORS else FLOORS[0]
        if NOUNLESS & {part.removesuffix(".py") for part in inside.parts}:
            found.append(f"{inside}: is named like no thing of the field")
        for line, name, lazy, typing in imports(path, package):
            reached = floor_of(name)
            where = f"{inside}:{line}"
            if reached is not None and reached > FLOORS.index(floor):
                found.append(f"{where}: imports {name}, a floor above {floor}")
            if floor == "runtime" and reached is None:
                found += _stranger(where, inside.as_posix(), name.split(".")[0], lazy, typing)
            stub = ("emulator", "stub")
            if inside.parts[:2] == stub and reached is not None and tuple(name.split(".")[1:3]) != stub:
                found.append(f"{where}: imports {name}, which does not travel with the stub")
    return found


def _stranger(where: str, inside: str, top: str, lazy: bool, typing: bool) -> list[str]:
    if top in sys.stdlib_module_names | TRAVELS or (typing and (inside, top) in TYPING_ONLY):
        return []
    if (inside, top) not in LAZY:
        return [f"{where}: imports {top}, which may be missing where the model runs"]
    return [] if lazy else [f"{where}: imports {top} at module level"]


def test_the_floors_hold() -> None:
    assert violations(PACKAGE) == []


def test_every_lazy_import_that_is_allowed_is_made() -> None:
    made = {
        (path.relative_to(PACKAGE).as_posix(), name.split(".")[0])
        for path in modules(PACKAGE / "runtime")
        for _, name, _, _ in imports(path, PACKAGE)
    }
    assert LAZY | TYPING_ONLY <= made


def test_there_is_no_import_cycle_between_modules() -> None:
    """Imports inside functions and under TYPE_CHECKING aside: those are how a cycle is avoided."""
    known = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in modules(PACKAGE)}
    edges: dict[str, set[str]] = {}
    for module, path in known.items():
        edges[module] = {
            target
            for _, name, lazy, typing in imports(path, PACKAGE)
            for target in (name, name.rpartition(".")[0])
            if not lazy and not typing and target in known and target != module
        }
    while leaves := [module for module, targets in edges.items() if not targets & set(edges)]:
        for module in leaves:
            del edges[module]
    assert edges == {}


@pytest.mark.parametrize("folder", ["runtime", "emulator/stub"])
def test_what_runs_in_old_containers_parses_as_python_3_8(folder: str) -> None:
    for path in [PACKAGE / "__init__.py", PACKAGE / "repository/model_template.py", *modules(PACKAGE / folder)]:
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 8))


# --- the test of the test: each breach is found in a tree made for it


def tree(folder: Path, **files: str) -> Path:
    """A package of that content; ``runtime__a`` is ``runtime/a.py``."""
    package = folder / "triton_pyb"
    for name, text in {"__init__": "", **files}.items():
        path = package / (name.replace("__", "/") + ".py" if name != "__init__" else "__init__.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return package


def test_a_clean_tree_is_green(tmp_path: Path) -> None:
    package = tree(
        tmp_path,
        runtime__errors="import json\nimport numpy as np\n",
        runtime__images="from .errors import look\ndef f():\n    import cv2\n",
        check__rule="from triton_pyb import preprocess\nfrom ..runtime import errors\nimport onnx\n",
        emulator__stub__tensor="from . import enums\nfrom .enums import FLAG\n",
    )
    assert violations(package) == []


@pytest.mark.parametrize(
    "module, line, said",
    [
        ("runtime__steps", "from triton_pyb.check import rule", "runtime/steps.py:1: imports triton_pyb.check.rule, "),
        ("runtime__steps", "from triton_pyb import check", "imports triton_pyb.check, a floor above runtime"),
        ("runtime__steps", "import triton_pyb.cli.main", "imports triton_pyb.cli.main, a floor above runtime"),
        ("runtime__steps", "from .. import emulator", "imports triton_pyb.emulator, a floor above runtime"),
        ("config__schema", "from ..repository.graph import Graph", "triton_pyb.repository.graph.Graph, a floor above"),
        ("config__schema", "def f():\n    from ..server import client", "schema.py:2: imports triton_pyb.server"),
        ("__init__", "from .config import schema", "__init__.py:1: imports triton_pyb.config.schema, a floor above"),
        ("runtime__casting", "import torch", "imports torch, which may be missing where the model runs"),
        ("runtime__casting", "def f():\n    import torch", "imports torch, which may be missing"),
        (
            "runtime__casting",
            "if TYPE_CHECKING:\n    import torch",
            "casting.py:2: imports torch, which may be missing",
        ),
        ("runtime__images", "import PIL.Image", "runtime/images.py:1: imports PIL at module level"),
        ("__init__", "import requests", "__init__.py:1: imports requests, which may be missing"),
        ("helpers", "", "helpers.py: neither a floor"),
        ("plugins__one", "", "plugins: neither a floor"),
        ("server__utils", "", "server/utils.py: is named like no thing of the field"),
        ("emulator__core__pipe", "", "emulator/core/pipe.py: is named like no thing"),
        ("emulator__stub__tensor", "from ..messages import x", "triton_pyb.emulator.messages.x, which does not travel"),
        ("emulator__stub__tensor", "from triton_pyb.runtime import dtypes", "dtypes, which does not travel"),
    ],
)
def test_a_breach_is_red(tmp_path: Path, module: str, line: str, said: str) -> None:
    assert said in "\n".join(violations(tree(tmp_path, **{module: line + "\n"})))
