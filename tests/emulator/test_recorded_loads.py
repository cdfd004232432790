"""Every recorded repository of the configuration cases: the same models load, the others fail in the same words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.recorded import CASES, write_repository
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.errors import LoadFailed

_STATE = "implicit state is not emulated: such a model does not load"
_STAND_IN = "the oracle lacks this backend, the emulator has a stand-in for it"
_RATE_LIMIT = "the rate limiter is not emulated"

#: Case to why the emulator answers otherwise; strict: a case that agrees again must leave the list.
KNOWN_DIFFERENCES = {
    "S_ok_state": _STATE,
    "C_platform_pytorch": _STAND_IN,
    "C_default_model_filename_onnx": _STAND_IN,
    "C_two_model_files": _STAND_IN,
    "C_ig_rate_limiter_resource_unavailable": _RATE_LIMIT,
    "C_ig_rate_limiter_global_and_device": _RATE_LIMIT,
    "C_runtime_python": "where backends lie is no matter here: `runtime` is not looked up",
    "C_runtime_escape": "where backends lie is no matter here: `runtime` is not looked up",
    "C_config_name_flag_custom": "--model-config-name is not emulated",
}
#: Group T is about the text format, whose words the checker owns; here it must only be refused or taken.
_GROUPS = "CSWPAXRE"


def _cases() -> list[Any]:
    if not CASES.exists():
        return []
    cases = json.loads(CASES.read_text())["cases"]
    return [
        pytest.param(
            case,
            id=case["name"],
            marks=[pytest.mark.xfail(strict=True, reason=KNOWN_DIFFERENCES[case["name"]])]
            if case["name"] in KNOWN_DIFFERENCES
            or (case["name"].startswith("S_state") and KNOWN_DIFFERENCES.setdefault(case["name"], _STATE))
            else [],
        )
        for case in cases
        if case["group"] in _GROUPS and not any(name.startswith("../") for name in case["files"])
    ]


def _reason(failures: list[LoadFailed], repository: Path) -> str | None:
    for failure in failures:
        reason = failure.index_reason or failure.reason
        prefix = "Invalid argument: " if failure.stage == "dependency" else ""
        return prefix + reason.replace(str(repository), "<REPO>")
    return None


def _comparable(reason: str | None) -> str | None:
    """Without line numbers and inner frames of the backend's own file, which is not ours, nor places in a path."""
    if reason is None:
        return None
    reason = re.sub(r"(character '\\xe9' in position) \d+", r"\1 N", reason)
    reason = re.sub(r"  \S*/triton_python_backend_utils\.py\(\d+\): \w+\n", "", reason)
    return re.sub(r"\(<BACKENDS>\S*\)|\(\S*/stub/backend/\S*\)", "(<BACKENDS>)", reason)


@pytest.mark.parametrize("case", _cases())
def test_loads_or_fails_as_recorded(case: dict[str, Any], tmp_path: Path) -> None:
    arguments = case.get("args") or []
    repository = write_repository(case, tmp_path)
    triton = EmulatedTriton(
        repository,
        mode="faithful",
        exit_on_error=False,
        # A process per model where its Python matters, else this one for all.
        inline=case["group"] not in "AP" and "Internal: " not in (case.get("error") or ""),
        auto_complete="--disable-auto-complete-config" not in arguments,
    )
    with triton:
        entry = triton.store.entries.get(case["focus"])
        reason = _reason(entry.failures if entry is not None else [], repository)
    if case["expected"] in ("hang", "crash"):
        assert reason is not None  # named at once, where the server hangs or dies
    else:
        assert _comparable(reason) == _comparable(case.get("error"))
