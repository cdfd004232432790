"""Every kind of picture file a client may send, made from one drawing; run it to look at them.

``python -m tests.pictures.make_corpus FOLDER`` writes them all.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, features

Array = np.ndarray[Any, Any]
HEIGHT, WIDTH = 48, 64
#: More than a picture is in these, and only the rest is cut off; the text form of PPM says no length.
WHOLE_WHEN_CUT = ("two_pictures.mpo", "trailer.jpg", "zeros_behind.jpg", "trailer.png", "text.ppm")


class Sample(NamedTuple):
    """One file.

    ``opencv`` is False where only Pillow reads it, ``bound`` is how far the two may be apart in RGB, ``like`` is the
    largest mean distance from the drawing (None: the drawing was changed on purpose).
    """

    name: str
    data: bytes
    bound: int = 0
    opencv: bool = True
    like: float | None = 0.0
    shape: tuple[int, int] = (HEIGHT, WIDTH)


def drawing(height: int = HEIGHT, width: int = WIDTH) -> Array:
    """Smooth colours and one hard edge; no two corners and no two channels alike."""
    y, x = np.mgrid[0:height, 0:width]
    red = x * 255 // max(width - 1, 1)
    green = y * 255 // max(height - 1, 1)
    blue = np.where(x + y < (width + height) // 3, 220, 40)
    colours: Array = np.stack([red, green, blue], axis=-1).astype(np.uint8)
    return colours


def encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    if "append_images" in options:
        options["append_images"] = [frame.copy() for frame in options["append_images"]]
    picture.copy().save(buffer, kind, **options)  # a picture remembers options of the last save
    return buffer.getvalue()


RGB = Image.fromarray(drawing())
ALPHA = Image.fromarray(np.dstack([drawing(), drawing()[:, ::-1, 0]]))
GREY = RGB.convert("L")
GREY16 = Image.fromarray(np.asarray(GREY).astype(np.uint16) * 257)
PALETTE = RGB.quantize(32)
INK = RGB.convert("1")
CMYK = RGB.convert("CMYK")
OTHER = RGB.transpose(Image.Transpose.ROTATE_180)
#: How a picture is stored so that it stands upright under each EXIF orientation.
STORED = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def make_corpus() -> list[Sample]:
    """All whole pictures, more than a hundred."""
    return [*_jpeg(), *_png(), *_webp(), *_gif(), *_bmp(), *_tiff(), *_others(), *_sizes(), *_turned()]


def _jpeg() -> Iterator[Sample]:
    ways: dict[str, dict[str, Any]] = {
        "420": {"subsampling": 2},
        "422": {"subsampling": 1},
        "444": {"subsampling": 0},
        "progressive": {"progressive": True},
        "optimized": {"optimize": True},
        "q100": {"quality": 100},
        "q20": {"quality": 20},
        "restarts": {"restart_marker_rows": 1},
        "comment": {"comment": b"\xff\xd9 no end marker"},
        "dpi": {"dpi": (300, 300)},
        "icc": {"icc_profile": bytes(500)},
    }
    for name, options in ways.items():
        yield Sample(f"{name}.jpg", encoded(RGB, "JPEG", **{"quality": 90, **options}), like=12)
    yield Sample("grey.jpg", encoded(GREY, "JPEG"), like=None)
    yield Sample("cmyk.jpg", encoded(CMYK, "JPEG", quality=95), bound=1, like=8)
    whole = encoded(RGB, "JPEG", quality=95)
    yield Sample("trailer.jpg", whole + b"MotionPhoto" * 100, like=5)
    yield Sample("zeros_behind.jpg", whole + bytes(5000), like=5)
    yield Sample("fill_bytes.jpg", whole[:2] + b"\xff\xff\xff" + whole[2:], like=5)
    thumbnail = Image.Exif()
    thumbnail[0x927C] = encoded(OTHER, "JPEG")  # a picture with an end marker of its own, inside the header
    yield Sample("thumbnail.jpg", encoded(RGB, "JPEG", quality=95, exif=thumbnail), like=5)
    yield Sample("two_pictures.mpo", encoded(RGB, "MPO", save_all=True, append_images=[OTHER], quality=95), like=5)


def _png() -> Iterator[Sample]:
    yield Sample("rgb.png", encoded(RGB, "PNG"))
    yield Sample("compressed.png", encoded(RGB, "PNG", optimize=True))
    yield Sample("rgba.png", encoded(ALPHA, "PNG"))
    yield Sample("grey.png", encoded(GREY, "PNG"), like=None)
    yield Sample("grey_alpha.png", encoded(ALPHA.convert("LA"), "PNG"), like=None)
    yield Sample("palette.png", encoded(PALETTE, "PNG"), like=20)
    yield Sample("palette_transparent.png", encoded(PALETTE, "PNG", transparency=3), like=20)
    yield Sample("palette_alpha.png", encoded(ALPHA.quantize(32), "PNG"), like=40)
    yield Sample("two_colours.png", encoded(INK, "PNG"), like=None)
    yield Sample("grey16.png", encoded(GREY16, "PNG"), like=None)
    yield Sample("rgb16.png", _png16(drawing().astype(np.uint16) * 257))
    yield Sample("rgba16.png", _png16(np.dstack([drawing(), drawing()[..., :1]]).astype(np.uint16) * 257))
    yield Sample("transparent_colour.png", encoded(RGB, "PNG", transparency=(0, 0, 220)))
    yield Sample("animated.png", encoded(RGB, "PNG", save_all=True, append_images=[OTHER]))
    yield Sample("trailer.png", encoded(RGB, "PNG") + b"behind the end")


def _png16(values: Array) -> bytes:
    import cv2

    order = [2, 1, 0, 3][: values.shape[2]]
    return bytes(cv2.imencode(".png", values[:, :, order])[1])


def _webp() -> Iterator[Sample]:
    yield Sample("lossy.webp", encoded(RGB, "WEBP", quality=90), like=12)
    yield Sample("lossless.webp", encoded(RGB, "WEBP", lossless=True))
    yield Sample("lossy_alpha.webp", encoded(ALPHA, "WEBP", quality=90, exact=True), like=12)
    yield Sample("lossless_alpha.webp", encoded(ALPHA, "WEBP", lossless=True, exact=True))
    frames = encoded(RGB, "WEBP", save_all=True, append_images=[OTHER], lossless=True)
    yield Sample("animated.webp", frames)


def _gif() -> Iterator[Sample]:
    yield Sample("still.gif", encoded(RGB, "GIF"), opencv=False, like=20)
    yield Sample("animated.gif", encoded(RGB, "GIF", save_all=True, append_images=[OTHER]), opencv=False, like=20)
    yield Sample("transparent.gif", encoded(PALETTE, "GIF", transparency=3), opencv=False, like=20)
    yield Sample("grey.gif", encoded(GREY, "GIF"), opencv=False, like=None)


def _bmp() -> Iterator[Sample]:
    yield Sample("rgb.bmp", encoded(RGB, "BMP"))
    yield Sample("palette.bmp", encoded(PALETTE, "BMP"), like=20)
    yield Sample("grey.bmp", encoded(GREY, "BMP"), like=None)
    yield Sample("two_colours.bmp", encoded(INK, "BMP"), like=None)
    yield Sample("rgba.bmp", encoded(ALPHA, "BMP"))
    upside_down = bytearray(encoded(RGB.transpose(Image.Transpose.FLIP_TOP_BOTTOM), "BMP"))
    upside_down[22:26] = (-HEIGHT).to_bytes(4, "little", signed=True)  # rows from the top
    yield Sample("top_down.bmp", bytes(upside_down))


def _tiff() -> Iterator[Sample]:
    for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"):
        yield Sample(f"{compression}.tif", encoded(RGB, "TIFF", compression=compression))
    yield Sample("jpeg.tif", encoded(RGB, "TIFF", compression="jpeg", quality=95), like=8)
    yield Sample("grey.tif", encoded(GREY, "TIFF"), like=None)
    yield Sample("grey16.tif", encoded(GREY16, "TIFF"), like=None)
    yield Sample("palette.tif", encoded(PALETTE, "TIFF"), like=20)
    yield Sample("two_colours.tif", encoded(INK, "TIFF"), like=None)
    yield Sample("fax.tif", encoded(INK, "TIFF", compression="group4"), like=None)
    yield Sample("cmyk.tif", encoded(CMYK, "TIFF"), like=3)
    yield Sample("rgba.tif", encoded(ALPHA, "TIFF"), opencv=False)
    yield Sample("pages.tif", encoded(RGB, "TIFF", save_all=True, append_images=[OTHER]))


def _others() -> Iterator[Sample]:
    yield Sample("rgb.ppm", encoded(RGB, "PPM"))
    yield Sample("grey.pgm", encoded(GREY, "PPM"), like=None)
    yield Sample("two_colours.pbm", encoded(INK, "PPM"), like=None)
    yield Sample("text.ppm", b"P3\n# written by hand\n2 1\n255\n255 0 0  0 0 255\n", like=None, shape=(1, 2))
    yield Sample("rgb.jp2", encoded(RGB, "JPEG2000"), opencv=False)
    yield Sample("grey.jp2", encoded(GREY, "JPEG2000"), opencv=False, like=None)
    yield Sample("rgba.jp2", encoded(ALPHA, "JPEG2000"), opencv=False)
    yield Sample("codestream.j2k", encoded(RGB, "JPEG2000", no_jp2=True), opencv=False)
    yield Sample(
        "rgb.ico", encoded(RGB.resize((32, 32)), "ICO", sizes=[(32, 32)]), opencv=False, like=None, shape=(32, 32)
    )
    yield Sample("rgb.pcx", encoded(RGB, "PCX"), opencv=False)
    yield Sample("rgb.sgi", encoded(RGB, "SGI"), opencv=False)
    Image.init()
    if "QOI" in Image.SAVE:
        yield Sample("rgb.qoi", encoded(RGB, "QOI"), opencv=False)
    if features.check("avif"):
        yield Sample("rgb.avif", encoded(RGB, "AVIF", quality=90), opencv=False, like=12)


def _sizes() -> Iterator[Sample]:
    for height, width in ((1, 1), (1, 300), (300, 1), (7, 13), (600, 800)):
        picture = Image.fromarray(drawing(height, width))
        for kind, options in (("JPEG", {"quality": 95}), ("PNG", {}), ("WEBP", {"lossless": True})):
            name = f"{height}x{width}.{kind.lower()}"
            like = None if kind == "JPEG" else 0.0
            yield Sample(name, encoded(picture, kind, **options), like=like, shape=(height, width))


def _turned() -> Iterator[Sample]:
    for orientation, method in STORED.items():
        stored = RGB if method is None else RGB.transpose(method)
        exif = Image.Exif()
        exif[0x0112] = orientation
        yield Sample(f"turned{orientation}.jpg", encoded(stored, "JPEG", quality=95, exif=exif), like=5)
        yield Sample(f"turned{orientation}.png", encoded(stored, "PNG", exif=exif))
        yield Sample(f"turned{orientation}.webp", encoded(stored, "WEBP", lossless=True, exif=exif))
        yield Sample(f"turned{orientation}.tif", encoded(stored, "TIFF", exif=exif))


def truncated(samples: list[Sample], share: float) -> list[Sample]:
    """The same files, cut off after `share` of their bytes."""
    return [sample._replace(data=sample.data[: int(len(sample.data) * share)]) for sample in samples]


def renamed(samples: list[Sample]) -> list[Sample]:
    """The same files, each under the ending of the next one."""
    endings = [sample.name.rpartition(".")[2] for sample in samples]
    return [
        sample._replace(name=sample.name.rpartition(".")[0] + "." + ending)
        for sample, ending in zip(samples, endings[1:] + endings[:1], strict=True)
    ]


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    corpus = make_corpus()
    for sample in corpus:
        (folder / sample.name).write_bytes(sample.data)
    print(f"{len(corpus)} pictures, {sum(len(sample.data) for sample in corpus)} bytes, in {folder}")


if __name__ == "__main__":
    main()
