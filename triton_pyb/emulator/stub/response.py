"""`TritonError` and `InferenceResponse`."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from . import parameters as parameter_texts
from .casters import OBJECT, STR, instance_of, list_of, text_of
from .enums import ERROR_CODES
from .errors import TritonModelException
from .messages import WireError, WireResponse
from .pybind import PybindClass, StaticProperty, wrap
from .signatures import Parameter, StubDefault
from .tensor import received

_CODE_NAMES = {value: name for name, value in ERROR_CODES.items()}
_ERROR_CODE = "TritonError.__ErrorCode"

TRITON_ERROR = PybindClass("TritonError")


class ErrorState:
    """What lies behind one TritonError; `code` is an object of the enum."""

    def __init__(self, message: str, code: Any) -> None:
        self.message, self.code = message, code


@TRITON_ERROR.init(
    Parameter("message", STR, named_since="TritonError.__init__.code"),
    Parameter("code", instance_of(_ERROR_CODE), StubDefault("INTERNAL")),
)
def _construct_error(stub: Any, message: str, code: Any = None) -> ErrorState:
    return ErrorState(message, int(code) if code is not None else ERROR_CODES["INTERNAL"])


@TRITON_ERROR.method("code", returns=f"c_python_backend_utils.{_ERROR_CODE}")
def _code(stub: Any, self: Any) -> Any:
    return stub.classes[_ERROR_CODE](self._pb.code)


@TRITON_ERROR.method("message", returns="str")
def _message(stub: Any, self: Any) -> str:
    return text_of(self._pb.message)


def error_code_properties(stub: Any) -> Dict[str, Any]:
    """The codes as attributes of TritonError: read-only, a new object at each access."""

    def maker(value: int) -> StaticProperty:
        return StaticProperty(lambda cls: stub.classes[_ERROR_CODE](value))

    return {name: maker(value) for name, value in ERROR_CODES.items() if stub.release.has(f"TritonError.{name}")}


def known_error_codes(stub: Any) -> Dict[str, int]:
    return {name: value for name, value in ERROR_CODES.items() if stub.release.has(f"TritonError.{name}")}


class ResponseState:
    """What lies behind one InferenceResponse; `tensors` and `error` are the author's own objects."""

    def __init__(self, tensors: List[Any], error: Any, parameters: Dict[str, Any], text: str) -> None:
        self.tensors, self.error = tensors, error
        self.parameters, self.text = parameters, text
        self.dropped: List[str] = []

    def prune(self, requested: Sequence[str]) -> None:
        """Drop the tensors nobody asked for, in the author's object itself."""
        self.dropped = [tensor._pb.name for tensor in self.tensors if tensor._pb.name not in requested]
        if self.dropped:
            self.tensors = [tensor for tensor in self.tensors if tensor._pb.name in requested]

    def to_wire(self, stub: Any, final: bool) -> WireResponse:
        """The response as it is sent; tensors freeze, and go nowhere beside an error."""
        outputs = [tensor._pb.to_wire() for tensor in self.tensors]
        if self.error is None:
            return WireResponse(outputs, None, dict(self.parameters), final, dropped=list(self.dropped))
        state: ErrorState = self.error._pb
        code = _CODE_NAMES.get(state.code, "UNKNOWN")
        # The message crosses a C string on its way to the client.
        return WireResponse([], WireError(code, text_of(state.message).split("\0")[0]), {}, final)


INFERENCE_RESPONSE = PybindClass("InferenceResponse")


@INFERENCE_RESPONSE.init(
    Parameter(
        "output_tensors",
        list_of(instance_of("Tensor", none=True)),
        [],
        optional_since="output_tensors is optional",
    ),
    Parameter("error", instance_of("TritonError", none=True), None),
    Parameter("parameters", OBJECT, None),
)
def _construct_response(stub: Any, tensors: List[Any], error: Any, parameters: Any = None) -> ResponseState:
    kept = parameter_texts.checked(parameters)
    if any([tensor is None for tensor in tensors]) and stub.release.has("None among tensors is refused"):
        raise TritonModelException("Output tensor for inference response should not be empty.")
    return ResponseState(list(tensors), error, kept, parameter_texts.text(kept))


@INFERENCE_RESPONSE.method("output_tensors", returns="List[c_python_backend_utils.Tensor]")
def _output_tensors(stub: Any, self: Any) -> List[Any]:
    return list(self._pb.tensors)


@INFERENCE_RESPONSE.method("has_error", returns="bool")
def _has_error(stub: Any, self: Any) -> bool:
    return self._pb.error is not None


@INFERENCE_RESPONSE.method("error", returns="c_python_backend_utils.TritonError")
def _error(stub: Any, self: Any) -> Any:
    return self._pb.error


@INFERENCE_RESPONSE.method("parameters", returns="str")
def _parameters(stub: Any, self: Any) -> str:
    text: str = self._pb.text
    return text


def from_wire(stub: Any, wire: WireResponse, code: Optional[str] = None, message: Optional[str] = None) -> Any:
    """The InferenceResponse a model gets from BLS; `code` and `message` override those of an error."""
    if wire.error is not None:
        state = ErrorState(wire.error.message if message is None else message, ERROR_CODES[code or wire.error.code])
        return wrap(stub, "InferenceResponse", ResponseState([], wrap(stub, "TritonError", state), {}, "{}"))
    tensors = [wrap(stub, "Tensor", received(output)) for output in wire.outputs]
    values = dict(wire.parameters)
    return wrap(stub, "InferenceResponse", ResponseState(tensors, None, values, parameter_texts.server_text(values)))
