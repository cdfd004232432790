"""What a command writes to, whatever it can show and however it ends."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import sys
from collections.abc import Iterator

import click

from triton_pyb.cli.errors import UsageError
from triton_pyb.runtime.errors import SeveralErrors, TritonPybError

#: As a shell counts a command that SIGINT ended.
INTERRUPTED = 130
_CANNOT_WRITE = {errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF}


def show_anything() -> None:
    """A letter that the encoding of a stream lacks becomes ``\\\\u...``, never an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def ended_quietly() -> Iterator[None]:
    """A reader that went away, a full disk, Ctrl-C: a status, and no traceback."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except OSError as error:
        if error.filename is not None or error.errno not in _CANNOT_WRITE:
            raise
        if error.errno != errno.EPIPE:
            with contextlib.suppress(OSError):
                click.echo(f"the output cannot be written: {error.strerror}", err=True)
        with contextlib.suppress(OSError):  # what is still buffered goes nowhere, else Python tries again at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def show_error(error: TritonPybError, for_programs: bool) -> int:
    """Three lines on standard error, for programs JSON on standard output too; the exit status."""
    if for_programs:
        shown = {"error": {"code": error.code, "what": error.what, "where": error.where, "fix": error.fix}}
        log = vars(error).get("log")  # of InferenceFailed and ServerFailed
        if log:
            shown["error"]["log"] = log
        click.echo(json.dumps(shown, ensure_ascii=False))
    first, _, rest = str(error).partition("\n")
    click.secho(first, err=True, fg="red", bold=True)
    if rest:
        click.echo(rest, err=True)
    errors = error.errors if isinstance(error, SeveralErrors) else [error]
    return 2 if all(isinstance(each, UsageError) for each in errors) else 1
