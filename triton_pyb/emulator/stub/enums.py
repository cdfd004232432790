"""pybind11 enums: not `enum.Enum`, equal to their int, never accepted for one another."""

from __future__ import annotations

from typing import Any, Dict

from .casters import UINT32
from .errors import MODULE
from .pybind import PybindObject, StaticProperty, pybind11_type
from .signatures import Bound, Parameter, Signature

ERROR_CODES = {
    "UNKNOWN": 0,
    "INTERNAL": 1,
    "NOT_FOUND": 2,
    "INVALID_ARG": 3,
    "UNAVAILABLE": 4,
    "UNSUPPORTED": 5,
    "ALREADY_EXISTS": 6,
    "CANCELLED": 7,
}
LOG_LEVELS = {"INFO": 0, "WARNING": 1, "ERROR": 2, "VERBOSE": 3}
MEMORY_TYPES = {"TRITONSERVER_MEMORY_GPU": 0, "TRITONSERVER_MEMORY_CPU": 1}
METRIC_KINDS = {"COUNTER": 0, "GAUGE": 1, "HISTOGRAM": 2}


def build_enum(stub: Any, name: str, qualname: str, members: Dict[str, int]) -> Any:
    """The enum class `name` for `stub`, registered in ``stub.classes`` under `qualname`."""
    names = {value: member for member, value in members.items()}
    made: Dict[str, Any] = {}

    def name_of(self: Any) -> str:
        return names.get(self._pb, "???")

    def equal(self: Any, other: Any) -> bool:
        return other is not None and bool(int(self) == other)

    def construct(stub: Any, value: int) -> int:
        return value

    def set_state(self: Any, state: int) -> None:
        self._pb = state

    namespace: Dict[str, Any] = {
        "__module__": MODULE,
        "__qualname__": qualname,
        "__slots__": (),
        "__repr__": lambda self: f"<{type(self).__name__}.{name_of(self)}: {self._pb}>",
        "__str__": lambda self: f"{type(self).__name__}.{name_of(self)}",
        "__int__": lambda self: self._pb,
        "__index__": lambda self: self._pb,
        "__hash__": lambda self: hash(self._pb),
        "__eq__": equal,
        "__ne__": lambda self, other: not equal(self, other),
        "__getstate__": lambda self: self._pb,
        "__setstate__": set_state,
        "__reduce_ex__": lambda self, protocol: (type(self), (self._pb,)),
    }
    init = Signature("__init__", "constructor", f"{MODULE}.{qualname}", [Parameter("value", UINT32)])
    namespace["__init__"] = Bound(stub, init, construct)
    built: Any = pybind11_type(f"{MODULE}.{name}", (PybindObject,), namespace)
    stub.classes[qualname] = built
    listing = "Members:\n\n" + "\n\n".join("  " + member for member in members)
    properties = {
        "__doc__": StaticProperty(lambda cls: listing),
        "__members__": StaticProperty(lambda cls: dict(made)),
        "name": property(name_of, doc="name(self: handle) -> str\n"),
        "value": property(lambda self: self._pb, doc=""),
    }
    for member, value in members.items():
        made[member] = built(value)
    entries = {"__entries": {member: (item, None) for member, item in made.items()}}
    for attribute, item in {**entries, **properties, **made}.items():
        type.__setattr__(built, attribute, item)  # afterwards: a property then knows no name, like pybind11's
    return built
