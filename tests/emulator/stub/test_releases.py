"""The table of what came when."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator.stub.kit import pb_utils
from triton_pyb.emulator.stub.releases import SINCE, Release

_NAMES = [name for name in SINCE if "." not in name and " " not in name]
_MEMBERS = [name for name in SINCE if name.count(".") == 1 and " " not in name and "__init__" not in name]
_ELSEWHERE = ("auto_complete_config", "is_ready")


def _before(release: str) -> str:
    year, month = map(int, release.split("."))
    return f"{year - (month == 1):02}.{(month - 2) % 12 + 1:02}"


def _has(pb: Any, name: str) -> bool:
    owner, _, member = name.rpartition(".")
    return hasattr(getattr(pb, owner), member) if owner else hasattr(pb, name)


@pytest.mark.parametrize("name", [name for name in _NAMES if name not in _ELSEWHERE])
def test_names_appear_with_their_release(name: str) -> None:
    assert _has(pb_utils(SINCE[name]), name)
    assert not _has(pb_utils(_before(SINCE[name])), name)


@pytest.mark.parametrize("name", _MEMBERS)
def test_members_appear_with_their_release(name: str) -> None:
    assert _has(pb_utils(SINCE[name]), name)
    earlier = pb_utils(_before(SINCE[name]))
    assert not hasattr(earlier, name.split(".")[0]) or not _has(earlier, name)


def test_21_10_has_exactly_this() -> None:
    shown = {name for name in vars(pb_utils("21.10").module) if not name.startswith("__")}
    assert shown == {
        "InferenceRequest",
        "InferenceResponse",
        "Tensor",
        "TritonError",
        "TritonModelException",
        "TRITON_STRING_TO_NUMPY",
        "deserialize_bytes_tensor",
        "get_input_config_by_name",
        "get_input_tensor_by_name",
        "get_output_config_by_name",
        "get_output_tensor_by_name",
        "json",
        "np",
        "numpy_to_triton_type",
        "serialize_byte_tensor",
        "struct",
        "triton_string_to_numpy",
        "triton_to_numpy_type",
    }


def test_releases_compare_by_year_and_month() -> None:
    assert Release("24.10").has("MetricFamily.HISTOGRAM")
    assert not Release("24.02").has("MetricFamily.HISTOGRAM")
    assert Release("21.10").has("something older than the table")
