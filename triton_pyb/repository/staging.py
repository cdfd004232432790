"""The folder beside a repository in which new model folders are made before a server can see them."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
from pathlib import Path
from types import TracebackType

from .target import BuildError

#: In a staging folder of ours: without it a folder of that name is somebody's, and stays as it is.
MARKER = "made_by_triton_pyb"

_RENAME_EXCHANGE = 2
_AT_FDCWD = -100


class Staging:
    """A locked staging folder on the repository's file system; a context manager.

    What a killed build left there is cleared; leaving the context removes it.

    Parameters
    ----------
    repository : Path
        Made when it does not exist, and removed again when nothing was published into it.

    Attributes
    ----------
    whole : bool
        True when a model folder can be exchanged whole.  False on a mount of its own, where no folder outside
        the repository is on the same file system, and on file systems that cannot exchange.
    why : str
        When not whole: the reason.

    Raises
    ------
    BuildError
        When the repository is a file, another build works on it, or it cannot be written.
    """

    def __init__(self, repository: Path) -> None:
        self.repository = Path(os.path.abspath(repository))
        self.folder = self.repository.parent / f".{self.repository.name}.triton_pyb-staging"
        self.whole = True
        self.why = ""
        self._lock = -1
        self._made_repository = False

    def __enter__(self) -> Staging:
        if self.repository.exists() and not self.repository.is_dir():
            raise BuildError(
                "TPB410",
                f"'{self.repository}' is a file",
                f"repository '{self.repository}'",
                "name a folder",
            )
        if self.repository.is_symlink() and not self.repository.exists():
            raise BuildError(
                "TPB436",
                f"'{self.repository}' is a symbolic link to '{os.readlink(self.repository)}', which does not exist",
                f"repository '{self.repository}'",
                "make that folder, or remove the link",
            )
        try:
            self.repository.parent.mkdir(parents=True, exist_ok=True)
            if not self.repository.exists():
                self.repository.mkdir()
                self._made_repository = True
        except OSError as error:
            raise unwritable(self.repository, error) from None
        try:
            self._take_folder()
            self._probe()
        except BaseException as error:
            self._leave()
            if isinstance(error, OSError):
                raise unwritable(self.repository, error) from None
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _take_folder(self) -> None:
        if mount_of(self.repository) != mount_of(self.repository.parent):
            self.whole, self.why = False, "it is a mount of its own"
        elif not os.access(self.repository.parent, os.W_OK | os.X_OK):
            self.whole, self.why = False, f"nothing can be written beside it, in '{self.repository.parent}'"
        place = self.folder if self.whole else self.repository
        if self.whole and os.path.islink(self.folder):
            raise BuildError(
                "TPB435",
                f"'{self.folder}' is a symbolic link, and what lies in it would be cleared",
                f"repository '{self.repository}'",
                "remove the link",
            )
        if self.whole and self.folder.is_dir() and any(self.folder.iterdir()) and not (self.folder / MARKER).is_file():
            raise BuildError(
                "TPB438",
                f"'{self.folder}' was not made by triton_pyb, and what lies in it would be cleared",
                f"repository '{self.repository}'",
                "move it away",
            )
        if self.whole:
            place.mkdir(mode=0o755, exist_ok=True)
        self._lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = os.path.samestat(os.fstat(self._lock), os.stat(place))
        except (BlockingIOError, FileNotFoundError):
            mine = False
        if not mine:
            os.close(self._lock)
            self._lock = -1
            raise BuildError(
                "TPB421",
                f"another build is writing '{self.repository}'",
                f"repository '{self.repository}'",
                "wait until it has ended, and build again",
            )
        if self.whole:
            (place / MARKER).touch()
            clear(place)

    def _probe(self) -> None:
        """Whether this file system exchanges folders: NFS and some others refuse."""
        if not self.whole:
            return
        one, two = self.folder / "probe-1", self.folder / "probe-2"
        one.mkdir()
        two.mkdir()
        try:
            exchange(one, two)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                raise
            self.whole, self.why = False, f"its file system cannot exchange folders ({os.strerror(error.errno)})"
        clear(self.folder)

    def _leave(self) -> None:
        if self._lock >= 0:
            if self.folder.is_dir() and os.path.samestat(os.fstat(self._lock), os.stat(self.folder)):
                with contextlib.suppress(OSError):
                    clear(self.folder)  # the marker last: a build that is killed here leaves a folder of ours
                shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1
        if self._made_repository and not any(self.repository.iterdir()):
            self.repository.rmdir()


def clear(folder: Path) -> None:
    """Remove everything in a staging folder but its marker."""
    for entry in folder.iterdir():
        if entry.name == MARKER:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def mount_of(folder: Path) -> str:
    """The mount on which a folder lies: a bind mount has the device of its origin, so ``st_dev`` is not enough.

    Source: proc_pid_fdinfo(5), ``mnt_id``.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        lines = Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines()
        return next((line for line in lines if line.startswith("mnt_id:")), "")
    finally:
        os.close(handle)


def exchange(new: Path, old: Path) -> None:
    """Swap two names in one step.

    Raises
    ------
    OSError
        With EINVAL, ENOSYS or EOPNOTSUPP when the file system or the C library cannot.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        raise OSError(errno.ENOSYS, "this C library has no renameat2, so a folder cannot be exchanged whole")
    failed = libc.renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE)
    if failed:
        code = ctypes.get_errno()
        raise OSError(code, f"{os.strerror(code)}: exchanging the folder", str(old))


def unwritable(repository: Path, error: OSError) -> BuildError:
    """The error for a disk that is full, read-only, or somebody else's."""
    return BuildError(
        "TPB411",
        f"the repository cannot be written: {error}",
        f"repository '{repository}'",
        "free the disk, correct the permissions, or name another folder",
    )
