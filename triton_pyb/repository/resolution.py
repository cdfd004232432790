"""Requirements resolved for the Python, glibc and architecture of a container, with pip and wheels only."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from triton_pyb.config.releases import Release

from .target import BuildError


def resolve_requirements(requirements: Sequence[str], release: Release, machine: str = "x86_64") -> list[str]:
    """Every package with its version, those that the named ones need included.

    Versions in use here are taken where the container's Python has wheels of them, else the newest older ones.

    Raises
    ------
    BuildError
        When some package has no wheel for the container.
    """
    try:
        return _resolved(requirements, release, machine)
    except _NoWheel:
        relaxed = [_numpy(line, release) or line.replace("==", "<=") for line in requirements]
    try:
        return _resolved(relaxed, release, machine)
    except _NoWheel as error:
        raise BuildError(
            "TPB456",
            f"no wheels for {', '.join(requirements)} on Python {release.python_text}, glibc "
            f"{release.glibc[0]}.{release.glibc[1]}, {machine}: {error}",
            f"release {release.name}",
            "use another version of the package, build its wheel yourself, or build with --env image",
        ) from None


def _numpy(line: str, release: Release) -> str:
    return "numpy<2" if re.match(r"numpy\b", line) and release.needs_numpy_1 else ""


def install_wheels(pinned: Sequence[str], release: Release, folder: Path, machine: str = "x86_64") -> None:
    """Unpack the wheels of `pinned` into `folder`, which becomes a ``site-packages``."""
    _pip("install", "--no-deps", "--no-compile", "--target", str(folder), *_target(release, machine), *pinned)


class _NoWheel(Exception):
    """pip says why."""


def _resolved(requirements: Sequence[str], release: Release, machine: str) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="triton_pyb_resolve_") as name:
        report = Path(name, "report.json")
        options = ["--dry-run", "--ignore-installed", "--report", str(report), "--target", str(Path(name, "none"))]
        _pip("install", *options, *_target(release, machine), *requirements)
        items = json.loads(report.read_text(encoding="utf-8"))["install"]
    return sorted(f"{item['metadata']['name']}=={item['metadata']['version']}" for item in items)


def _target(release: Release, machine: str) -> list[str]:
    """pip's options for another Python: every older manylinux tag is named, since pip derives none of them."""
    major, minor = release.python
    newest = release.glibc[1]
    platforms = [f"manylinux_2_{glibc}_{machine}" for glibc in range(newest, 4, -1)]
    platforms += [f"manylinux2014_{machine}", f"manylinux2010_{machine}", f"manylinux1_{machine}", f"linux_{machine}"]
    options = ["--only-binary=:all:", f"--python-version={major}.{minor}", "--implementation=cp"]
    options += [f"--abi=cp{major}{minor}", "--abi=abi3", "--abi=none"]
    return options + [f"--platform={platform}" for platform in platforms]


def _pip(command: str, *arguments: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *arguments],
        capture_output=True,
        text=True,
    )
    if run.returncode == 0:
        return
    if "No module named pip" in run.stderr:
        raise BuildError(
            "TPB457", f"{sys.executable} has no pip", "--env", f"install it: {sys.executable} -m ensurepip"
        )
    said = [line.removeprefix("ERROR: ") for line in run.stderr.splitlines() if line.startswith("ERROR: ")]
    raise _NoWheel(said[0] if said else run.stderr.strip()[-300:])
