"""A hand-kept ``model.py``: what it imports, and the runtime when it uses ours."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from .imports import read_imports
from .modules import TRITON_MODULES


class HandKept(NamedTuple):
    """What the Python files of an existing model ask for.

    Attributes
    ----------
    uses_runtime : tuple of str
        Version folders whose code imports triton_pyb and do not hold it.
    imported : tuple of str
        Modules of neither the folder nor the standard library.
    """

    uses_runtime: tuple[str, ...]
    imported: tuple[str, ...]


def look_at(files: Mapping[str, Path], versions: Iterable[str]) -> HandKept:
    """Read the imports of every Python file of a model folder.

    Parameters
    ----------
    files : mapping of str to Path
        Path inside the model folder -> file.
    """
    uses, imported = [], set()
    for version in versions:
        inside = {name.partition("/")[2] for name in files if name.startswith(f"{version}/")}
        # Triton puts the version folder and the model folder on sys.path.
        own = {name.partition("/")[0].removesuffix(".py") for name in (*inside, *files)}
        asked = set()
        for name in inside:
            if name.endswith(".py") and not name.startswith("triton_pyb/"):
                module = name.removesuffix(".py").replace("/", ".")
                for found in read_imports(files[f"{version}/{name}"], module).imports:
                    asked.add(found.module)
        if any(_top(name) == "triton_pyb" for name in asked) and "triton_pyb" not in own:
            uses.append(version)
        strange = {name for name in asked if _top(name) not in sys.stdlib_module_names | own | TRITON_MODULES}
        imported |= strange
    return HandKept(tuple(uses), tuple(sorted(imported)))


def _top(name: str) -> str:
    return name.partition(".")[0]
