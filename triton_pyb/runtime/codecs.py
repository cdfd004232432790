"""One item between the wire and the function: text, bytes, numbers, JSON, pictures."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .dtypes import Array
from .images import NoPicture, decode_image, encode_image
from .json_classes import Misfit, as_instance, class_of, plain, without_nan
from .signature import Field


class Unreadable(Exception):
    """An item that came is nothing its Field can hold."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(code, reason)
        self.code, self.reason = code, reason


class Unwritable(Exception):
    """A value the function returned is nothing its Field can hold."""

    def __init__(self, code: str, reason: str, fix: str) -> None:
        super().__init__(code, reason, fix)
        self.code, self.reason, self.fix = code, reason, fix


def read_item(field: Field, element: Any) -> Any:
    """The value that the function sees.

    Parameters
    ----------
    element : bytes, numpy scalar, or numpy.ndarray of shape `field.shape`
        One entry of the received tensor along axis 0.
    """
    if field.kind == "tensor":
        return element
    if field.kind == "number":
        return np.asarray(element).item()
    data = _as_bytes(element)
    if field.kind == "bytes":
        return data
    if field.kind == "image":
        return _read_image(field, data)
    text = _read_text(data)
    if field.kind == "text":
        return text
    try:
        return as_instance(field, json.loads(text, parse_constant=_no_constant))
    except Misfit as error:
        raise Unreadable("TPB223", str(error)) from None
    except RecursionError:
        raise Unreadable("TPB223", f"JSON nested too deeply; it begins with {text[:40]!r}") from None
    except ValueError as error:
        raise Unreadable("TPB223", f"no JSON: {error}; it begins with {text[:40]!r}") from None


def write_item(field: Field, value: Any) -> bytes:
    """One TYPE_STRING element, for the kinds that are no array.

    Raises
    ------
    Unwritable
        When `value` is None, of another type, or no JSON.
    """
    if field.kind == "json":
        return _write_json(field, value)
    if field.kind == "image":
        return _write_image(field, value)
    if value is None:
        raise Unwritable("TPB206", "None is no text", "return a str; an empty one says that there is nothing")
    if field.kind == "text":
        if isinstance(value, str):
            try:
                return value.encode("utf-8")
            except UnicodeEncodeError as error:
                raise Unwritable("TPB206", f"the text has no UTF-8: {error}", "replace lone surrogates") from None
        raise Unwritable("TPB206", f"{type(value).__name__} is no str", "return a str, or declare bytes")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise Unwritable("TPB206", f"{type(value).__name__} is no bytes", "return bytes, or declare str")


def string_element(value: Any) -> bytes:
    """One element of a BYTES array: bytes as they are, str as UTF-8, anything else refused.

    Notes
    -----
    Triton itself takes every object and sends ``str(x)``, so None would arrive as "None" and a bytearray as
    its repr.  Source: ``serialize_byte_tensor`` of triton_python_backend_utils.
    """
    if isinstance(value, str):
        return str(value).encode("utf-8")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)  # np.bytes_ too: Triton would send its repr
    raise Unwritable("TPB206", f"{value!r} among strings", "return str or bytes in every element")


def _no_constant(name: str) -> Any:
    """Python's own reader takes NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{name} is no JSON value")


def _as_bytes(element: Any) -> bytes:
    if isinstance(element, np.ndarray):
        element = element.item()
    return element.encode("utf-8") if isinstance(element, str) else bytes(element)


def _read_text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = data[error.start : error.start + 1]
        raise Unreadable("TPB222", f"no UTF-8 text: byte {error.start} is {bad!r} ({error.reason})") from None


def _read_image(field: Field, data: bytes) -> Array:
    try:
        reduce_to = field.options.get("reduce_to")
        return decode_image(
            data,
            field.options["mode"],
            field.options["max_pixels"],
            base64=field.options.get("base64", False),
            animated=field.options.get("animated", "first"),
            reduce_to=(reduce_to[0], reduce_to[1]) if reduce_to else None,
        )
    except NoPicture as error:
        raise Unreadable("TPB221", str(error)) from None


def _write_image(field: Field, value: Any) -> bytes:
    options = field.options
    try:
        return encode_image(
            np.asarray(value), options["mode"], options.get("format", "JPEG"), options.get("quality", 95)
        )
    except ValueError as error:
        shape = "(height, width)" if options["mode"] == "GRAY" else "(height, width, 3)"
        raise Unwritable("TPB211", f"no picture: {error}", f"return a uint8 array of shape {shape}") from None


def _write_json(field: Field, value: Any) -> bytes:
    expected = class_of(field)
    if expected is not None and not isinstance(value, expected):
        raise Unwritable("TPB208", f"{type(value).__name__} is no {expected.__name__}", f"return a {expected.__name__}")
    try:
        if field.options.get("nan") == "null":
            value = without_nan(value)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=plain)
        return text.encode("utf-8")
    except (TypeError, ValueError) as error:  # ValueError: NaN, a cycle, a lone surrogate
        raise Unwritable(
            "TPB208", f"no JSON: {error}", "return dicts, lists, text, finite numbers, bool and None only"
        ) from None
