"""What a failed request tells of a real server's log, and when prints of models are in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulator.models import execute
from triton_pyb.emulator import InferenceFailed
from triton_pyb.repository import build
from triton_pyb.server import RealTriton

from .model_folders import config, write_model

pytestmark = pytest.mark.real_triton

APP = """
from __future__ import annotations

from typing import Iterator

from triton_pyb import Annotated, Name, Reject, model


@model
def deep(x: str) -> Annotated[str, Name("y")]:
    print("찾는다", x)
    if x == "no":
        raise Reject("not this one")
    return {}[x]


@model
def stream(x: str) -> Iterator[Annotated[str, Name("y")]]:
    yield "first"
    raise KeyError(x)


both = [deep, stream]
"""


def test_as_from_the_emulator(tmp_path: Path) -> None:
    app, repository = tmp_path / "real_log_app.py", tmp_path / "models"
    app.write_text(APP)
    build(f"{app}:both", repository)
    raising = execute("pb_utils.Logger.log_error('look here')\nraise ValueError('bad')")
    write_model(repository, "raw", config("X FP32 1", "Y FP32 1", max_batch_size=0), {"model.py": raising})
    with RealTriton(repository) as server:
        with pytest.raises(InferenceFailed) as failed:
            server.infer("deep", {"x": "hi"})
        assert "찾는다 hi\n" in server.log  # at once, and whatever the locale
        with pytest.raises(InferenceFailed) as rejected:
            server.infer("deep", {"x": "no"})
        with pytest.raises(InferenceFailed) as streamed:
            list(server.stream_infer("stream", {"x": "hi"}))
        with pytest.raises(InferenceFailed) as raw:
            server.infer("raw", {"X": [1.0]})
    log = failed.value.log
    assert log.startswith("model 'deep', deep() (real_log_app.py:9), item 0 of 1:\nTraceback (most recent call last):")
    assert f'File "{app}", line 14, in deep\n' in log and log.endswith("\nKeyError: 'hi'")
    assert str(failed.value).splitlines()[3:] == [f"  log:   {line}" for line in log.splitlines()]
    assert (rejected.value.log, rejected.value.code) == ("", "INVALID_ARG")
    assert rejected.value.fix == "read the message: the model itself answers this request so"
    assert f'File "{app}", line 20, in stream\n' in streamed.value.log
    assert raw.value.log.startswith("look here")


def test_what_was_logged_right_before_the_end_is_kept(tmp_path: Path) -> None:
    source = "class TritonPythonModel:\n    def execute(self, requests):\n        pass\n    def finalize(self):\n"
    source += "        print('last words')\n"
    write_model(tmp_path, "m", config("X FP32 1", "Y FP32 1"), {"model.py": source})
    with RealTriton(tmp_path) as server:
        assert "last words" not in server.log
    assert "last words" in server.log
