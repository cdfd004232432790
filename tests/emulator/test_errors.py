"""The errors of a Triton: attributes, text, pickles."""

from __future__ import annotations

import pickle

import pytest

from triton_pyb.emulator.errors import (
    HTTP_STATUS,
    STATUS_WORDS,
    ContractBroken,
    InferenceFailed,
    LoadFailed,
    NeverAnswered,
    NotEmulated,
)
from triton_pyb.runtime.errors import TritonPybError

FINDING = TritonPybError("TPB570", "got this, expected that", "model 'm'", "mend it")


@pytest.mark.parametrize("code", sorted(HTTP_STATUS))
def test_a_failed_inference(code: str) -> None:
    error = InferenceFailed("no such luck", code)
    assert (error.message, error.code, error.status) == ("no such luck", code, HTTP_STATUS[code])
    assert str(error).splitlines()[0] == f"{code} no such luck"
    assert error.fix and code in STATUS_WORDS


@pytest.mark.parametrize(
    "error",
    [
        InferenceFailed("text", "NOT_FOUND", "there", "do this"),
        ContractBroken("dtype", FINDING),
        NeverAnswered(FINDING),
        LoadFailed("m", "load", "bad", 3, "INTERNAL", "line 7"),
        NotEmulated("TPB599", "a", "b", "c"),
    ],
)
def test_they_pickle(error: TritonPybError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy).keys() == vars(error).keys()


@pytest.mark.parametrize(
    ("stage", "message", "index"),
    [
        ("poll", "failed to load 'm', failed to poll from model repository", ""),
        ("versions", "load failed for model 'm': why\n", ""),
        (
            "load",
            "load failed for model 'm': version 2 is at UNAVAILABLE state: Internal: why;\n",
            "Internal: why",
        ),
        ("dependency", "load failed for model 'm': why\n", ""),
    ],
)
def test_a_failed_load(stage: str, message: str, index: str) -> None:
    error = LoadFailed("m", stage, "why", 2, "INTERNAL")
    assert (error.message, error.index_reason) == (message, index)
    assert error.status == (500 if stage == "poll" else 400)
