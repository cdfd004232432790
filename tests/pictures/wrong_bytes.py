"""What people send in place of a picture, and the words that have to come back."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zipfile
from typing import Any

import numpy as np

from tests.pictures.make_corpus import RGB, drawing, encoded

Array = np.ndarray[Any, Any]
JPEG = encoded(RGB, "JPEG", quality=95)
PNG = encoded(RGB, "PNG")


def saved(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.jpg", JPEG)
    return buffer.getvalue()


DATA_URL = b"data:image/png;base64,"
FORM = b'--x1\r\nContent-Disposition: form-data; name="f"; filename="a.jpg"\r\nContent-Type: image/jpeg\r\n\r\n'
WRONG: dict[str, tuple[bytes, str, str]] = {
    # name: (bytes, what it looks like, what to do)
    "empty": (b"", "it is empty (0 bytes)", "send the bytes of a JPEG or PNG file"),
    "base64": (base64.b64encode(JPEG), "base64 text of a JPEG picture", "declare Image(base64=True)"),
    "base64 png": (base64.b64encode(PNG), "base64 text of a PNG picture", "b64decode(text)"),
    "base64 start": (b"/9j/4AAQSkZJRgABAQ", "base64 text of a JPEG picture", "b64decode(text)"),
    "data url": (
        b"data:image/png;base64," + base64.b64encode(PNG),
        "a data URL of a PNG picture",
        "Image(base64=True)",
    ),
    "svg url": (b"data:image/svg+xml;utf8,<svg/>", "a data URL without base64 in it", "send the bytes"),
    "number": (b"52", "the text '52', one number", "not an array of pixels as strings"),
    "float": (b"0.4980392", "the text '0.4980392', one number", "not an array of pixels as strings"),
    "html": (b"<!DOCTYPE html><html>404</html>", "an HTML page", "look at what the download answered"),
    "html 2": (b"\n <html><body>Login</body></html>", "an HTML page", "look at what the download answered"),
    "svg": (b'<?xml version="1.0"?><svg width="1"/>', "an SVG drawing", "render it to a PNG"),
    "xml": (b'<?xml version="1.0"?><Error/>', "XML text", "send the bytes"),
    "json": (b'{"b64": "abc"}', "a JSON object with the keys 'b64'", "Triton unpacks no"),
    "json object": (b'{"a": 1, "b": 2}', "a JSON object with the keys 'a', 'b'", "send the bytes"),
    "json empty": (b"{}", "an empty JSON object", "send the bytes"),
    "json list": (json.dumps(list(JPEG[:50])).encode(), "a JSON list of 50 entries", "send the bytes"),
    "json cut": (b'{"image": "abc', "JSON that was cut off", "send the bytes"),
    "npy": (saved(drawing()), "a NumPy .npy file", "send the pixels as a UINT8 tensor"),
    "pdf": (b"%PDF-1.4\n...", "a PDF document", "render its page"),
    "path": (b"/data/photos/cat.JPG", "the file name '/data/photos/cat.JPG'", "the server cannot see it"),
    "file name": (b"cat.png", "the file name 'cat.png'", "read the file"),
    "windows path": (rb"C:\photos\cat 1.jpeg", "the file name", "read the file"),
    "url": (b"https://example.com/cat.jpg?w=3", "the URL 'https://example.com/cat.jpg?w=3'", "download it"),
    "zip": (zipped(), "a zip archive", "unpack it"),
    "gzip": (gzip.compress(JPEG), "gzip data", "send the picture itself"),
    "hex": (JPEG.hex().encode(), "a JPEG picture as hexadecimal text", "bytes.fromhex(text)"),
    "hex 0x": (b"0x" + JPEG.hex().encode(), "a JPEG picture as hexadecimal text", "bytes.fromhex(text)"),
    "repr": (repr(JPEG).encode(), "the printed form of Python bytes", "not str(bytes)"),
    "utf8": (JPEG.decode("latin-1").encode(), "a JPEG picture whose bytes were encoded as UTF-8", "send binary data"),
    "utf8 png": (PNG.decode("latin-1").encode(), "a PNG picture whose bytes were encoded as UTF-8", "send binary data"),
    "replaced": (JPEG.decode("utf-8", "replace").encode(), "replaced by U+FFFD and lost", "in binary mode"),
    "length": (len(JPEG).to_bytes(4, "little") + JPEG, "it was serialised twice", "it writes the length itself"),
    "form": (FORM + JPEG, "a multipart form", "only the file's bytes"),
    "prefix": (b"\x00HEADER\x00" + PNG, "a PNG picture behind 8 other bytes", "cut off what stands before it"),
    "heic": (b"\0\0\0\x18ftypheic" + bytes(90), "a picture in the format HEIC", "convert it to JPEG or PNG"),
    "jxl": (b"\xff\x0a" + bytes(90), "a picture in the format JPEG XL", "convert it to JPEG or PNG"),
    "mp4": (b"\0\0\0\x18ftypisom" + bytes(90), "a video", "send one frame"),
    "mkv": (b"\x1a\x45\xdf\xa3" + bytes(90), "a video", "send one frame"),
    "text": (b"hello, server", "the text 'hello, server'", "send the bytes of a JPEG or PNG file"),
    "korean": ("고양이 사진".encode(), "the text '고양이 사진'", "send the bytes of a JPEG or PNG file"),
    "long text": (b"word " * 100, "the text 'word word", "send the bytes"),
    "white": (b" \n ", "white space only", "send the bytes"),
    "utf16": ("hello".encode("utf-16"), "UTF-16 text", "send the bytes"),
    "raw": (bytes(range(256)) * 588, "raw pixels: as many bytes as 224 x 224 x 3 of UINT8", "as a tensor"),
    "raw float": (np.full((3, 32, 32), 0.3, np.float32).tobytes() * 2, "no format known", "send the bytes"),
    "raw grey": (b"\x00\x9f\xfe\x01" * 225, "raw pixels: as many bytes as 30 x 30 x 1 of UINT8", "as a tensor"),
    "zeros": (bytes(1001), "no format known here: 1001 bytes that begin with b'\\x00", "send the bytes"),
    "elf": (b"\x7fELF" + bytes(9), "a program", "send the bytes"),
    "hdf5": (b"\x89HDF\r\n" + bytes(9), "an HDF5 file", "send the bytes"),
    "postscript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "a PostScript file", "render it"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(9), "zstandard data", "send the picture itself"),
    "bzip2": (b"BZh9" + bytes(9), "bzip2 data", "send the picture itself"),
    "xz": (b"\xfd7zXZ\0" + bytes(9), "xz data", "send the picture itself"),
    "7z": (b"7z\xbc\xaf\x27\x1c" + bytes(9), "a 7-Zip archive", "unpack it"),
    "rar": (b"Rar!\x1a\x07" + bytes(9), "a RAR archive", "unpack it"),
    "png head": (b"\x89PNG", "no format known here: 4 bytes that begin with b'\\x89PNG'", "send the bytes"),
    "png signature": (PNG[:8], "it begins like PNG and is truncated: it ends after 8 bytes", "send the whole file"),
    "jpeg start": (b"\xff\xd8\xff", "it begins like JPEG and is truncated", "send the whole file"),
    "jpeg half": (JPEG[: len(JPEG) // 2], "it begins like JPEG and is truncated: no end marker", "send the whole file"),
}
