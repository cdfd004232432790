"""Imported packages as requirements, with the versions in use on this machine."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from importlib import metadata


@functools.cache
def _distributions() -> dict[str, list[str]]:
    return {top: sorted(set(names)) for top, names in metadata.packages_distributions().items()}


def distributions_of(module: str) -> list[str]:
    """Names of the installed distributions that bring `module` (``"google.protobuf"``).

    Several distributions may share a namespace: then only those with a file of that very package count.
    """
    top = module.partition(".")[0]
    names = _distributions().get(top, [])
    if len(names) < 2 or "." not in module:
        return names
    prefix = module.replace(".", "/")
    exact = [name for name in names if any(str(file).startswith((prefix + "/", prefix + ".")) for file in _files(name))]
    return exact or names


@functools.cache
def _files(name: str) -> tuple[str, ...]:
    return tuple(map(str, metadata.files(name) or ()))


#: Module -> package, where the module is not installed here and its name is not the package's.
_PACKAGES = {"PIL": "Pillow", "cv2": "opencv-python-headless", "sklearn": "scikit-learn", "skimage": "scikit-image"}


def requirements_of(modules: Iterable[str]) -> tuple[str, ...]:
    """``"opencv-python-headless==4.10.0.84"`` for every imported third-party module; sorted, each once.

    A module that no installed distribution claims is named as it is.
    """
    found = set()
    for module in modules:
        names = distributions_of(module)
        # opencv-python and opencv-python-headless bring the same cv2: one of them is enough, and the
        # headless one also runs where there is no display.
        chosen = [name for name in names if name.endswith("-headless")] or names
        top = module.partition(".")[0]
        found |= {pin(name) for name in chosen[:1]} or {_PACKAGES.get(top, top)}
    return tuple(sorted(found, key=str.lower))


def pin(name: str) -> str:
    """``name==version``; a local version label (``+cpu``) is left out, since no index serves it."""
    return f"{name}=={metadata.version(name).partition('+')[0]}"


def normalized(name: str) -> str:
    """``"Foo.Bar_baz"`` -> ``"foo-bar-baz"``, as package indexes compare names (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
