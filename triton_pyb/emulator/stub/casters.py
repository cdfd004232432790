"""How pybind11 turns a Python argument into a C++ one: what it accepts, converts, refuses.

Source: the casters of pybind11 2.10 (the version inside 24.10), checked on a real server.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Optional

import numpy as np


class Refused(Exception):
    """The value does not fit; the dispatcher makes one TypeError of it for the whole call."""


class Caster:
    """`text` is how signatures name the type; `load` converts or raises Refused."""

    def __init__(self, text: str, load: Callable[[Any, Any], Any]) -> None:
        self.text = text
        self.load = load


def _load_str(stub: Any, value: Any) -> str:
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise Refused from None
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "surrogateescape")
    raise Refused


def text_of(value: str) -> str:
    """What C++ gives back for a string argument: bytes that are not UTF-8 only fail here."""
    return value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8")


def _integer(value: Any) -> int:
    if isinstance(value, float):
        raise Refused
    try:
        return operator.index(value)
    except TypeError:
        pass
    # PyNumber_Long is tried on numbers only: Decimal and np.float32 pass, text does not.
    if isinstance(value, (str, bytes, bytearray)) or not hasattr(type(value), "__int__"):
        raise Refused
    try:
        return int(value)
    except Exception:
        raise Refused from None


def _integer_caster(low: int, high: int) -> Caster:
    def load(stub: Any, value: Any) -> int:
        number = _integer(value)
        if not low <= number <= high:
            raise Refused
        return number

    return Caster("int", load)


def _load_bool(stub: Any, value: Any) -> bool:
    if value is None or not hasattr(type(value), "__bool__"):
        raise Refused
    try:
        return bool(value)
    except Exception:
        raise Refused from None


def _load_float(stub: Any, value: Any) -> float:
    kind = type(value)
    if isinstance(value, (str, bytes, bytearray)) or not (hasattr(kind, "__float__") or hasattr(kind, "__index__")):
        raise Refused
    try:
        return float(value)
    except Exception:
        raise Refused from None


def _load_object(stub: Any, value: Any) -> Any:
    return value


def _load_some_object(stub: Any, value: Any) -> Any:
    if value is None:
        raise Refused
    return value


def _load_array(stub: Any, value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        raise Refused
    return value


STR = Caster("str", _load_str)
BOOL = Caster("bool", _load_bool)
FLOAT = Caster("float", _load_float)
INT64 = _integer_caster(-(2**63), 2**63 - 1)
INT32 = _integer_caster(-(2**31), 2**31 - 1)
UINT32 = _integer_caster(0, 2**32 - 1)
UINT64 = _integer_caster(0, 2**64 - 1)
OBJECT = Caster("object", _load_object)
SOME_OBJECT = Caster("object", _load_some_object)
NDARRAY = Caster("numpy.ndarray", _load_array)


def instance_of(name: str, text: Optional[str] = None, none: bool = False) -> Caster:
    """An object of one of our classes; with `none`, None is a null pointer."""

    def load(stub: Any, value: Any) -> Any:
        if (none and value is None) or isinstance(value, stub.classes[name]):
            return value
        raise Refused

    return Caster(text or f"c_python_backend_utils.{name}", load)


def list_of(element: Caster) -> Caster:
    """Any sequence but text: the C++ side takes list and tuple alike, and no set, dict or generator."""

    def load(stub: Any, value: Any) -> Any:
        if isinstance(value, (str, bytes, dict, set, frozenset)) or not hasattr(type(value), "__getitem__"):
            raise Refused
        load_element = element.load
        return [load_element(stub, value[index]) for index in range(len(value))]

    return Caster(f"List[{element.text}]", load)
