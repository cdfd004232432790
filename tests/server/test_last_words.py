from __future__ import annotations

from pathlib import Path

import pytest

from triton_pyb.server.last_words import keep_log, last_words

ERROR = 'E1130 01:47:36.3 9650 x.cc:1] "model failed: error {}"\n'


def test_the_signs_of_the_end_come_first_and_the_rest_is_short() -> None:
    crash = "terminate called after throwing 'std::length_error'\n  what():  too long\nSignal (6) received.\n"
    trace = "".join(f" 0# 0x{n:04x} in tritonserver\n" for n in range(3))
    lines = last_words("".join(ERROR.format(n) for n in range(1500)) + crash + trace).splitlines()
    assert lines[:3] == crash.splitlines()
    assert len(lines) == 20 and lines[-1] == trace.splitlines()[-1]
    assert lines[3:17] == [ERROR.format(n).rstrip() for n in range(1486, 1500)]


def test_a_short_log_is_quoted_whole_and_each_line_once() -> None:
    assert last_words(ERROR.format(1) * 3 + "done\n").splitlines() == [ERROR.format(1).rstrip(), "done"]
    assert last_words("") == ""


def test_the_log_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "server.log").write_text("all")
    assert keep_log(tmp_path / "server.log", 7) == f"all of it: {tmp_path}/triton_pyb_server_7.log"
    assert (tmp_path / "triton_pyb_server_7.log").read_text() == "all"
    assert keep_log(tmp_path / "none", 8) == ""
