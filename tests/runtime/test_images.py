"""Pictures: what is decoded, how, and what is refused, with Pillow and with OpenCV."""

from __future__ import annotations

import builtins
import io
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from triton_pyb import Annotated, Image, Tensor, model

from .requests import answered, refused, run

Array = np.ndarray[Any, Any]
LIBRARIES = ["Pillow", "OpenCV"]


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same test with Pillow, and where only OpenCV is installed."""
    if request.param == "OpenCV":
        hide(monkeypatch, "PIL")
    return str(request.param)


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """The packages are not installed, as the runtime sees it; the tests and Pillow itself still import them."""
    original = builtins.__import__

    def importing(name: str, globals: Any = None, *rest: Any) -> Any:
        if name.partition(".")[0] in packages and (globals or {}).get("__name__", "").startswith("triton_pyb.runtime"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return original(name, globals, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)


def encoded(picture: Pillow.Image, kind: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def corners() -> Pillow.Image:
    """Two by three, red at the top left, blue at the bottom right: no two orientations look alike."""
    picture = Pillow.new("RGB", (3, 2), (255, 255, 255))
    picture.putpixel((0, 0), (255, 0, 0))
    picture.putpixel((2, 1), (0, 0, 255))
    return picture


def large(mode: str = "RGB") -> Pillow.Image:
    """A smooth picture: JPEG changes it little."""
    ramp = np.linspace(0, 255, 64, dtype=np.uint8)
    array = np.stack([np.tile(ramp, (48, 1)), np.tile(ramp[::-1], (48, 1)), np.full((48, 64), 90, np.uint8)], axis=-1)
    return Pillow.fromarray(array).convert(mode)


def decoded(data: bytes, mode: str = "RGB", max_pixels: int = 10**6) -> Array:
    """What the function of a step gets."""
    seen: list[Array] = []

    @model(name="m")
    def step(
        picture: Annotated[Array, Image(mode, max_pixels=max_pixels)],
    ) -> Annotated[int, Tensor("INT64", (), name="n")]:
        seen.append(picture)
        return 1

    answered(run(step, {"picture": [data]})[0])
    (array,) = seen
    assert array.dtype == np.uint8 and array.flags.c_contiguous and array.flags.writeable
    return array


def rejected(data: bytes, max_pixels: int = 10**6, status: str = "INVALID_ARG") -> str:
    @model(name="m")
    def step(picture: Annotated[Array, Image(max_pixels=max_pixels)]) -> Annotated[int, Tensor("INT64", (), name="n")]:
        raise AssertionError("called")

    return refused(run(step, {"picture": [data]})[0], status)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF"])
def test_a_lossless_picture_arrives_pixel_by_pixel(library: str, kind: str) -> None:
    np.testing.assert_array_equal(decoded(encoded(corners(), kind)), np.asarray(corners()))


def test_a_jpeg_arrives_nearly(library: str) -> None:
    array = decoded(encoded(large(), "JPEG", quality=95))
    assert array.shape == (48, 64, 3)
    assert np.abs(array.astype(int) - np.asarray(large())).mean() < 2


def test_channel_order_and_gray(library: str) -> None:
    data = encoded(corners())
    rgb, bgr, gray = (decoded(data, mode) for mode in ("RGB", "BGR", "GRAY"))
    assert rgb[0, 0].tolist() == [255, 0, 0] and bgr[0, 0].tolist() == [0, 0, 255]
    np.testing.assert_array_equal(rgb, bgr[:, :, ::-1])
    assert gray.shape == (2, 3) and gray[0, 1] == 255 and abs(int(gray[0, 0]) - 76) <= 1


def test_gray_becomes_three_equal_channels(library: str) -> None:
    array = decoded(encoded(large("L")))
    assert array.shape == (48, 64, 3)
    np.testing.assert_array_equal(array[..., 0], np.asarray(large("L")))
    np.testing.assert_array_equal(array[..., 0], array[..., 2])
    np.testing.assert_array_equal(decoded(encoded(large("L")), "GRAY"), np.asarray(large("L")))


def test_transparency_is_dropped(library: str) -> None:
    picture = corners().convert("RGBA")
    picture.putalpha(Pillow.new("L", (3, 2), 10))
    np.testing.assert_array_equal(decoded(encoded(picture)), np.asarray(corners()))


@pytest.mark.parametrize("mode", ["P", "1"])
def test_a_palette_and_two_colours(library: str, mode: str) -> None:
    picture = corners().convert(mode)
    np.testing.assert_array_equal(decoded(encoded(picture)), np.asarray(picture.convert("RGB")))


def test_a_palette_with_a_transparent_colour(library: str) -> None:
    array = decoded(encoded(corners().convert("P"), transparency=0))
    assert array.shape == (2, 3, 3)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_stands_upright(library: str, orientation: int) -> None:
    """All eight EXIF orientations of one picture are the same picture."""
    turned = {
        1: None,
        2: Pillow.Transpose.FLIP_LEFT_RIGHT,
        3: Pillow.Transpose.ROTATE_180,
        4: Pillow.Transpose.FLIP_TOP_BOTTOM,
        5: Pillow.Transpose.TRANSPOSE,
        6: Pillow.Transpose.ROTATE_90,
        7: Pillow.Transpose.TRANSVERSE,
        8: Pillow.Transpose.ROTATE_270,
    }[orientation]
    stored = large() if turned is None else large().transpose(turned)
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    array = decoded(encoded(stored, "JPEG", quality=95, exif=exif))
    assert array.shape == (48, 64, 3)
    assert np.abs(array.astype(int) - np.asarray(large())).mean() < 2


def test_sixteen_bits_are_scaled_and_not_clipped(library: str) -> None:
    values = np.array([[0, 257, 32896, 65535]], np.uint16)
    array = decoded(encoded(Pillow.fromarray(values)), "GRAY")
    assert np.abs(array.astype(int) - [[0, 1, 128, 255]]).max() <= 1
    assert decoded(encoded(Pillow.fromarray(values))).shape == (1, 4, 3)


def test_cmyk(library: str) -> None:
    array = decoded(encoded(large().convert("CMYK"), "JPEG", quality=95))
    assert array.shape == (48, 64, 3)
    assert np.abs(array.astype(int) - np.asarray(large())).mean() < 6


def test_one_pixel(library: str) -> None:
    assert decoded(encoded(Pillow.new("RGB", (1, 1), (1, 2, 3)))).tolist() == [[[1, 2, 3]]]


# --- refused


def test_nothing(library: str) -> None:
    message = rejected(b"")
    assert "model 'm', item 0 of 1, input 'picture': it is empty (0 bytes)" in message and message.endswith("[TPB221]")


@pytest.mark.parametrize(
    "data",
    [b"<!DOCTYPE html><html>404</html>", b"\x00" * 100, b"/9j/4AAQSkZJRgABAQ", b"\x89PNG", b"\xff\xd8\xff"],
    ids=["html", "zeros", "base64", "png head", "jpeg head"],
)
def test_what_is_no_picture(library: str, data: bytes) -> None:
    assert rejected(data).endswith("[TPB221]")


def test_what_is_no_picture_is_quoted(library: str) -> None:
    message = rejected(b"<!DOCTYPE html><html>404</html>")
    assert "it looks like an HTML page, as a failed download gives" in message


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
def test_a_truncated_picture(library: str, kind: str, share: float) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (48, 64, 3), np.uint8)
    data = encoded(Pillow.fromarray(noise), kind)
    message = rejected(data[: int(len(data) * share)])
    assert f"it begins like {kind}" in message and message.endswith("[TPB221]")


def test_a_jpeg_with_bytes_behind_its_end(library: str) -> None:
    """Cameras append trailers; the picture is whole."""
    assert decoded(encoded(large(), "JPEG") + b"\x00" * 10).shape == (48, 64, 3)


def test_a_jpeg_with_a_long_trailer(library: str) -> None:
    assert decoded(encoded(large(), "JPEG") + b"\x00" * 500).shape == (48, 64, 3)


def test_a_picture_above_the_limit(library: str) -> None:
    message = rejected(encoded(large()), max_pixels=1000)
    assert "it has 64 x 48 pixels, above the limit of 1000" in message and message.endswith("[TPB221]")
    assert decoded(encoded(large()), max_pixels=64 * 48).shape == (48, 64, 3)


def test_the_limit_is_read_from_the_header(library: str) -> None:
    """A small file of very many pixels must not be decoded first."""
    import cv2

    called = []

    def decoding(*args: Any) -> Any:
        called.append(args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cv2, "imdecode", decoding)
        rejected(encoded(Pillow.new("1", (3000, 3000))), max_pixels=1000)
    assert called == []


@pytest.mark.parametrize("data", [b"x", encoded(large())])
def test_where_no_library_is_installed_the_server_says_so(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    hide(monkeypatch, "PIL", "cv2")
    message = rejected(data, status="UNAVAILABLE")
    assert "neither Pillow nor OpenCV is installed where this model runs" in message


def test_both_libraries_agree_on_a_lossless_picture() -> None:
    noise = Pillow.fromarray(np.random.default_rng(1).integers(0, 255, (20, 30, 3), np.uint8))
    one = decoded(encoded(noise))
    with pytest.MonkeyPatch.context() as patch:
        hide(patch, "PIL")
        other = decoded(encoded(noise))
    np.testing.assert_array_equal(one, other)


# --- pictures of a joined call


@model(batch="stack", name="m")
def means(picture: Annotated[Array, Image()]) -> Annotated[Array, Tensor("FP64", (3,), name="mean")]:
    return picture.mean(axis=(1, 2)) if len(picture) else np.zeros((0, 3))


def test_pictures_of_different_sizes_in_different_requests_do_not_meet() -> None:
    small, wide = encoded(corners()), encoded(large())
    answers = run(means, {"picture": [wide]}, {"picture": [small, small]}, {"picture": [wide]}, {"picture": []})
    assert [answered(answer)["mean"].shape for answer in answers] == [(1, 3), (2, 3), (1, 3), (0, 3)]
    np.testing.assert_array_equal(answered(answers[0])["mean"], answered(answers[2])["mean"])


def test_pictures_of_different_sizes_in_one_request_are_refused_where_one_array_is_wanted() -> None:
    message = refused(run(means, {"picture": [encoded(corners()), encoded(large())]})[0], "INVALID_ARG")
    assert "input 'picture' brings pictures of several sizes in one request: 3 x 2, 64 x 48 [TPB227]" in message
