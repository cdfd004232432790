"""Encoded picture <-> array, with Pillow or OpenCV, whichever is there; Pillow first, it reads more formats."""

from __future__ import annotations

import io
from typing import Any, Optional, Tuple

import numpy as np

from .dtypes import Array
from .errors import Unavailable
from .picture_formats import SEND_THE_FILE, from_base64, look, picture_name
from .picture_headers import Header, read_header, still_png

#: What Pillow may open here.  Not among them: EPS and WMF, which start other programs or need a screen, and TGA and
#: others without a signature, as which any bytes may pass.  HEIF is there when the author imports ``pillow_heif``.
PILLOW_FORMATS = (
    *("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "JPEG2000", "PPM"),
    *("AVIF", "HEIF", "ICO", "MPO", "PCX", "PSD", "QOI", "SGI"),
)
#: What OpenCV does not get: few of its builds read GIF, and 5.0 fills transparent pixels; 4.11 dies of a JPEG 2000
#: whose two headers disagree.
_NOT_WITH_OPENCV = ("GIF", "JPEG2000")
ENCODED_FORMATS = ("JPEG", "PNG", "WEBP")


class NoPicture(Exception):
    """The bytes cannot be read as a picture: what they look like, and what the sender should do.

    Attributes
    ----------
    what, fix : str
    """

    def __init__(self, what: str, fix: str = SEND_THE_FILE) -> None:
        super().__init__(what, fix)
        self.what, self.fix = what, fix

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}"


def decode_image(
    data: bytes,
    mode: str = "RGB",
    max_pixels: int = 89_478_485,
    *,
    base64: bool = False,
    animated: str = "first",
    reduce_to: Optional[Tuple[int, int]] = None,
    library: str = "",
) -> Array:
    """Decode one picture, upright.

    Parameters
    ----------
    data : bytes
    mode : {"RGB", "BGR", "GRAY"}
        GRAY is ITU-R 601 luma of the colours, as Pillow's ``convert("L")``.
    max_pixels : int
        Checked on the header, before the pixels are decoded, also with `reduce_to`.
    base64 : bool
        Also take base64 text and data URLs.
    animated : {"first", "refuse"}
        Of several frames or pages the first is decoded, or the file is refused.
    reduce_to : (height, width), optional
        A JPEG that is larger is decoded at 1/2, 1/4 or 1/8 of its size: the smallest that is still at least this
        large in both directions, several times as fast.  Other formats come at full size.
    library : {"", "pillow", "opencv"}
        Empty: Pillow, or OpenCV where there is no Pillow.

    Returns
    -------
    numpy.ndarray of uint8, shape (height, width, 3), or (height, width) for GRAY
        C-contiguous and writable.  The EXIF orientation is applied, an alpha channel dropped, of 16 bits the upper
        8 are kept, CMYK becomes RGB without a colour profile.

    Raises
    ------
    NoPicture
        When the bytes are empty, no picture, truncated or damaged, or more pixels than `max_pixels`.
    Unavailable
        When the library is not installed.

    Notes
    -----
    Pillow and OpenCV give the same bytes, save CMYK in a JPEG (1 of 255), GRAY of coloured pictures (1), and
    JPEGs reduced by `reduce_to` (1).  Both bundle libjpeg-turbo, whose releases have agreed so far.  Measured on
    the pictures of ``tests/pictures/make_corpus.py``.
    """
    pil, cv = _libraries(library)
    if base64 and not picture_name(data):
        data = _unwrap(data)
    header = read_header(data)
    if header is None and not data:
        raise NoPicture("it is empty (0 bytes)")
    if header is not None:
        _check(header, max_pixels, animated)
    divisor = _divisor(header, reduce_to)
    if pil is not None:
        array = _decode_with_pillow(pil, data, header, mode, max_pixels, animated, divisor)
    else:
        array = _decode_with_opencv(cv, data, header, mode, divisor)
    return np.ascontiguousarray(_upright(array, header.orientation if header else 1))


def encode_image(
    array: Array, mode: str = "RGB", format: str = "JPEG", quality: int = 95, *, library: str = ""
) -> bytes:
    """Encode one picture.

    Parameters
    ----------
    array : numpy.ndarray of uint8, shape (height, width, 3), or (height, width) for GRAY
        Any strides; (height, width, 1) is GRAY too.
    mode : {"RGB", "BGR", "GRAY"}
        What the channels of `array` are.
    format : {"JPEG", "PNG", "WEBP"}
    quality : int
        1 to 100, of JPEG and of lossy WebP; a PNG is lossless.

    Raises
    ------
    ValueError
        When `array` is no such picture or is larger than `format` can hold; the message says what it is.
    Unavailable
        When the library is not installed.
    """
    pil, cv = _libraries(library)
    picture = _checked_pixels(array, mode, format, quality)
    if pil is not None:
        buffer = io.BytesIO()
        rgb = picture[:, :, ::-1] if mode == "BGR" else picture
        options = {} if format == "PNG" else {"quality": quality}
        pil.fromarray(np.ascontiguousarray(rgb)).save(buffer, format, **options)
        return buffer.getvalue()
    flags = {"JPEG": cv.IMWRITE_JPEG_QUALITY, "WEBP": cv.IMWRITE_WEBP_QUALITY}
    bgr = cv.cvtColor(picture, cv.COLOR_RGB2BGR) if mode == "RGB" else np.ascontiguousarray(picture)
    done, encoded = cv.imencode("." + format.lower(), bgr, [flags[format], quality] if format in flags else [])
    if not done:
        raise ValueError(f"OpenCV could not write {array.shape[1]} x {array.shape[0]} pixels as {format}")
    return bytes(encoded)


def pillow() -> Any:
    """The module ``PIL.Image``, or None where Pillow is not installed."""
    try:
        import PIL.Image
    except ImportError:
        return None
    return PIL.Image


def opencv() -> Any:
    """The module ``cv2``, or None where OpenCV is not installed."""
    try:
        import cv2
    except ImportError:
        return None
    return cv2


def _libraries(library: str) -> Tuple[Any, Any]:
    """(PIL.Image, None) or (None, cv2)."""
    if library not in ("", "pillow", "opencv"):
        raise ValueError(f"library={library!r} is neither 'pillow' nor 'opencv', nor empty for either")
    pil = pillow() if library != "opencv" else None
    cv = opencv() if pil is None and library != "pillow" else None
    if pil is None and cv is None:
        missing = {"pillow": "Pillow is not", "opencv": "OpenCV is not", "": "neither Pillow nor OpenCV is"}[library]
        raise Unavailable(f"this step reads or writes pictures, and {missing} installed where this model runs")
    return pil, cv


def _unwrap(data: bytes) -> bytes:
    decoded = from_base64(data)
    if decoded is None:
        return data
    if not decoded:
        raise NoPicture("it is base64 text of 0 bytes")
    if not picture_name(decoded) and read_header(decoded) is None:
        found = look(decoded)
        raise NoPicture(f"it looks like base64 text, and what stands in it like {found.like}", found.fix)
    return decoded


def _check(header: Header, max_pixels: int, animated: str) -> None:
    if header.fault:
        raise NoPicture(f"it begins like {header.format} and {header.fault}", "send the whole file, unchanged")
    _check_size(header.width, header.height, max_pixels)
    if header.animated:
        _check_animated(header.format, animated)


def _check_size(width: int, height: int, max_pixels: int) -> None:
    if width * height > max_pixels:
        raise NoPicture(f"it has {width} x {height} pixels, above the limit of {max_pixels}", "send a smaller one")
    if width < 1 or height < 1:
        raise NoPicture(f"it has {width} x {height} pixels: none at all", "send a picture with pixels")


def _check_animated(format: str, animated: str) -> None:
    if animated == "refuse":
        raise NoPicture(f"it is a {format} with several frames or pages", "send a single one")
    if animated != "first":
        raise ValueError(f"animated={animated!r} is neither 'first' nor 'refuse'")


def _divisor(header: Optional[Header], reduce_to: Optional[Tuple[int, int]]) -> int:
    """By how much a JPEG can be reduced while it is decoded."""
    if header is None or reduce_to is None or header.format != "JPEG":
        return 1
    height, width = reduce_to if header.orientation < 5 else reduce_to[::-1]
    fits = [n for n in (8, 4, 2) if header.height >= height * n and header.width >= width * n]
    return fits[0] if fits else 1


def _upright(array: Array, orientation: int) -> Array:
    """A view of `array`, as stored, that stands as EXIF says."""
    if orientation >= 5:
        array = array.swapaxes(0, 1)
    rows = slice(None, None, -1 if orientation in (3, 4, 7, 8) else 1)
    columns = slice(None, None, -1 if orientation in (2, 3, 6, 7) else 1)
    return array[rows, columns]


def _decode_with_pillow(
    pil: Any, data: bytes, header: Optional[Header], mode: str, max_pixels: int, animated: str, divisor: int
) -> Array:
    picture = _open_with_pillow(pil, data, header)
    _check_size(picture.width, picture.height, max_pixels)  # again: what Pillow is going to decode
    if header is None and getattr(picture, "n_frames", 1) > 1:
        _check_animated(picture.format, animated)
    try:
        if divisor > 1:
            picture.draft(None, (picture.width // divisor, picture.height // divisor))
        if header is None:
            from PIL import ImageOps

            picture = ImageOps.exif_transpose(picture)
        picture, wanted = _eight_bits(pil, picture), "L" if mode == "GRAY" else "RGB"
        array = np.array(picture if picture.mode == wanted else picture.convert(wanted))
    except NoPicture:
        raise
    except Exception as error:  # each of Pillow's readers has errors of its own
        what = f"it begins like {picture.format or 'a picture'} and is damaged: {error}"
        raise NoPicture(what, "send the whole file, unchanged") from None
    return array[:, :, ::-1] if mode == "BGR" else array


def _open_with_pillow(pil: Any, data: bytes, header: Optional[Header]) -> Any:
    pil.init()
    formats = [header.format] if header else [name for name in PILLOW_FORMATS if name in pil.OPEN]
    try:
        return pil.open(io.BytesIO(data), formats=formats)
    except pil.UnidentifiedImageError:
        if header:
            what = f"it begins like {header.format}, and Pillow cannot read what follows"
            raise NoPicture(what, "send the whole file, unchanged") from None
        found = look(data)
        raise NoPicture(f"it looks like {found.like}", found.fix) from None
    except Exception as error:  # Pillow's own limits, and broken headers by format
        raise NoPicture(f"Pillow refuses it, {type(error).__name__}: {error}") from None


def _eight_bits(pil: Any, picture: Any) -> Any:
    """`picture` in a mode that ``convert`` turns into RGB or L without clipping."""
    if picture.mode.startswith("I;16") or (picture.mode == "I" and picture.format in ("PNG", "PPM")):
        return pil.fromarray((np.asarray(picture).astype(np.int64) >> 8).astype(np.uint8))
    if picture.mode in ("I", "F"):
        what = f"it is a {picture.format} of 32 bit {'whole' if picture.mode == 'I' else 'floating point'} numbers"
        raise NoPicture(what, "scale it to 8 bits, or send the numbers as a tensor")
    if picture.mode == "P" and isinstance(picture.info.get("transparency"), bytes):
        return picture.convert("RGBA")  # straight to RGB gives the same colours, and a warning
    return picture


def _decode_with_opencv(cv: Any, data: bytes, header: Optional[Header], mode: str, divisor: int) -> Array:
    if header is None:
        name, found = picture_name(data), look(data)
        if name:
            raise NoPicture(f"it looks like a picture in the format {name}, which OpenCV does not read here", found.fix)
        raise NoPicture(f"it looks like {found.like}", found.fix)
    if header.format in _NOT_WITH_OPENCV:
        raise NoPicture(f"it is a {header.format}, which OpenCV does not read here", "send it as PNG")
    if header.alpha:
        raise NoPicture("it is a TIFF with an alpha channel, by which OpenCV darkens the colours", "send it as PNG")
    flags = {1: 1, 2: cv.IMREAD_REDUCED_COLOR_2, 4: cv.IMREAD_REDUCED_COLOR_4, 8: cv.IMREAD_REDUCED_COLOR_8}[divisor]
    if header.format == "PNG":
        data = still_png(data)  # 4.11 writes past its memory where a frame of an animation lies outside the picture
    try:
        array = cv.imdecode(np.frombuffer(data, np.uint8), flags | cv.IMREAD_IGNORE_ORIENTATION)
    except cv.error as error:
        raise NoPicture(f"OpenCV cannot read this {header.format}: {error.err}", "convert it to JPEG or PNG") from None
    if array is None:
        raise NoPicture(f"it begins like {header.format}, and OpenCV cannot read it", "convert it to JPEG or PNG")
    if mode == "GRAY":
        return np.asarray(cv.cvtColor(array, cv.COLOR_BGR2GRAY))
    return np.asarray(cv.cvtColor(array, cv.COLOR_BGR2RGB) if mode == "RGB" else array)


def _checked_pixels(array: Array, mode: str, format: str, quality: int) -> Array:
    if format not in ENCODED_FORMATS:
        raise ValueError(f"format={format!r} is none of {', '.join(ENCODED_FORMATS)}")
    if not 1 <= quality <= 100:
        raise ValueError(f"quality={quality!r} is not between 1 and 100")
    wanted = "(height, width)" if mode == "GRAY" else "(height, width, 3)"
    if mode == "GRAY" and array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.dtype != np.uint8:
        raise ValueError(f"a {mode} picture is UINT8 of shape {wanted}, not {array.dtype}: scale to 0...255 and cast")
    if array.ndim != (2 if mode == "GRAY" else 3) or (mode != "GRAY" and array.shape[2] != 3):
        raise ValueError(f"a {mode} picture has the shape {wanted}, not {array.shape}")
    limit = {"JPEG": 65_500, "WEBP": 16_383, "PNG": 2**31 - 1}[format]
    if not array.size or max(array.shape[:2]) > limit:
        raise ValueError(f"{array.shape[1]} x {array.shape[0]} pixels: {format} holds 1 to {limit} in each direction")
    return array
