"""Every request of the recorded cases, against the emulator's HTTP front: same status, same body."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.recorded import CASES, cases_with_requests, send, write_repository
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.endpoints import Endpoints

#: Case to why the emulator answers otherwise; the published list of differences.
KNOWN_DIFFERENCES: dict[str, str] = {}

_CASES = cases_with_requests() if CASES.exists() else {}


def _parameters() -> list[Any]:
    return [
        pytest.param(
            name,
            marks=[pytest.mark.xfail(strict=True, reason=KNOWN_DIFFERENCES[name])] if name in KNOWN_DIFFERENCES else [],
        )
        for name in _CASES
    ]


@pytest.mark.parametrize("name", _parameters())
def test_answers_as_recorded(name: str, tmp_path: Path) -> None:
    case = _CASES[name]
    explicit = "--model-control-mode=explicit" in case.get("args", [])
    repository = write_repository(case, tmp_path)
    triton = EmulatedTriton(
        repository,
        mode="faithful",
        exit_on_error=False,
        model_control_mode="explicit" if explicit else "none",
        auto_complete="--disable-auto-complete-config" not in case.get("args", []),
    )
    with triton:
        endpoints = Endpoints(triton.store, strict_readiness=False)
        endpoints.start()
        try:
            for request in case["requests"]:
                timeout_s = 1.0 if request["status"] == "timeout" else 20.0
                status, body = send(endpoints.ports["http"], request, timeout_s)
                body = body.replace(str(repository), "<REPO>")
                assert (status, _comparable(body)) == (
                    request["status"],
                    _comparable("" if status == "timeout" else request["reply"]),
                )
        finally:
            endpoints.stop()


def _comparable(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body
