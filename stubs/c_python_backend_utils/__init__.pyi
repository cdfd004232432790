"""The C++ classes of Triton's Python backend: a module of the stub process, found nowhere else.

Most of them are set on ``triton_python_backend_utils``, where models find them, but only after model.py was
imported. The others (`InferenceResponseSender`, `ResponseIterator`, `InferenceTrace`, `Metric`, `MetricKind`,
`MemoryType`) are returned by methods; to name them in annotations, import them under ``TYPE_CHECKING``.

"Since" is the container release that brought a name; what has none is in 21.10. Left out of the types: ``str``
parameters take bytes as well, ``int`` parameters numpy's integers, ``bool`` parameters numbers.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, NoReturn, Protocol, SupportsFloat, SupportsIndex, TypeAlias, overload

from numpy.typing import NDArray
from typing_extensions import CapsuleType, Never, deprecated

# The C++ side takes a dict and no other Mapping, but a dict is invariant: dict[str, int] would be refused.
_Parameters: TypeAlias = Mapping[str, bool | int | str]
_Number: TypeAlias = SupportsFloat | SupportsIndex  # numpy's scalars too

class _DLPackProducer(Protocol):
    def __dlpack__(self, *, stream: int | None = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, int]: ...

# Not an enum.Enum: equal to its number and hashed like it, but no number is taken in its place.
class _PybindEnum:
    __members__: ClassVar[dict[str, Any]]
    def __init__(self, value: int) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __getstate__(self) -> int: ...
    def __setstate__(self, state: int, /) -> None: ...

class TritonModelException(Exception):
    """An exception like any other: the client sees INTERNAL, whatever its arguments."""

class TritonError:
    """An error for a response. Not an exception: it cannot be raised."""

    class __ErrorCode(_PybindEnum):
        ALREADY_EXISTS: Final[TritonError.__ErrorCode]
        CANCELLED: Final[TritonError.__ErrorCode]
        INTERNAL: Final[TritonError.__ErrorCode]
        INVALID_ARG: Final[TritonError.__ErrorCode]
        NOT_FOUND: Final[TritonError.__ErrorCode]
        UNAVAILABLE: Final[TritonError.__ErrorCode]
        UNKNOWN: Final[TritonError.__ErrorCode]
        UNSUPPORTED: Final[TritonError.__ErrorCode]

    ALREADY_EXISTS: Final[TritonError.__ErrorCode]
    """HTTP 400, gRPC ALREADY_EXISTS. Since 23.09."""
    CANCELLED: Final[TritonError.__ErrorCode]
    """HTTP 400, gRPC CANCELLED. Since 23.10."""
    INTERNAL: Final[TritonError.__ErrorCode]
    """HTTP 500, gRPC INTERNAL. Since 23.09."""
    INVALID_ARG: Final[TritonError.__ErrorCode]
    """HTTP 400, gRPC INVALID_ARGUMENT. Since 23.09."""
    NOT_FOUND: Final[TritonError.__ErrorCode]
    """HTTP 404, gRPC NOT_FOUND. Since 23.09."""
    UNAVAILABLE: Final[TritonError.__ErrorCode]
    """HTTP 503, gRPC UNAVAILABLE. Since 23.09."""
    UNKNOWN: Final[TritonError.__ErrorCode]
    """HTTP 400, gRPC UNKNOWN. Since 23.09."""
    UNSUPPORTED: Final[TritonError.__ErrorCode]
    """HTTP 501, gRPC UNIMPLEMENTED. Since 23.09."""
    def __init__(self, message: str, code: TritonError.__ErrorCode = ...) -> None:
        """`code` is INTERNAL by default, and takes no int. Its name, and that of `message`, since 23.09."""

    def code(self) -> TritonError.__ErrorCode:
        """Since 23.09."""

    def message(self) -> str: ...

class Tensor:
    """A name and an array. Numbers are read when the tensor is first sent, BYTES when it is made."""

    def __init__(self, name: str, array: NDArray[Any], /) -> None:
        """Keep `array`; a copy is made only where it is not C-contiguous.

        Raises
        ------
        TritonModelException
            If `name` is empty; if the dtype is not bool, (u)int8 to 64, float16 to 64, object or S, all in native
            byte order (``U`` is none of them).
        UnicodeEncodeError
            If a str of an object array has lone surrogates. Any element that is not bytes is sent as its str.
        """

    def name(self) -> str: ...
    def as_numpy(self) -> NDArray[Any]:
        """The array, the same object at each call.

        Of a tensor that was received it is a writable copy: what is written to it is not sent on. BYTES come as
        an object array of bytes.

        Raises
        ------
        TritonModelException
            If the tensor is on a GPU, or is BF16.
        """

    def shape(self) -> list[int]:
        """With the batch dimension. Since 22.08."""

    @deprecated("always raises TypeError: the enum is registered in no release")
    def triton_dtype(self) -> NoReturn: ...
    def is_cpu(self) -> bool: ...
    def to_dlpack(self) -> CapsuleType:
        """A view of what will be sent; TritonModelException for BYTES."""

    def __dlpack__(self, stream: object = None) -> CapsuleType:
        """`to_dlpack`; `stream` is not looked at. Since 23.05."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """``(1, 0)`` on the CPU, ``(2, device id)`` on a GPU. Since 23.05."""
    @overload
    @staticmethod
    @deprecated("a numpy array kills the stub process: use Tensor(name, array)")
    def from_dlpack(name: str, source: NDArray[Any], /) -> NoReturn: ...
    @overload
    @staticmethod
    def from_dlpack(name: str, source: CapsuleType | _DLPackProducer, /) -> Tensor:
        """``Tensor.from_dlpack(name, source)``: on the class only, on an object it is a TypeError.

        `source` is a capsule, or has ``__dlpack__`` (since 23.05), and is in C order. Dimension 0 is not checked:
        of ``x[::2]`` the wrong numbers are sent. A capsule used twice kills the stub process.

        Raises
        ------
        TritonModelException
            If `name` is empty, or layout, dtype or device do not fit.
        """

class InferenceTrace:
    """Since 23.08."""

    def __init__(self, *, no_constructor_defined: Never) -> None: ...
    def get_context(self) -> str | None:
        """JSON text with a traceparent; None unless the server traces with OpenTelemetry. Since 24.03."""

class MemoryType(_PybindEnum):
    """GPU is 0 and CPU is 1, the reverse of the C API. Since 23.04."""

    TRITONSERVER_MEMORY_CPU: Final[MemoryType]
    TRITONSERVER_MEMORY_GPU: Final[MemoryType]

TRITONSERVER_MEMORY_CPU: Final[MemoryType]
"""Since 23.04."""
TRITONSERVER_MEMORY_GPU: Final[MemoryType]
"""Since 23.04."""

class PreferredMemory:
    """Where the outputs of a BLS request should lie. Since 23.04."""

    def __init__(self, preferred_memory_type: MemoryType, preferred_device_id: int = 0) -> None: ...

class InferenceRequest:
    """A request that `execute` got, or one that a model makes to call another model (BLS).

    The name and version of the model, the preferred memory and the priority cannot be read back.
    """

    # C++ may require a parameter after optional ones; Python needs two signatures to say so.
    @overload
    def __init__(
        self,
        request_id: str = "",
        correlation_id: int | str = 0,
        *,
        inputs: Sequence[Tensor],
        requested_output_names: list[str] | tuple[str, ...],
        model_name: str,
        model_version: int = -1,
        flags: int = 0,
        timeout: int = 0,
        preferred_memory: PreferredMemory = ...,
        trace: InferenceTrace = ...,
        parameters: _Parameters | None = None,
    ) -> None:
        """Make a request; nothing of the request being answered is inherited.

        Parameters
        ----------
        correlation_id : int or str
            0 to 2**64 - 1; a str since 24.04.
        requested_output_names : list or tuple of str
            Empty: all outputs.
        model_version : int
            -1: the server's version policy decides.
        flags : int
            Since 22.02.
        timeout : int
            Microseconds. Since 23.03.
        preferred_memory : PreferredMemory
            Since 23.04.
        trace : InferenceTrace
            That of another request. Since 23.08.
        parameters : dict
            Since 23.11.

        Raises
        ------
        TritonModelException
            If an input is None, a requested name is empty, or `parameters` holds another type.
        """

    @overload
    def __init__(
        self,
        request_id: str,
        correlation_id: int | str,
        inputs: Sequence[Tensor],
        requested_output_names: list[str] | tuple[str, ...],
        model_name: str,
        model_version: int = -1,
        flags: int = 0,
        timeout: int = 0,
        preferred_memory: PreferredMemory = ...,
        trace: InferenceTrace = ...,
        parameters: _Parameters | None = None,
    ) -> None: ...
    def inputs(self) -> list[Tensor]: ...
    def request_id(self) -> str: ...
    def correlation_id(self) -> int | str: ...
    def requested_output_names(self) -> set[str]:
        """All outputs where the client named none. A set since 22.07, a list before."""

    def flags(self) -> int:
        """Since 22.02."""

    def set_flags(self, flags: int, /) -> None:
        """Since 22.02."""

    def timeout(self) -> int:
        """Microseconds. Since 23.03."""

    def parameters(self) -> str:
        """JSON text, ``{}`` where there are none. Since 23.03."""

    def trace(self) -> InferenceTrace:
        """Since 23.08."""

    def is_cancelled(self) -> bool:
        """Only for requests that `execute` got: on one that was made here the server dies. Since 23.10."""

    def get_response_sender(self) -> InferenceResponseSender:
        """Since 22.05; in models that are not decoupled since 24.06."""

    def set_release_flags(self, flags: int, /) -> None:
        """Only for requests that `execute` got. Since 23.11."""

    @overload
    def exec(self, decoupled: Literal[False] = False) -> InferenceResponse:
        """Run the request. What goes wrong there is in the response's `error`, it is not raised.

        `decoupled` since 23.03.

        Raises
        ------
        TritonModelException
            If called outside `execute`.
        """

    @overload
    def exec(self, decoupled: Literal[True]) -> ResponseIterator: ...
    @overload
    def exec(self, decoupled: bool) -> InferenceResponse | ResponseIterator: ...
    @overload
    def async_exec(self, decoupled: Literal[False] = False) -> asyncio.Future[InferenceResponse]:
        """`exec` in the default executor of the running loop. `decoupled` since 23.03."""

    @overload
    def async_exec(self, decoupled: Literal[True]) -> asyncio.Future[ResponseIterator]: ...
    @overload
    def async_exec(self, decoupled: bool) -> asyncio.Future[InferenceResponse] | asyncio.Future[ResponseIterator]: ...

class InferenceResponse:
    """Outputs, or an error; with an error the outputs are not sent."""

    def __init__(
        self,
        output_tensors: Sequence[Tensor] = [],
        error: TritonError | None = None,
        parameters: _Parameters | None = None,
    ) -> None:
        """`output_tensors` may be left out since 23.06, `parameters` is there since 25.02.

        Raises
        ------
        TritonModelException
            If an output is None, or `parameters` holds another type.
        """

    def output_tensors(self) -> list[Tensor]:
        """Once the response was returned or sent, only those that the client asked for."""

    def has_error(self) -> bool: ...
    def error(self) -> TritonError | None: ...
    def parameters(self) -> str:
        """JSON text, ``{}`` where there are none. Since 25.02."""

class InferenceResponseSender:
    """Since 22.05."""

    def __init__(self, *, no_constructor_defined: Never) -> None: ...
    def send(self, response: InferenceResponse | None = None, flags: int = 0) -> None:
        """Send a response, or a bare final flag (TRITONSERVER_RESPONSE_COMPLETE_FINAL).

        Raises
        ------
        TritonModelException
            If there is neither response nor flag; after the final flag; in a model that is not decoupled after
            the first response, or with a bare flag before it.
        """

    def is_cancelled(self) -> bool:
        """Since 23.10."""

class ResponseIterator:
    """The responses of a decoupled model, as they come.

    A model that ends with a bare final flag gives one response more, without outputs. Iterated again, it gives all
    responses again. Since 23.03.
    """

    def __init__(self, response: InferenceResponse, /) -> None: ...
    def __iter__(self) -> ResponseIterator: ...
    def __next__(self) -> InferenceResponse: ...
    def cancel(self) -> None:
        """Since 25.04."""

class Logger:
    """The server's log. Nothing is formatted: one text, no arguments. Since 22.09."""

    class LogLevel(_PybindEnum):
        ERROR: Final[Logger.LogLevel]
        INFO: Final[Logger.LogLevel]
        VERBOSE: Final[Logger.LogLevel]
        WARNING: Final[Logger.LogLevel]

    ERROR: Final[Logger.LogLevel]
    INFO: Final[Logger.LogLevel]
    VERBOSE: Final[Logger.LogLevel]
    WARNING: Final[Logger.LogLevel]
    def __init__(self, *, no_constructor_defined: Never) -> None: ...
    @staticmethod
    def log(message: str, level: Logger.LogLevel = ...) -> None:
        """INFO by default."""

    @staticmethod
    def log_error(message: str) -> None: ...
    @staticmethod
    def log_info(message: str) -> None: ...
    @staticmethod
    def log_verbose(message: str) -> None:
        """Dropped unless the server runs with ``--log-verbose``."""

    @staticmethod
    def log_warn(message: str) -> None: ...

class MetricKind(_PybindEnum):
    """Since 23.05."""

    COUNTER: Final[MetricKind]
    GAUGE: Final[MetricKind]
    HISTOGRAM: Final[MetricKind]

COUNTER: Final[MetricKind]
GAUGE: Final[MetricKind]
HISTOGRAM: Final[MetricKind]

class Metric:
    """One series of a `MetricFamily`; dead once the family is. Since 23.05."""

    def __init__(self, *, no_constructor_defined: Never) -> None: ...
    def increment(self, value: _Number, /) -> None:
        """TritonModelException for a histogram, and for a negative `value` of a counter."""

    def set(self, value: _Number, /) -> None:
        """TritonModelException unless a gauge."""

    def observe(self, value: _Number, /) -> None:
        """TritonModelException unless a histogram. Since 24.08."""

    def value(self) -> float:
        """TritonModelException for a histogram."""

_Metric: TypeAlias = Metric  # inside MetricFamily the name is its method

class MetricFamily:
    """A family on the page ``/metrics``. It owns its metrics: keep it as long as them. Since 23.05."""

    COUNTER: Final[MetricKind]
    GAUGE: Final[MetricKind]
    HISTOGRAM: Final[MetricKind]
    """Since 24.08."""
    def __init__(self, name: str, description: str, kind: MetricKind) -> None:
        """TritonModelException if the server has `name` with another kind, or if it is no metric name."""

    def Metric(self, labels: dict[str, str] | None = None, buckets: list[float] | list[int] | None = None) -> _Metric:
        """The metric with these labels; the same labels share one value.

        Parameters
        ----------
        buckets : list of float
            Strictly ascending; for a histogram, and only there. Since 24.08.

        Raises
        ------
        TritonModelException
            If a label name, or `buckets`, does not fit.
        """

def load_model(model_name: str, config: str = "", files: dict[str, bytes] | None = None) -> None:
    """Load, and wait for it. Since 23.07.

    Parameters
    ----------
    config : str
        JSON text.
    files : dict
        Contents by ``"file:1/model.py"``; needs `config`.

    Raises
    ------
    TritonModelException
        If it does not load, or the server runs without ``--model-control-mode=explicit``.
    """

def unload_model(model_name: str, unload_dependents: bool = False) -> None:
    """Begin to unload; a model that does not exist is no error. Since 23.07."""

def is_model_ready(model_name: str, model_version: str = "") -> bool:
    """False for a model or version that does not exist. Since 23.07.

    Raises
    ------
    TritonModelException
        If `model_version` is not a number.
    """

# The stub process's own, of no use to models.

class SharedMemory:
    """Since 22.04."""

    def __init__(self, *, no_constructor_defined: Never) -> None: ...
    def free_memory(self) -> int: ...

shared_memory: SharedMemory
"""Since 22.04."""

def async_event_future_done_callback(py_future: asyncio.Future[Any]) -> None:
    """Since 24.06."""
