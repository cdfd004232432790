"""What bytes are: the picture formats by their first bytes, and what people send in place of a picture."""

from __future__ import annotations

import base64 as base64_codec
import binascii
import json
import math
import re
import struct
from typing import Callable, List, NamedTuple, Optional, Tuple

SEND_THE_FILE = "send the bytes of a JPEG or PNG file, unchanged, as one element"
_TEXT_BYTES = 65_536  # so many tell whether it is text
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]*={0,2}")
_DATA_URL = re.compile(rb"data:[\w.+-]*(?:/[\w.+-]+)?(?:;[\w=.+-]+)*,", re.IGNORECASE)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_FILE_NAME = re.compile(r"[^\n<>|\"]{1,1000}\.(?:jpe?g|png|webp|gif|bmp|tiff?|heic|avif|jp2|npy)", re.IGNORECASE)

#: (offset, first bytes, name) of the pictures that one may meet, read here or not.
_PICTURES: Tuple[Tuple[int, bytes, str], ...] = (
    (0, b"\xff\xd8\xff", "JPEG"),
    (0, b"\x89PNG\r\n\x1a\n", "PNG"),
    (0, b"GIF8", "GIF"),
    (8, b"WEBPVP8", "WebP"),
    (0, b"II*\0", "TIFF"),
    (0, b"MM\0*", "TIFF"),
    (0, b"\0\0\0\x0cjP  ", "JPEG 2000"),
    (0, b"\xff\x4f\xff\x51", "JPEG 2000"),
    (4, b"ftypavif", "AVIF"),
    (4, b"ftypavis", "AVIF"),
    (4, b"ftypheic", "HEIC"),
    (4, b"ftypheix", "HEIC"),
    (4, b"ftypmif1", "HEIC"),
    (0, b"8BPS", "Photoshop"),
    (0, b"\xff\x0a", "JPEG XL"),
    (0, b"\0\0\0\x0cJXL ", "JPEG XL"),
    (0, b"\x76\x2f\x31\x01", "OpenEXR"),
    (0, b"\0\0\1\0", "ICO"),
    (0, b"qoif", "QOI"),
)
_OTHERS: Tuple[Tuple[int, bytes, str, str], ...] = (
    (
        0,
        b"\x93NUMPY",
        "a NumPy .npy file",
        "save the picture as PNG and send that, or send the pixels as a UINT8 tensor",
    ),
    (0, b"%PDF", "a PDF document", "render its page to a PNG and send that"),
    (0, b"PK\x03\x04", "a zip archive (a .npz or an office document is one too)", "unpack it and send the picture"),
    (0, b"\x1f\x8b", "gzip data", "send the picture itself: it is compressed already"),
    (0, b"\x28\xb5\x2f\xfd", "zstandard data", "send the picture itself: it is compressed already"),
    (0, b"BZh", "bzip2 data", "send the picture itself: it is compressed already"),
    (0, b"\xfd7zXZ\0", "xz data", "send the picture itself: it is compressed already"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it and send the picture"),
    (0, b"Rar!", "a RAR archive", "unpack it and send the picture"),
    (4, b"ftyp", "a video (MP4 or its like)", "send one frame of it as JPEG"),
    (0, b"\x1a\x45\xdf\xa3", "a video (Matroska or WebM)", "send one frame of it as JPEG"),
    (0, b"%!PS", "a PostScript file", "render it to a PNG and send that"),
    (0, b"\x89HDF", "an HDF5 file", SEND_THE_FILE),
    (0, b"\x7fELF", "a program (ELF)", SEND_THE_FILE),
)


class Look(NamedTuple):
    """What bytes look like, and what the sender should do."""

    like: str
    fix: str


def picture_name(data: bytes) -> str:
    """The format of the picture that `data` begins with, or an empty string.

    >>> picture_name(bytes.fromhex("ffd8ffe000104a464946")), picture_name(b"ABCD")
    ('JPEG', '')
    """
    return next((name for at, magic, name in _PICTURES if data[at : at + len(magic)] == magic), "")


def look(data: bytes) -> Look:
    """What `data`, which is no picture that can be read, looks like.

    >>> look(b"52").like
    "the text '52', one number: pixels sent as strings look like that"
    """
    if not data:
        return Look("empty (0 bytes)", SEND_THE_FILE)
    name = picture_name(data)
    if name:
        return Look(f"a picture in the format {name}, which is not read here", "convert it to JPEG or PNG")
    for at, magic, like, fix in _OTHERS:
        if data[at : at + len(magic)] == magic:
            return Look(like, fix)
    for sniff in (_mangled, _prefixed, _text, _raw_pixels):
        found = sniff(data)
        if found:
            return found
    return Look(f"no format known here: {len(data)} bytes that begin with {data[:12]!r}", SEND_THE_FILE)


def from_base64(data: bytes) -> Optional[bytes]:
    """The bytes behind base64 text or a data URL, or None when `data` is neither.

    The standard and the URL-safe alphabet, with or without padding and line breaks.
    """
    text = data.strip()
    url = _DATA_URL.match(text[:200])
    if url:
        if not url.group().lower().endswith(b";base64,"):
            return None
        text = text[url.end() :]
    text = text.translate(None, b" \t\r\n").replace(b"%2B", b"+").replace(b"%2F", b"/").replace(b"%3D", b"=")
    if not _BASE64.fullmatch(text) or not (text or url):
        return None
    text = text.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    try:
        return base64_codec.b64decode(text + b"=" * (-len(text) % 4))
    except binascii.Error:
        return None


def _mangled(data: bytes) -> Optional[Look]:
    """A picture whose bytes went through text."""
    head = data[:64]
    if b"\xef\xbf\xbd" in head and (b"PNG" in head or b"JFIF" in head or b"Exif" in head or b"WEBP" in head):
        return Look("a picture decoded as text, its bytes replaced by U+FFFD and lost", "open the file in binary mode")
    try:
        name = picture_name(head.decode("utf-8", "ignore").encode("latin-1", "ignore"))
    except UnicodeError:
        name = ""
    if name:
        fix = "send binary data, or base64 where the step says so: JSON text changes every byte above 127"
        return Look(f"a {name} picture whose bytes were encoded as UTF-8 text", fix)
    return None


def _prefixed(data: bytes) -> Optional[Look]:
    """A picture behind something else."""
    if len(data) > 8 and picture_name(data[4:]) and struct.unpack("<I", data[:4])[0] <= len(data) - 4:
        like = f"a {picture_name(data[4:])} picture behind 4 bytes that hold its length: it was serialised twice"
        return Look(like, "give the client the file's bytes, it writes the length itself")
    if data[:2] == b"--" and b"content-disposition" in data[:1000].lower():
        return Look("a multipart form", "send only the file's bytes, not the form around them")
    for start, first in ((data.find(magic, 1, 4096), magic) for _, magic, _ in _PICTURES[:2]):
        if start > 0:
            like = f"a {picture_name(first)} picture behind {start} other bytes, which begin with {data[:12]!r}"
            return Look(like, "cut off what stands before it")
    return None


def _text(data: bytes) -> Optional[Look]:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") and len(data) % 2 == 0:
        return Look("UTF-16 text", SEND_THE_FILE)
    try:
        text = data[:_TEXT_BYTES].decode("utf-8").strip()
    except UnicodeDecodeError as error:
        if error.start < _TEXT_BYTES - 4:
            return None
        text = data[: error.start].decode("utf-8").strip()  # a character was cut in two
    if not text:
        return Look("white space only", SEND_THE_FILE)
    if not text[:200].isprintable() and not re.fullmatch(r"[^\x00-\x08\x0e-\x1f\x7f-\x9f]+", text[:200]):
        return None
    for sniff in _TEXTS:
        found = sniff(text, data)
        if found:
            return found
    return Look(f"the text {_short(text)}", SEND_THE_FILE)


def _markup(text: str, _: bytes) -> Optional[Look]:
    head = text[:1000].lower()
    if head.startswith(("<svg", "<?xml")) and "<svg" in head:
        return Look("an SVG drawing", "render it to a PNG and send that")
    if head.startswith(("<!doctype html", "<html", "<head", "<body")):
        return Look("an HTML page, as a failed download gives", "look at what the download answered")
    return Look("XML text", SEND_THE_FILE) if head.startswith("<?xml") else None


def _data_url(text: str, data: bytes) -> Optional[Look]:
    if not _DATA_URL.match(data.strip()[:200]):
        return None
    behind = from_base64(data)
    if behind is None:
        return Look(f"a data URL without base64 in it: {_short(text)}", SEND_THE_FILE)
    return Look(
        f"a data URL of {_behind(behind)}", "send what stands behind it, decoded, or declare Image(base64=True)"
    )


def _number(text: str, _: bytes) -> Optional[Look]:
    try:
        float(text)
    except ValueError:
        return None
    fix = "send the file's bytes as one element, not an array of pixels as strings"
    return Look(f"the text {_short(text)}, one number: pixels sent as strings look like that", fix)


def _python_bytes(text: str, _: bytes) -> Optional[Look]:
    if not re.match(r"b'[^']|b\"[^\"]", text):
        return None
    return Look("the printed form of Python bytes", "send the bytes, not str(bytes) or repr(bytes)")


def _json(text: str, data: bytes) -> Optional[Look]:
    if text[0] not in "{[":
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return Look(f"JSON that was cut off: {_short(text)}", SEND_THE_FILE) if text[:2] in ('{"', '["') else None
    if isinstance(value, dict):
        keys = ", ".join(map(repr, list(value)[:4]))
        fix = "send the picture's bytes; Triton unpacks no {'b64': ...}" if "b64" in value else SEND_THE_FILE
        return Look(f"a JSON object with the keys {keys}" if keys else "an empty JSON object", fix)
    return Look(f"a JSON list of {len(value)} entries", SEND_THE_FILE)


def _address(text: str, _: bytes) -> Optional[Look]:
    if _URL.match(text):
        return Look(f"the URL {_short(text)}", "download it and send its bytes: the model fetches nothing")
    if _FILE_NAME.fullmatch(text):
        return Look(f"the file name {_short(text)}", "read the file and send its bytes: the server cannot see it")
    return None


def _hexadecimal(text: str, _: bytes) -> Optional[Look]:
    digits = text[2:66] if text[:2].lower() == "0x" else text[:64]
    if len(digits) < 16 or not re.fullmatch(r"[0-9a-fA-F]+", digits):
        return None
    name = picture_name(bytes.fromhex(digits[: len(digits) // 2 * 2]))
    return Look(f"a {name} picture as hexadecimal text", "send the bytes, bytes.fromhex(text)") if name else None


def _base64(text: str, data: bytes) -> Optional[Look]:
    behind = from_base64(data) if len(text) >= 16 else None
    if behind is None or not (picture_name(behind) or (len(text) >= 64 and re.search(r"\d", text))):
        return None
    fix = "send the bytes, b64decode(text), or declare Image(base64=True)"
    return Look(f"base64 text of {_behind(behind)}", fix)


_TEXTS: List[Callable[[str, bytes], Optional[Look]]] = [
    _markup,
    _data_url,
    _number,
    _python_bytes,
    _json,
    _address,
    _hexadecimal,
    _base64,
]


def _raw_pixels(data: bytes) -> Optional[Look]:
    for item_bytes, dtype in ((1, "UINT8"), (4, "FP32")):
        for channels in (3, 1):
            side = math.sqrt(len(data) / (item_bytes * channels))
            if side >= 16 and side == int(side):
                like = f"raw pixels: as many bytes as {int(side)} x {int(side)} x {channels} of {dtype}"
                return Look(like, "send an encoded picture, or declare the input as a tensor")
    return None


def _behind(decoded: bytes) -> str:
    name = picture_name(decoded)
    return f"a {name} picture" if name else f"{len(decoded)} bytes that are no picture"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
