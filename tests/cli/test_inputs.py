from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from triton_pyb.cli.errors import UsageError
from triton_pyb.cli.inputs import read_inputs


def model(*tensors: tuple[str, str, list[int]], max_batch_size: int = 8, **optional: bool) -> dict[str, Any]:
    declared = [
        {"name": name, "data_type": f"TYPE_{data_type}", "dims": dims, "optional": optional.get(name, False)}
        for name, data_type, dims in tensors
    ]
    return {"name": "m", "max_batch_size": max_batch_size, "input": declared}


TEXT = model(("image", "STRING", [1]))
NUMBER = model(("n", "FP32", [1]))
MATRIX = model(("x", "FP32", [2, 2]))


def png(path: Path) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4)).save(buffer, "PNG")
    path.write_bytes(buffer.getvalue())
    return buffer.getvalue()


def refused(config: dict[str, Any], *given: str) -> UsageError:
    with pytest.raises(UsageError) as refusal:
        read_inputs(given, config)
    return refusal.value


def test_text_and_files_of_a_string_input(tmp_path: Path) -> None:
    content = png(tmp_path / "a.png")
    (tmp_path / "b.json").write_text('{"a": 1}')
    assert read_inputs(["image=text=1"], TEXT) == {"image": "text=1"}
    assert read_inputs([f"image=@{tmp_path}/a.png"], TEXT) == {"image": content}
    assert read_inputs([f"image=@{tmp_path}/b.json"], TEXT) == {"image": b'{"a": 1}'}


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\x00")))
    assert read_inputs(["image=@-"], TEXT) == {"image": b"\xff\x00"}


def test_several_values_are_the_rows_of_one_request(tmp_path: Path) -> None:
    assert read_inputs(["image=a", "image=b"], TEXT) == {"image": ["a", "b"]}
    np.save(tmp_path / "x.npy", np.eye(2, dtype=np.float32))
    rows = read_inputs([f"x=@{tmp_path}/x.npy", f"x=@{tmp_path}/x.npy"], MATRIX)["x"]
    assert rows.shape == (2, 2, 2)


def test_numbers_and_arrays(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[[1, 2], [3, 4]]")
    assert read_inputs(["n=3"], NUMBER) == {"n": 3}
    assert read_inputs(["n=[1, 2.5]"], NUMBER) == {"n": [1, 2.5]}
    assert read_inputs([f"x=@{tmp_path}/x.json"], MATRIX) == {"x": [[1, 2], [3, 4]]}


def test_an_array_of_one_item_gets_its_batch_axis(tmp_path: Path) -> None:
    np.save(tmp_path / "item.npy", np.eye(2, dtype=np.float32))
    np.save(tmp_path / "batch.npy", np.zeros((3, 2, 2), np.float32))
    assert read_inputs([f"x=@{tmp_path}/item.npy"], MATRIX)["x"].shape == (1, 2, 2)
    assert read_inputs([f"x=@{tmp_path}/batch.npy"], MATRIX)["x"].shape == (3, 2, 2)
    explicit = model(("x", "FP32", [-1, 2]), max_batch_size=0)
    assert read_inputs([f"x=@{tmp_path}/item.npy"], explicit)["x"].shape == (2, 2)


def test_an_argument_without_equals_sign() -> None:
    error = refused(TEXT, "image")
    assert (error.code, error.what) == ("TPB701", "got 'image', expected name=value")


def test_an_unknown_name_offers_the_nearest() -> None:
    error = refused(TEXT, "imgae=x")
    assert error.code == "TPB702"
    assert error.what == "model 'm' has no input 'imgae'; did you mean 'image'?"
    assert error.fix == "use one of: image"


def test_a_missing_input_is_named_with_what_to_add() -> None:
    config = model(("image", "STRING", [1]), ("n", "FP32", [1]), ("k", "FP32", [1]), k=True)
    error = refused(config)
    assert (error.code, error.what) == ("TPB703", "model 'm' needs 'image', 'n' too")
    assert error.fix == "add --input image=@FILE --input n=NUMBER|@FILE.npy"
    assert read_inputs(["image=a", "n=1"], config) == {"image": "a", "n": 1}


def test_text_where_numbers_are_wanted(tmp_path: Path) -> None:
    error = refused(NUMBER, "n=three")
    assert (error.code, error.what) == ("TPB704", "got 'three', expected TYPE_FP32 values")
    png(tmp_path / "a.png")
    error = refused(NUMBER, f"n=@{tmp_path}/a.png")
    assert error.code == "TPB704" and "bytes that are no text, expected TYPE_FP32 values" in error.what
    assert "numpy.save" in error.fix


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    error = refused(TEXT, f"image=@{tmp_path}/none.jpg")
    assert (error.code, error.what) == ("TPB705", f"'{tmp_path}/none.jpg' cannot be read: No such file or directory")
    assert error.where == f"--input image=@{tmp_path}/none.jpg"


def test_a_file_that_is_no_array(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(json.dumps([1]).encode())
    error = refused(MATRIX, f"x=@{tmp_path}/x.npy")
    assert error.code == "TPB706" and error.what.startswith("this is no .npy file without pickles: ")


@pytest.mark.parametrize("damage", [lambda content: content[: len(content) // 2], lambda content: b"no image"])
def test_a_damaged_image(tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(damage(png(path)))
    error = refused(TEXT, f"image=@{path}")
    assert error.code == "TPB707" and "bytes that are no readable image: " in error.what
