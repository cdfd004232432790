"""A model folder that this Python builds gives the same answers in Python 3.8, errors and annotations included."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from google.protobuf import json_format, text_format

from triton_pyb.config.model_config import ModelConfig
from triton_pyb.repository import build

HERE = Path(__file__).parent

#: Annotations that Python 3.8 could not evaluate: `X | None`, `dict[str, Any]`, a name under TYPE_CHECKING.
APP = """
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from triton_pyb import Annotated, Batch, Context, Image, ItemError, Json, Name, Reject, Tensor, model

if TYPE_CHECKING:
    from fractions import Fraction


class Found(NamedTuple):
    label: Annotated[str, Name("LABEL")]
    score: float


@model
def each(text: str, size: Annotated[np.ndarray, Tensor("INT32", (2,))], lang: str = "ko") -> Found:
    if text == "bad":
        raise Reject("the text is bad")
    if text == "broken":
        raise ValueError("broken text")
    return Found(text.upper() + lang, float(size.sum()) / 3)


@model(batch="stack", fallback="split")
def stack(
    x: Annotated[np.ndarray, Tensor("FP64", ("L",))], ctx: Context
) -> Annotated[np.ndarray, Tensor("FP32", (1,), name="sum")]:
    if np.isnan(x).any():
        raise ValueError("not a number")
    return x.sum(axis=1, keepdims=True)


@model(batch="list", on_item_error="mask")
def listed(value: Batch[Annotated[dict[str, Any] | list[int], Json()]]) -> Batch[Annotated[Any, Json(name="out")]]:
    return [ItemError("too long") if len(item) > 2 else {"한글": item} for item in value]


@model(batch="pad")
def pad(
    tokens: Annotated[np.ndarray, Tensor("INT64", ("L",))]
) -> Annotated[np.ndarray, Tensor("INT64", ("L",), name="next")]:
    return tokens + 1


@model
def picture(image: Annotated[np.ndarray, Image("RGB")]) -> Annotated[np.ndarray, Tensor("UINT8", (3,), name="first")]:
    return image[0, 0]
"""


def text(*values: str) -> dict[str, Any]:
    return {"dtype": "BYTES", "values": [[value] for value in values]}


def numbers(dtype: str, *rows: Any) -> dict[str, Any]:
    return {"dtype": dtype, "values": list(rows)}


def png(*colour: int) -> str:
    buffer = io.BytesIO()
    PIL.Image.new("RGB", (5, 4), colour).save(buffer, "PNG")
    return "b64:" + base64.b64encode(buffer.getvalue()).decode()


REQUESTS: dict[str, list[dict[str, Any]]] = {
    "each": [
        {"text": text("a", "한글"), "size": numbers("int32", [1, 2], [3, 4])},
        {"text": text("ok", "bad"), "size": numbers("int32", [1, 2], [3, 4])},
        {"text": text("broken"), "size": numbers("int32", [1, 2])},
        {"text": text("b"), "size": numbers("int32", [5, 6]), "lang": text("en")},
        {"text": text("c"), "size": numbers("int32", [5])},
        {"text": text("d")},
    ],
    "stack": [
        {"x": numbers("float64", [1, 2, 3], [4, 5, 6])},
        {"x": numbers("float64", [1e300, 0, 0])},
        {"x": numbers("float64", [1, 1])},
        {"x": numbers("float64", [float("nan"), 1, 2])},
    ],
    "listed": [{"value": text("[1]", "[1, 2, 3]", "{")}, {"value": text('{"a": 1}')}],
    "pad": [{"tokens": numbers("int64", [1, 2, 3])}, {"tokens": numbers("int64", [4], [5])}],
    "picture": [{"image": text(png(1, 2, 3))}, {"image": text("<html>")}, {"image": text(png(4, 5, 6), png(7, 8, 9))}],
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("py38")
    (folder / "app.py").write_text(APP, encoding="utf-8")
    for name in REQUESTS:
        build(f"{folder}/app.py:{name}", folder / "models")
    return folder / "models"


def answers(python: str, repository: Path, name: str) -> dict[str, Any]:
    """What the packaged model answers in that Python, with nothing of ours on its path."""
    config = text_format.Parse((repository / name / "config.pbtxt").read_text(encoding="utf-8"), ModelConfig())
    decoy = repository.parent / "installed"
    (decoy / "triton_pyb").mkdir(parents=True, exist_ok=True)
    (decoy / "triton_pyb/__init__.py").write_text("raise ImportError('the installed copy won')")
    as_json = json_format.MessageToJson(config, preserving_proto_field_name=True)
    done = subprocess.run(
        [python, "-I", "-B", str(HERE / "answer_requests.py"), str(repository / name / "1"), name, as_json, str(decoy)],
        input=json.dumps(REQUESTS[name]),
        capture_output=True,
        text=True,
        cwd=repository,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["from"] == str(repository / name / "1/triton_pyb/__init__.py")
    return result


@pytest.mark.parametrize("name", [name for name in REQUESTS if name != "picture"])
def test_the_same_answers_in_python_3_8(python38: str, repository: Path, name: str) -> None:
    old, new = answers(python38, repository, name), answers(sys.executable, repository, name)
    assert old["version"] == [3, 8]
    assert old["answers"] == new["answers"]
    assert len(new["answers"]) == len(REQUESTS[name])


def test_pictures_in_python_3_8(python38: str, repository: Path) -> None:
    done = subprocess.run([python38, "-c", "import PIL, cv2"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"'{python38}' has neither Pillow nor OpenCV to read pictures with")
    old, new = answers(python38, repository, "picture"), answers(sys.executable, repository, "picture")
    assert old["answers"] == new["answers"]
    assert new["answers"][0]["first"]["values"] == [[1, 2, 3]]


def test_a_function_that_is_no_step_any_more(repository: Path) -> None:
    app = repository / "each/1/app.py"
    text = app.read_text(encoding="utf-8")
    app.write_text(text.replace("@model\ndef each", "def each"), encoding="utf-8")
    try:
        with pytest.raises(AssertionError) as caught:
            answers(sys.executable, repository, "each")
    finally:
        app.write_text(text, encoding="utf-8")
    assert "TPB232 'app:each' is not marked as a step any more" in str(caught.value)
    assert "fix:   build the model again" in str(caught.value)


def test_the_answers_are_right(repository: Path) -> None:
    """In the Python that runs the tests, so that the comparison above compares something."""
    each = answers(sys.executable, repository, "each")["answers"]
    assert each[0]["LABEL"]["values"] == [["Ako"], ["한글ko"]]
    assert each[0]["score"]["values"] == [[1.0], [7 / 3]]
    assert "item 1 of 2: the text is bad" in each[1]["error"] and "ValueError: broken text" in each[2]["error"]
    assert each[3]["LABEL"]["values"] == [["Ben"]]
    assert "TPB226" in each[4]["error"] and "TPB224" in each[5]["error"]
    stack = answers(sys.executable, repository, "stack")["answers"]
    assert stack[0]["sum"] == {"dtype": "float32", "values": [[6.0], [15.0]]}
    assert "TPB202" in stack[1]["error"] and stack[2]["sum"]["values"] == [[2.0]]
    assert "not a number" in stack[3]["error"]
    listed = answers(sys.executable, repository, "listed")["answers"]
    assert listed[0]["out"]["values"] == [['{"한글": [1]}'], [""], [""]]
    assert np.ravel(listed[0]["status"]["values"]).tolist() == [0, 3, 3]
    pad = answers(sys.executable, repository, "pad")["answers"]
    assert [answer["next"]["values"] for answer in pad] == [[[2, 3, 4]], [[5], [6]]]
