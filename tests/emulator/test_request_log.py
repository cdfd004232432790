"""What a failed request tells of its model's log, and what models print."""

from __future__ import annotations

import importlib
import io
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.emulator.models import ensemble, execute, tensors, write
from triton_pyb.emulator import EmulatedTriton, InferenceFailed
from triton_pyb.emulator.errors import fix_for
from triton_pyb.emulator.log import Record, ServerLog, pass_on, readable

IO = tensors(("input", "IN", "FP32", [1]), ("output", "OUT", "FP32", [1]))
APP = """
from __future__ import annotations

from typing import Iterator

import log_helper
from triton_pyb import Annotated, Name, Reject, model


@model
def deep(x: str) -> Annotated[str, Name("y")]:
    print("deep got", x)
    if x == "no":
        raise Reject("not this one")
    return log_helper.look_up(x)


@model
def stream(x: str) -> Iterator[Annotated[str, Name("y")]]:
    yield "first"
    log_helper.look_up(x)
"""
HELPER = "def look_up(key):\n    return {'good': 'found'}[key]\n"


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "log_app.py").write_text(APP)
    (tmp_path / "log_helper.py").write_text(HELPER)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("log_app", "log_helper"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module("log_app")


def failure(server: EmulatedTriton, model: str, inputs: dict[str, Any]) -> InferenceFailed:
    with pytest.raises(InferenceFailed) as failed:
        server.infer(model, inputs)
    return failed.value


@pytest.mark.parametrize("inline", [True, False])
class TestOfAStep:
    def test_the_traceback_names_the_authors_files(self, inline: bool, app: ModuleType, tmp_path: Path) -> None:
        with EmulatedTriton(app.deep, inline=inline) as server:
            error = failure(server, "deep", {"x": "hi"})
        assert error.log.splitlines()[:2] == [
            "model 'deep', deep() (log_app.py:10), item 0 of 1:",
            "Traceback (most recent call last):",
        ]
        assert f'File "{tmp_path}/log_app.py", line 15, in deep' in error.log
        assert f'File "{tmp_path}/log_helper.py", line 2, in look_up' in error.log
        assert error.log.endswith("\nKeyError: 'hi'")
        shown = str(error).splitlines()
        assert shown[2] == "  fix:   correct the model: the log below shows where it failed"
        assert shown[3:] == [f"  log:   {line}" for line in error.log.splitlines()]
        copy = pickle.loads(pickle.dumps(error))
        assert (copy.log, str(copy)) == (error.log, str(error))

    def test_of_joined_requests_each_has_its_own(self, inline: bool, app: ModuleType) -> None:
        with EmulatedTriton(app.deep, inline=inline) as server:
            one, rejected, other, good = server.infer_many("deep", [{"x": x} for x in ("a", "no", "b", "good")])
            assert server.batches("deep") == [(1, 1, 1, 1)]
        assert one.log.count("Traceback") == 1 and one.log.endswith("KeyError: 'a'")
        assert other.log.count("Traceback") == 1 and other.log.endswith("KeyError: 'b'")
        assert rejected.log == ""
        assert rejected.fix == "read the message: the model itself answers this request so"
        assert good["y"].tolist() == [[b"found"]]

    def test_what_was_logged_before_belongs_to_others(self, inline: bool, app: ModuleType) -> None:
        with EmulatedTriton(app.deep, inline=inline) as server:
            failure(server, "deep", {"x": "before"})
            assert failure(server, "deep", {"x": "no"}).log == ""
            after = failure(server, "deep", {"x": "after"}).log
            assert after.endswith("KeyError: 'after'") and "KeyError: 'before'" not in after

    def test_of_a_stream(self, inline: bool, app: ModuleType) -> None:
        with EmulatedTriton(app.stream, inline=inline) as server:
            answers = server.stream_infer("stream", {"x": "hi"})
            assert next(answers)["y"].tolist() == [[b"first"]]
            with pytest.raises(InferenceFailed) as failed:
                next(answers)
        assert "look_up" in failed.value.log and failed.value.log.endswith("KeyError: 'hi'")

    def test_prints_are_there_with_the_answer(
        self, inline: bool, app: ModuleType, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with EmulatedTriton(app.deep, inline=inline) as server:
            for round in range(20):
                server.infer("deep", {"x": "good"})
                assert capsys.readouterr().out == "deep got good\n", round
            assert server.printed == ([] if inline else [("stdout", "deep got good")] * 20)


def test_a_model_of_any_origin(tmp_path: Path) -> None:
    body = "pb_utils.Logger.log_error('look here')\nraise ValueError('bad')"
    write(tmp_path, "raw", IO, execute(body))
    with EmulatedTriton(tmp_path) as server:
        error = failure(server, "raw", {"IN": [1.0]})
    assert "message: ValueError: bad" in error.message
    assert error.log == "look here"  # what the message says is not said again
    assert str(error).endswith("\n  log:   look here")


def test_through_an_ensemble_and_a_call(tmp_path: Path) -> None:
    write(tmp_path, "inner", IO, execute("pb_utils.Logger.log_error('inner says')\nraise ValueError('bad')"))
    call = """
request = pb_utils.InferenceRequest(
    model_name="inner", requested_output_names=["OUT"], inputs=list(requests[0].inputs())
)
answer = request.exec()
raise RuntimeError(answer.error().message().splitlines()[0])
"""
    write(tmp_path, "outer", IO, execute(call))
    both = ensemble(IO, [("inner", {"IN": "IN"}, {"OUT": "OUT"})], max_batch_size=0)
    write(tmp_path, "both", both, None)
    with EmulatedTriton(tmp_path) as server:
        assert failure(server, "both", {"IN": [1.0]}).log == "inner says"
        assert failure(server, "outer", {"IN": [1.0]}).log.startswith("inner says\n")


def test_what_strict_mode_refuses_has_the_log_too(tmp_path: Path) -> None:
    body = """
pb_utils.Logger.log_error("about to answer wrongly")
return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.zeros(1, np.int8))])]
"""
    write(tmp_path, "wrong", IO, execute(body))
    with EmulatedTriton(tmp_path) as server:
        error = failure(server, "wrong", {"IN": [1.0]})
    assert error.log == "about to answer wrongly" and str(error).endswith("  log:   about to answer wrongly")


def test_a_refused_request_has_no_log(tmp_path: Path) -> None:
    write(tmp_path, "raw", IO, execute("raise ValueError('bad')"))
    with EmulatedTriton(tmp_path) as server:
        error = failure(server, "raw", {"OTHER": np.ones(1, np.float32)})
    assert error.log == "" and error.fix == "send what the model's configuration declares"


def test_a_long_log_is_cut_in_the_middle() -> None:
    error = InferenceFailed("m", log="\n".join(f"line {n}" for n in range(100)))
    shown = str(error).splitlines()[3:]
    assert len(shown) == 41
    assert shown[9:12] == ["  log:   line 9", "  log:   ... (60 lines more in .log)", "  log:   line 70"]
    assert shown[-1] == "  log:   line 99"


@pytest.mark.parametrize(
    ("message", "code", "fix"),
    [
        ("model 'm', item 0 of 1: empty", "INVALID_ARG", "read the message: the model itself answers"),
        ("in ensemble 'e', model 'm', item 2 of 3: empty", "NOT_FOUND", "read the message: the model itself answers"),
        ("model 'm': busy", "UNAVAILABLE", "read the message: the model itself answers"),
        ("model 'm', input 'x', got FP64 [TPB201]", "INVALID_ARG", "send what the model's configuration declares"),
        ("[request id: 1] expected 2 inputs but got 1", "INVALID_ARG", "send what the model's configuration declares"),
        ("Request for unknown model: 'm' is not found", "NOT_FOUND", "load the model, or correct its name"),
        (
            "model 'm', f() (a.py:1), item 0 of 1: KeyError: 1",
            "INTERNAL",
            "look into the server's log: it has the trace",
        ),
        ("onnx runtime error 2", "INTERNAL", "read the message: it comes from the model or its server"),
    ],
)
def test_the_fix_goes_by_who_words_the_message(message: str, code: str, fix: str) -> None:
    assert InferenceFailed(message, code).fix.startswith(fix)


def test_words_of_a_model_that_the_emulator_saw_say_them() -> None:
    assert fix_for("too small", "INVALID_ARG", from_model=True) == (
        "read the message: the model itself answers this request so"
    )


def test_records_that_tell_of_another_failure() -> None:
    def tells(message: str) -> bool:
        return Record("ERROR", "f.py", 1, message).may_concern("model 'm', f() (a.py:1), item 0 of 1: KeyError: 'a'")

    head = "model 'm', f() (a.py:1), item 0 of 1:\nTraceback (most recent call last):\n  File ...\n"
    assert tells(f"{head}KeyError: 'a'") and not tells(f"{head}KeyError: 'b'")
    assert tells("anything an author logs")
    assert not tells("model 'm', f() (a.py:1), item 0 of 1: TPB210 the function returned None\n  where: w\n  fix: f")


class TestPrints:
    def test_both_streams_and_a_line_without_an_end(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source = "import sys\nsys.stdout.reconfigure(encoding='utf-8')\nprint('once')\n" + execute(
            "sys.stderr.write('warned\\n')\nprint('안녕', end='')\n"
            "return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.ones(1, np.float32))]) for r in requests]"
        )
        write(tmp_path, "chatty", IO, source)
        with EmulatedTriton(tmp_path, auto_complete=False) as server:
            server.infer("chatty", {"IN": [1.0]})
            taken = capsys.readouterr()
            assert (taken.out, taken.err) == ("once\n", "warned\n")
        assert capsys.readouterr().out == "안녕\n"
        assert server.printed == [("stdout", "once"), ("stderr", "warned"), ("stdout", "안녕")]

    def test_a_stream_that_is_closed_or_narrow_is_no_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", narrow)
        pass_on("stdout", "안녕")
        assert narrow.buffer.getvalue() == b"\\uc548\\ub155\n"
        narrow.close()
        pass_on("stdout", "too late")

        class Gone(io.StringIO):
            def write(self, text: str) -> int:
                raise BrokenPipeError

        monkeypatch.setattr(sys, "stderr", Gone())
        pass_on("stderr", "nobody reads")

    def test_who_listens_instead_gets_the_lines_alone(self, capsys: pytest.CaptureFixture[str]) -> None:
        log, heard = ServerLog(), list[tuple[str, str]]()
        log.output_listeners[:] = [lambda stream, line: heard.append((stream, line))]
        log.output("m", "stdout", "hello")
        assert heard == [("stdout", "hello")] and capsys.readouterr().out == ""


def test_records_for_people() -> None:
    log = ServerLog()
    log.server("INFO", "loading: m:1")
    log.server("WARNING", "strange")
    log.model("INFO", "model.py", 3, "two\nlines")
    line = log.records[1].line
    assert readable(log.records) == f"W test_request_log.py:{line}] strange\nI model.py:3] two\nlines"
