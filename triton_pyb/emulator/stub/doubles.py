"""Doubles as RapidJSON writes them.

It prints with Grisu2: digits that read as the same double, but not always the nearest or the fewest ones.
Source: "Printing Floating-Point Numbers Quickly and Accurately with Integers", F. Loitsch, 2010; measured on 24.10.
"""

from __future__ import annotations

import math
import struct
from typing import Dict, List, Tuple

_PACK, _UNPACK = struct.Struct("<d").pack, struct.Struct("<Q").unpack
_TENS: List[int] = [10**n for n in range(32)]
_HALF = 1 << 63
#: From this decimal place down the digits are those of the upper end: the table of the rounding ends here.
_ROUNDED = 9
#: Binary exponent of a normalised double to what `_scale` finds.
_SCALES: Dict[int, Tuple[int, int, int, int]] = {}


def number(value: float) -> str:
    """The text of a double: plain up to 21 places, then with an exponent that has no plus."""
    if -1e15 < value < 1e15 and value == int(value):
        return repr(value)
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    digits, exponent = _digits(abs(value))
    text = str(digits)
    point = len(text) + exponent
    if 0 < point <= 21:
        text = text[:point] + "." + text[point:] if exponent < 0 else text + "0" * exponent + ".0"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + text
    else:
        text = text[0] + ("." + text[1:] if len(text) > 1 else "") + "e" + str(point - 1)
    return "-" + text if value < 0 else text


def _digits(value: float) -> Tuple[int, int]:
    """A positive double as (digits, decimal exponent)."""
    (bits,) = _UNPACK(_PACK(value))
    biased, fraction = bits >> 52, bits & 0xFFFFFFFFFFFFF
    significand = fraction | 1 << 52 if biased else fraction
    shift = 64 - significand.bit_length()
    binary = (biased or 1) - 1075 - shift
    power, width, decimal, places = _SCALES.get(binary) or _scale(binary)
    # The upper end of what reads as this double, and how wide that is, with `width` bits behind the point.
    significand <<= shift
    half = 1 << shift - 1
    upper = ((significand + half) * power + _HALF >> 64) - 1
    delta = upper - ((significand - (half if fraction or not biased else half >> 1)) * power + _HALF >> 64) - 1
    mask, scale = (1 << width) - 1, _TENS[-places - 1]
    if upper * scale & mask < delta * scale or upper & mask == delta:
        places = _places(upper, delta, width, places + 1)
    if places <= -_ROUNDED:
        return upper * _TENS[-places] >> width, decimal + places
    distance = upper - (significand * power + _HALF >> 64)
    if places < 0:
        scale, step = _TENS[-places], 1 << width
        upper, delta, distance = upper * scale, delta * scale, distance * scale
    else:
        step = _TENS[places] << width
    digits, rest = divmod(upper, step)
    while rest < distance and delta - rest >= step and (rest + step < distance or 2 * (distance - rest) > step):
        digits -= 1
        rest += step
    return digits, decimal + places


def _places(upper: int, delta: int, width: int, low: int) -> int:
    """The highest decimal place where the digits of `upper` may be cut off and still lie within `delta` of it.

    Parameters
    ----------
    low : int
        A place that will do, if any but 0 does.
    """
    if upper & (1 << width) - 1 <= delta:
        low, high = 0, len(str(upper >> width))
    else:
        high = low + 1 if not _near(upper, delta, width, low + 1) else 0
    while high - low > 1:
        place = low + high >> 1
        if _near(upper, delta, width, place):
            low = place
        else:
            high = place
    return low


def _near(upper: int, delta: int, width: int, place: int) -> bool:
    if place < 0:
        scale = _TENS[-place]
        return (upper * scale & (1 << width) - 1) < delta * scale
    return upper % (_TENS[place] << width) <= delta


def _scale(binary: int) -> Tuple[int, int, int, int]:
    """The power of ten that moves the point of a double with 64 bits and this exponent to its upper half.

    Returns
    -------
    power, width, decimal, places
        Its upper 64 bits; how many bits are behind the point then; the decimal exponent that undoes it; a decimal place
        where the digits may always be cut off, since a double is unsure by 700 of 2**64 at least.
    """
    estimate = (-61 - binary) * 0.30102999566398114 + 347
    exponent = 8 * ((math.ceil(estimate) >> 3) + 1) - 348
    if exponent >= 0:
        power, moved = 10**exponent << 1200, -1200
    else:
        power, moved = (1 << 2400) // 10**-exponent, -2400
    extra = power.bit_length() - 64
    power = (power >> extra - 1) + 1 >> 1
    width = -(binary + moved + extra + 64)
    places = -next(n for n, ten in enumerate(_TENS) if 1 << width <= 700 * ten)
    _SCALES[binary] = found = (power, width, -exponent, places)
    return found
