"""The object model of pybind11 classes, as far as a model can see it from Python.

Instances carry one hidden slot with their state; nothing else is to be seen in `dir()`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .errors import MODULE
from .signatures import Bound, Parameter, Signature

_BUILTINS = "pybind11_builtins"
_HIDDEN = frozenset(("_pb", "_init", "_stub", "__slots__", "__weakref__"))
_OBJECT_INIT_DOC = "Initialize self.  See help(type(self)) for accurate signature."


class StaticProperty(property):
    """A read-only property of the class itself, computed at every access."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.fget(owner) if self.fget else None

    def __set__(self, instance: Any, value: Any) -> None:
        property.__set__(self, instance if isinstance(instance, type) else type(instance), value)


class pybind11_type(type):
    """The metaclass. The C name of a class carries its module, `__name__` does not."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        own = cls.__dict__
        init: Any = own.get("__init__")
        ours: Any = own.get("_init")
        if init is not None and init is ours and "__new__" not in own:
            # One of ours, as it was made and no subclass: the short way to the same end.
            made: Any = object.__new__(cls)  # type: ignore[arg-type]
            init.construct(made, args, kwargs)
            return made
        instance = type.__call__(cls, *args, **kwargs)
        if not hasattr(instance, "_pb") and isinstance(instance, PybindObject):
            raise TypeError(f"{_c_name(cls)}.__init__() must be called when overriding __init__")
        return instance

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        name: str = type.__dict__["__name__"].__get__(cls)
        return name.rsplit(".", 1)[-1]

    def __setattr__(cls, name: str, value: Any) -> None:
        current = cls.__dict__.get(name)
        if isinstance(current, StaticProperty):
            current.__set__(cls, value)
        else:
            super().__setattr__(name, value)

    def __dir__(cls) -> List[str]:
        return [name for name in super().__dir__() if name not in _HIDDEN]


def _full_name(cls: type) -> str:
    name: str = type.__dict__["__name__"].__get__(cls)
    return name


def _c_name(cls: type) -> str:
    # The nearest of our own classes: a subclass written in Python is reported by its base.
    for base in cls.__mro__:
        if "." in _full_name(base):
            return _full_name(base)
    return cls.__name__


def _object_init(self: Any, *args: Any, **kwargs: Any) -> None:
    raise TypeError(f"{_full_name(type(self))}: No constructor defined!")


def _object_dir(self: Any) -> List[str]:
    return [name for name in object.__dir__(self) if name not in _HIDDEN]


def _object_reduce(self: Any, protocol: int = 0) -> Any:
    name = _full_name(type(self))
    kind = name.rsplit(".", 1)[-1]
    if protocol < 2:  # Source: measured on 24.10
        type(self)._stub.fail(
            "TPB514",
            f"pickling a {kind} by protocol {protocol} kills the stub process",
            "pickle, or __reduce__",
            "Do not pickle objects of pb_utils: take names, arrays and messages out of them.",
        )
    raise TypeError(f"cannot pickle {name!r} object")


_object_init.__name__, _object_init.__doc__ = "__init__", _OBJECT_INIT_DOC
pybind11_type.__module__ = _BUILTINS

PybindObject: Any = pybind11_type(
    "pybind11_object",
    (object,),
    {
        "__module__": _BUILTINS,
        "__doc__": None,
        "__slots__": ("_pb", "__weakref__"),
        "__init__": _object_init,
        "__dir__": _object_dir,
        "__reduce__": _object_reduce,
        "__reduce_ex__": _object_reduce,
    },
)


class PybindClass:
    """The recipe of one class; `build` makes it for one stub, as the stub's release has it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._functions: List[Tuple[Signature, Callable[..., Any]]] = []

    def init(self, *parameters: Parameter) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorate the constructor: it returns the state that the new object will carry."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._functions.append((self._signature("__init__", "constructor", parameters, "None"), function))
            return function

        return register

    def method(
        self, name: str, *parameters: Parameter, returns: str = "None", kind: str = "method"
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorate a method: it gets the stub, the object (unless unbound or static), the arguments."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._functions.append((self._signature(name, kind, parameters, returns), function))
            return function

        return register

    def _signature(self, name: str, kind: str, parameters: Sequence[Parameter], returns: str) -> Signature:
        gated = []
        for parameter in parameters:
            parameter.feature = parameter.feature or f"{self.name}.{name}.{parameter.name}"
            gated.append(parameter)
        return Signature(name, kind, f"{MODULE}.{self.name}", gated, returns)

    def build(self, stub: Any, extra: Optional[Dict[str, Any]] = None) -> type:
        """The class for `stub`, registered in ``stub.classes``."""
        namespace: Dict[str, Any] = {
            "__module__": MODULE,
            "__qualname__": self.name,
            "__doc__": None,
            "__slots__": (),
        }
        for signature, function in self._functions:
            if stub.release.has(f"{self.name}.{signature.name}"):
                made: Any = Bound(stub, signature, function)
                namespace[signature.name] = made
        built: type = pybind11_type(f"{MODULE}.{self.name}", (PybindObject,), namespace)
        for name, value in (extra or {}).items():
            type.__setattr__(built, name, value)  # afterwards: a property then knows no name, like pybind11's
        type.__setattr__(built, "_stub", stub)
        if "__init__" in namespace:
            type.__setattr__(built, "_init", namespace["__init__"])
        stub.classes[self.name] = built
        return built


def wrap(stub: Any, name: str, state: Any) -> Any:
    """An object of class `name` around `state`, made by the C++ side."""
    made: Any = stub.classes[name]
    instance = made.__new__(made)
    instance._pb = state
    return instance
