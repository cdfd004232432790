"""Group 17: what model.py and the modules beside it import."""

from __future__ import annotations

import os
from collections.abc import Iterator

from triton_pyb.check.finding import Finding, printable
from triton_pyb.check.model import Model
from triton_pyb.check.module_search import find_module
from triton_pyb.check.python_source import PythonSource
from triton_pyb.check.python_walk import Import
from triton_pyb.check.rules.python_model import SourceRule
from triton_pyb.runtime.errors import did_you_mean


class ImportMissing(SourceRule):
    """A module that model.py imports is nowhere to be found.

    Looked for beside model.py, in the model folder, in the standard library, in this Python and among widely used
    packages.  Anything else must be installed where the server runs: `--ignore TPB1708` says that it is.

    Source: measured on 24.10 (P_sibling_import_missing, E_step_model_broken_load).
    """

    code = "TPB1708"
    message = "module '{module}' is not beside model.py, not in Python {python} and no known package{hint}"
    fix = "put {file} into the version folder, or install it where the server runs"
    said = "Internal: ModuleNotFoundError: No module named '{module}'"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        unsure = bool(model.config.map("parameters").get("EXECUTION_ENV_PATH"))
        for current in (source, *source.siblings):
            own = unsure or any(needle in current.data for needle in (b"sys.path", b"site.addsitedir"))
            unsure = own
            told: set[str] = set()
            for item in current.imports:
                missing = self._missing(source, current, item)
                if missing and not item.guarded and missing not in told:
                    told.add(missing)
                    yield self.found(
                        model,
                        current.place(item.node),
                        severity="warning" if own else "error",
                        stage="" if own else None,
                        said="" if own else None,
                        module=missing,
                        python=".".join(map(str, model.target.python)),
                        file=missing.split(".")[-1] + ".py",
                        hint=did_you_mean(missing.split(".")[-1], _modules_in(source.folder)),
                    )

    def _missing(self, source: PythonSource, current: PythonSource, item: Import) -> str:
        here = os.path.dirname(current.path)
        if item.level:
            base = here
            for _ in range(item.level - 1):
                base = os.path.dirname(base)
            if len(base) < len(source.folder):
                return ""  # TPB1722 tells
            names = [item.module] if item.module else list(item.names)
            package = os.path.basename(source.folder)
            for name in names:
                if name != "*" and not _exists(name, base) and not (not item.module and _defines(base, name)):
                    return f"{package}.{name}" if base == source.folder else name
            return ""
        folders = source.search_folders
        found = find_module(item.module, folders, source.model.folders)
        if not found:
            return item.module.split(".")[0]
        if found in ("standard", "installed", "known"):
            return ""
        if "." in item.module and os.path.basename(found) in ("__init__.py", item.module.split(".")[0]):
            inside = item.module.replace(".", os.sep)
            if not any(_exists(inside, folder) for folder in folders):
                return item.module
        return ""


def _exists(name: str, folder: str) -> bool:
    path = os.path.join(folder, name.replace(".", os.sep))
    if os.path.isfile(path + ".py") or os.path.isdir(path):
        return True
    parent, last = os.path.split(path)
    try:
        return any(file.startswith(last + ".") and file.endswith((".so", ".pyc")) for file in os.listdir(parent))
    except OSError:
        return False


def _defines(folder: str, name: str) -> bool:
    """True when ``from . import name`` may find a name in ``__init__.py``."""
    path = os.path.join(folder, "__init__.py")
    try:
        with open(path, "rb") as stream:
            return name.encode("utf-8", "replace") in stream.read(1 << 20)
    except OSError:
        return False


def _modules_in(folder: str) -> list[str]:
    try:
        return [name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py")]
    except OSError:
        return []


class BeyondPackage(SourceRule):
    """A relative import leads out of its package.

    Triton imports model.py as `<version>.model`: one dot is the version folder, two dots are nothing.  A module that
    model.py imports without dots is in no package at all: it cannot use them either.

    Source: measured on 24.10 ("beyond top-level package", "with no known parent package").
    """

    code = "TPB1722"
    message = "{dots} leads out of the package: {why}"
    fix = "{repair}"
    said = "Internal: ImportError: attempted relative import {what}"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        for current in (source, *source.siblings):
            for item in current.imports:
                if item.level <= current.depth or item.guarded:
                    continue
                name = os.path.basename(current.path).removesuffix(".py")
                if current.depth:
                    why, what = "there is no package above the version folder", "beyond top-level package"
                    repair = "put the module into the version folder, or into the model folder without dots"
                else:
                    why, what = (
                        f"'{name}' is imported without dots, so it is in no package",
                        "with no known parent package",
                    )
                    repair = f"import it without dots, or write `from . import {name}` in model.py"
                dots = "from " + "." * item.level
                yield self.found(model, current.place(item.node), dots=dots, why=why, what=what, repair=repair)


class ImportedNameMissing(SourceRule):
    """A module beside model.py does not have the name that is imported from it.

    Source: measured on 24.10 ("cannot import name").
    """

    code = "TPB1723"
    message = "{file} has no name '{name}'{hint}"
    fix = "define it there, or import another name"
    said = "Internal: ImportError: cannot import name '{name}' from '{module}'"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        by_path = {other.path: other for other in (source, *source.siblings)}
        for current in by_path.values():
            for item in current.imports:
                folders = (os.path.dirname(current.path),) if item.level == 1 else source.search_folders
                path = source.local_file(item.module, folders) if item.module and item.level < 2 else ""
                imported = by_path.get(path)
                names = imported.top_level_names if imported is not None else None
                if names is None or item.guarded:
                    continue
                for name in item.names:
                    is_module = source.local_file(f"{item.module}.{name}", folders)
                    if name != "*" and name not in names and not is_module:
                        file = printable(os.path.relpath(path, model.path))
                        package = os.path.basename(source.folder) + "." if item.level and current is source else ""
                        values = {"name": name, "file": file, "module": package + item.module}
                        yield self.found(
                            model, current.place(item.node), hint=did_you_mean(name, sorted(names)), **values
                        )
