"""Request and response parameters: a dict in the constructor, JSON text from `parameters()`."""

from __future__ import annotations

import json
from typing import Any, Dict

from .doubles import number
from .errors import TritonModelException


def checked(parameters: Any) -> Dict[str, Any]:
    """The dict a constructor got, {} for None; TritonModelException in the stub's words otherwise."""
    if parameters is None:
        return {}
    if not isinstance(parameters, dict):
        # The mangled C++ name of pybind11::dict is what the real message shows.
        raise TritonModelException(f"Expect N8pybind114dictE, got {type(parameters)}")
    for key, value in parameters.items():
        if not isinstance(key, str):
            raise TritonModelException(f"Expect parameters keys to have type str, found type {type(key)}")
        if not isinstance(value, (bool, int, str)):
            raise TritonModelException(f"Expect parameters values to have type bool/int/str, found type {type(value)}")
    return parameters


def text(parameters: Dict[str, Any]) -> str:
    """As a constructed object shows them."""
    return json.dumps(parameters) if parameters else "{}"


def server_text(parameters: Dict[str, Any]) -> str:
    """As the server writes them for a received request or response: no blanks, UTF-8 kept."""
    if not parameters:
        return "{}"
    pairs = [
        json.dumps(key, ensure_ascii=False)
        + ":"
        + (number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False))
        for key, value in parameters.items()
    ]
    return "{" + ",".join(pairs) + "}"


def sendable(parameters: Dict[str, Any]) -> bool:
    """Whether the server can read every value of a BLS request: its integers have 64 bits."""
    return all(not isinstance(value, int) or -(2**63) <= value < 2**63 for value in parameters.values())
