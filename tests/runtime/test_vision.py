"""The helpers against the libraries that people train with: Pillow, OpenCV, and torchvision's recorded results."""

from __future__ import annotations

import doctest
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import PIL
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from triton_pyb.runtime import resampling, resizing, vision
from triton_pyb.runtime.errors import Unavailable

Array = np.ndarray[Any, Any]
#: Made by scripts/record_torchvision.py.
RECORDED = np.load(Path(__file__).parents[1] / "data" / "torchvision.npz")
IMAGE: Array = RECORDED["image"]
SIZES: dict[str, Any] = {
    "shorter side 31": 31,
    "shorter side 64": 64,
    "20x60": (20, 60),
    "70x30": (70, 30),
}
INSTALLED = "pillow" if int(PIL.__version__.split(".")[0]) >= 13 else "pillow12"


@pytest.fixture(params=["Pillow", "no Pillow"])
def pillow_or_not(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same test where Pillow is not installed."""
    if request.param == "no Pillow":
        monkeypatch.setattr(resizing, "pillow", lambda: None)
    yield


# --- resize


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("how", ["nearest", "bilinear", "bicubic"])
def test_resize_is_torchvisions_on_pictures(pillow_or_not: None, how: str, size: str) -> None:
    np.testing.assert_array_equal(vision.resize(IMAGE, SIZES[size], how), RECORDED[f"picture, {how}, {size}"])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("how", ["bilinear", "bicubic"])
def test_resize_is_near_torchvisions_on_tensors(how: str, size: str) -> None:
    """The bounds that the docstring of `resize` states."""
    antialiased = vision.resize(IMAGE, SIZES[size], how, like="pillow12").astype(int)
    assert np.abs(antialiased - RECORDED[f"tensor, {how}, {size}, antialias=True"]).max() <= 1
    plain = vision.resize(IMAGE, SIZES[size], how, like="opencv").astype(int)
    away = np.abs(plain - RECORDED[f"tensor, {how}, {size}, antialias=False"])
    assert away.max() <= (1 if how == "bilinear" else 12) and away.mean() < 0.4


def test_the_wrong_way_is_far_off() -> None:
    """What the choice is worth: a model trained one way sees this much noise when served the other way."""
    for how in ("bilinear", "bicubic"):
        one, other = (vision.resize(IMAGE, 31, how, like=like).astype(int) for like in ("pillow", "opencv"))
        assert np.abs(one - other).max() > 30


@st.composite
def tasks(draw: st.DrawFn) -> tuple[Array, tuple[int, int]]:
    sides = st.integers(1, 40)
    shape = (draw(sides), draw(sides), *draw(st.sampled_from([(), (1,), (3,), (4,)])))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    image = rng.integers(0, 256, shape, np.uint8)
    if draw(st.booleans()):
        return (image / np.float32(7) - 9).astype(np.float32), (draw(sides), draw(sides))
    return image, (draw(sides), draw(sides))


def pillows_own(image: Array, height: int, width: int, how: str) -> Array:
    flag = getattr(Pillow.Resampling, how.upper())
    if image.ndim == 2 or (image.shape[2] == 3 and image.dtype == np.uint8):
        return np.asarray(Pillow.fromarray(image).resize((width, height), flag))
    channels = [pillows_own(image[:, :, channel], height, width, how) for channel in range(image.shape[2])]
    return np.stack(channels, axis=2)


@given(tasks(), st.sampled_from(resizing.PILLOW_FILTERS))
@settings(max_examples=150, deadline=None)
def test_resize_is_pillows_bit_for_bit(task: tuple[Array, tuple[int, int]], how: str) -> None:
    image, (height, width) = task
    wanted = pillows_own(image, height, width, how)
    with_pillow = vision.resize(image, (height, width), how, like=INSTALLED)
    np.testing.assert_array_equal(with_pillow, wanted)
    assert with_pillow.dtype == image.dtype
    for like in ("pillow", "pillow12"):
        expected = vision.resize(image, (height, width), how, like=like)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(resizing, "pillow", lambda: None)
            np.testing.assert_array_equal(vision.resize(image, (height, width), how, like=like), expected)


def test_floats_are_pillows_to_the_last_bit() -> None:
    """Also where Pillow computes with single precision in between (hamming)."""
    image = (np.random.default_rng(1).normal(size=(76, 57)) * 100).astype(np.float32)
    for how in resizing.PILLOW_FILTERS:
        wanted = pillows_own(image, 46, 25, how)
        np.testing.assert_array_equal(resampling.resample(image, 46, 25, how, False), wanted)


def test_pillow_12_and_13_differ_on_tall_pictures() -> None:
    tall = np.random.default_rng(0).integers(0, 256, (80, 20, 3), np.uint8)
    new, old = (vision.resize(tall, (20, 15), like=like).astype(int) for like in ("pillow", "pillow12"))
    assert np.abs(new - old).max() == 1
    wide = tall.transpose(1, 0, 2)
    np.testing.assert_array_equal(vision.resize(wide, (15, 20)), vision.resize(wide, (15, 20), like="pillow12"))


OPENCV_FLAGS = {
    "nearest": cv2.INTER_NEAREST,
    "bilinear": cv2.INTER_LINEAR,
    "bicubic": cv2.INTER_CUBIC,
    "area": cv2.INTER_AREA,
    "lanczos": cv2.INTER_LANCZOS4,
}


@given(tasks(), st.sampled_from(resizing.OPENCV_FILTERS))
@settings(max_examples=100, deadline=None)
def test_resize_is_opencvs(task: tuple[Array, tuple[int, int]], how: str) -> None:
    image, (height, width) = task
    resized = vision.resize(image, (height, width), how, like="opencv")
    assert resized.shape == (height, width, *image.shape[2:])
    wanted = cv2.resize(image, (width, height), interpolation=OPENCV_FLAGS[how]).reshape(resized.shape)
    np.testing.assert_array_equal(resized, wanted)


def test_a_view_can_be_resized(pillow_or_not: None) -> None:
    for like in ("pillow", "opencv"):
        flipped = IMAGE[::-1, ::-2, ::-1]
        copied = np.ascontiguousarray(flipped)
        np.testing.assert_array_equal(vision.resize(flipped, 20, like=like), vision.resize(copied, 20, like=like))


def test_nothing_to_do() -> None:
    assert vision.resize(IMAGE, (56, 75)) is IMAGE


@pytest.mark.parametrize(
    "image, options, said",
    [
        (
            IMAGE,
            {"size": 5, "how": "biliner"},
            "how='biliner' is none of nearest, bilinear, .*; did you mean 'bilinear'",
        ),
        (IMAGE, {"size": 5, "how": "area"}, "how='area' is none of nearest, bilinear, bicubic, box, hamming, lanczos"),
        (IMAGE, {"size": 5, "like": "PIL"}, "like='PIL' is none of 'pillow', 'pillow12', 'opencv'"),
        (IMAGE, {"size": (5, 0)}, r"size=\(5, 0\): at least 1 in both directions"),
        (IMAGE[:0], {"size": 5}, r"a picture has the shape \(height, width\) or .*, not \(0, 75, 3\)"),
        (IMAGE[np.newaxis], {"size": 5}, r"not \(1, 56, 75, 3\)"),
        (IMAGE.astype(float), {"size": 5}, "a picture is uint8 or float32, not float64: cast it first"),
        (IMAGE.transpose(2, 0, 1), {"size": 5}, r"\(3, 56, 75\) looks like \(channels, height, width\): transpose"),
    ],
)
def test_what_cannot_be_resized(image: Array, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        vision.resize(image, **options)


def test_without_opencv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(Unavailable, match="resizing as OpenCV does needs OpenCV"):
        vision.resize(IMAGE, 20, like="opencv")


# --- letterbox


@given(st.integers(1, 60), st.integers(1, 60), st.integers(8, 50), st.integers(8, 50), st.booleans(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_letterbox_and_its_inverse(height: int, width: int, tall: int, wide: int, grow: bool, middle: bool) -> None:
    image = np.full((height, width, 3), 200, np.uint8)
    boxed = vision.letterbox(image, (tall, wide), color=(1, 2, 3), enlarge=grow, center=middle)
    assert boxed.image.shape == (tall, wide, 3) and boxed.geometry.dtype == np.float32
    filled = (boxed.image == 200).all(axis=2)
    rows, columns = np.flatnonzero(filled.any(axis=1)), np.flatnonzero(filled.any(axis=0))
    assert filled[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].all()
    assert ((boxed.image == (1, 2, 3)).all(axis=2) | filled).all()
    inside = np.array([[columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]])
    np.testing.assert_allclose(vision.restore_boxes(inside, boxed.geometry), [[0, 0, width, height]], atol=1e-3)
    if grow:
        assert len(rows) == tall or len(columns) == wide
    elif height <= tall and width <= wide:
        assert (len(rows), len(columns)) == (height, width)
    if middle:
        assert 0 <= tall - 1 - rows[-1] - rows[0] <= 1 and 0 <= wide - 1 - columns[-1] - columns[0] <= 1
    else:
        assert rows[0] == columns[0] == 0


def test_a_box_comes_back_to_the_thing_it_surrounds() -> None:
    image = np.zeros((90, 200, 3), np.uint8)
    image[30:60, 100:180] = 255
    boxed = vision.letterbox(image, 128)
    rows, columns = np.nonzero(boxed.image[..., 0] > 180)
    box = np.array([[columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]], np.float32)
    np.testing.assert_allclose(vision.restore_boxes(box, boxed.geometry), [[100, 30, 180, 60]], atol=1.6)


def test_boxes_are_clipped_to_the_original() -> None:
    geometry = vision.letterbox(np.zeros((50, 100, 3), np.uint8), 100).geometry
    boxes = np.array([[[-9, 0, 500, 99]]])
    assert vision.restore_boxes(boxes, geometry).tolist() == [[[0, 0, 100, 50]]]
    assert vision.restore_boxes(np.zeros((0, 4)), geometry).shape == (0, 4)


def test_a_grey_letterbox() -> None:
    assert vision.letterbox(np.zeros((5, 10), np.uint8), 20).image[0, 0] == 114


# --- crop, normalise


@pytest.mark.parametrize("name, size", [("crop 40", 40), ("crop 41x30", (41, 30)), ("crop 71x90", (71, 90))])
def test_center_crop_is_torchvisions(name: str, size: Any) -> None:
    np.testing.assert_array_equal(vision.center_crop(IMAGE, size), RECORDED[name])
    np.testing.assert_array_equal(vision.center_crop(IMAGE[..., 0], size), RECORDED[name][..., 0])


def test_center_crop_is_a_view() -> None:
    assert np.shares_memory(vision.center_crop(IMAGE, 10), IMAGE)


def test_the_usual_preprocessing_is_torchvisions(pillow_or_not: None) -> None:
    """Resize(48), CenterCrop(40), ToTensor, Normalize: every bit; with v2, which multiplies by 1/255, the last one."""
    cropped = vision.center_crop(vision.resize(IMAGE, 48), 40)
    array = vision.normalize(cropped, vision.IMAGENET_MEAN, vision.IMAGENET_STD)
    assert array.dtype == np.float32 and array.flags.c_contiguous
    np.testing.assert_array_equal(array, RECORDED["classic"])
    np.testing.assert_allclose(array, RECORDED["v2"], rtol=0, atol=5e-7)


def test_normalize_of_floats_grey_and_the_other_layout() -> None:
    wanted = vision.normalize(IMAGE, (1, 2, 3), (4, 5, 6), scale=2)
    np.testing.assert_array_equal(vision.normalize(IMAGE.astype(np.float32), (1, 2, 3), (4, 5, 6), scale=2), wanted)
    np.testing.assert_array_equal(
        vision.normalize(IMAGE, (1, 2, 3), (4, 5, 6), scale=2, layout="HWC"), wanted.transpose(1, 2, 0)
    )
    assert vision.normalize(IMAGE[..., 0]).shape == (1, 56, 75)
    assert vision.normalize(IMAGE[..., 0]).max() <= 1
    assert IMAGE.dtype == np.uint8


def test_normalize_into_a_batch() -> None:
    batch = np.zeros((2, 3, 56, 75), np.float32)
    assert vision.normalize(IMAGE, 0.5, out=batch[1]).base is batch
    np.testing.assert_array_equal(batch[1], vision.normalize(IMAGE, 0.5))
    assert not batch[0].any()


@pytest.mark.parametrize(
    "image, options, said",
    [
        (IMAGE, {"mean": (1, 2)}, "mean= has 2 values, and the picture 3 channels"),
        (IMAGE, {"std": (1, 2, 0)}, r"a division by zero: scale=255.0, std=\[1.0, 2.0, 0.0\]"),
        (IMAGE, {"scale": 0}, "a division by zero: scale=0"),
        (IMAGE, {"layout": "NCHW"}, "layout='NCHW' is neither 'CHW' nor 'HWC'"),
        (
            IMAGE,
            {"out": np.zeros((56, 75, 3), np.float32)},
            r"out= is float32 of shape \(56, 75, 3\); it has to be float32",
        ),
        (IMAGE.astype(float), {}, r"of uint8 or float32; this one is \(56, 75, 3\) of float64"),
        (IMAGE.transpose(2, 0, 1), {}, r"\(3, 56, 75\) looks like \(channels, height, width\) already"),
    ],
)
def test_what_cannot_be_normalized(image: Array, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        vision.normalize(image, **options)


# --- boxes


@pytest.mark.parametrize("threshold", [0.1, 0.45, 0.7])
def test_nms_is_torchvisions(threshold: float) -> None:
    kept = vision.nms(RECORDED["boxes"], RECORDED["scores"], threshold)
    np.testing.assert_array_equal(kept, RECORDED[f"nms {threshold}"])


def test_nms_by_class_is_torchvisions() -> None:
    kept = vision.nms(RECORDED["boxes"], RECORDED["scores"], 0.3, classes=RECORDED["classes"])
    np.testing.assert_array_equal(kept, RECORDED["batched nms 0.3"])


@given(st.integers(0, 25), st.integers(0, 2**20), st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None)
def test_what_nms_promises(count: int, seed: int, threshold: float) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 12, (count, 2))
    boxes = np.concatenate([corners, corners + rng.integers(0, 9, (count, 2))], axis=1)
    scores = rng.integers(0, 5, count) / 4
    kept = vision.nms(boxes, scores, threshold)
    overlaps = vision.iou(boxes, boxes)
    for place, index in enumerate(kept):  # no two kept ones overlap, and they fall
        assert (overlaps[index, kept[:place]] <= threshold).all()
        assert place == 0 or scores[kept[place - 1]] >= scores[index]
    for index in set(range(count)) - set(kept.tolist()):  # each one that went overlaps a better one
        better = kept[scores[kept] >= scores[index]]
        assert (overlaps[index, better] > threshold).any()


def test_thresholds_and_limits() -> None:
    boxes = np.array([[0, 0, 1, 1], [5, 5, 6, 6], [9, 9, 10, 10]])
    scores = np.array([0.2, 0.9, 0.5])
    assert vision.nms(boxes, scores).tolist() == [1, 2, 0]
    assert vision.nms(boxes, scores, score_threshold=0.5).tolist() == [1, 2]
    assert vision.nms(boxes, scores, limit=1).tolist() == [1]
    half = np.array([[0, 0, 2, 1], [0, 0, 1, 1]])  # an overlap of exactly 0.5 is not larger than 0.5
    assert vision.nms(half, scores[:2], 0.5).tolist() == [1, 0]
    assert vision.nms(half, scores[:2], 0.49).tolist() == [1]
    empty = vision.nms(np.zeros((0, 4)), np.zeros(0))
    assert empty.shape == (0,) and empty.dtype == np.int64
    with pytest.raises(ValueError, match=r"boxes have the shape \(n, 4\), not \(3, 5\)"):
        vision.nms(np.zeros((3, 5)), scores)
    with pytest.raises(ValueError, match=r"differ in length: \(3, 4\), \(2,\)"):
        vision.nms(boxes, scores[:2])


def test_iou() -> None:
    boxes = np.array([[0, 0, 4, 4], [2, 2, 2, 2], [4, 4, 8, 8]])
    np.testing.assert_array_equal(vision.iou(boxes, boxes), np.diag([1.0, 0.0, 1.0]))
    assert vision.iou(boxes, boxes[:0]).shape == (3, 0)


# --- scores


def test_softmax_and_sigmoid() -> None:
    logits = np.array([[1.0, 2.0, 3.0], [-1000.0, 0.0, 1000.0]], np.float32)
    probabilities = vision.softmax(logits)
    assert probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(probabilities[0], [0.09003057, 0.24472848, 0.66524094], rtol=1e-6)
    np.testing.assert_allclose(vision.softmax(logits, axis=0).sum(axis=0), 1, rtol=1e-6)
    assert vision.softmax(np.array([3, 3])).tolist() == [0.5, 0.5]
    assert vision.softmax(np.array([1, 2], np.float16)).dtype == np.float32
    np.testing.assert_allclose(vision.sigmoid(logits[0]), 1 / (1 + np.exp(-logits[0])), rtol=1e-6)
    assert vision.sigmoid(np.array([0], np.int64)).tolist() == [0.5]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(1, 15), st.sampled_from(["uint8", "float32"]))
def test_top_k(values: list[int], k: int, dtype: str) -> None:
    best = vision.top_k(np.array(values, dtype), k, [f"class {i}" for i in range(len(values))])
    wanted = sorted(range(len(values)), key=lambda i: (-values[i], i))[:k]
    assert [entry["index"] for entry in best] == wanted
    assert [entry["label"] for entry in best] == [f"class {i}" for i in wanted]
    assert all(type(entry["score"]) in (int, float) for entry in best)


@pytest.mark.parametrize(
    "scores, options, said",
    [
        (np.zeros((1, 3)), {}, r"the scores of one item have the shape \(classes,\), not \(1, 3\)"),
        (np.zeros(3), {"k": 0}, "k=0: at least 1"),
        (np.zeros(3), {"labels": ["a"]}, "1 labels for 3 scores"),
        (np.array([0, np.nan]), {}, "1 of 2 scores are NaN"),
    ],
)
def test_what_has_no_best(scores: Array, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        vision.top_k(scores, **options)


@pytest.mark.parametrize("name", ["boxes", "picture_formats", "pixels", "resizing", "scores"])
def test_the_examples_in_the_docstrings(name: str) -> None:
    results = doctest.testmod(importlib.import_module(f"triton_pyb.runtime.{name}"))
    assert results.attempted and not results.failed


def test_the_face_is_complete() -> None:
    for name in vision.__all__:
        assert getattr(vision, name) is not None
    assert vision.__all__ == sorted(vision.__all__)
