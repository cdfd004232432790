"""What a function returns wrongly is a right answer or a clear error; Triton itself would pass it on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from triton_pyb.emulator.errors import InferenceFailed

from . import steps
from .conftest import Server, strings


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("float64", "TPB202"),
        ("wide", "TPB202"),
        ("shape", "TPB204"),
        ("rows", "TPB204"),
        ("none", "TPB210"),
        ("misspelled", "TPB205"),
    ],
)
def test_refused(side: Server, kind: str, code: str) -> None:
    entry = side.deploy(steps.leaky)
    with pytest.raises(InferenceFailed) as caught:
        side.infer(entry, {"kind": strings(kind)})
    assert caught.value.code == "INTERNAL"
    assert f"[{code}]" in caught.value.message
    assert ("the function returned None" if kind == "none" else "output 'y'") in caught.value.message


@pytest.mark.parametrize(("kind", "value"), [("narrow", [1, 255]), ("list", [3, 4])])
def test_cast_without_loss(side: Server, kind: str, value: list[int]) -> None:
    entry = side.deploy(steps.leaky)
    answer = side.infer(entry, {"kind": strings(kind)})["y"]
    assert (answer.dtype, answer.tolist()) == (np.uint8, [value])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("unicode", [b"a", "한글".encode()]),
        ("zeros", [b"a\0\0", b""]),
        ("bytearray", [b"ab", b"c"]),
    ],
)
def test_strings(side: Server, kind: str, value: list[bytes]) -> None:
    entry = side.deploy(steps.strings_out)
    assert side.infer(entry, {"kind": strings(kind)})["y"].tolist() == [value]


@pytest.mark.parametrize("kind", ["s_padded", "none"])
def test_strings_refused(side: Server, kind: str) -> None:
    entry = side.deploy(steps.strings_out)
    with pytest.raises(InferenceFailed, match="TPB206"):
        side.infer(entry, {"kind": strings(kind)})


def test_no_detections(side: Server) -> None:
    entry = side.deploy_step(steps.detect)
    answer = side.infer(entry, {"count": np.array([[0]])})
    assert answer["boxes"].shape == (1, 0, 4)
    assert answer["scores"].shape == (1, 0)
    assert answer["label"].tolist() == [[b"none:0"]]


def test_optional_input(side: Server) -> None:
    entry = side.deploy_step(steps.detect)
    answer = side.infer(entry, {"count": np.array([[2], [2]]), "text": strings("a", "b")})
    assert answer["label"].tolist() == [[b"a:2"], [b"b:2"]]
    assert answer["boxes"].dtype == np.float32


def test_optional_input_of_some_requests_only(side: Server) -> None:
    entry = side.deploy_step(steps.detect)
    counts: list[dict[str, Any]] = [
        {"count": np.array([[1]])},
        {"count": np.array([[1]]), "text": strings("x")},
        {"count": np.array([[1]])},
    ]
    answers = side.together(entry, counts)
    labels = [answer["label"].tolist() for answer in answers if not isinstance(answer, InferenceFailed)]
    assert labels == [[[b"none:1"]], [[b"x:1"]], [[b"none:1"]]]


def test_requested_outputs_only(side: Server) -> None:
    entry = side.deploy_step(steps.detect)
    assert list(side.infer(entry, {"count": np.array([[1]])}, outputs=["label"])) == ["label"]


def test_the_same_buffer_for_every_item(side: Server) -> None:
    entry = side.deploy_step(steps.same_buffer)
    requests = [{"x": np.array([[n, n], [n + 0.5, n]], np.float32)} for n in range(4)]
    for request, answer in zip(requests, side.together(entry, requests), strict=True):
        assert not isinstance(answer, InferenceFailed)
        np.testing.assert_array_equal(answer["y"], request["x"])
