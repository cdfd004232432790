"""Wrapped callables whose arguments have no names: ``*args`` (a torch module), positional-only, written in C."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Optional


def by_position(function: Callable[..., Any], inputs: Any) -> Callable[..., Any]:
    """`function` itself, or one around it that takes the names in `inputs` and passes them on in that order.

    Parameters
    ----------
    inputs : mapping of str to marker, or None
        ``inputs=`` of the declaration.
    """
    if not isinstance(inputs, dict) or not inputs or inspect.isclass(function) or _takes_names(function, inputs):
        return function
    names = tuple(inputs)

    def positional(**arguments: Any) -> Any:
        return function(*[arguments[name] for name in names])

    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    positional.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    positional.__wrapped__ = function  # type: ignore[attr-defined]
    positional.__name__ = getattr(function, "__name__", type(function).__name__)
    positional.__module__ = getattr(function, "__module__", None) or ""
    return positional


def _takes_names(function: Callable[..., Any], inputs: Dict[str, Any]) -> bool:
    parameters = _parameters(function)
    if parameters is None or not all(name.isidentifier() for name in inputs):
        return parameters is not None  # no identifier: the declaration says so
    kinds = [parameter.kind for parameter in parameters.values()]
    if inspect.Parameter.POSITIONAL_ONLY in kinds:
        return False
    return inspect.Parameter.VAR_POSITIONAL not in kinds or all(name in parameters for name in inputs)


def _parameters(function: Callable[..., Any]) -> Optional[Dict[str, inspect.Parameter]]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None
