"""A hundred kinds of picture file: Pillow and OpenCV decode the same, and refuse the same."""

from __future__ import annotations

import base64
import re
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from tests.pictures import make_corpus
from tests.pictures.make_corpus import Sample, drawing, encoded
from tests.pictures.wrong_bytes import WRONG
from triton_pyb.runtime import picture_headers
from triton_pyb.runtime.errors import Unavailable
from triton_pyb.runtime.images import NoPicture, decode_image, encode_image
from triton_pyb.runtime.picture_formats import look, picture_name
from triton_pyb.runtime.picture_headers import read_header

Array = np.ndarray[Any, Any]
CORPUS = make_corpus.make_corpus()
JPEG = encoded(make_corpus.RGB, "JPEG", quality=95)
PNG = encoded(make_corpus.RGB, "PNG")
LIBRARIES = ["pillow", "opencv"]
GRAY_BOUND = 1  # of 255: the two libraries round the weights of the colours differently


def distance(one: Array, other: Array) -> int:
    return int(np.abs(one.astype(int) - other.astype(int)).max())


def each(samples: list[Sample]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("sample", samples, ids=[sample.name for sample in samples])


def test_the_corpus_is_large() -> None:
    assert len({sample.name for sample in CORPUS}) == len(CORPUS) > 100
    assert {sample.name.rpartition(".")[2] for sample in CORPUS} >= {"jpg", "png", "webp", "gif", "bmp", "tif", "jp2"}


@each(CORPUS)
def test_a_whole_picture(sample: Sample) -> None:
    """What each library makes of it, and that the two agree."""
    for mode in ("RGB", "BGR", "GRAY"):
        first = decode_image(sample.data, mode, library="pillow")
        assert first.dtype == np.uint8 and first.flags.c_contiguous and first.flags.writeable
        assert first.shape == (sample.shape if mode == "GRAY" else (*sample.shape, 3))
        if sample.opencv:
            second = decode_image(sample.data, mode, library="opencv")
            assert second.dtype == np.uint8 and second.flags.c_contiguous and second.flags.writeable
            assert second.shape == first.shape
            assert distance(first, second) <= sample.bound + (GRAY_BOUND if mode == "GRAY" else 0)


@each([sample for sample in CORPUS if sample.like is not None])
def test_a_whole_picture_shows_the_drawing_upright(sample: Sample) -> None:
    array = decode_image(sample.data, library="pillow")
    away = np.abs(array.astype(int) - drawing(*sample.shape)).mean()
    assert away <= sample.like if sample.like else away == 0


@each([sample for sample in CORPUS if not sample.opencv])
def test_what_opencv_cannot_read_is_said(sample: Sample) -> None:
    with pytest.raises(NoPicture) as raised:
        decode_image(sample.data, library="opencv")
    assert "OpenCV" in str(raised.value) or "no format known here" in str(raised.value)
    assert "PNG" in raised.value.fix


def test_what_is_kept_from_every_opencv() -> None:
    """Also by those that would read them, otherwise than Pillow does."""
    files = {sample.name: sample.data for sample in CORPUS}
    with pytest.raises(NoPicture, match="it is a GIF, which OpenCV does not read here; send it as PNG"):
        decode_image(files["still.gif"], library="opencv")
    with pytest.raises(NoPicture, match="it is a JPEG2000, which OpenCV does not read here; send it as PNG"):
        decode_image(files["rgb.jp2"], library="opencv")
    with pytest.raises(NoPicture, match="it is a TIFF with an alpha channel, by which OpenCV darkens the colours"):
        decode_image(files["rgba.tif"], library="opencv")


def test_an_animation_that_would_end_the_process() -> None:
    """A frame that lies outside the picture: OpenCV 4.11 writes past its memory, and so never sees it."""
    files = {sample.name: sample.data for sample in CORPUS}
    data = bytearray(files["animated.png"])
    control = data.index(b"fcTL")
    data[control + 4 + 12 : control + 4 + 20] = b"\xff\xff\0\0\xff\xff\0\0"  # where it begins
    data[control + 4 + 26 : control + 4 + 30] = zlib.crc32(data[control : control + 4 + 26]).to_bytes(4, "big")
    np.testing.assert_array_equal(decode_image(bytes(data), library="opencv"), drawing())
    still = picture_headers.still_png(bytes(data))
    assert b"fcTL" not in still and b"acTL" not in still and picture_headers.read_header(still) is not None


@pytest.mark.parametrize("share", [0.12, 0.5, 0.9])
@each([sample for sample in CORPUS if sample.name not in make_corpus.WHOLE_WHEN_CUT])
def test_a_truncated_picture_is_refused_by_both(sample: Sample, share: float) -> None:
    (cut,) = make_corpus.truncated([sample], share)
    for library in LIBRARIES:
        with pytest.raises(NoPicture) as raised:
            decode_image(cut.data, library=library)
        what = str(raised.value)
        if read_header(sample.data):
            kind = read_header(sample.data)
            assert kind is not None
            assert f"it begins like {kind.format} and is truncated: " in what or "it looks like" in what
            assert "send" in what


def test_a_picture_whose_second_half_is_another_picture_counts_as_whole() -> None:
    """The second picture of an MPO is cut, the first is there."""
    (sample,) = [sample for sample in CORPUS if sample.name == "two_pictures.mpo"]
    for library in LIBRARIES:
        assert decode_image(sample.data[:-100], library=library).shape == (48, 64, 3)


def test_the_name_of_a_file_does_not_matter() -> None:
    """A client's file name never arrives: the bytes alone say what they are."""
    files = make_corpus.renamed(CORPUS)
    assert sum(now.name != before.name for now, before in zip(files, CORPUS, strict=True)) > 10
    for sample in files:
        assert decode_image(sample.data).shape[:2] == sample.shape


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_damaged_png(library: str) -> None:
    damaged = bytearray(PNG)
    damaged[len(PNG) // 2] ^= 0x55
    with pytest.raises(NoPicture, match="begins like PNG and is damaged: wrong checksum of the IDAT chunk at byte"):
        decode_image(bytes(damaged), library=library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_jpeg_that_is_all_header(library: str) -> None:
    with pytest.raises(NoPicture, match="it begins like JPEG and holds no picture; send the whole file, unchanged"):
        decode_image(b"\xff\xd8\xff\xe0\x00\x04ab\xff\xd9", library=library)


def test_a_picture_that_only_the_decoder_finds_damaged() -> None:
    """The header is right, the coded data are not."""
    damaged = JPEG.replace(b"\xff\xdb", b"\xff\xe9")  # the quantisation tables, called something else
    with pytest.raises(
        NoPicture, match="it begins like JPEG and is damaged: broken data stream when .*; send the whole file"
    ):
        decode_image(damaged, library="pillow")
    with pytest.raises(NoPicture, match="it begins like JPEG, and OpenCV cannot read it; convert it to JPEG or PNG"):
        decode_image(damaged, library="opencv")


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_an_orientation_that_is_none(orientation: int) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    for library in LIBRARIES:
        assert decode_image(encoded(make_corpus.RGB, "JPEG", exif=exif), library=library).shape == (48, 64, 3)


def test_the_orientation_of_a_webp_with_the_jpeg_form_of_exif() -> None:
    """Some writers put the six bytes ``Exif\\0\\0`` of a JPEG before the block."""
    exif = Pillow.Exif()
    exif[0x0112] = 6
    plain = encoded(make_corpus.RGB, "WEBP", lossless=True, exif=exif)
    start = plain.index(b"EXIF")
    block = b"Exif\0\0" + plain[start + 8 :].removeprefix(b"Exif\0\0")
    data = plain[:start] + b"EXIF" + len(block).to_bytes(4, "little") + block
    data = data[:4] + (len(data) - 8).to_bytes(4, "little") + data[8:]
    assert decode_image(plain).shape == decode_image(data, library="opencv").shape == (64, 48, 3)


@pytest.mark.parametrize("blob", [b"Exif\0\0MM\0*\0\0\xff\xff", b"Exif\0\0", b"Exif\0\0XX"])
def test_a_broken_exif_block(blob: bytes) -> None:
    data = JPEG[:2] + b"\xff\xe1" + (len(blob) + 2).to_bytes(2, "big") + blob + JPEG[2:]
    np.testing.assert_array_equal(decode_image(data, library="opencv"), decode_image(JPEG, library="opencv"))


# --- too many pixels


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "JPEG2000", "PPM", "PCX"])
def test_the_limit_is_checked_before_a_pixel_is_decoded(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    import cv2
    from PIL import ImageFile

    def forbidden(*_: object) -> None:
        raise AssertionError("decoded")

    monkeypatch.setattr(cv2, "imdecode", forbidden)
    monkeypatch.setattr(ImageFile.ImageFile, "load", forbidden)
    data = encoded(make_corpus.RGB, kind)
    for library in LIBRARIES if kind != "PCX" else LIBRARIES[:1]:
        with pytest.raises(NoPicture) as raised:
            decode_image(data, max_pixels=1000, library=library)
        assert str(raised.value) == "it has 64 x 48 pixels, above the limit of 1000; send a smaller one"


def test_a_decompression_bomb() -> None:
    """100 million black pixels in 12 KB."""
    bomb = encoded(Pillow.new("1", (10_000, 10_000)), "PNG")
    assert len(bomb) < 20_000
    for library in LIBRARIES:
        with pytest.raises(NoPicture, match="10000 x 10000 pixels, above the limit of 89478485"):
            decode_image(bomb, library=library)


def test_pillows_own_limit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pillow, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(NoPicture, match="Pillow refuses it, DecompressionBombError: .*exceeds limit of 200 pixels"):
        decode_image(PNG, library="pillow")


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_pixels(library: str) -> None:
    with pytest.raises(NoPicture, match="it has 0 x 5 pixels: none at all; send a picture with pixels"):
        decode_image(b"P5\n0 5\n255\n", library=library)


def test_a_file_of_very_many_parts_is_not_walked_to_its_end() -> None:
    jpeg = b"\xff\xd8" + b"\xff\xfe\x00\x02" * 600_000 + JPEG[2:]
    text = b"\0\0\0\0tEXt" + zlib.crc32(b"tEXt").to_bytes(4, "big")
    png = PNG[:33] + text * 600_000 + PNG[33:]
    gif = encoded(make_corpus.RGB, "GIF")
    gif = gif[:-1] + b"!\xfe" + b"\1a" * 600_000 + b"\0;"
    webp = encoded(make_corpus.RGB, "WEBP") + b"NONE\0\0\0\0" * 600_000
    webp = webp[:4] + (len(webp) - 8).to_bytes(4, "little") + webp[8:]
    for data in (jpeg, png, gif, webp):
        for library in LIBRARIES:
            with pytest.raises(NoPicture, match=r"it begins like \w+ and is made of more than 500000 parts; send"):
                decode_image(data, library=library)


def test_a_tiff_whose_directories_say_a_million_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same long table of strips in ten thousand directories: looked at a few times, not ten thousand."""
    strips = 100_000
    table = bytes(4 * strips)
    directory = struct.pack("<HHHIIHHIIHHII", 3, 256, 4, 1, 5, 273, 4, strips, 8, 279, 4, strips, 8)
    first = 8 + len(table)
    pages = b"".join(directory + struct.pack("<I", first + (page + 1) * (len(directory) + 4)) for page in range(10_000))
    looked_at: list[object] = []
    original = picture_headers._tiff_tags

    def counted(data: bytes, order: str, position: int) -> Any:
        looked_at.append(position)
        return original(data, order, position)

    monkeypatch.setattr(picture_headers, "_tiff_tags", counted)
    header = read_header(b"II*\0" + struct.pack("<I", first) + table + pages + bytes(64))
    assert header is not None and header.format == "TIFF" and header.animated
    assert len(looked_at) < 10


# --- several frames


@pytest.mark.parametrize("name", ["animated.gif", "animated.png", "animated.webp", "pages.tif"])
def test_the_first_of_several_frames_or_none(name: str) -> None:
    (sample,) = [sample for sample in CORPUS if sample.name == name]
    for library in LIBRARIES if sample.opencv else LIBRARIES[:1]:
        first = decode_image(sample.data, library=library, animated="first")
        assert first[0, -1, 0] > first[-1, 0, 0]  # the other frame is turned by 180 degrees
        with pytest.raises(NoPicture, match=r"it is a \w+ with several frames or pages; send a single one"):
            decode_image(sample.data, library=library, animated="refuse")


@each([sample for sample in CORPUS if sample.name in ("rgb.png", "still.gif", "lossless.webp", "raw.tif", "420.jpg")])
def test_a_single_frame_passes_where_several_are_refused(sample: Sample) -> None:
    assert decode_image(sample.data, animated="refuse").shape == (48, 64, 3)


def test_a_misspelt_word_for_several_frames() -> None:
    (sample,) = [sample for sample in CORPUS if sample.name == "animated.gif"]
    with pytest.raises(ValueError, match="animated='all' is neither 'first' nor 'refuse'"):
        decode_image(sample.data, animated="all")


# --- base64


@pytest.mark.parametrize(
    "text",
    [
        base64.b64encode(JPEG),
        base64.encodebytes(JPEG),
        base64.urlsafe_b64encode(JPEG).rstrip(b"="),
        b"data:image/jpeg;base64," + base64.b64encode(JPEG),
        b"data:;base64," + base64.b64encode(JPEG),
        b"DATA:image/jpeg;charset=utf-8;BASE64," + base64.b64encode(JPEG),
        b"  " + base64.b64encode(JPEG) + b"\n",
        b"data:image/jpeg;base64," + base64.b64encode(JPEG).replace(b"+", b"%2B").replace(b"/", b"%2F"),
        JPEG,
    ],
    ids=["plain", "lines", "url alphabet", "data url", "no type", "capitals", "spaces", "percent", "bytes"],
)
def test_base64_where_it_is_wanted(text: bytes) -> None:
    np.testing.assert_array_equal(decode_image(text, base64=True), decode_image(JPEG))


@pytest.mark.parametrize("kind", ["PPM", "PCX", "BMP"])
def test_pictures_without_a_telling_signature_pass_where_base64_is_wanted(kind: str) -> None:
    data = encoded(make_corpus.RGB, kind)
    np.testing.assert_array_equal(decode_image(data, base64=True), drawing())


def test_base64_of_something_else() -> None:
    with pytest.raises(NoPicture, match="it looks like base64 text, and what stands in it like a PDF document"):
        decode_image(base64.b64encode(b"%PDF-1.7 and more of it"), base64=True)
    with pytest.raises(NoPicture, match="it is base64 text of 0 bytes"):
        decode_image(b"data:image/png;base64,=", base64=True)
    with pytest.raises(NoPicture, match="begins like JPEG and is truncated"):
        decode_image(base64.b64encode(JPEG[:500]), base64=True)


# --- reduced


@pytest.mark.parametrize("orientation", [1, 6])
@pytest.mark.parametrize(
    "reduce_to, divisor",
    [((601, 1), 1), ((300, 400), 2), ((301, 400), 1), ((150, 200), 4), ((75, 100), 8), ((1, 1), 8), ((76, 3), 4)],
)
def test_a_large_jpeg_is_decoded_reduced(orientation: int, reduce_to: tuple[int, int], divisor: int) -> None:
    """Never smaller than asked for, and what comes is the picture averaged."""
    upright = Pillow.fromarray(drawing(600, 800))
    stored = upright.transpose(Pillow.Transpose.ROTATE_90) if orientation == 6 else upright
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    data = encoded(stored, "JPEG", quality=95, exif=exif)
    wanted = upright.reduce(divisor) if divisor > 1 else upright
    arrays = [decode_image(data, library=library, reduce_to=reduce_to) for library in LIBRARIES]
    for array in arrays:
        assert array.shape == (600 // divisor, 800 // divisor, 3)
        assert np.abs(array.astype(int) - np.asarray(wanted)).mean() < 2
    assert distance(*arrays) <= 1


def test_odd_sizes_are_reduced_alike() -> None:
    for height, width in ((601, 803), (599, 797), (17, 16), (9, 15)):
        data = encoded(Pillow.fromarray(drawing(height, width)), "JPEG", quality=95)
        for divisor in (2, 4, 8):
            reduce_to = (max(1, height // divisor), max(1, width // divisor))
            one, other = (decode_image(data, library=library, reduce_to=reduce_to) for library in LIBRARIES)
            assert one.shape == other.shape and one.shape[0] >= reduce_to[0] and one.shape[1] >= reduce_to[1]
            assert distance(one, other) <= 1


def test_other_formats_come_at_full_size() -> None:
    for library in LIBRARIES:
        assert decode_image(PNG, library=library, reduce_to=(6, 8)).shape == (48, 64, 3)


# --- the guide


def _documented() -> list[tuple[list[str], list[str]]]:
    """(names, [Pillow, OpenCV, difference]) of the table in docs/pictures.md."""
    text = (Path(__file__).parents[2] / "docs" / "pictures.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ") and line.count("|") == 6]
    return [(re.findall("`(.+?)`", row[1]), [cell.strip() for cell in row[2:]]) for row in rows]


@each(CORPUS)
def test_the_guide_says_what_is_read(sample: Sample) -> None:
    table = _documented()
    exact = [row for row in table if sample.name in row[0]]
    ending = "." + sample.name.rpartition(".")[2].replace("jpeg", "jpg")
    rows = exact or [row for row in table if ending in row[0]]
    assert len(rows) == 1, f"{len(rows)} rows for {sample.name}"
    pillow, opencv, difference = rows[0][1]
    assert pillow.startswith(("yes", "the first", "Pillow 11.3"))
    assert (opencv != "no") == sample.opencv
    assert difference == (str(sample.bound) if sample.opencv else "")


# --- what is no picture


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_picture_says_what_it_looks_like(name: str, library: str) -> None:
    data, like, fix = WRONG[name]
    with pytest.raises(NoPicture) as raised:
        decode_image(data, library=library)
    assert like in str(raised.value)
    assert fix in str(raised.value)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 260


def test_numbers_of_32_bits() -> None:
    for mode, said in (("F", "32 bit floating point numbers"), ("I", "32 bit whole numbers")):
        with pytest.raises(NoPicture, match=f"it is a TIFF of {said}; scale it to 8 bits, or send the numbers as a"):
            decode_image(encoded(make_corpus.RGB.convert("L").convert(mode), "TIFF"), library="pillow")


def test_any_bytes_are_answered() -> None:
    """No beginning of a picture and no noise makes it fail in another way."""
    rng = np.random.default_rng(0)
    heads = [sample.data[:40] for sample in CORPUS[::6]] + [b"", b"BM", b"P6 ", b"{", b"data:", b"\xff\xd8"]
    for head in heads:
        for size in (0, 1, 7, 64, 300):
            data = head + rng.integers(0, 256, size, np.uint8).tobytes()
            with pytest.raises(NoPicture):
                decode_image(data, base64=True)
            assert look(data).like


def test_picture_names() -> None:
    unnamed = {".bmp", ".ppm", ".pgm", ".pbm", ".pcx", ".sgi"}
    for sample in CORPUS:
        assert bool(picture_name(sample.data)) == (sample.name[-4:] not in unnamed), sample.name


# --- which library


def test_without_the_library() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "PIL", None)
        patch.setitem(sys.modules, "PIL.Image", None)
        np.testing.assert_array_equal(decode_image(PNG), drawing())  # OpenCV is there
        with pytest.raises(Unavailable, match="Pillow is not installed"):
            decode_image(PNG, library="pillow")
        patch.setitem(sys.modules, "cv2", None)
        with pytest.raises(Unavailable, match="OpenCV is not installed"):
            decode_image(PNG, library="opencv")
        with pytest.raises(Unavailable, match="neither Pillow nor OpenCV is installed where this model runs"):
            decode_image(PNG)
        with pytest.raises(Unavailable, match="neither Pillow nor OpenCV"):
            encode_image(drawing())
    with pytest.raises(ValueError, match="library='PIL' is neither 'pillow' nor 'opencv'"):
        decode_image(PNG, library="PIL")


# --- encoded


@pytest.mark.parametrize("mode", ["RGB", "BGR", "GRAY"])
@pytest.mark.parametrize("format, bound", [("PNG", 0), ("JPEG", 40), ("WEBP", 60)])
def test_what_is_encoded_comes_back(mode: str, format: str, bound: int) -> None:
    array = np.asarray(make_corpus.GREY) if mode == "GRAY" else drawing()
    back = []
    for library in LIBRARIES:
        data = encode_image(array, mode, format, quality=95, library=library)
        header = read_header(data)
        assert header is not None and header.format == format and not header.fault
        back.append(decode_image(data, mode))
        assert np.abs(back[-1].astype(int) - array).mean() <= bound / 10
        if not bound:
            np.testing.assert_array_equal(back[-1], array)
    assert distance(*back) <= (1 if mode == "GRAY" and format == "WEBP" else 0)


@pytest.mark.parametrize("library", LIBRARIES)
def test_quality_costs_bytes(library: str) -> None:
    for format in ("JPEG", "WEBP"):
        small, large = (len(encode_image(drawing(), "RGB", format, quality, library=library)) for quality in (20, 95))
        assert small < large


@pytest.mark.parametrize("library", LIBRARIES)
def test_strides_and_a_single_channel(library: str) -> None:
    flipped = drawing()[::-1, ::2]
    np.testing.assert_array_equal(decode_image(encode_image(flipped, "BGR", "PNG", library=library), "BGR"), flipped)
    grey = np.asarray(make_corpus.GREY)[:, :, np.newaxis]
    data = encode_image(grey, "GRAY", "PNG", library=library)
    np.testing.assert_array_equal(decode_image(data, "GRAY"), grey[:, :, 0])


@pytest.mark.parametrize(
    "array, options, said",
    [
        (
            drawing().astype(np.float32),
            {},
            "a RGB picture is UINT8 of shape (height, width, 3), not float32: scale to 0",
        ),
        (drawing().transpose(2, 0, 1), {}, "a RGB picture has the shape (height, width, 3), not (3, 48, 64)"),
        (drawing(), {"mode": "GRAY"}, "a GRAY picture has the shape (height, width), not (48, 64, 3)"),
        (drawing()[:0], {}, "64 x 0 pixels: JPEG holds 1 to 65500 in each direction"),
        (np.zeros((1, 16384, 3), np.uint8), {"format": "WEBP"}, "16384 x 1 pixels: WEBP holds 1 to 16383"),
        (drawing(), {"format": "GIF"}, "format='GIF' is none of JPEG, PNG, WEBP"),
        (drawing(), {"quality": 0}, "quality=0 is not between 1 and 100"),
    ],
)
def test_what_cannot_be_encoded(array: Array, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as raised:
        encode_image(array, **options)
    assert said in str(raised.value)
