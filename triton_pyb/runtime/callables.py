"""What is called for an item: its arguments, its return annotation, where it stands."""

from __future__ import annotations

import inspect
from types import FrameType
from typing import Any, Callable, Dict, NamedTuple, Optional


class Place(NamedTuple):
    """Where a declaration stands."""

    function: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.function}() ({self.file}:{self.line})"


def place_of(function: Callable[..., Any], declared_in: Optional[FrameType] = None) -> Place:
    """Name, file and first line of a function or a callable object; of the declaration where it has none."""
    target = inspect.unwrap(called(function))
    code = getattr(target, "__code__", None) or getattr(call_method(target), "__code__", None)
    name = getattr(function, "__name__", type(function).__name__)
    if code is None and declared_in is not None:  # written in C, or a torch module
        return Place(name, declared_in.f_code.co_filename, declared_in.f_lineno)
    return Place(name, code.co_filename if code else "?", code.co_firstlineno if code else 0)


def called(function: Any) -> Callable[..., Any]:
    """What runs for an item: a class's ``__call__``, else the function itself."""
    method: Callable[..., Any] = vars(function).get("__call__", function) if inspect.isclass(function) else function
    return method


def is_generator(function: Any) -> bool:
    """The step yields, so its model is decoupled."""
    method = called(function)
    return inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method)


def parameters_of(function: Callable[..., Any]) -> Dict[str, inspect.Parameter]:
    try:
        parameters = dict(inspect.signature(called(function)).parameters)
    except (TypeError, ValueError):
        return {}
    if inspect.isclass(function):
        parameters.pop(next(iter(parameters)), None)
    return parameters


def defaults_of(function: Callable[..., Any]) -> Dict[str, Any]:
    """Default values by argument name."""
    return {
        name: parameter.default
        for name, parameter in parameters_of(function).items()
        if parameter.default is not parameter.empty
    }


def return_annotation_of(function: Callable[..., Any]) -> Any:
    try:
        return inspect.signature(called(function)).return_annotation
    except (TypeError, ValueError):
        return inspect.Signature.empty


def own_annotations(cls: type) -> Dict[str, Any]:
    """Annotations of a class and its bases, unevaluated."""
    merged: Dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        merged.update(vars(base).get("__annotations__", {}))
    return merged or dict(cls.__annotations__)


def call_method(target: Any) -> Any:
    """``__call__`` of an object that is no function."""
    return vars(type(target)).get("__call__", target)
