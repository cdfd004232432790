from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from triton_pyb.cli.errors import UsageError
from triton_pyb.cli.outputs import as_json, show
from triton_pyb.cli.saving import Saving


def shown(**outputs: Any) -> str:
    console = Console(file=io.StringIO(), width=100)
    show(outputs, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def texts(*rows: bytes) -> Any:
    return np.array(rows, np.object_).reshape(-1, 1)


def test_json_is_indented_and_keeps_its_letters() -> None:
    answer = {"라벨": "고양이", "scores": [0.5, 1], "boxes": [[1, 2], [3, 4]], "none": {}}
    lines = shown(result=texts(json.dumps(answer).encode())).splitlines()
    assert "result  BYTES [1, 1]" in lines[0]
    assert [line.strip("│").rstrip()[1:] for line in lines[1:-1]] == [
        "{",
        '  "라벨": "고양이",',
        '  "scores": [0.5, 1],',
        '  "boxes": [',
        "    [1, 2],",
        "    [3, 4]",
        "  ],",
        '  "none": {}',
        "}",
    ]


def test_arrays_show_dtype_shape_and_a_few_numbers() -> None:
    text = shown(scores=np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    assert "scores  FP32 [2, 3, 4]" in text
    assert "[0, 1, 2, 3, 4, 5, 6, 7, ...]  from 0 to 23, mean 11.5" in text
    assert "[1, -2]" in shown(n=np.array([1, -2], np.int64))
    assert "[]" in shown(n=np.zeros((0, 3), np.float32)) and "[True]" in shown(b=np.array([True]))


def test_a_small_matrix_has_a_row_on_a_line() -> None:
    text = shown(m=np.array([[1, 0.5], [0, -1]], np.float32))
    assert [line.strip("│ ") for line in text.splitlines()[1:-1]] == ["[[1, 0.5],", "[0, -1]]"]


def test_pictures_and_other_bytes_are_saved(tmp_path: Path) -> None:
    saving = Saving(tmp_path / "new")
    outputs = {"a/b": texts(b"text", b"\x89PNG..."), "raw": texts(b"\xff\xfe"), "n": np.zeros(3)}
    files = saving.save(outputs)
    assert files == {("a/b", 1): tmp_path / "new/a_b_0.png", ("raw", 0): tmp_path / "new/raw_0.bin"}
    assert (tmp_path / "new/a_b_0.png").read_bytes() == b"\x89PNG..."
    assert saving.save({"a/b": texts(b"\xff\xd8\xff")}) == {("a/b", 0): tmp_path / "new/a_b_1.jpg"}
    shown_data = json.loads(as_json("m", outputs, files))["outputs"]
    assert shown_data["a/b"]["data"] == ["text", {"file": f"{tmp_path}/new/a_b_0.png"}]
    console = Console(file=io.StringIO(), width=40)
    show(outputs, console, files)
    assert f"saved {tmp_path}/new/raw_0.bin\n" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError) as refusal:
        Saving(tmp_path / "file").save({"x": texts(b"\xff")})
    assert refusal.value.code == "TPB716"
    assert refusal.value.what == f"'{tmp_path}/file/x_0.bin' cannot be written: File exists"


def test_images_and_other_bytes_are_never_dumped() -> None:
    text = shown(
        out=texts(b"\xff\xd8\xff" + bytes(5000), b"\x89PNG\r\n" + bytes(10), b"\xfe\x00" * 40, b"{no json", b"")
    )
    assert "<JPEG image, 5,003 bytes>" in text and "<PNG image, 16 bytes>" in text
    assert "<80 bytes, not text: fe 00 fe 00 fe 00 fe 00 ...>" in text
    assert "{no json" in text


def test_many_rows_are_cut() -> None:
    text = shown(out=texts(*(f"row {index}".encode() for index in range(25))))
    assert "row 19" in text and "row 20" not in text and "... and 5 more" in text
    assert "(no rows)" in shown(out=np.empty((0, 1), np.object_))


def test_markup_in_an_answer_is_text() -> None:
    assert "[red]x[/red]" in shown(out=texts(b"[red]x[/red]"))


def test_for_programs() -> None:
    outputs = {"t": texts("한".encode(), b"\xff"), "n": np.array([[1.5, 2.0]], np.float32), "b": np.array([True])}
    assert json.loads(as_json("m", outputs)) == {
        "model": "m",
        "outputs": {
            "t": {"datatype": "BYTES", "shape": [2, 1], "data": ["한", {"base64": "/w=="}]},
            "n": {"datatype": "FP32", "shape": [1, 2], "data": [1.5, 2.0]},
            "b": {"datatype": "BOOL", "shape": [1], "data": [True]},
        },
    }
    assert "한" in as_json("m", outputs)
