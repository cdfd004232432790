"""Model folders into a repository, each exchanged whole: a server sees the old folder or the new one."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .folders import ModelFolder
from .target import BuildError

_RENAME_EXCHANGE = 2
_AT_FDCWD = -100


def publish(folders: Sequence[ModelFolder], repository: Path) -> None:
    """Write `folders` in order; all are staged before the first one is exchanged.

    Parameters
    ----------
    folders : sequence of ModelFolder
        A pipeline's steps first, the ensemble that names them last.
    repository : Path
        Made when it does not exist.  The staging folder lies beside it, on the same file system: a half
        folder inside it would be loaded as a model.

    Raises
    ------
    BuildError
        When the repository cannot be written; then it is as it was.
    """
    target = Path(os.path.abspath(repository))
    if target.exists() and not target.is_dir():
        raise BuildError("TPB410", f"'{repository}' is a file", f"repository '{repository}'", "name a folder")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.staging-", dir=target.parent))
    except OSError as error:
        raise _unwritable(target, error) from None
    try:
        for folder in folders:
            folder.write(staging / folder.name)
        _open_permissions(staging)
        target.mkdir(exist_ok=True)
        for folder in folders:
            _exchange(staging / folder.name, target / folder.name)
    except OSError as error:
        raise _unwritable(target, error) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _unwritable(target: Path, error: OSError) -> BuildError:
    return BuildError(
        "TPB411",
        f"the repository cannot be written: {error}",
        f"repository '{target}'",
        "free the disk, correct the permissions, or name another folder",
    )


def _open_permissions(staging: Path) -> None:
    """mkdtemp's folder is private; the server often runs as another user."""
    staging.chmod(0o755)


def _exchange(new: Path, old: Path) -> None:
    """Put `new` where `old` is; afterwards the old folder, if any, lies where the new one was."""
    if not os.path.lexists(old):
        os.rename(new, old)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        raise OSError("this C library has no renameat2, so a folder cannot be exchanged whole")
    failed = libc.renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE)
    if failed:
        code = ctypes.get_errno()
        raise OSError(code, f"{os.strerror(code)}: exchanging the folder", str(old))
