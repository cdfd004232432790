"""JSON as the server's parser takes it, with that parser's complaints.

Source: the texts of RapidJSON and of Triton's JSON wrapper, from the answers of a 24.10 server.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from triton_pyb.emulator.validation import RequestRefused

_WORDS = ("true", "false", "null", "NaN", "Inf", "Infinity")


def parse(body: bytes) -> Any:
    """The value that `body` holds.

    Raises
    ------
    RequestRefused
        With RapidJSON's message and offset.
    """
    text = body.partition(b"\0")[0].decode("utf-8", "surrogateescape")  # C strings end at the first NUL
    try:
        return json.loads(text, parse_float=_float, object_pairs_hook=_members)
    except json.JSONDecodeError as error:
        message, position = _complaint(error, text)
    except OverflowError as error:
        message, position = "Number too big to be stored in double.", text.find(str(error))
    raise RequestRefused(f"failed to parse the request JSON buffer: {message} at {position}", "INTERNAL")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of a name that stands there twice the first is found."""
    members = dict(pairs)
    if len(members) < len(pairs):
        members.update(reversed(pairs))
    return members


def _float(text: str) -> float:
    if len(text) < 17 and "e" not in text and "E" not in text:
        return float(text)  # so few digits that every way gives the same
    value = _scaled(text)
    if math.isinf(value):
        raise OverflowError(text)
    return value


def _scaled(text: str) -> float:
    """A number as RapidJSON reads it without its full precision: digits times a power of ten, rounded at each step.

    Source: GenericReader::ParseNumber and StrtodNormalPrecision of RapidJSON 1.1.0.
    """
    number, _, exponent = text.replace("E", "e").partition("e")
    whole, _, fraction = number.partition(".")
    negative = whole[0] == "-"
    if negative:
        whole = whole[1:]
    if len(whole) > 15:
        value, places = _long(whole, fraction, 2**63 if negative else 2**64 - 1)
    else:
        # As many digits as stay below 2**53 and one more come as an integer, the others as doubles.
        digits = (whole + fraction).lstrip("0")
        kept = 16 if len(digits) > 16 and int(digits[:16]) >= 2**53 else 17
        taken = min(len(digits), 17 if whole == "0" else 18)
        value = float(int(digits[:kept] or "0"))
        for digit in digits[kept:taken]:
            value = value * 10.0 + int(digit)
        places = len(digits) - taken - len(fraction)
    if exponent:
        places += int(exponent)
    if places < -308:
        value, places = value / _POWERS[308], places + 308
    value = 0.0 if places < -308 else value * _power(places) if places >= 0 else value / _POWERS[-places]
    return -value if negative else value


def _long(whole: str, fraction: str, limit: int) -> tuple[float, int]:
    """The digits of a number with many before the point, and how many of the fraction's count, as an exponent."""
    kept = len(str(limit))  # as many digits as an integer holds; the others come as doubles
    kept -= int(whole[:kept]) > limit
    number, places, counted = int(whole[:kept]), 0, min(kept, len(whole)) - 1
    if len(whole) <= kept:
        while -places < len(fraction) and number < 2**53:
            number = number * 10 + int(fraction[-places])
            places -= 1
            counted += 1
    value = float(number)
    for digit in whole[kept:]:
        value = value * 10.0 + int(digit)
    while -places < len(fraction) and counted < 17:
        value = value * 10.0 + int(fraction[-places])
        places -= 1
        counted += 1
    return value, places


def _power(exponent: int) -> float:
    return _POWERS[exponent] if exponent < len(_POWERS) else math.inf


_POWERS = [float(f"1e{exponent}") for exponent in range(309)]


def _complaint(error: json.JSONDecodeError, text: str) -> tuple[str, int]:
    position, rest = error.pos, text[error.pos :]
    if not text.strip():
        return "The document is empty.", 0
    if error.msg.startswith("Expecting property name") or error.msg.startswith("Illegal trailing comma"):
        return "Missing a name for object member.", text.find("}", position) if rest[:1] == "," else position
    if error.msg.startswith("Expecting ':'"):
        return "Missing a colon after a name of object member.", position
    if error.msg.startswith("Expecting ','"):
        if rest[:1] == "." and text[position - 1].isdigit():
            return "Miss fraction part in number.", position + 1
        if _open_bracket(text[:position]) == "{":
            return "Missing a comma or '}' after an object member.", position
        return "Missing a comma or ']' after an array element.", position
    if error.msg.startswith("Extra data"):
        return "The document root must not be followed by other values.", position
    if error.msg.startswith("Unterminated string"):
        return "Missing a closing quotation mark in string.", len(text)
    if error.msg.startswith("Invalid \\escape"):
        return "Invalid escape character in string.", position
    if error.msg.startswith("Invalid \\u"):
        return "Incorrect hex digit after \\u escape in string.", text.rfind("\\u", 0, position + 2)
    matched = max(_common_prefix(rest, word) for word in _WORDS)
    return "Invalid value.", position + (1 if rest[:1] == "-" else matched)


def _common_prefix(text: str, word: str) -> int:
    length = 0
    while length < len(word) and text[length : length + 1] == word[length]:
        length += 1
    return length


def _open_bracket(text: str) -> str:
    """The innermost bracket that is still open at the end of `text`."""
    stack: list[str] = []
    for char in re.sub(r'"(?:\\.|[^"\\])*"', "", text):
        if char in "[{":
            stack.append(char)
        elif char in "]}" and stack:
            stack.pop()
    return stack[-1] if stack else ""


def _member(value: Any, key: str) -> Any:
    if not isinstance(value, dict) or key not in value:
        raise RequestRefused("attempt to access non-existing object member '" + key + "'", "INTERNAL")
    return value[key]


def text_member(value: Any, key: str) -> str:
    """The string ``value[key]``, or the server's refusal."""
    return as_text(_member(value, key))


def array_member(value: Any, key: str) -> list[Any]:
    """The array ``value[key]``, or the server's refusal."""
    found = _member(value, key)
    if not isinstance(found, list):
        raise RequestRefused("attempt to access JSON non-array as array", "INTERNAL")
    return found


def as_text(value: Any) -> str:
    if not isinstance(value, str):
        raise RequestRefused("attempt to access JSON non-string as string", "INTERNAL")
    return value


def as_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise RequestRefused("attempt to access JSON non-boolean as boolean", "INTERNAL")
    return value


def as_unsigned(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**64:
        raise RequestRefused("attempt to access JSON non-unsigned-integer as unsigned-integer", "INTERNAL")
    return value


def as_signed(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise RequestRefused("attempt to access JSON non-signed-integer as signed-integer", "INTERNAL")
    return value


def as_number(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise RequestRefused("attempt to access JSON non-number as double", "INTERNAL")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return _scaled(str(value))
    return float(value)


def as_parameter(value: Any) -> Any:
    """A scalar as a request parameter keeps it: integers of more than 64 bits with a sign become doubles."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return as_number(value)
    return value


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def dumps(value: Any) -> bytes:
    """Compact JSON as the server writes it; strings may carry bytes that are no UTF-8 (surrogate escapes).

    Numbers with a fraction are not for it: see `number`.
    """
    text = _encode(value)
    if "\\u00" in text:
        text = _ESCAPES.sub(lambda escape: "\\u" + escape[1].upper() if escape[1] else escape[0], text)
    return text.encode("utf-8", "surrogateescape")


#: Every escape of a JSON text; of a control character the digits are caught, which the server writes in capitals.
_ESCAPES = re.compile(r"\\(?:u(00[01][0-9a-f])|.)")
