"""Dataclasses and pydantic models as JSON values; pydantic is never imported unless the author did."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
from typing import Any, Optional

import numpy as np

from .signature import Field


class Misfit(Exception):
    """A JSON value is not what the declared class can be made of."""


def is_json_class(python_type: type) -> bool:
    """A dataclass, or a pydantic model (by its methods: importing pydantic to compare would cost a second)."""
    return dataclasses.is_dataclass(python_type) or hasattr(python_type, "model_validate")


def class_of(field: Field) -> Optional[Any]:
    """The class that a Field names, or None."""
    name = field.options.get("type")
    return _import(name) if name else None


@functools.lru_cache(maxsize=None)
def _import(name: str) -> Any:
    module, _, qualified = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in qualified.split("."):
        found = getattr(found, part)
    return found


def as_instance(field: Field, value: Any) -> Any:
    """The JSON value as the function gets it: an instance of the declared class, or the value itself.

    A dataclass is made of the value's own keys; what is nested in it stays plain.

    Raises
    ------
    Misfit
        When the value does not fit the class.
    """
    cls = class_of(field)
    if cls is None:
        return value
    if hasattr(cls, "model_validate"):
        try:
            return cls.model_validate(value)
        except ValueError as error:  # pydantic.ValidationError is one
            raise Misfit(f"no {cls.__name__}: {' '.join(str(error).split())}") from None
    if not isinstance(value, dict):
        raise Misfit(f"no {cls.__name__}: {type(value).__name__} is no JSON object")
    names = [item.name for item in dataclasses.fields(cls) if item.init]
    unknown = [key for key in value if key not in names]
    if unknown:
        raise Misfit(f"no {cls.__name__}: it has no '{unknown[0]}' (it has {', '.join(names)})")
    try:
        return cls(**value)
    except (TypeError, ValueError) as error:
        raise Misfit(f"no {cls.__name__}: {error}") from None


def plain(value: Any) -> Any:
    """What ``json.dumps`` asks for a value it does not know."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} has no JSON form")


def without_nan(value: Any) -> Any:
    """The value with None in place of NaN and infinities, at any depth."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(item) for item in value]
    if isinstance(value, (str, int, bool)) or value is None:
        return value
    return without_nan(plain(value))
