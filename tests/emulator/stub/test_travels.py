"""What makes the stub half fit to run in any Python and beside any model."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from triton_pyb.emulator import stub

_FOLDER = Path(stub.__file__).parent
_FILES = sorted(_FOLDER.rglob("*.py"))


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "").split(".")[0]


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.name)
def test_python_3_8_with_numpy_and_nothing_else(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    own = {"." + file.stem for file in _FILES} | {"."}
    assert set(_imported(tree)) <= own | {"numpy"} | set(sys.stdlib_module_names)
