"""`InferenceRequest`, `InferenceTrace` and `PreferredMemory`."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Set, Union

from . import bls
from . import parameters as parameter_texts
from .casters import BOOL, INT64, OBJECT, SOME_OBJECT, STR, UINT32, UINT64, instance_of, list_of, text_of
from .errors import TritonModelException
from .messages import WireRequest
from .pybind import PybindClass, wrap
from .sender import Exchange
from .signatures import Parameter, StubDefault
from .tensor import received, stub_cast_text

RELEASE_ALL, RELEASE_RESCHEDULE = 1, 2

TRACE = PybindClass("InferenceTrace")


@TRACE.method("get_context", returns="object")
def _get_context(stub: Any, self: Any) -> Optional[str]:
    context: Optional[str] = self._pb
    return context or None


PREFERRED_MEMORY = PybindClass("PreferredMemory")


@PREFERRED_MEMORY.init(
    Parameter(
        "preferred_memory_type", instance_of("MemoryType", "triton::backend::python::PreferredMemory::MemoryType")
    ),
    Parameter("preferred_device_id", INT64, 0),
)
def _construct_memory(stub: Any, kind: Any, device_id: int) -> Any:
    return ("GPU" if int(kind) == 0 else "CPU", device_id)


class RequestState:
    """What lies behind one InferenceRequest, received or constructed."""

    def __init__(self, inputs: List[Any], requested: List[str], model_name: str) -> None:
        self.inputs, self.requested, self.model_name = inputs, requested, model_name
        self.model_version = -1
        self.request_id = ""
        self.correlation_id: Union[int, str] = 0
        self.flags = 0
        self.timeout = 0
        self.priority = 0
        self.parameters: Dict[str, Any] = {}
        self.parameters_text = "{}"
        self.preferred_memory: Any = None
        self.trace: Any = None
        self.sender: Any = None
        self.exchange: Optional[Exchange] = None
        self.release_flags = RELEASE_ALL


def from_wire(stub: Any, wire: WireRequest, exchange: Exchange) -> Any:
    """The InferenceRequest that `execute` gets."""
    inputs = [wrap(stub, "Tensor", received(tensor)) for tensor in wire.inputs]
    state = RequestState(inputs, list(wire.requested_outputs), wire.model_name)
    state.request_id, state.correlation_id = wire.request_id, wire.correlation_id
    state.flags, state.timeout, state.priority = wire.flags, wire.timeout_us, wire.priority
    state.parameters = dict(wire.parameters)
    state.parameters_text = parameter_texts.server_text(wire.parameters)
    state.model_version = wire.model_version
    state.exchange = exchange
    if wire.trace is not None and stub.release.has("InferenceTrace"):
        state.trace = wrap(stub, "InferenceTrace", wire.trace)
    return wrap(stub, "InferenceRequest", state)


REQUEST = PybindClass("InferenceRequest")
_TENSORS = list_of(instance_of("Tensor", "triton::backend::python::PbTensor", none=True))


@REQUEST.init(
    Parameter("request_id", STR, ""),
    Parameter("correlation_id", SOME_OBJECT, 0, caster_before=("correlation ids may be strings", UINT64)),
    Parameter("inputs", _TENSORS),
    Parameter("requested_output_names", list_of(STR)),
    Parameter("model_name", STR),
    Parameter("model_version", INT64, -1),
    Parameter("flags", UINT32, 0),
    Parameter("timeout", UINT64, 0),
    Parameter("preferred_memory", instance_of("PreferredMemory"), StubDefault("preferred_memory")),
    Parameter("trace", instance_of("InferenceTrace"), StubDefault("trace")),
    Parameter("parameters", OBJECT, None),
)
def _construct(
    stub: Any,
    request_id: str,
    correlation_id: Any,
    inputs: List[Any],
    requested: List[str],
    model_name: str,
    model_version: int,
    flags: int = 0,
    timeout: int = 0,
    preferred_memory: Any = None,
    trace: Any = None,
    parameters: Any = None,
) -> RequestState:
    kept = parameter_texts.checked(parameters)
    known_id = _correlation_id(correlation_id)
    if stub.release.has("None among tensors is refused"):
        where = f"request with id '{text_of(request_id)}' and model name '{text_of(model_name)}'"
        if any(tensor is None for tensor in inputs):
            raise TritonModelException(f"Input tensor for {where} should not be empty.")
        if "" in requested:
            raise TritonModelException(f"Requested output name for {where} should not be empty.")
    state = RequestState(list(inputs), requested, model_name)
    state.request_id, state.correlation_id, state.model_version = request_id, known_id, model_version
    state.flags, state.timeout = flags, timeout
    state.parameters, state.parameters_text = kept, parameter_texts.text(kept)
    state.preferred_memory, state.trace = preferred_memory, trace
    return state


def _correlation_id(value: Any) -> Union[int, str]:
    if isinstance(value, int):
        if not 0 <= value < 2**64:
            raise RuntimeError(stub_cast_text())
        return int(value)
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise RuntimeError(stub_cast_text()) from None
        return str(value)
    raise TritonModelException("Correlation ID must be integer or string")


@REQUEST.method("inputs", returns="List[triton::backend::python::PbTensor]")
def _inputs(stub: Any, self: Any) -> List[Any]:
    return list(self._pb.inputs)


@REQUEST.method("request_id", returns="str")
def _request_id(stub: Any, self: Any) -> str:
    return text_of(self._pb.request_id)


@REQUEST.method("correlation_id", returns="object")
def _get_correlation_id(stub: Any, self: Any) -> Union[int, str]:
    value: Union[int, str] = self._pb.correlation_id
    return value


@REQUEST.method("flags", returns="int")
def _flags(stub: Any, self: Any) -> int:
    value: int = self._pb.flags
    return value


@REQUEST.method("set_flags", Parameter(None, UINT32))
def _set_flags(stub: Any, self: Any, flags: int) -> None:
    self._pb.flags = flags


@REQUEST.method("timeout", returns="int")
def _timeout(stub: Any, self: Any) -> int:
    value: int = self._pb.timeout
    return value


@REQUEST.method("parameters", returns="str")
def _parameters(stub: Any, self: Any) -> str:
    value: str = self._pb.parameters_text
    return value


@REQUEST.method("trace", returns="c_python_backend_utils.InferenceTrace")
def _trace(stub: Any, self: Any) -> Any:
    trace = self._pb.trace
    return wrap(stub, "InferenceTrace", trace and trace._pb)  # a copy at every call


@REQUEST.method("exec", Parameter("decoupled", BOOL, False), returns="object")
def _exec(stub: Any, self: Any, decoupled: bool = False) -> Any:
    return bls.execute(stub, self._pb, decoupled)


@REQUEST.method("async_exec", Parameter("decoupled", BOOL, False), returns="object")
def _async_exec(stub: Any, self: Any, decoupled: bool = False) -> Any:
    return bls.execute_in_executor(stub, self, decoupled)


@REQUEST.method("requested_output_names", returns="Set[str]")
def _requested_output_names(stub: Any, self: Any) -> Union[Set[str], List[str]]:
    names = [name if name.isascii() else text_of(name) for name in self._pb.requested]
    return set(names) if stub.release.has("requested output names are a set") else names


@REQUEST.method("get_response_sender", returns="triton::backend::python::ResponseSender")
def _get_response_sender(stub: Any, self: Any) -> Any:
    allowed = stub.release.has("responses may be sent in non-decoupled models")
    if not stub.decoupled and not allowed:
        raise TritonModelException(
            "'get_response_sender' function must be called only when the model is using the decoupled "
            "transaction policy."
        )
    state: RequestState = self._pb
    if state.sender is None:  # made when it is asked for: most models return their responses
        state.sender = wrap(stub, "InferenceResponseSender", state.exchange)
    return state.sender


@REQUEST.method("is_cancelled", returns="bool")
def _is_cancelled(stub: Any, self: Any) -> bool:
    return bool(stub.is_cancelled(self._pb.exchange))


@REQUEST.method("set_release_flags", Parameter(None, UINT32))
def _set_release_flags(stub: Any, self: Any, flags: int) -> None:
    if self._pb.exchange is None:
        stub.fail(
            "TPB504",
            "set_release_flags on a request that was constructed here: the stub follows an unset pointer",
            "InferenceRequest.set_release_flags",
            "Set release flags only on the requests that execute got.",
        )
    self._pb.release_flags = flags
