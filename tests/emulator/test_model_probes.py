"""Whole recorded models, called by tritonclient through the emulator's ports: the same answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.emulator.model_probes import PROBES, REAL, ProbeServer, difference

_KILLS = "kills a real server; the emulator says so and stays up"
#: Probe to why the emulator answers otherwise; strict: a probe that agrees again must leave the list.
KNOWN_DIFFERENCES = {
    "mp_snd_then_raise": _KILLS,
    "mp_constructed_request_is_cancelled": _KILLS,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProbeServer]:
    with ProbeServer(tmp_path_factory.mktemp("probes")).running() as server:
        yield server


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[pytest.mark.xfail(strict=True, reason=KNOWN_DIFFERENCES[name])] if name in KNOWN_DIFFERENCES else [],
        )
        for name in PROBES
    ],
)
def test_answers_as_a_real_server(name: str, server: ProbeServer) -> None:
    assert difference(name, server.answer(name)) == []


def test_every_probe_of_the_recording_is_here() -> None:
    assert set(REAL) == set(PROBES)
