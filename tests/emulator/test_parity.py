"""`assert_same_preprocessing`: where serving differs from training, and why: each cause planted and found."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image as Pillow

from tests.pictures.make_corpus import drawing, encoded
from triton_pyb.emulator.parity import PreprocessingDiffers, assert_same_preprocessing
from triton_pyb.emulator.targets import EmulatorMisused
from triton_pyb.runtime import vision

from .parity_steps import doubled, preprocessing, scaled_only, several, with_opencv, with_pillow

Array = np.ndarray[Any, Any]
MEAN, STD = np.array(vision.IMAGENET_MEAN, np.float32), np.array(vision.IMAGENET_STD, np.float32)
RNG = np.random.default_rng(3)


def noisy(height: int, width: int) -> Array:
    noise = RNG.normal(0, 25, (height, width, 3))
    return np.asarray(np.clip(drawing(height, width) + noise, 0, 255), np.uint8)


def photo(height: int = 60, width: int = 90, **options: Any) -> bytes:
    return encoded(Pillow.fromarray(noisy(height, width)), "PNG", **options)


SAMPLES = [photo(), photo(64, 64), photo(90, 50)]


def opened(data: bytes) -> Pillow.Image:
    return Pillow.open(io.BytesIO(data)).convert("RGB")


def training(
    data: bytes,
    *,
    resample: Pillow.Resampling = Pillow.Resampling.BILINEAR,
    bgr: bool = False,
    mean: Array = MEAN,
    std: Array = STD,
    scale: float = 255,
    layout: str = "CHW",
) -> Array:
    """The same, written as training code is."""
    picture = opened(data)
    short = min(picture.size)
    picture = picture.resize((int(28 * picture.width / short), int(28 * picture.height / short)), resample)
    left, top = round((picture.width - 24) / 2), round((picture.height - 24) / 2)
    array = np.asarray(picture.crop((left, top, left + 24, top + 24)), np.float32)
    if bgr:
        array = array[:, :, ::-1]
    array = (array / np.float32(scale) - mean) / std
    return array if layout == "HWC" else array.transpose(2, 0, 1)


def found(training_fn: Callable[..., Any], step: Any = preprocessing, samples: list[Any] = SAMPLES) -> str:
    with pytest.raises(PreprocessingDiffers) as raised:
        assert_same_preprocessing(training_fn, step, samples)
    (difference,) = raised.value.differences
    assert difference.cause in str(raised.value)
    return difference.cause


def test_the_same_is_the_same() -> None:
    assert_same_preprocessing(training, preprocessing, SAMPLES)


def test_what_the_report_says() -> None:
    def third_is_off(data: bytes) -> Array:
        array = training(data)
        if data is SAMPLES[2]:
            array[1, 5, 7] += 0.5
        return array

    with pytest.raises(PreprocessingDiffers) as raised:
        assert_same_preprocessing(third_is_off, preprocessing, SAMPLES)
    (difference,) = raised.value.differences
    assert (difference.output, difference.sample, difference.samples) == ("pixels", 2, 1)
    assert difference.position == (1, 5, 7) and difference.max_abs == pytest.approx(0.5)
    assert difference.training - difference.serving == pytest.approx(0.5)
    lines = str(raised.value).splitlines()
    assert lines[0] == "serving differs from training in 1 outputs, 3 samples compared"
    assert lines[1] == "output 'pixels': 1 samples differ, the first is sample 2"
    assert lines[2].startswith("  largest distance 0.5 (relative ") and "at [1, 5, 7]: training " in lines[2]
    assert lines[3] == "  cause:  none of those that were tried"


# --- each cause, planted


def test_channel_order_of_the_output() -> None:
    """Reversed after the normalisation, as a stray [::-1] does."""
    cause = found(lambda data: training(data)[::-1])
    assert cause == "the channels of the output are in reverse order (RGB and BGR)"


def test_channel_order_of_the_input() -> None:
    """cv2.imread gives BGR, and the RGB mean is taken off it: reversing the output would not help."""
    assert found(lambda data: training(data, bgr=True)) == "training reads BGR where serving reads RGB"


def test_layout() -> None:
    assert found(lambda data: training(data, layout="HWC")) == "training puts the channels last (HWC), serving first"


def test_a_batch_axis() -> None:
    cause = found(lambda data: training(data)[np.newaxis])
    assert cause == "training adds a batch axis: index its result with [0]"


def test_mirrored() -> None:
    assert found(lambda data: training(data)[:, :, ::-1]) == "serving is mirrored"


def test_height_and_width() -> None:
    assert found(lambda data: training(data).swapaxes(1, 2)) == "height and width are swapped"


def raw(data: bytes, **options: Any) -> Array:
    zeros, ones = np.zeros(3, np.float32), np.ones(3, np.float32)
    return training(data, **{"mean": zeros, "std": ones, "scale": 1, **options})


def test_scale() -> None:
    assert found(raw, scaled_only) == "training gives 0...255 where serving gives 0...1: scale by 255"


def test_normalisation_left_out() -> None:
    cause = found(training, scaled_only)
    assert cause == "training normalises with ImageNet's mean and std, serving does not"


def test_normalisation_left_out_of_training() -> None:
    cause = found(raw)
    assert cause == "serving divides by 255 and normalises with ImageNet's mean and std, training does not"


def test_another_normalisation_with_a_name() -> None:
    half = np.full(3, 0.5, np.float32)
    cause = found(lambda data: training(data, mean=half, std=half), scaled_only)
    assert cause == "training normalises with mean 0.5 and std 0.5 (-1...1), serving does not"


def test_another_normalisation_without_a_name() -> None:
    cause = found(lambda data: training(data, mean=MEAN * 0, std=STD / STD * np.float32(0.1)), scaled_only)
    assert cause.startswith("another scale or normalisation: training = [10, 10, 10] x serving + [")


@pytest.mark.parametrize("resample", ["BICUBIC", "NEAREST", "LANCZOS"])
def test_interpolation(resample: str) -> None:
    cause = found(lambda data: training(data, resample=Pillow.Resampling[resample]))
    assert cause == f"training resizes like Pillow or torchvision, {resample.lower()}"


def test_the_other_library() -> None:
    """Trained with Pillow, served with cv2.resize, and BGR besides: two causes at once."""

    def trained(data: bytes) -> Array:
        return np.asarray(opened(data).resize((24, 24), Pillow.Resampling.BILINEAR), np.float32)

    cause = found(lambda data: trained(data)[:, :, ::-1], with_opencv)
    assert cause == "training resizes like Pillow or torchvision, bilinear"
    cause = found(trained, with_opencv)
    assert cause == (
        "training resizes like Pillow or torchvision, bilinear; "
        "the channels of the output are in reverse order (RGB and BGR)"
    )


def test_opencvs_other_interpolations() -> None:
    def with_area(data: bytes) -> Array:
        image = cv2.cvtColor(np.asarray(opened(data)), cv2.COLOR_RGB2BGR)
        return np.asarray(cv2.resize(image, (24, 24), interpolation=cv2.INTER_AREA), np.float32)

    assert found(with_area, with_opencv) == "training resizes like OpenCV, area"


def test_a_step_that_uses_pillow_itself() -> None:
    def trained(data: bytes) -> Array:
        return np.asarray(cv2.resize(np.asarray(opened(data)), (24, 24)), np.float32)

    assert found(trained, with_pillow) == "training resizes like OpenCV, bilinear"


def test_orientation() -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 6
    turned = photo(60, 90, exif=exif)
    assert found(training, samples=[turned]) == "training ignores the EXIF orientation (6), serving applies it"


def test_grey() -> None:
    def grey(data: bytes) -> Array:
        picture = Pillow.open(io.BytesIO(data)).convert("L").convert("RGB")
        return training(encoded(picture, "PNG"))

    assert found(grey) == "training reads the picture in grey"


def test_nearly() -> None:
    """Another interpolation, and a little noise besides: the cause is named, and what it leaves over."""

    def blurred(data: bytes) -> Array:
        array = training(data, resample=Pillow.Resampling.NEAREST)
        return array + np.random.default_rng(0).uniform(-1e-3, 1e-3, array.shape).astype(np.float32)

    cause = found(blurred)
    assert cause.startswith("mostly: training resizes like Pillow or torchvision, nearest (a distance of 0.00")


def test_rounding() -> None:
    def other_decoder(data: bytes) -> Array:
        return np.asarray(raw(data) + np.random.default_rng(0).integers(-1, 2, (3, 24, 24)), np.float32) / 255

    cause = found(other_decoder, scaled_only)
    assert cause.startswith("none found, but it is as little as rounding or another JPEG decoder changes: 0.0039")
    assert_same_preprocessing(other_decoder, scaled_only, SAMPLES, atol=0.004)


def test_no_cause() -> None:
    noise = np.random.default_rng(0).normal(size=(3, 24, 24)).astype(np.float32)
    assert found(lambda data: noise) == ""
    assert found(lambda data: training(data)[:, :20]) == ""


def test_shapes_are_told() -> None:
    with pytest.raises(PreprocessingDiffers, match=r"shape:  training \[3, 20, 24\], serving \[3, 24, 24\]"):
        assert_same_preprocessing(lambda data: training(data)[:, :20], preprocessing, SAMPLES)


def test_nothing_stays_patched() -> None:
    before = cv2.resize, Pillow.Image.resize
    found(lambda data: -(training(data) ** 2))
    assert (cv2.resize, Pillow.Image.resize) == before


# --- inputs and outputs of other kinds


def test_samples_are_paths_arrays_and_pictures(tmp_path: Path) -> None:
    array = noisy(40, 50)
    data = encoded(Pillow.fromarray(array), "PNG")
    (tmp_path / "a.png").write_bytes(data)
    wanted = training(data)
    samples = [tmp_path / "a.png", array, Pillow.fromarray(array), data]
    seen = []

    def remembered(sample: Any) -> Array:
        seen.append(sample)
        return wanted

    assert_same_preprocessing(remembered, preprocessing, samples)
    assert [id(sample) for sample in seen] == [id(sample) for sample in samples]


def test_several_inputs_and_outputs() -> None:
    def trained(image: bytes, offset: list[float], title: str = "none") -> dict[str, Any]:
        pixels = raw(image, scale=255) + np.float32(offset[0])
        return {"pixels": pixels, "size": opened(image).size[::-1], "words": {"title": title}}

    samples = [{"image": SAMPLES[0], "offset": [2.0]}, {"image": SAMPLES[2], "offset": [0.0], "title": "b"}]
    assert_same_preprocessing(trained, several, samples)

    def wrong(image: bytes, offset: list[float], title: str = "none") -> tuple[Any, ...]:
        result = trained(image, offset, title)
        return result["pixels"], result["size"][::-1], {"title": title.upper()}

    with pytest.raises(PreprocessingDiffers) as raised:
        assert_same_preprocessing(wrong, several, samples)
    size, words = raised.value.differences
    assert (size.output, size.sample, size.training, size.serving) == ("size", 0, 90.0, 60.0)
    assert (words.output, words.sample, words.samples) == ("words", 0, 2)
    assert "  value:  training {'title': 'NONE'}, serving {'title': 'none'}" in str(raised.value)


class FakeTensor:
    """As much of a torch tensor as is asked for."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def detach(self) -> FakeTensor:
        return self

    cpu = detach

    def numpy(self) -> Array:
        return self.array


def test_a_torch_tensor() -> None:
    assert_same_preprocessing(lambda data: FakeTensor(training(data)), preprocessing, SAMPLES[:1])


def test_a_step_without_pictures() -> None:
    samples = [np.array([1, 2, 3]), np.array([4.5, 5, 6])]
    assert_same_preprocessing(lambda x: x * 2, doubled, samples)
    assert found(lambda x: x * 6 + 1, doubled, samples).startswith(
        "another scale or normalisation: training = [3] x serving + [1]"
    )
    with pytest.raises(PreprocessingDiffers, match="training nan, serving 2"):
        assert_same_preprocessing(lambda x: x * np.nan, doubled, samples)


# --- misused


@pytest.mark.parametrize(
    "code, training_fn, step, samples, said",
    [
        ("TPB580", training, training, SAMPLES, "is not marked as a step"),
        ("TPB581", training, preprocessing, [], "there are no samples"),
        ("TPB582", lambda data: {"pixel": 1}, preprocessing, SAMPLES, "returned 'pixel'; did you mean 'pixel'"),
        ("TPB583", training, preprocessing, [{"picture": b""}], "no argument 'picture'"),
        ("TPB583", training, several, [b""], "a sample does not fit the step: it names no input"),
    ],
)
def test_misused(code: str, training_fn: Any, step: Any, samples: list[Any], said: str) -> None:
    with pytest.raises(EmulatorMisused) as raised:
        assert_same_preprocessing(training_fn, step, samples)
    assert raised.value.code == code and said in raised.value.what
