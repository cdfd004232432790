"""Could this environment archive run in that container?  Asked of ours and of what conda-pack or venv-pack made."""

from __future__ import annotations

import io
import posixpath
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from triton_pyb.config.releases import Release

from .target import BuildError

#: Newest symbol version of libstdc++ in a container's Ubuntu.  Source: packages.ubuntu.com, libstdc++6.
_GLIBCXX = {"20.04": (3, 4, 28), "22.04": (3, 4, 30), "24.04": (3, 4, 33)}

#: ``e_machine`` of ELF files.
_MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
_OTHER_SYSTEMS = {".dylib": "macOS", ".pyd": "Windows", ".dll": "Windows"}


class Problem(NamedTuple):
    """One reason why the archive could not run."""

    what: str
    fix: str


def check_archive(archive: Path, release: Release, machine: str = "x86_64") -> None:
    """Look into the archive.

    Raises
    ------
    BuildError
        With every reason, when it could not run in the container.
    """
    try:
        with tarfile.open(archive) as tar:
            found = list(_problems(tar, release, machine))
    except (tarfile.TarError, OSError, EOFError) as error:
        found = [Problem(f"it cannot be read: {error}", "pack it again, as .tar.gz")]
    if found:
        raise BuildError(
            "TPB450",
            f"'{archive.name}' could not run in {release.name}: " + "; ".join(problem.what for problem in found),
            str(archive),
            "; ".join(dict.fromkeys(problem.fix for problem in found)),
        )


def _problems(tar: tarfile.TarFile, release: Release, machine: str) -> Iterator[Problem]:
    members = {posixpath.normpath(member.name): member for member in tar.getmembers()}
    if "bin/activate" not in members:
        nested = next((name for name in members if name.endswith("/bin/activate")), "")
        where = f" at its top; there is '{nested}'" if nested else ""
        yield Problem(f"it has no bin/activate{where}", "pack the content of the environment, not the folder itself")
    yield from _python_problems(members, release)
    yield from _link_problems(members)
    for name in members:
        if re.search(r"site-packages/triton_python_backend_utils(\.py|/__init__\.py)$", name):
            yield Problem(f"it holds '{name}', which would hide Triton's own", "uninstall that package and pack again")
    yield from _binary_problems(tar, members, release, machine)


def _python_problems(members: dict[str, tarfile.TarInfo], release: Release) -> Iterator[Problem]:
    versions = {
        match[1] for name in members if (match := re.match(r"lib/python(\d+\.\d+)/(?:site-packages|os\.py)\b", name))
    }
    if not versions:
        yield Problem("it has no lib/pythonX.Y/site-packages", "pack an environment of Python")
    elif release.python_text not in versions:
        yield Problem(
            f"it holds Python {', '.join(sorted(versions))}, the stub of {release.name} runs {release.python_text}",
            f"make the environment with Python {release.python_text}",
        )


def _link_problems(members: dict[str, tarfile.TarInfo]) -> Iterator[Problem]:
    """A link to the Python of the machine on which a virtual environment was made."""
    for name in ("bin/python3", "bin/python"):
        member = members.get(name)
        if member is not None and member.issym() and member.linkname.startswith("/"):
            if not member.linkname.startswith("/usr/bin/python3"):
                yield Problem(
                    f"{name} is a link to {member.linkname}, which is not in the container",
                    "pack with `venv-pack --python-prefix /usr`, with conda-pack, or with --env pack",
                )
            return


def _binary_problems(
    tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo], release: Release, machine: str
) -> Iterator[Problem]:
    has_own_libstdcxx = any(posixpath.basename(name).startswith("libstdc++.so") for name in members)
    for name, member in members.items():
        system = _OTHER_SYSTEMS.get(posixpath.splitext(name)[1])
        if system:
            yield Problem(f"'{name}' is a library of {system}", f"make the environment on Linux {machine}")
            return
        if not member.isreg() or not re.search(r"\.so(\.[\d.]+)?$", name):
            continue
        stream = tar.extractfile(member)
        problem = _library_problem(name, stream.read() if stream else b"", release, machine, has_own_libstdcxx)
        if problem is not None:
            yield problem
            return  # one is enough: all come from the same machine


def _library_problem(
    name: str, content: bytes, release: Release, machine: str, has_own_libstdcxx: bool
) -> Problem | None:
    if content[:4] != b"\x7fELF":
        return Problem(f"'{name}' is no library of Linux", f"make the environment on Linux {machine}")
    elf = _elf(content)
    if elf["e_machine"] != _MACHINES[machine]:
        found = str(elf["e_machine"]).removeprefix("EM_")
        return Problem(f"'{name}' is for {found}, the container for {machine}", f"make the environment on {machine}")
    for kind, version in _needed_versions(elf):
        limit = release.glibc if kind == "GLIBC" else _GLIBCXX[release.ubuntu]
        if version > limit and not (kind == "GLIBCXX" and has_own_libstdcxx):
            shown, has = ".".join(map(str, version)), ".".join(map(str, limit))
            return Problem(
                f"'{name}' needs {kind}_{shown}, Ubuntu {release.ubuntu} has {has}",
                f"make the environment on Ubuntu {release.ubuntu} or older, or with --env pack",
            )
    return None


def _elf(content: bytes) -> Any:
    try:
        from elftools.elf.elffile import ELFFile
    except ImportError:
        raise BuildError(
            "TPB451",
            "the libraries of an archive cannot be checked: the package pyelftools is not installed",
            "--env",
            "install it: pip install pyelftools",
        ) from None
    return ELFFile(io.BytesIO(content))


def _needed_versions(elf: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Symbol versions that a library wants from glibc and libstdc++, newest first."""
    section = elf.get_section_by_name(".gnu.version_r")
    found = set()
    for _, versions in section.iter_versions() if section is not None else []:
        for version in versions:
            match = re.fullmatch(r"(GLIBC|GLIBCXX)_([\d.]+)", version.name)
            if match:
                found.add((match[1], tuple(map(int, match[2].split(".")))))
    yield from sorted(found, reverse=True)
