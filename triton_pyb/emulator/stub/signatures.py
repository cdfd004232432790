"""One bound C++ function: its signature text, its argument check, its TypeError."""

from __future__ import annotations

import re
from types import MethodType
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .casters import Caster, Refused
from .releases import Release

_REQUIRED: Any = object()


class StubDefault:
    """A default that is one of our objects: ``stub.defaults[key]``, printed by its repr."""

    def __init__(self, key: str) -> None:
        self.key = key


class Parameter:
    """One parameter; without a name it can only be given by position.

    `feature` names the row of `releases.SINCE` that brought the parameter, `named_since` and
    `optional_since` the rows that brought its name and its default; `caster_before` is the row and the
    caster that came before it.
    """

    def __init__(
        self,
        name: Optional[str],
        caster: Caster,
        default: Any = _REQUIRED,
        feature: str = "",
        named_since: str = "",
        optional_since: str = "",
        caster_before: Optional[Tuple[str, Caster]] = None,
    ) -> None:
        self.name, self.caster, self.default = name, caster, default
        self.feature, self.named_since, self.optional_since = feature, named_since, optional_since
        self.caster_before = caster_before

    def at(self, release: Release) -> Optional[Parameter]:
        """This parameter as `release` has it, or None where it has none."""
        if self.feature and not release.has(self.feature):
            return None
        name = self.name if not self.named_since or release.has(self.named_since) else None
        optional = not self.optional_since or release.has(self.optional_since)
        caster = self.caster
        if self.caster_before and not release.has(self.caster_before[0]):
            caster = self.caster_before[1]
        return Parameter(name, caster, self.default if optional else _REQUIRED)


class Signature:
    """What a function takes and gives.

    `kind` is "constructor", "method", "unbound" (a method whose first argument is not the object),
    "static" or "function".
    """

    def __init__(
        self, name: str, kind: str, owner: str, parameters: Sequence[Parameter], returns: str = "None"
    ) -> None:
        self.name, self.kind, self.owner, self.returns = name, kind, owner, returns
        self.parameters: List[Parameter] = list(parameters)
        self._loads = [parameter.caster.load for parameter in parameters]

    def at(self, release: Release) -> Signature:
        """The signature as `release` has it."""
        kept = [parameter.at(release) for parameter in self.parameters]
        return Signature(self.name, self.kind, self.owner, [p for p in kept if p], self.returns)

    def listing(self, stub: Any) -> str:
        """The parameters as pybind11 prints them, without the object itself."""
        texts = []
        for index, parameter in enumerate(self.parameters):
            if parameter.name:
                name = parameter.name
            elif self.kind == "unbound":
                name = "self" if index == 0 else f"arg{index - 1}"
            else:
                name = f"arg{index}"
            text = f"{name}: {parameter.caster.text}"
            if parameter.default is not _REQUIRED:
                text += f" = {_default(stub, parameter)!r}"
            texts.append(text)
        return ", ".join(texts)

    def _own_text(self, stub: Any, with_self: bool) -> str:
        listing = self.listing(stub)
        if with_self:
            listing = f"self: {self.owner}" + (", " + listing if listing else "")
        return _generics(listing, stub.release)

    def doc(self, stub: Any) -> str:
        """The docstring pybind11 writes: the whole signature."""
        with_self = self.kind in ("constructor", "method")
        listing = self._own_text(stub, with_self)
        return f"{self.name}({listing}) -> {_generics(self.returns, stub.release)}\n"

    def complaint(self, stub: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> str:
        """The text of the TypeError for arguments that do not fit."""
        if self.kind == "constructor":
            what, line = "constructor", f"{self.owner}({self._own_text(stub, False)})"
            args = args[1:]
        else:
            what = "function"
            listing = self._own_text(stub, self.kind == "method")
            line = f"({listing}) -> {_generics(self.returns, stub.release)}"
        text = f"{self.name}(): incompatible {what} arguments. "
        text += f"The following argument types are supported:\n    1. {line}\n\nInvoked with: "
        text += ", ".join(_shown(value) for value in args)
        if kwargs:
            text += "; " if args else ""
            text += "kwargs: " + ", ".join(f"{key}={_shown(value)}" for key, value in kwargs.items())
        return text

    def bind(self, stub: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> List[Any]:
        """The converted arguments in order; raises Refused."""
        if len(args) > len(self.parameters):
            raise Refused
        values: List[Any] = [load(stub, value) for load, value in zip(self._loads, args)]
        if len(args) == len(self.parameters) and not kwargs:
            return values
        named = 0
        for parameter in self.parameters[len(args) :]:
            if parameter.name in kwargs:
                values.append(parameter.caster.load(stub, kwargs[parameter.name]))
                named += 1
            elif parameter.default is not _REQUIRED:
                values.append(_default(stub, parameter))
            else:
                raise Refused
        if named != len(kwargs):
            raise Refused
        return values


class Bound:
    """A bound C++ function: what a model finds on a class or on the module; no `__code__`, like the real ones.

    `implementation` gets the stub, the object (methods), and the converted arguments; a constructor gives the state.
    """

    def __init__(self, stub: Any, signature: Signature, implementation: Callable[..., Any]) -> None:
        self._stub, self._implementation = stub, implementation
        self._signature = signature.at(stub.release)
        self._takes_object = signature.kind in ("constructor", "method")
        self._is_static = signature.kind == "static"
        self._owner = signature.owner.split(".", 1)[-1]
        self.__name__ = signature.name
        # pybind11 hangs its functions on a capsule, and that is what their qualified name says.
        self.__qualname__ = f"PyCapsule.{signature.name}"
        self.__module__ = "c_python_backend_utils" if signature.kind == "function" else ""
        self.__doc__ = self._signature.doc(stub)
        self._getter = self._short_way() if signature.kind == "method" and not self._signature.parameters else None

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None or self._is_static:
            return self
        return MethodType(self._getter or self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        stub = self._stub
        if not self._takes_object:
            return self._implementation(stub, *self._values(args, args, kwargs))
        if not args or not isinstance(args[0], stub.classes[self._owner]):
            if self._signature.kind == "constructor":
                raise TypeError("__init__(self, ...) called with invalid or missing `self` argument")
            raise TypeError(self._signature.complaint(stub, args, kwargs))
        if self._signature.kind == "constructor":
            first = getattr(args[0], "_pb", None)
            self.construct(args[0], args[1:], kwargs)
            if first is not None:  # called once more: pybind11 keeps to the first value
                args[0]._pb = first
            return None
        return self._implementation(stub, args[0], *self._values(args[1:], args, kwargs))

    def construct(self, instance: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        """Give a new object its state."""
        try:
            values = self._signature.bind(self._stub, args, kwargs)
        except Refused:
            raise TypeError(self._signature.complaint(self._stub, (instance, *args), kwargs)) from None
        instance._pb = self._implementation(self._stub, *values)

    def _short_way(self) -> Callable[..., Any]:
        """The getter of an object, where nothing is left to check: a request asks a dozen of them."""
        stub, implementation = self._stub, self._implementation

        def getter(instance: Any, *args: Any, **kwargs: Any) -> Any:
            return self(instance, *args, **kwargs) if args or kwargs else implementation(stub, instance)

        getter.__name__, getter.__qualname__ = self.__name__, self.__qualname__
        getter.__module__, getter.__doc__ = self.__module__, self.__doc__
        return getter

    def _values(self, given: Sequence[Any], args: Sequence[Any], kwargs: Dict[str, Any]) -> List[Any]:
        try:
            return self._signature.bind(self._stub, given, kwargs)
        except Refused:
            raise TypeError(self._signature.complaint(self._stub, args, kwargs)) from None


def _default(stub: Any, parameter: Parameter) -> Any:
    default = parameter.default
    return stub.defaults[default.key] if isinstance(default, StubDefault) else default


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except Exception:
        return "<repr raised Error>"


def _generics(text: str, release: Release) -> str:
    if not release.has("signatures use builtin generics"):
        return text
    return re.sub(r"\b(List|Tuple|Set|Dict)\[", lambda match: match.group(1).lower() + "[", text)
