"""Where log lines come from and go to."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.emulator.stub.kit import FakeHost, pb_utils
from triton_pyb.emulator.stub.logger import server_line


def test_a_line_names_its_caller() -> None:
    host = FakeHost()
    pb = pb_utils(host=host)

    def helper() -> None:
        pb.Logger.log_warn("m")

    helper()
    ((level, file, line, message),) = host.logged
    assert (level, file, message) == ("WARNING", "test_logger.py", "m")
    assert line == helper.__code__.co_firstlineno + 1


@pytest.mark.parametrize("level", ["INFO", "WARNING", "ERROR", "VERBOSE"])
def test_levels(level: str) -> None:
    host = FakeHost()
    pb = pb_utils(host=host)
    pb.Logger.log("m", getattr(pb.Logger, level))
    assert host.logged[0][0] == level


def test_before_the_log_service_runs_lines_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    host = FakeHost()
    pb = pb_utils(host=host)
    pb.stub.phase = "create"
    pb.Logger.log_error("early")
    assert host.logged == []
    written = capsys.readouterr().err
    assert re.fullmatch(r"E\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ test_logger\.py:\d+\]  early\n", written)


def test_only_text_is_logged_and_nothing_is_formatted() -> None:
    pb = pb_utils()
    arguments: list[tuple[Any, ...]] = [(1,), (None,), ("%s", "x"), (ValueError("x"),)]
    for given in arguments:
        with pytest.raises(TypeError, match=r"log_info\(\): incompatible function arguments"):
            pb.Logger.log_info(*given)


def test_a_server_line_quotes_the_message() -> None:
    line = server_line("ERROR", "model.py", 12, 'a "b"\né', 4711)
    assert re.fullmatch(r'E\d{4} \d\d:\d\d:\d\d\.\d{6} 4711 model\.py:12\] "a \\"b\\"\\né"', line)
