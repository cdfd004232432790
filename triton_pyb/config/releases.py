"""The releases of NVIDIA's Triton container, and what each one brings."""

from __future__ import annotations

import csv
import functools
from importlib import resources
from typing import NamedTuple

from triton_pyb.runtime.errors import TritonPybError, did_you_mean

#: glibc of the Ubuntu in a container.  Source: packages.ubuntu.com, libc6 of focal, jammy and noble.
GLIBC = {"20.04": (2, 31), "22.04": (2, 35), "24.04": (2, 39)}


class ReleaseError(TritonPybError):
    """A release that does not exist, or lacks what is asked of it."""


class Release(NamedTuple):
    """One container release.

    Attributes
    ----------
    name : str
        ``"24.10"``.
    triton_version : str
        ``"2.51.0"``.
    python : tuple of int
        The Python of the stub, ``(3, 10)``.
    ubuntu : str
    glibc : tuple of int
    """

    name: str
    triton_version: str
    python: tuple[int, int]
    ubuntu: str
    glibc: tuple[int, int]

    @property
    def order(self) -> tuple[int, int]:
        return ordered(self.name)

    @property
    def python_text(self) -> str:
        """``"3.10"``."""
        return f"{self.python[0]}.{self.python[1]}"

    @property
    def image(self) -> str:
        """The container's tag in NVIDIA's registry."""
        return f"nvcr.io/nvidia/tritonserver:{self.name}-py3"

    def at_least(self, release: str) -> bool:
        """True for that release and later ones."""
        return self.order >= ordered(release)

    @property
    def needs_numpy_1(self) -> bool:
        """Whether NumPy 2 makes the stub send empty tensors.

        Source: measured on 24.10; the stub is built with a pybind11 from before NumPy 2 up to 24.11.
        """
        return not self.at_least("24.12")

    @property
    def stub_shm_bytes(self) -> int:
        """Shared memory that every instance of a Python model takes when it starts.

        Source: python_backend pull request 291 (August 2023): 64 MiB before, 1 MiB since.
        """
        return (1 if self.at_least("23.09") else 64) << 20


def ordered(release: str) -> tuple[int, int]:
    """``"24.10"`` -> ``(24, 10)``, which compares as releases follow each other."""
    year, _, month = release.partition(".")
    return int(year), int(month)


@functools.cache
def table() -> dict[str, dict[str, str]]:
    """Release -> its row of ``releases.csv``; columns that nobody has published yet are empty."""
    with resources.files("triton_pyb.config").joinpath("releases.csv").open(encoding="utf-8") as stream:
        return {row["release"]: row for row in csv.DictReader(stream)}


def find_release(name: str) -> Release:
    """The release of that name; ``"latest"`` is the newest whose contents are known.

    Raises
    ------
    ReleaseError
        When NVIDIA has published no such container.
    """
    rows = table()
    if name == "latest":
        name = next(known for known in reversed(rows) if rows[known]["python"])
    if name not in rows:
        known = list(rows)
        raise ReleaseError(
            "TPB430",
            f"there is no Triton release {name!r}{did_you_mean(name, known)}",
            "--release",
            f"name a container release from {known[0]} to {known[-1]}, or 'latest'",
        )
    row = rows[name]
    if not row["python"]:  # not described yet: as its predecessor
        before = [known for known in rows if rows[known]["python"] and ordered(known) < ordered(name)]
        row = {**rows[before[-1]], "triton_version": row["triton_version"]}
    major, minor = row["python"].split(".")[:2]
    return Release(name, row["triton_version"], (int(major), int(minor)), row["ubuntu"], GLIBC[row["ubuntu"]])
