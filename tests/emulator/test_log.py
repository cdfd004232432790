"""The server's log, kept and written."""

from __future__ import annotations

import io
import re

from triton_pyb.emulator.log import ServerLog, writer


def test_lines_have_tritonservers_form() -> None:
    stream, log = io.StringIO(), ServerLog()
    log.listeners.append(writer(stream))
    log.model("WARNING", "model.py", 12, 'said "가"\nand more')
    assert re.fullmatch(
        r'W\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ model\.py:12\] "said \\"가\\"\\nand more"\n', stream.getvalue()
    )


def test_verbose_entries_need_to_be_asked_for() -> None:
    log = ServerLog()
    log.model("VERBOSE", "model.py", 1, "no")
    log.settings["log_verbose_level"] = 1
    log.model("VERBOSE", "model.py", 1, "yes")
    assert [record.message for record in log.records] == ["yes"]


def test_the_servers_own_entries_name_their_place() -> None:
    log = ServerLog()
    log.server("INFO", "hello")
    assert str(log.records[0]) == f'I test_log.py:{log.records[0].line}] "hello"'
