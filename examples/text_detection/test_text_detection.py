"""The functions alone, then the whole pipeline three ways: by hand, on the emulator, on a real Triton."""

from __future__ import annotations

import importlib.util
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from agreement import OTHER_RUNTIME, differences
from boxes import clockwise_from_top_left, find_boxes, in_reading_order
from PIL import Image

from triton_pyb import Reject
from triton_pyb.emulator import EmulatedTriton, InferenceFailed
from triton_pyb.repository import build
from triton_pyb.server import RealTriton

HERE = Path(__file__).parent
PICTURES = sorted(path for path in (HERE / "pictures").iterdir() if path.suffix in (".jpg", ".png"))
BYTES = [path.read_bytes() for path in PICTURES]
LINES = {  # lines of text that a person counts
    "astronaut.jpg": 0,
    "banner.jpg": 3,
    "form_grey.png": 9,
    "notice.jpg": 11,
    "receipt_rgba.png": 14,
    "scan_page.png": 7,
    "tiny.png": 1,
    "typewriter.png": 17,
}


def model_file() -> str:
    spec = importlib.util.find_spec("rapidocr")
    assert spec is not None and spec.origin is not None, "pip install rapidocr"
    return str(Path(spec.origin).parent / "models" / "PP-OCRv6_det_small.onnx")


def rgb(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as picture:
        return np.array(picture.convert("RGB"))


def rectangle(size: int, left: int, top: int, right: int, bottom: int, value: float = 0.9) -> np.ndarray:
    """A probability map with one filled rectangle, both ends inclusive."""
    probability = np.zeros((size, size), np.float32)
    probability[top : bottom + 1, left : right + 1] = value
    return probability


# --- boxes.py


def test_an_empty_map_has_no_boxes() -> None:
    assert find_boxes(np.zeros((64, 64), np.float32)) == []


def test_a_box_is_grown_by_area_times_ratio_over_perimeter() -> None:
    (box,) = find_boxes(rectangle(200, 50, 80, 149, 99))
    # Within 1.6 pixels, because the 2x2 dilation adds a row and a column.
    margin = 100 * 20 * 1.6 / (2 * (100 + 20))
    expected = np.array([[50, 80], [149, 80], [149, 99], [50, 99]]) + margin * np.array(
        [[-1, -1], [1, -1], [1, 1], [-1, 1]]
    )
    np.testing.assert_allclose(box.points, expected, atol=1.6)


def test_the_score_is_the_mean_inside_and_decides() -> None:
    (box,) = find_boxes(rectangle(100, 20, 40, 79, 59, value=0.8))
    assert box.score == pytest.approx(0.8, abs=0.08)  # the dilated edge lies outside the rectangle
    # 0.45 is above the threshold of a pixel and below the least score of a box.
    assert find_boxes(rectangle(100, 20, 40, 79, 59, value=0.45)) == []


def test_pixels_below_the_threshold_do_not_widen_a_box() -> None:
    sharp = rectangle(200, 50, 80, 149, 99)
    blurred = np.maximum(sharp, rectangle(200, 40, 70, 159, 109, value=0.25))
    np.testing.assert_array_equal(find_boxes(blurred)[0].points, find_boxes(sharp)[0].points)


def test_a_line_thinner_than_three_pixels_is_noise() -> None:
    assert find_boxes(rectangle(100, 20, 40, 79, 41, value=1.0)) == []
    assert len(find_boxes(rectangle(100, 20, 40, 79, 43, value=1.0))) == 1


@pytest.mark.parametrize("degrees", [-30.0, -5.0, 3.0, 20.0, 40.0])
def test_a_turned_rectangle_keeps_its_angle_and_its_first_corner(degrees: float) -> None:
    drawn = cv2.boxPoints(((150.0, 150.0), (160.0, 30.0), degrees))
    probability = np.zeros((300, 300), np.float32)
    cv2.fillPoly(probability, [np.round(drawn).astype(np.int32)], 0.9)
    (box,) = find_boxes(probability)
    along = box.points[1] - box.points[0]
    assert np.degrees(np.arctan2(along[1], along[0])) == pytest.approx(degrees, abs=1.5)
    assert np.linalg.norm(along) > np.linalg.norm(box.points[3] - box.points[0])


def test_corners_run_clockwise_whatever_their_order_was() -> None:
    corners = np.array([[10, 20], [90, 20], [90, 40], [10, 40]], np.float32)
    for shift in range(4):
        shuffled = np.roll(corners, shift, axis=0)
        np.testing.assert_array_equal(clockwise_from_top_left(shuffled), corners)
        np.testing.assert_array_equal(clockwise_from_top_left(shuffled[::-1]), corners)


def test_reading_order_is_by_rows_then_from_left_to_right() -> None:
    probability = np.zeros((300, 300), np.float32)
    for left, top in [(160, 23), (20, 20), (20, 100), (160, 97)]:  # rows a few pixels askew
        probability[top : top + 20, left : left + 100] = 0.9
    centres = [tuple(box.points.mean(axis=0).round(-1)) for box in find_boxes(probability)]
    assert centres == [(70, 30), (210, 30), (70, 110), (210, 110)]
    assert in_reading_order([]) == []


# --- preprocessing and postprocessing


@pytest.mark.parametrize("size", [(736, 736), (100, 300), (301, 97), (3000, 1000), (8, 8)])
def test_the_letterbox_centres_the_picture_and_keeps_its_proportions(app: Any, size: tuple[int, int]) -> None:
    height, width = size
    pixels, geometry = app.preprocessing(np.full((height, width, 3), 255, np.uint8))
    assert pixels.shape == (3, 736, 736) and pixels.dtype == np.float32
    scale_x, scale_y, left, top, sent_width, sent_height = geometry
    assert (sent_width, sent_height) == (width, height)
    ys, xs = np.nonzero(pixels[0] == 1.0)  # white
    assert (xs.min(), ys.min()) == (left, top)
    assert xs.max() - xs.min() + 1 == pytest.approx(width * scale_x)
    assert ys.max() - ys.min() + 1 == pytest.approx(height * scale_y)
    assert abs(scale_x - scale_y) * max(size) <= 1.0 + 1e-3  # both sides are rounded to whole pixels
    assert np.all(np.abs(pixels[pixels != 1.0]) < 0.01)  # grey, which is 0 for the network


def test_the_network_gets_blue_first(app: Any) -> None:
    red = np.zeros((736, 736, 3), np.uint8)
    red[..., 0] = 255
    pixels, _ = app.preprocessing(red)
    assert pixels[:, 300, 300].tolist() == [-1.0, -1.0, 1.0]


@pytest.mark.parametrize("size", [(736, 736), (200, 600), (601, 197), (3000, 1000), (120, 90)])
def test_postprocessing_undoes_the_letterbox(app: Any, size: tuple[int, int]) -> None:
    """A black bar on white, 'detected' by a threshold, comes back where it was drawn."""
    height, width = size
    image = np.full((height, width, 3), 255, np.uint8)
    top, bottom = round(height * 0.4), round(height * 0.6)
    left, right = round(width * 0.3), round(width * 0.7)
    image[top:bottom, left:right] = 0
    pixels, geometry = app.preprocessing(image)
    result = app.postprocessing((pixels[:1] < -0.5).astype(np.float32), geometry)
    (box,) = result["boxes"]
    assert (result["width"], result["height"]) == (width, height)
    centre = np.mean(box["points"], axis=0)
    pixel = 1.0 / min(geometry[0], 1.0)  # of the canvas, in pixels of the picture
    np.testing.assert_allclose(centre, [(left + right - 1) / 2, (top + bottom - 1) / 2], atol=1.1 * pixel)


def test_boxes_stay_on_the_picture(app: Any) -> None:
    _, geometry = app.preprocessing(np.zeros((300, 400, 3), np.uint8))
    (box,) = app.postprocessing(np.ones((1, 736, 736), np.float32), geometry)["boxes"]
    assert np.min(box["points"]) == 0 and np.max(box["points"], axis=0).tolist() == [399, 299]


def test_a_picture_too_small_for_text_is_rejected(app: Any) -> None:
    with pytest.raises(Reject, match="100x7 pixels"):
        app.preprocessing(np.zeros((7, 100, 3), np.uint8))


# --- the whole pipeline


@pytest.fixture(scope="module")
def by_hand(app: Any) -> list[dict[str, Any]]:
    """The answers without triton_pyb: plain calls and onnxruntime, one picture at a time."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model_file(), providers=["CPUExecutionProvider"])
    answers = []
    for data in BYTES:
        pixels, geometry = app.preprocessing(rgb(data))
        (probability,) = session.run(["fetch_name_0"], {"x": pixels[np.newaxis]})
        answers.append(app.postprocessing(probability[0], geometry))
    return answers


@pytest.fixture(scope="module")
def repository(app: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text_detection") / "models"
    build(app.pipeline, folder)
    return folder


@pytest.fixture(scope="module", params=["inline", "emulated", pytest.param("real", marks=pytest.mark.real_triton)])
def server(request: pytest.FixtureRequest, app: Any, repository: Path) -> Iterator[Any]:
    """The same requests to the emulator in this process, to the emulator, and to a real Triton."""
    chosen: Any
    if request.param == "inline":
        chosen = EmulatedTriton(app.pipeline, inline=True)
    elif request.param == "emulated":
        chosen = EmulatedTriton(repository)
    else:
        chosen = RealTriton(repository)
    with chosen:
        yield chosen


def test_by_hand_every_line_is_found(by_hand: list[dict[str, Any]]) -> None:
    assert {path.name: len(answer["boxes"]) for path, answer in zip(PICTURES, by_hand, strict=True)} == LINES


def test_the_readme_shows_the_true_answer(by_hand: list[dict[str, Any]]) -> None:
    shown = json.loads((HERE / "README.md").read_text().split("```json\n")[1].split("```")[0])
    answer = by_hand[[path.name for path in PICTURES].index("notice.jpg")]
    assert differences(shown, {**answer, "boxes": answer["boxes"][:1]}, OTHER_RUNTIME) == []


@pytest.mark.parametrize("count", [1, 2, 7])
def test_pictures_of_different_sizes_in_one_request(server: Any, by_hand: list[dict[str, Any]], count: int) -> None:
    first = {1: 4, 2: 2, 7: 1}[count]
    chosen = slice(first, first + count)
    result = server.infer("text_detection", {"image": BYTES[chosen]})["result"]
    assert result.shape == (count, 1)
    for path, text, expected in zip(PICTURES[chosen], result[:, 0], by_hand[chosen], strict=True):
        assert differences(json.loads(text), expected) == [], path.name


def test_a_broken_picture_is_refused_and_the_next_one_is_answered(server: Any, by_hand: list[dict[str, Any]]) -> None:
    with pytest.raises(InferenceFailed, match="begins like"):
        server.infer("text_detection", {"image": BYTES[4][:20_000]})
    answer = server.infer("text_detection", {"image": BYTES[4]})
    assert differences(json.loads(answer["result"][0, 0]), by_hand[4]) == []


# --- agreement.py and demo.py


def test_differences_are_found_and_said() -> None:
    one = {"width": 500, "height": 400, "boxes": [{"points": [[0, 0], [9, 0], [9, 5], [0, 5]], "score": 0.9}]}
    assert differences(one, one) == []
    assert differences(one, {**one, "width": 501}) == ["width: 500 and 501"]
    assert differences(one, {**one, "boxes": []}) == ["number of boxes: 1 and 0"]
    moved = {"points": [[0, 0], [9, 0], [9, 8], [0, 5]], "score": 0.8}
    assert differences(one, {**one, "boxes": [moved]}) == [
        "box 0: a corner is 3.0 pixels off (allowed: 0.51)",
        "box 0: scores 0.9 and 0.8 (allowed: 0.001 apart)",
    ]


def test_a_shift_of_two_pixels_is_forgiven_only_between_runtimes() -> None:
    one = {"width": 500, "height": 400, "boxes": [{"points": [[0, 0], [9, 0], [9, 5], [0, 5]], "score": 0.9}]}
    shifted = {**one, "boxes": [{"points": [[2, 0], [11, 0], [11, 5], [2, 5]], "score": 0.91}]}
    assert len(differences(one, shifted)) == 2
    assert differences(one, shifted, OTHER_RUNTIME) == []
    moved = {**one, "boxes": [{"points": [[3, 0], [12, 0], [12, 5], [3, 5]], "score": 0.9}]}
    assert differences(one, moved, OTHER_RUNTIME) == ["box 0: a corner is 3.0 pixels off (allowed: 2.00)"]


def run_demo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(HERE / "demo.py"), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.real_triton
def test_the_demonstration_agrees_and_draws(tmp_path: Path) -> None:
    done = run_demo(tmp_path, str(HERE / "pictures" / "notice.jpg"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the emulator and the real Triton agree" in done.stdout
    with Image.open(tmp_path / "text_detection.png") as drawn:
        assert drawn.size == (1240, 1754)


@pytest.mark.real_triton
def test_the_demonstration_notices_a_difference(tmp_path: Path) -> None:
    done = run_demo(tmp_path, "--server-picture", str(HERE / "pictures" / "typewriter.png"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "differs" in done.stdout and "width: 1240 and 4000" in done.stdout
