"""For tests and examples alike: what needs a real Triton is skipped without one, unless that is forbidden."""

from __future__ import annotations

import functools
import os
import signal
import sys

import pytest
from hypothesis import settings

# Two cores, shared: how long one example takes says nothing about the code.
settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")

#: Set in CI: a real half that runs nothing is a failure there.
REQUIRE_REAL = bool(os.environ.get("TRITON_PYB_REQUIRE_REAL"))
_ran_on_real: list[str] = []
_sessions: list[pytest.Session] = []


def pytest_configure() -> None:
    # A job that runs in the background inherits an ignored SIGINT, and so would every command that a test interrupts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@functools.cache
def no_server() -> str:
    """Why there is no real Triton here, or an empty string."""
    from triton_pyb.server import ServerNotFound, find_installation

    try:
        find_installation()
    except ServerNotFound as error:
        return error.what
    return ""


@pytest.hookimpl(tryfirst=True)  # before fixtures start a server
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("real_triton") and no_server():
        if REQUIRE_REAL:
            pytest.fail(f"a real Triton is required: {no_server()}")
        pytest.skip(no_server())


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed and "real_triton" in report.keywords:
        _ran_on_real.append(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if REQUIRE_REAL and not _ran_on_real and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    _sessions.append(session)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    # Seen once: everything passed, then the interpreter crashed while it took torch, onnxruntime and gRPC apart, and
    # the run counted as failed.  All is reported by now, so the process ends with the tests' own status.
    if _sessions:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(_sessions[-1].exitstatus))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"{len(_ran_on_real)} tests ran on a real Triton")
