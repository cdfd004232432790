"""The recorded probes: what a real Triton 24.10 answered is what the emulator answers, leaf by leaf.

Python 3.11 and numpy 1.26 ran the recording; elsewhere the words of Python and numpy differ, and only the
probes whose answers hold none of them are compared.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.probes.compare import crashed
from tests.probes.run_emulator import NOT_UNDER_OTHER_NAMES, Kit, probe_server, run_probe, verdict
from triton_pyb.emulator.stub.logger import server_line

#: Reasons why an answer cannot be equal; the tests are strict: one that agrees after all must leave the table.
_INLINE = {
    "surface_environment": "inline there is no process of its own: its arguments, its threads, its interpreter's name",
}
_OTHER_WORDS = {
    "surface_class_attrs",
    "surface_environment",
    "tensor_ctor_non_arrays",
    "tensor_ctor_subclasses",
    "tensor_S_dtype",
    "tensor_python_protocols",
    "dlpack_numpy_from",
    "dlpack_from_roundtrip",
    "dlpack_from_errors",
    "dlpack_bf16",
    "mc_ctor",
    "mc_set_dynamic_batching",
    "helper_numpy_to_triton_type",
    "helper_triton_to_numpy_type",
    "error_code_semantics",
    "req_python_protocols",
    "logger_levels",
}
_RECORDED_ON = sys.version_info[:2] == (3, 11) and np.__version__.startswith("1.26.")

_ORIGINAL = Kit.original()
_SAFE = [name for name, probe in _ORIGINAL.cases.PROBES.items() if not probe.danger]
_DANGEROUS = [name for name, probe in _ORIGINAL.cases.PROBES.items() if probe.danger]


class Servers:
    """One emulator per way to run, started at its first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._running: dict[str, tuple[Kit, Any, Path]] = {}

    def __getitem__(self, way: str) -> tuple[Kit, Any, Path]:
        if way not in self._running:
            kit = Kit.under_other_names(self._folder) if way == "renamed" else _ORIGINAL
            server, repository = self._stack.enter_context(probe_server(kit, inline=way == "inline"))
            self._running[way] = (kit, server, repository)
        return self._running[way]

    def close(self) -> None:
        self._stack.close()


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    running = Servers(tmp_path_factory.mktemp("renamed"))
    yield running
    running.close()


def _excused(way: str, name: str) -> str:
    if way == "inline" and name in _INLINE:
        return _INLINE[name]
    return ""


def _cases() -> list[Any]:
    cases = []
    for way in ("process", "inline", "renamed"):
        for name in _SAFE:
            if way == "renamed" and name in NOT_UNDER_OTHER_NAMES:
                continue
            if not _RECORDED_ON and name in _OTHER_WORDS:
                continue
            reason = _excused(way, name)
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            cases.append(pytest.param(way, name, marks=marks, id=f"{way}-{name}"))
    return cases


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # a probe makes a numpy.matrix
@pytest.mark.parametrize(("way", "name"), _cases())
def test_answers_as_the_real_server_did(servers: Servers, way: str, name: str) -> None:
    kit, server, repository = servers[way]
    assert verdict(kit, name, run_probe(kit, server, repository, name)) == []


@pytest.mark.parametrize("name", _DANGEROUS)
def test_what_kills_or_hangs_the_real_server_is_a_named_fault(name: str) -> None:
    """Probes that can end a server, each on one of its own; those that a real one survived are compared."""
    with probe_server(_ORIGINAL, inline=True) as (server, repository):
        ours = run_probe(_ORIGINAL, server, repository, name)
    if crashed(_ORIGINAL.recorded["probes"][name]):
        assert re.match(r"[A-Z_]* ?TPB5\d\d ", ours["fault"])
        return
    assert verdict(_ORIGINAL, name, ours) == []


def test_log_lines() -> None:
    with probe_server(_ORIGINAL) as (server, repository):
        run_probe(_ORIGINAL, server, repository, "logger_calls")
    records = [record for record in server.log if record.file == "probe_cases.py" and record.level != "VERBOSE"]
    lines = [server_line(record.level, record.file, record.line, record.message, 4711) for record in records]
    stamped = [re.sub(r"^(.)\d{4} [\d:.]+ 4711 ", r"\1<TS> <PID> ", line) for line in lines]
    recorded = _ORIGINAL.recorded["logs"]["logger_calls"]
    assert [_unnumbered(line) for line in stamped] == [_unnumbered(line) for line in recorded]


def _unnumbered(line: str) -> str:
    # Our copy of the kit has a head of its own: its lines are not where they were.
    return re.sub(r"probe_cases\.py:\d+", "probe_cases.py:N", line)
