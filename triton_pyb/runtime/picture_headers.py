"""What the header of a picture file says, read without decoding a pixel: size, orientation, whether it is whole.

Pillow reads headers by itself, OpenCV offers none of it.  Both paths ask here, so that both refuse the same files.
"""

from __future__ import annotations

import re
import struct
import zlib
from typing import Callable, Dict, List, NamedTuple, Optional, Set, Tuple

#: The next JPEG marker that is no restart, no stuffed zero and no fill byte.
_JPEG_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_PNM_TOKEN = re.compile(rb"(?:\s|#[^\n]*\n)*(\d+)")
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TIFF_TYPES = {1: "B", 3: "H", 4: "I"}  # of the whole numbers
_TIFF_BYTES = (0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8)  # by type, of one value
_ORIENTATION = 274
_TIFF_TAGS = {256, 257, _ORIENTATION, 273, 279, 324, 325, 338}
#: A file of more parts than this is refused: some bytes of each would cost a client little and the server much.
_MOST_PARTS = 500_000
_MOST_TIFF_VALUES = 1_000_000  # so many strips are looked at, whatever the directories say


class Header(NamedTuple):
    """One picture file.

    Attributes
    ----------
    format : str
        Pillow's name of the format.
    width, height : int
        As stored, before the orientation is applied; 0 when `fault` came first.
    orientation : int
        The EXIF value, 1 (upright) to 8.  Always 1 for a TIFF: Pillow and OpenCV turn that one by themselves.
    animated : bool
        More than one frame or page.
    alpha : bool
        A TIFF with a channel beside the colours.
    fault : str
        Empty, or why the file cannot be whole: ``"is truncated: ..."``.
    """

    format: str
    width: int
    height: int
    orientation: int = 1
    animated: bool = False
    fault: str = ""
    alpha: bool = False


class _TooManyParts(Exception):
    pass


def read_header(data: bytes) -> Optional[Header]:
    """The header of a JPEG, PNG, WebP, GIF, BMP, TIFF, JPEG 2000 or PNM file; None for anything else.

    Notes
    -----
    A file must reach its own end (end marker, last chunk, last strip); what follows it is ignored, as phones
    append films and depth maps to a JPEG.  PNG checksums are compared.
    """
    for name, magic, reader in _READERS:
        if magic.match(data):
            try:
                return reader(data)
            except _TooManyParts:
                return Header(name, 0, 0, fault=f"is made of more than {_MOST_PARTS} parts")
            except (struct.error, IndexError):
                return Header(name, 0, 0, fault=f"is truncated: it ends after {len(data)} bytes, inside its header")
    return None


def still_png(data: bytes) -> bytes:
    """A PNG that `read_header` finds whole, its colours alone: no animation, no metadata, no transparency."""
    kept, position = [_PNG_SIGNATURE], 8
    while kept[-1][4:8] != b"IEND":
        end = position + 12 + struct.unpack_from(">I", data, position)[0]
        if data[position + 4 : position + 5].isupper():
            kept.append(data[position:end])
        position = end
    return b"".join(kept)


def _jpeg(data: bytes) -> Header:
    width = height = 0
    orientation, position = 1, 2
    for _ in range(_MOST_PARTS):
        found = _JPEG_MARKER.search(data, position)
        if not found:
            fault = f"is truncated: no end marker in {len(data)} bytes"
            return Header("JPEG", width, height, orientation, fault=fault)
        marker, position = data[found.start() + 1], found.end()
        if marker == 0xD9:
            return Header("JPEG", width, height, orientation, fault="" if width else "holds no picture")
        if marker == 0x01 or marker == 0xD8:
            continue
        (length,) = struct.unpack_from(">H", data, position)
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC) and not width:
            height, width = struct.unpack_from(">HH", data, position + 3)
        elif marker == 0xE1 and data[position + 2 : position + 8] == b"Exif\0\0":
            orientation = _exif_orientation(data[position + 8 : position + length])
        position += length
    raise _TooManyParts


def _png(data: bytes) -> Header:
    width, height = struct.unpack_from(">II", data, 16)
    orientation, animated, position = 1, False, 8
    view = memoryview(data)
    for _ in range(_MOST_PARTS):
        if position + 12 > len(data):
            fault = f"is truncated: no IEND chunk in {len(data)} bytes"
            return Header("PNG", width, height, orientation, animated, fault)
        (length,) = struct.unpack_from(">I", data, position)
        kind, end = data[position + 4 : position + 8], position + 8 + length
        if end + 4 <= len(data) and kind[:1].isupper():  # a critical chunk
            if zlib.crc32(view[position + 4 : end]) != struct.unpack_from(">I", data, end)[0]:
                fault = f"is damaged: wrong checksum of the {kind.decode('latin-1')} chunk at byte {position}"
                return Header("PNG", width, height, orientation, animated, fault)
        if kind == b"IEND":
            return Header("PNG", width, height, orientation, animated)
        if kind == b"acTL":
            animated = struct.unpack_from(">I", data, position + 8)[0] > 1
        elif kind == b"eXIf":
            orientation = _exif_orientation(data[position + 8 : end])
        position = end + 4
    raise _TooManyParts


def _webp(data: bytes) -> Header:
    end = 8 + struct.unpack_from("<I", data, 4)[0]
    width = height = 0
    orientation, animated, position = 1, False, 12
    for _ in range(_MOST_PARTS):
        if position + 8 > min(end, len(data)):
            fault = f"is truncated: {len(data)} of {end} bytes" if len(data) < end - end % 2 else ""
            return Header("WEBP", width, height, orientation, animated, fault)
        kind, length = struct.unpack_from("<4sI", data, position)
        start = position + 8
        if kind == b"VP8X":
            animated = bool(data[start] & 2)
            width = 1 + int.from_bytes(data[start + 4 : start + 7], "little")
            height = 1 + int.from_bytes(data[start + 7 : start + 10], "little")
        elif kind == b"VP8 " and not width:
            width, height = (side & 0x3FFF for side in struct.unpack_from("<HH", data, start + 6))
        elif kind == b"VP8L" and not width:
            (bits,) = struct.unpack_from("<I", data, start + 1)
            width, height = 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        elif kind == b"EXIF":
            blob = data[start : start + length]
            orientation = _exif_orientation(blob[6:] if blob[:6] == b"Exif\0\0" else blob)
        position = start + length + length % 2
    raise _TooManyParts


def _gif(data: bytes) -> Header:
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    frames, blocks, position = 0, 0, 13 + _gif_palette(flags)
    while position < len(data) and data[position] != 0x3B:
        if data[position] == 0x2C:
            frames += 1
            position += 11 + _gif_palette(data[position + 9])
        else:
            position += 2
        while data[position : position + 1] not in (b"", b"\0"):
            position += 1 + data[position]
            blocks += 1
            if blocks > _MOST_PARTS:
                raise _TooManyParts
        position += 1
    fault = "" if position < len(data) else f"is truncated: no trailer in {len(data)} bytes"
    return Header("GIF", width, height, animated=frames > 1, fault=fault)


def _gif_palette(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _bmp(data: bytes) -> Header:
    offset, header_bytes = struct.unpack_from("<II", data, 10)
    if header_bytes == 12:
        width, height, _, bits = struct.unpack_from("<HHHH", data, 18)
        compression = 0
    else:
        width, height, _, bits, compression = struct.unpack_from("<iiHHI", data, 18)
    height = abs(height)  # negative: rows from the top
    end = offset + (width * bits + 31) // 32 * 4 * height if compression in (0, 3) else len(data)
    fault = f"is truncated: {len(data)} of {end} bytes" if len(data) < end else ""
    return Header("BMP", width, height, fault=fault)


def _tiff(data: bytes) -> Header:
    first, pages, cut = _tiff_pages(data)
    width, height = first.get(256, (0,))[0], first.get(257, (0,))[0]
    fault = f"is truncated: {len(data)} bytes, and its directory points behind them" if cut else ""
    return Header("TIFF", width, height, animated=pages > 1, fault=fault, alpha=338 in first)


def _tiff_pages(data: bytes) -> Tuple[Dict[int, Tuple[int, ...]], int, bool]:
    """(tags of the first page, number of pages, whether anything lies behind the end of the file)."""
    order = "<" if data[:2] == b"II" else ">"
    first: Dict[int, Tuple[int, ...]] = {}
    seen: Set[int] = set()
    values = 0
    (position,) = struct.unpack_from(order + "I", data, 4)
    while position and position not in seen and values < _MOST_TIFF_VALUES:
        seen.add(position)
        try:
            tags, position = _tiff_tags(data, order, position)
        except struct.error:
            return first, len(seen), True
        first = first or tags
        starts = tags.get(273, ()) + tags.get(324, ())
        sizes = tags.get(279, ()) + tags.get(325, ())
        values += sum(map(len, tags.values())) + 100
        if any(start + size > len(data) for start, size in zip(starts, sizes)):
            return first, len(seen), True
    return first, len(seen), False


def _tiff_tags(data: bytes, order: str, position: int) -> Tuple[Dict[int, Tuple[int, ...]], int]:
    """(the wanted whole-number tags of one directory, position of the next directory)."""
    (count,) = struct.unpack_from(order + "H", data, position)
    tags: Dict[int, Tuple[int, ...]] = {}
    for entry in range(position + 2, position + 2 + 12 * count, 12):
        tag, kind, length = struct.unpack_from(order + "HHI", data, entry)
        size_bytes = length * _TIFF_BYTES[kind] if kind < len(_TIFF_BYTES) else 0
        start = entry + 8 if size_bytes <= 4 else struct.unpack_from(order + "I", data, entry + 8)[0]
        if start + size_bytes > len(data):
            raise struct.error(f"tag {tag} lies behind the end")
        if tag in _TIFF_TAGS and tag not in tags and kind in _TIFF_TYPES and length:
            tags[tag] = struct.unpack_from(f"{order}{length}{_TIFF_TYPES[kind]}", data, start)
    (following,) = struct.unpack_from(order + "I", data, position + 2 + 12 * count)
    return tags, following


def _exif_orientation(blob: bytes) -> int:
    """The orientation that an EXIF block says; 1 when it says none or cannot be read."""
    order = {b"II": "<", b"MM": ">"}.get(blob[:2])
    if order is None:
        return 1
    try:
        tags, _ = _tiff_tags(blob, order, struct.unpack_from(order + "I", blob, 4)[0])
    except struct.error:
        return 1
    value = tags.get(_ORIENTATION, (1,))[0]
    return value if 1 <= value <= 8 else 1


def _jpeg2000(data: bytes) -> Header:
    start = data.find(b"\xff\x4f\xff\x51")
    if start < 0:
        return Header("JPEG2000", 0, 0, fault="is truncated: no codestream in it")
    right, bottom, left, top = struct.unpack_from(">IIII", data, start + 8)
    whole = data.find(b"\xff\xd9", start) >= 0  # the end marker cannot stand inside coded data
    fault = "" if whole else f"is truncated: no end marker in {len(data)} bytes"
    return Header("JPEG2000", right - left, bottom - top, fault=fault)


def _pnm(data: bytes) -> Header:
    kind, position = data[1] - ord("0"), 2
    numbers: List[int] = []
    while len(numbers) < (2 if kind in (1, 4) else 3):
        found = _PNM_TOKEN.match(data, position)
        if not found:
            raise IndexError(position)
        numbers.append(int(found.group(1)))
        position = found.end()
    width, height = numbers[:2]
    row = (width + 7) // 8 if kind == 4 else width * (3 if kind == 6 else 1) * (2 if numbers[-1] > 255 else 1)
    end = position + 1 + row * height if kind >= 4 else position  # the text forms say no length
    fault = f"is truncated: {len(data)} of {end} bytes" if len(data) < end else ""
    return Header("PPM", width, height, fault=fault)


_READERS: List[Tuple[str, re.Pattern[bytes], Callable[[bytes], Header]]] = [
    ("JPEG", re.compile(rb"\xff\xd8\xff"), _jpeg),
    ("PNG", re.compile(re.escape(_PNG_SIGNATURE)), _png),
    ("WEBP", re.compile(rb"RIFF....WEBP", re.DOTALL), _webp),
    ("GIF", re.compile(rb"GIF8[79]a"), _gif),
    ("BMP", re.compile(rb"BM.{4}\0\0\0\0", re.DOTALL), _bmp),
    ("TIFF", re.compile(rb"II\*\0|MM\0\*"), _tiff),
    ("JPEG2000", re.compile(rb"\0\0\0\x0cjP  \r\n\x87\n|\xff\x4f\xff\x51"), _jpeg2000),
    ("PPM", re.compile(rb"P[1-6]\s"), _pnm),
]
