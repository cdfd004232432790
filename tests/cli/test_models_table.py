"""The table of `triton-pyb serve`: models and tensors, as they are written in a terminal and in a file."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console
from rich.table import Table

from triton_pyb.cli.serve import show_models, tensors_text


def shown(terminal: bool) -> list[str]:
    table = Table("model", "inputs")
    inputs: list[dict[str, Any]] = [
        {"name": "x" * 60, "data_type": "TYPE_FP32", "dims": [3, -1], "optional": True},
        {"name": "n", "data_type": "TYPE_STRING", "dims": [1]},
    ]
    table.add_row("m" * 40, tensors_text(inputs))
    text = io.StringIO()
    show_models(table, Console(file=text, width=80, force_terminal=terminal, color_system=None))
    return text.getvalue().splitlines()


def test_whole_rows_where_no_terminal_is() -> None:
    row = next(line for line in shown(terminal=False) if "m" * 40 in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == ["m" * 40, "x" * 60 + " FP32 [3, -1], optional"]


def test_no_wider_than_a_terminal() -> None:
    lines = shown(terminal=True)
    assert max(map(len, lines)) <= 80 and "optional" in "".join(lines)
