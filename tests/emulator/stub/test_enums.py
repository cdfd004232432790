"""pybind11 enums."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from tests.emulator.stub.kit import pb_utils


@pytest.fixture
def pb() -> Any:
    return pb_utils()


def test_equal_to_their_number_but_never_taken_for_it(pb: Any) -> None:
    assert pb.Logger.ERROR == 2
    assert hash(pb.Logger.ERROR) == hash(2)
    assert pb.Logger.ERROR != "ERROR"
    assert [10, 20, 30][pb.Logger.ERROR] == 30
    with pytest.raises(TypeError):
        pb.Logger.log("x", 2)


def test_gpu_is_0_and_cpu_is_1(pb: Any) -> None:
    assert repr(pb.TRITONSERVER_MEMORY_GPU) == "<MemoryType.TRITONSERVER_MEMORY_GPU: 0>"
    assert repr(pb.TRITONSERVER_MEMORY_CPU) == "<MemoryType.TRITONSERVER_MEMORY_CPU: 1>"


def test_any_unsigned_number_makes_one(pb: Any) -> None:
    code = type(pb.TritonError.UNKNOWN)
    assert repr(code(99)) == "<__ErrorCode.???: 99>"
    assert str(code(2)) == "__ErrorCode.NOT_FOUND"
    with pytest.raises(TypeError, match=r"TritonError.__ErrorCode\(value: int\)"):
        code(-1)


def test_not_ordered(pb: Any) -> None:
    with pytest.raises(TypeError, match="'<' not supported between instances of 'c_python_backend_utils.MetricKind'"):
        assert pb.MetricKind.COUNTER < pb.MetricKind.GAUGE


def test_listing(pb: Any) -> None:
    assert pb.MetricKind.__doc__ == "Members:\n\n  COUNTER\n\n  GAUGE\n\n  HISTOGRAM"
    assert {name: int(kind) for name, kind in pb.MetricKind.__members__.items()} == {
        "COUNTER": 0,
        "GAUGE": 1,
        "HISTOGRAM": 2,
    }


def test_reduces_to_its_number(pb: Any) -> None:
    kind = pb.MetricKind.GAUGE
    assert kind.__reduce_ex__(pickle.HIGHEST_PROTOCOL) == (type(kind), (1,))
