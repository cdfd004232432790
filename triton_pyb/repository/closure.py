"""The author's own modules behind a step: found by reading imports, never by running them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from triton_pyb.emulator import sources
from triton_pyb.runtime.errors import did_you_mean
from triton_pyb.runtime.steps import StepMark

from .assets import declared_assets, package_data
from .imports import Import, Reading, Resource, read_imports
from .modules import Finder, Module
from .requirements import distributions_of
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
    imported : tuple of str
        The same, as far as the imports name them: ``"google.protobuf"``.
    notes : tuple of str
        What could not be followed.
    """

    function: str
    files: dict[str, Path]
    third_party: tuple[str, ...]
    imported: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def find_closure(mark: StepMark, step: object) -> Closure:
    """Walk the imports of the module in which a step is declared.

    Raises
    ------
    BuildError
        When the step cannot be found again by name, a module or an asset cannot be found, is not the project's
        own, or would hide another one inside a model folder.
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
    walk = _Walk(root, module.partition(".")[0])
    walk.follow(module)
    inside = next(entry for entry, found in walk.files.items() if found.resolve() == path)
    walk.files.update(declared_assets(getattr(mark, "assets", ()), path, inside, walk.finder))
    return Closure(
        f"{module}:{_name_of(mark, step)}",
        dict(sorted(walk.files.items())),
        tuple(sorted({name.partition(".")[0] for name in walk.imported})),
        tuple(sorted(walk.imported)),
        tuple(walk.notes()),
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
    def __init__(self, root: Path, top: str) -> None:
        self.finder = Finder(root, top)
        self.files: dict[str, Path] = {}
        self.imported: set[str] = set()
        self.read: dict[str, tuple[Module, Reading]] = {}

    def follow(self, name: str) -> bool:
        """Take the author's module `name` and all that it imports; False when only packages around it exist."""
        modules, whole = self.finder.find(name)
        for module in modules:
            if module.name not in self.read:
                reading = read_imports(module.path, module.name)
                self.read[module.name] = (module, reading)
                self.files[module.inside] = module.path
                sources.remember(module.path)
                for imported in reading.imports:
                    self.imports(imported, module)
                for resource in reading.resources:
                    self.resource(resource)
        return whole

    def imports(self, imported: Import, module: Module) -> None:
        """Follow one import statement."""
        where = f"{module.path}:{imported.line}"
        owner = self.finder.owner(imported.module)
        if owner == "triton":
            self._check_travels(imported, where)
        elif owner == "package":
            self.imported.add(imported.module)
        elif owner == "author":
            self._authors(imported, where)
        elif owner != "standard" and not imported.optional:
            raise self._missing(imported, where)

    def _authors(self, imported: Import, where: str) -> None:
        if not self.follow(imported.module):
            if distributions_of(imported.module):  # a namespace that a package shares
                self.imported.add(imported.module)
            elif not imported.optional:
                raise self._missing(imported, where)
            return
        names = imported.names
        if names == ("*",) and imported.module in self.read:
            names = self.read[imported.module][1].exported
        for name in names:
            self.follow(f"{imported.module}.{name}")  # an attribute is not found, and need not be

    def _missing(self, imported: Import, where: str) -> BuildError:
        hint = did_you_mean(imported.module, self.finder.names())
        return BuildError(
            "TPB408",
            f"there is no module '{imported.module}', neither in the project nor installed{hint}",
            where,
            "install it here in the version that the model is to use, or put the import below "
            "`try: ... except ImportError:` when the code goes on without it",
        )

    def _check_travels(self, imported: Import, where: str) -> None:
        floor = imported.module.split(".")[1:2] or [name for name in imported.names if name in _STAYS]
        if imported.module.startswith("triton_pyb") and floor and floor[0] in _STAYS and not imported.lazy:
            if not imported.optional:
                raise BuildError(
                    "TPB420",
                    f"triton_pyb.{floor[0]} does not travel into a model folder; what `triton_pyb` itself exports does",
                    where,
                    'move it below `if __name__ == "__main__":`, or into a function that the model never calls',
                )

    def resource(self, resource: Resource) -> None:
        """Data files of the author's own packages; those of installed packages come with them."""
        if not resource.package or self.finder.owner(resource.package) != "author":
            return
        folder = self.finder.folder_of(resource.package)
        if folder is not None:
            self.files.update(package_data(folder, resource.package.replace(".", "/"), resource.name, self.finder))

    def notes(self) -> list[str]:
        """Where reading is not enough."""
        found = []
        taken = {path.resolve() for path in self.files.values()}
        for module, reading in self.read.values():
            for line in reading.unknown:
                found.append(
                    f"{module.inside}:{line} imports a module whose name only running tells; it does not travel "
                    "unless something else imports it"
                )
            for text in sorted(set(reading.beside)):
                beside = module.path.parent / text
                if beside.is_file() and beside.resolve() not in taken:
                    found.append(
                        f"{module.inside} uses __file__ and names '{text}', which lies beside it and does not travel; "
                        f'declare it: assets=("{text}",)'
                    )
        return found


#: Floors of this package above the runtime.
_STAYS = frozenset({"config", "emulator", "repository", "check", "server", "cli"})
