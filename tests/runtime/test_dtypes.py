from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tritonclient.grpc import model_config_pb2

from triton_pyb.runtime import dtypes


def test_the_table_is_the_protobuf_enum() -> None:
    """A dtype that Triton learns shows up here; BYTES is spelled STRING there."""
    enum = set(model_config_pb2.DataType.keys()) - {"TYPE_INVALID"}
    assert {dtypes.config_name(name) for name in dtypes.NAMES} == enum
    assert [dtypes.wire_name(dtypes.config_name(name)) for name in dtypes.NAMES] == list(dtypes.NAMES)


def test_the_table_is_the_clients() -> None:
    from tritonclient.utils import np_to_triton_dtype

    for name, dtype in dtypes.NUMPY_DTYPES.items():
        assert np_to_triton_dtype(dtype) == name


@pytest.mark.parametrize("name", [name for name in dtypes.NUMPY_DTYPES if name != "BYTES"])
def test_every_usual_spelling_means_the_same(name: str) -> None:
    dtype = dtypes.NUMPY_DTYPES[name]
    spellings: list[Any] = [name, name.lower(), "TYPE_" + name, dtype.name, dtype, dtype.type, dtype.newbyteorder(">")]
    assert {dtypes.canonical(spelling) for spelling in spellings} == {name}


@pytest.mark.parametrize(
    "spelling", ["BYTES", "bytes", "TYPE_STRING", "string", "TYPE_BYTES", str, bytes, np.dtype("S5"), object]
)
def test_text_is_bytes(spelling: object) -> None:
    assert dtypes.canonical(spelling) == "BYTES"


@pytest.mark.parametrize("spelling", ["BF16", "bf16", "bfloat16", "TYPE_BF16"])
def test_bf16_is_known_and_has_no_numpy_dtype(spelling: str) -> None:
    assert dtypes.canonical(spelling) == "BF16"
    assert "BF16" not in dtypes.NUMPY_DTYPES


@pytest.mark.parametrize("spelling", ["FP31", "", "complex64", np.complex128, "datetime64", 7, "FP 32", [("a", "f4")]])
def test_anything_else_is_no_dtype(spelling: object) -> None:
    assert dtypes.canonical(spelling) == ""
