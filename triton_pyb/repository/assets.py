"""Data files that travel with the code: declared by ``assets=``, or read with ``importlib.resources``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from triton_pyb.runtime.errors import did_you_mean

from .litter import is_litter
from .modules import Finder
from .target import BuildError

#: What stands at the top of a version folder already.
_TAKEN = {"model.py", "signature.json", "triton_pyb.json", "triton_pyb"}


def declared_assets(patterns: Iterable[str], declaring: Path, inside: str, finder: Finder) -> dict[str, Path]:
    """Files of ``assets=("labels.txt", "data/*.json")``.

    Parameters
    ----------
    declaring : Path
        The file in which they are declared; patterns count from its folder.
    inside : str
        The same file inside the version folder: assets keep their place beside it.

    Raises
    ------
    BuildError
        When a pattern fits no file, or one outside the project.
    """
    found: dict[str, Path] = {}
    folder, around = declaring.parent, Path(inside).parent
    for pattern in patterns:
        paths = list(_matches(folder, pattern, declaring))
        if not paths:
            known = [path.name for path in folder.iterdir()]
            raise BuildError(
                "TPB418",
                f"assets= names '{pattern}', which fits no file below '{folder}'{did_you_mean(pattern, known)}",
                str(declaring),
                "correct the pattern; it counts from the file of the declaration",
            )
        for path in paths:
            finder.check_inside(path)
            place = (around / path.relative_to(folder)).as_posix()
            if place.partition("/")[0] in _TAKEN:
                raise BuildError(
                    "TPB415",
                    f"the asset '{place}' would hide the '{place.partition('/')[0]}' that a model folder needs",
                    str(declaring),
                    "rename the file",
                )
            found[place] = path
    return found


def _matches(folder: Path, pattern: str, declaring: Path) -> Iterator[Path]:
    if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        raise BuildError(
            "TPB419",
            f"assets= names '{pattern}', which lies outside the folder of the declaration",
            str(declaring),
            "put the file below that folder: in a model folder there is nothing above it",
        )
    for path in sorted(folder.glob(pattern)):
        for entry in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if entry.is_file() and not is_litter(entry.relative_to(folder)):
                yield entry


def package_data(package: Path, inside: str, name: str, finder: Finder) -> dict[str, Path]:
    """Data files of one of the author's packages, or the one that is named.

    Parameters
    ----------
    inside : str
        The package's folder inside the version folder.
    """
    if name:
        paths = [package / name] if (package / name).is_file() else []
    else:
        paths = [
            path
            for path in sorted(package.rglob("*"))
            if path.is_file() and path.suffix not in (".py", ".pyi") and not is_litter(path.relative_to(package))
        ]
    for path in paths:
        finder.check_inside(path)
    return {f"{inside}/{path.relative_to(package).as_posix()}": path for path in paths}
