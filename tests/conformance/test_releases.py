"""What older releases cannot do: error codes, a Logger, ``__dlpack__``; on the emulator, which knows each of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from triton_pyb.repository import BuildError, build

from . import option_steps
from .conftest import Emulated, answered, failure
from .test_bad_items import numbers, values


@pytest.fixture(scope="module", params=["24.10", "23.08", "23.04", "22.08"])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Emulated]]:
    server = Emulated(tmp_path_factory.mktemp("release") / "repository", release=request.param)
    yield request.param, server
    server.stop()


def test_a_status_where_there_are_codes_and_the_message_everywhere(release: tuple[str, Emulated]) -> None:
    number, server = release
    entry = server.deploy_step(option_steps.bad_each)
    good, bad = server.together(entry, [numbers(1), numbers(404)])
    assert values(good) == [10]
    assert failure(bad).code == ("NOT_FOUND" if number >= "23.09" else "INTERNAL")
    assert "item 0 of 1: no such thing" in failure(bad).message


def test_the_traceback_reaches_log_or_stderr(release: tuple[str, Emulated]) -> None:
    number, server = release
    entry = server.deploy_step(option_steps.bad_each)
    server.together(entry, [numbers(-77)])
    until = time.monotonic() + 10
    while number < "22.09" and "RuntimeError" not in printed_by(server) and time.monotonic() < until:
        time.sleep(0.02)  # what a process printed comes through a pipe
    assert ("RuntimeError: below zero: -77" in server.log()) == (number >= "22.09")
    assert ("RuntimeError: below zero: -77" in printed_by(server)) == (number < "22.09")


def printed_by(server: Emulated) -> str:
    return "\n".join(line for stream, line in server.server.printed if stream == "stderr")


def test_readonly_without_dlpack_takes_the_copy(release: tuple[str, Emulated]) -> None:
    number, server = release
    entry = server.deploy_step(option_steps.strict_reader)
    x = np.array([[1, 3]], np.float32)
    answer = server.together(entry, [{"x": x}])[0]
    if number >= "23.05":
        assert "read-only" in failure(answer).message
    else:
        assert answered(answer)["y"].tolist() == [[1, 1]]


def test_bf16_needs_a_release_that_hands_it_over(tmp_path: Path) -> None:
    torch_steps = pytest.importorskip("tests.conformance.torch_steps")
    with pytest.raises(BuildError) as caught:
        build(torch_steps.halve_bf16, tmp_path / "repository", release="24.07")
    assert caught.value.what == (
        "BF16 (which a function takes and gives through DLPack) needs release 24.08; the target is 24.07"
    )
    assert build(torch_steps.halve_bf16, tmp_path / "repository", release="24.08").models == ("halve_bf16",)
