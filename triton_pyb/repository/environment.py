"""An ``EXECUTION_ENV_PATH`` archive without conda: the same bytes for the same requirements, and relocatable.

Triton unpacks the archive, sources its ``bin/activate`` and starts its stub; the Python inside the stub then finds
``pyvenv.cfg`` beside the first ``python3`` on ``PATH``, and through it this ``site-packages``.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import triton_pyb
from triton_pyb.config.releases import Release

from .archive_check import check_archive
from .litter import is_litter
from .model_folder import ModelFolder
from .requirements import normalized
from .resolution import install_wheels, resolve_requirements
from .target import BuildError

#: How a configuration names an archive that lies in the model folder.  Source: python_backend README, 21.09 and later.
ENV_PARAMETER = "EXECUTION_ENV_PATH"
ENV_PREFIX = "$$TRITON_MODEL_DIRECTORY/"

#: In the archive: what it holds, and for what it was made.
ENV_FILE = "triton_pyb_env.json"

_ACTIVATE = """\
# Sourced by Triton's Python backend before it starts its stub.  Finds itself, so the folder may lie anywhere.
VIRTUAL_ENV="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export VIRTUAL_ENV
if [ ! -x "$VIRTUAL_ENV/bin/python3" ]; then
    # Not NVIDIA's container, where the link points to: take the python@PYTHON@ of this machine.
    for _python in python@PYTHON@ python3 python; do
        _base="$("$_python" -c 'import os, sys
if "%d.%d" % sys.version_info[:2] == "@PYTHON@":
    print(os.path.join(sys.base_prefix, "bin", "python@PYTHON@"))' 2> /dev/null)"
        [ -n "$_base" ] && break
    done
    ln -sfn "$_base" "$VIRTUAL_ENV/bin/python3.$$" && mv -f "$VIRTUAL_ENV/bin/python3.$$" "$VIRTUAL_ENV/bin/python3"
    printf 'home = %s\\nversion = @PYTHON@\\n' "$(dirname "$_base")" > "$VIRTUAL_ENV/pyvenv.cfg.$$"
    mv -f "$VIRTUAL_ENV/pyvenv.cfg.$$" "$VIRTUAL_ENV/pyvenv.cfg"
    unset _base _python
fi
PATH="$VIRTUAL_ENV/bin:$PATH"
export PATH
unset PYTHONHOME
"""


def pack_environment(requirements: Sequence[str], release: Release, machine: str = "x86_64") -> Path:
    """The archive for `requirements`, made, or taken from the cache.

    Returns
    -------
    Path
        In the cache (``$XDG_CACHE_HOME/triton_pyb/environments``); its name begins with a hash of what it is made
        from.

    Raises
    ------
    BuildError
        When a package has no wheel for the container, or the finished archive could not run there.
    """
    key = environment_key(requirements, release, machine)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triton_pyb" / "environments"
    archive = cache / f"env-{key}.tar.gz"
    if archive.is_file():
        return archive
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=cache) as name:
        folder = Path(name, "env")
        pinned = resolve_requirements(requirements, release, machine)
        _lay_out(folder, pinned, release, machine)
        made = Path(name, archive.name)
        write_archive(folder, made)
        check_archive(made, release, machine)
        os.replace(made, archive)
    return archive


def environment_key(requirements: Sequence[str], release: Release, machine: str) -> str:
    """Hash of all that decides what the archive holds."""
    parts = [triton_pyb.__version__, release.python_text, release.ubuntu, machine, _ACTIVATE, *sorted(requirements)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _lay_out(folder: Path, pinned: Sequence[str], release: Release, machine: str) -> None:
    python = f"python{release.python_text}"
    packages = folder / "lib" / python / "site-packages"
    packages.mkdir(parents=True)
    install_wheels(pinned, release, packages, machine)
    shutil.rmtree(
        packages / "bin", ignore_errors=True
    )  # console scripts, with this machine's Python in their first line
    binaries = folder / "bin"
    binaries.mkdir()
    (binaries / "activate").write_text(_ACTIVATE.replace("@PYTHON@", release.python_text), encoding="utf-8")
    (binaries / "python3").symlink_to(f"/usr/bin/{python}")
    (folder / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {release.python_text}\n", encoding="utf-8")
    about = {
        "triton_pyb": triton_pyb.__version__,
        "release": release.name,
        "python": release.python_text,
        "glibc": list(release.glibc),
        "machine": machine,
        "requirements": list(pinned),
    }
    (folder / ENV_FILE).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def write_archive(folder: Path, archive: Path) -> None:
    """A tar.gz of everything below `folder`: sorted, no times, no owners, no caches."""
    with archive.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for path in sorted(folder.rglob("*")):
                inside = path.relative_to(folder)
                if is_litter(inside) or path.name == "direct_url.json":
                    continue
                member = tar.gettarinfo(str(path), inside.as_posix())
                member.mtime = member.uid = member.gid = 0
                member.uname = member.gname = ""
                member.mode = 0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644
                if member.isreg():
                    tar.addfile(member, io.BytesIO(path.read_bytes()))
                else:
                    tar.addfile(member)


def other_versions(requirements: Sequence[str], archive: Path) -> list[str]:
    """``"click 8.1.8 instead of 8.2.1"``: where the container's Python has no wheels of the versions in use here."""
    with tarfile.open(archive) as tar:
        about = tar.extractfile(ENV_FILE)
        held = json.loads(about.read())["requirements"] if about is not None else []
    packed = {normalized(name): version for name, _, version in (line.partition("==") for line in held)}
    wanted = [line.partition("==") for line in requirements if "==" in line]
    return [
        f"{name} {packed[normalized(name)]} instead of {version}"
        for name, _, version in wanted
        if packed.get(normalized(name), version) != version
    ]


def with_environment(folder: ModelFolder, archive: Path) -> ModelFolder:
    """The same model, run by the Python environment in `archive`."""

    def name_it(config: Any) -> None:
        config.parameters[ENV_PARAMETER].string_value = ENV_PREFIX + archive.name

    changed = folder.with_config(name_it)
    return changed._replace(files={**changed.files, archive.name: archive})


def dockerfile(requirements: Sequence[str], release: Release, machine: str = "x86_64") -> dict[str, str]:
    """``--env image``: a Dockerfile and its requirements, for a container that holds them itself."""
    lines = [
        f"# Written by triton_pyb {triton_pyb.__version__}.",
        f"FROM {release.image}",
        "COPY requirements.txt /tmp/requirements.txt",
        "# The image's own Python is marked as managed by Ubuntu from 24.04 on.",
        "ENV PIP_BREAK_SYSTEM_PACKAGES=1",
        "RUN python3 -m pip install --no-cache-dir -r /tmp/requirements.txt && rm /tmp/requirements.txt",
    ]
    pinned = resolve_requirements(requirements, release, machine)
    return {"Dockerfile": "\n".join(lines) + "\n", "requirements.txt": "\n".join(pinned) + "\n"}


def write_image(folders: Sequence[ModelFolder], release: Release, repository: Path, machine: str) -> Path:
    """Write the Dockerfile and its requirements beside the repository.

    Raises
    ------
    BuildError
        When a Dockerfile that somebody else wrote is there.
    """
    requirements = sorted({line for folder in folders for line in folder.requirements})
    place = repository.absolute().parent / f"{repository.absolute().name}-image"
    old = place / "Dockerfile"
    if old.is_file() and not old.read_text(encoding="utf-8").startswith("# Written by triton_pyb"):
        raise BuildError(
            "TPB459", f"'{old}' was not written by triton_pyb", "--env image", "move it away, or build elsewhere"
        )
    place.mkdir(parents=True, exist_ok=True)
    for name, text in dockerfile(requirements, release, machine).items():
        (place / name).write_text(text, encoding="utf-8")
    return place
