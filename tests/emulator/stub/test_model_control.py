"""load_model, unload_model, is_model_ready, get_model_dir."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator.stub.kit import FakeHost, pb_utils


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


@pytest.fixture
def pb(host: FakeHost) -> Any:
    return pb_utils(host=host)


def test_what_the_server_is_asked(pb: Any, host: FakeHost) -> None:
    pb.load_model("a", config="{}", files={"file:1/model.py": b"x"})
    pb.unload_model("a", unload_dependents=1)
    assert host.controlled == [("load", "a", "{}", {"file:1/model.py": b"x"}), ("unload", "a", True)]


def test_the_servers_refusal(pb: Any, host: FakeHost) -> None:
    host.refusal = "failed to load 'a', failed to poll from model repository"
    with pytest.raises(pb.TritonModelException) as caught:
        pb.load_model("a")
    assert str(caught.value) == (
        "Failed to load model: Failed to process the request for model 'm_0_0', message: failed to load 'a', "
        "failed to poll from model repository"
    )


@pytest.mark.parametrize(
    ("files", "kind", "text"),
    [
        ([1], "TritonModelException", "failed to load model 'a', files should be a dictionary of file paths and"),
        ({"k": 5}, "TypeError", "Object of type 'int' is not an instance of 'bytes'"),
        ({1: b"x"}, "RuntimeError", "Unable to cast Python instance"),
    ],
)
def test_files_are_checked_before_the_server_is_asked(
    pb: Any, host: FakeHost, files: Any, kind: str, text: str
) -> None:
    with pytest.raises(Exception, match=text) as caught:
        pb.load_model("a", files=files)
    assert type(caught.value).__name__ == kind
    assert host.controlled == []


def test_readiness(pb: Any) -> None:
    assert pb.is_model_ready("ready")
    assert pb.is_model_ready("ready", " +1x")  # C's stol: it reads as far as it can
    assert not pb.is_model_ready("ready", "9")
    assert not pb.is_model_ready("nope")


@pytest.mark.parametrize(("version", "why"), [("abc", " (details: stol)"), ("9" * 20, " (details: stol)"), ("-3", "")])
def test_versions_that_are_none(pb: Any, version: str, why: str) -> None:
    with pytest.raises(pb.TritonModelException) as caught:
        pb.is_model_ready("ready", version)
    assert str(caught.value).endswith(
        f"specified version string '{version}'{why}, version should be an integral value > 0"
    )


def test_the_model_dir_is_the_version_folder(pb: Any) -> None:
    assert pb.get_model_dir() == "/repo/m/1"
