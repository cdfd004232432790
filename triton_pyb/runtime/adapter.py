"""A step as Triton wants it: the class ``TritonPythonModel``."""

from __future__ import annotations

import importlib
import inspect
import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Set, Type

from . import steps
from .context import CALLERS, STATUS_MARK, Context, ModelInfo, RequestInfo
from .dtypes import config_name
from .errors import DeclarationError, TritonPybError
from .execution import Answer, Execution
from .metrics import Metrics
from .refusals import Refusal
from .server_log import route_logging, server_log
from .signature import Signature
from .state import DEFAULT_SEQUENCE_IDLE_S, Instance, Sequences
from .steps import StepMark
from .triton_tensors import read_tensor, write_tensor

if TYPE_CHECKING:
    from .calls import Caller
    from .streaming import Streams

#: The file beside ``model.py`` that says what the annotations said on the author's machine.
SIGNATURE_FILE = "signature.json"


def triton_python_model(step: Any) -> Type[Any]:
    """The ``TritonPythonModel`` class of a marked function, for a hand-kept ``model.py``.

    Examples
    --------
    ``TritonPythonModel = triton_python_model(preprocessing)``

    Raises
    ------
    DeclarationError
        When `step` is not marked, or an annotation cannot be resolved.
    """
    mark = steps.mark_of(step)
    if mark is None:
        raise DeclarationError(
            "TPB126",
            f"{step!r} is not marked as a step",
            "triton_python_model()",
            "decorate it with @preprocess, @postprocess or @model",
        )
    return _model_class(mark, mark.signature)


def packaged_model(folder: str) -> Type[Any]:
    """The ``TritonPythonModel`` class of a model folder that this package wrote.

    Parameters
    ----------
    folder : str
        The version folder: ``signature.json`` and the author's modules lie in it, and it is first on ``sys.path``.
    """
    steps.reads_annotations = False
    with open(os.path.join(folder, SIGNATURE_FILE), encoding="utf-8") as file:
        signature = Signature.from_dict(json.load(file))
    module_name, _, attribute = signature.function.partition(":")
    step: Any = importlib.import_module(module_name)
    for part in attribute.split("."):
        step = getattr(step, part)
    mark = steps.mark_of(step)
    if mark is None:
        raise TritonPybError(
            "TPB232",
            f"'{signature.function}' is not marked as a step any more",
            f"'{folder}'",
            "build the model again",
        )
    return _model_class(mark, signature)


def _model_class(mark: StepMark, signature: Signature) -> Type[Any]:
    class TritonPythonModel:
        """One instance of the step; Triton calls these methods."""

        def initialize(self, args: Dict[str, str]) -> None:
            self.adapter = Adapter(mark, signature, args)

        def execute(self, requests: List[Any]) -> Optional[List[Any]]:
            if signature.streams:
                self.adapter.stream(requests)
                return None
            return self.adapter.execute(requests)

        def is_ready(self) -> bool:  # asked from 26.03 on
            return self.adapter.execution.fatal is None

        def finalize(self) -> None:
            self.adapter.close()

    TritonPythonModel.__doc__ = f"{mark.place}"
    return TritonPythonModel


class Adapter:
    """pb_utils requests in, pb_utils responses out.

    Parameters
    ----------
    args : dict of str to str
        What Triton passes to ``initialize``.
    """

    def __init__(self, mark: StepMark, signature: Signature, args: Mapping[str, str]) -> None:
        # Here, not at the top: the stub adds its classes after model.py was imported, and on the author's
        # machine there is no such module at all.
        self.pb_utils = importlib.import_module("triton_python_backend_utils")
        config = json.loads(args["model_config"])
        batching = config.get("max_batch_size", 0) > 0
        check_config(config, signature, batching)
        self.signature = signature
        self.call_pool: Optional[ThreadPoolExecutor] = None
        settings = read_settings(signature.options.get("settings", {}), config.get("parameters", {}))
        start_sequence = start_of(mark) if signature.has_sequences else None
        self.log_handler = route_logging(self.pb_utils)
        model = model_info(args, settings, Metrics(self.pb_utils))
        try:
            self.instance = Instance(mark.function, mark.setup_function, Context([], [], model))
        except BaseException:
            self.log_handler.close()
            raise
        self.execution = Execution(
            self.instance.function,
            signature,
            mark.place,
            args["model_name"],
            batching,
            server_log(self.pb_utils),
            mark.bad_input,
            model,
        )
        self.execution.state = self.instance.state
        self.execution.caller = self.caller
        if start_sequence is not None:
            self.execution.sequences = Sequences(
                start_sequence, signature.options.get("sequence_idle_s", DEFAULT_SEQUENCE_IDLE_S)
            )
        self.streams: Optional[Streams] = None
        if signature.streams:
            from .streaming import Streams

            self.streams = Streams(self.execution)

    def execute(self, requests: List[Any]) -> List[Any]:
        """As many responses as requests, each its own; raises for nothing that one request could cause."""
        tensors = [self.tensors(request) for request in requests]
        requested = [self.requested(request) for request in requests]
        infos = [request_info(request) for request in requests]
        answers = self.execution.run(tensors, requested, infos)
        return [self.response(answer, info) for answer, info in zip(answers, infos)]

    def stream(self, requests: List[Any]) -> None:
        """Begin the streams of a decoupled model; each one ends with the final flag."""
        if self.streams is None:
            return
        for request in requests:
            info = request_info(request)
            send = self.sender(request, info)
            received = self.execution.receive(self.tensors(request), info)
            if isinstance(received, Refusal):
                send(received, True)
                continue
            context = self.execution.context([received], [(0, 0)])
            self.streams.start(received, self.requested(request), context, send)

    def sender(self, request: Any, info: RequestInfo) -> Any:
        """A function that sends one answer, or the final flag alone."""
        sender = request.get_response_sender()
        final = self.pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL

        def send(answer: Optional[Answer], last: bool) -> None:
            flags = final if last else 0
            if answer is None:
                sender.send(flags=flags)
            else:
                sender.send(self.response(answer, info), flags=flags)

        return send

    def caller(self, info: RequestInfo) -> Caller:
        """What ``ctx.call`` uses for one request."""
        from .calls import Caller  # with asyncio, so not before somebody calls

        return Caller(self.pb_utils, self.execution.model_name, info.callers, self.pool)

    def pool(self) -> ThreadPoolExecutor:
        """Threads for calls with a timeout; made when the first one comes."""
        if self.call_pool is None:
            self.call_pool = ThreadPoolExecutor(8, f"{self.execution.model_name}-call")
        return self.call_pool

    def close(self) -> None:
        """Let threads, the author's resources and the log handler go."""
        if self.streams is not None:
            self.streams.close()
        self.execution.close()
        if self.call_pool is not None:
            self.call_pool.shutdown(wait=False)
        try:
            self.instance.close()
        finally:
            self.log_handler.close()

    def tensors(self, request: Any) -> Dict[str, Any]:
        """The request's arrays by name; an optional input that did not come has no entry."""
        readonly = bool(self.signature.options.get("readonly"))
        return {
            tensor.name(): read_tensor(tensor, self.signature.input(tensor.name()), readonly)
            for tensor in request.inputs()
        }

    def requested(self, request: Any) -> Set[str]:
        """The outputs this client asked for."""
        return set(request.requested_output_names())

    def response(self, answer: Answer, info: RequestInfo) -> Any:
        """An answer in Triton's classes."""
        pb_utils = self.pb_utils
        if isinstance(answer, Refusal):
            # output_tensors is required up to 23.05, and codes exist from 23.09 on.
            return pb_utils.InferenceResponse(output_tensors=[], error=self.error(answer, info))
        return pb_utils.InferenceResponse(
            output_tensors=[write_tensor(pb_utils, name, array) for name, array in answer.items()]
        )

    def error(self, refusal: Refusal, info: RequestInfo) -> Any:
        """A TritonError with its code where the release has codes, the message alone before."""
        message = refusal.message
        if info.callers:  # a step of ours asked: up to 25.03 the code would be lost on the way back
            message = f"{STATUS_MARK}{refusal.code} {message}"
        code = getattr(self.pb_utils.TritonError, refusal.code, None)
        if code is None:
            return self.pb_utils.TritonError(message)
        return self.pb_utils.TritonError(message, code)


def start_of(mark: StepMark) -> Callable[[RequestInfo], Any]:
    """What makes the state of a new sequence.

    Raises
    ------
    TritonPybError
        When the step asks for a SequenceState and says nowhere how one begins.
    """
    function = mark.start_sequence_function
    if function is None:
        raise TritonPybError(
            "TPB127",
            "the step takes a SequenceState, and nothing says how a sequence begins",
            str(mark.place),
            f"mark a function that returns it: @{mark.place.function}.start_sequence",
        )
    takes_request = bool(inspect.signature(function).parameters)
    return function if takes_request else lambda request: function()


def request_info(request: Any) -> RequestInfo:
    """What a request says besides its tensors; what an old release does not know stays at its default."""
    flags: int = _ask(request, "flags", 0)
    parameters = json.loads(_ask(request, "parameters", "{}") or "{}")
    callers = [name for name in str(parameters.pop(CALLERS, "")).split(",") if name]
    return RequestInfo(
        request_id=request.request_id(),
        parameters=parameters,
        correlation_id=request.correlation_id(),
        sequence_start=bool(flags & 1),  # TRITONSERVER_REQUEST_FLAG_SEQUENCE_START
        sequence_end=bool(flags & 2),  # TRITONSERVER_REQUEST_FLAG_SEQUENCE_END
        timeout_us=_ask(request, "timeout", 0),
        cancelled=getattr(request, "is_cancelled", None),
        trace=lambda: _trace_context(request),
        callers=callers,
    )


def _trace_context(request: Any) -> Optional[Dict[str, str]]:
    """The W3C headers of the request's trace; there is a context from 24.03 on, with OpenTelemetry only."""
    trace = _ask(request, "trace", None)
    context = _ask(trace, "get_context", None)
    return json.loads(context) if context else None


def _ask(request: Any, method: str, default: Any) -> Any:
    """Call a getter that exists from some release on only."""
    getter = getattr(request, method, None)
    return default if getter is None else getter()


def read_settings(defaults: Mapping[str, Any], parameters: Mapping[str, Mapping[str, str]]) -> Dict[str, Any]:
    """The step's settings, as JSON texts in the configuration's ``parameters`` may have changed them.

    Raises
    ------
    TritonPybError
        When a text is no JSON, or a value of another type than the default's.
    """
    settings = dict(defaults)
    for name, default in defaults.items():
        if name not in parameters:
            continue
        text = parameters[name].get("string_value", "")
        try:
            value = json.loads(text)
        except ValueError:
            value = text if isinstance(default, str) else None
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if default is not None and type(value) is not type(default):
            raise TritonPybError(
                "TPB233",
                f"parameter '{name}' is {text!r}, expected {type(default).__name__} as in {json.dumps(default)}",
                "config.pbtxt, parameters",
                f'write string_value: "{json.dumps(default)}" or another {type(default).__name__}',
            )
        settings[name] = value
    return settings


def model_info(args: Mapping[str, str], settings: Mapping[str, Any], metrics: Metrics) -> ModelInfo:
    """Where this instance runs, and what it was told."""
    device = "cpu"
    if args["model_instance_kind"] == "GPU":
        device = f"cuda:{args['model_instance_device_id']}"
    model_dir = args["model_repository"]  # the model's own folder, in spite of its name
    version_dir = os.path.join(model_dir, args["model_version"])
    return ModelInfo(args["model_name"], model_dir, version_dir, device, settings, metrics)


def check_config(config: Dict[str, Any], signature: Signature, batching: bool) -> None:
    """Refuse to load when ``config.pbtxt`` was edited into something the function does not do.

    Raises
    ------
    TritonPybError
        When a tensor is missing or has another data type or other dims than the signature says.
    """
    for side, fields in (("input", signature.inputs), ("output", signature.outputs)):
        declared = {entry["name"]: entry for entry in config.get(side, [])}
        for field in fields:
            entry: Optional[Dict[str, Any]] = declared.get(field.name)
            want = f"{config_name(field.dtype)} {list(field.dims(batching))}"
            got = f"{entry['data_type']} {[int(size) for size in entry['dims']]}" if entry else "nothing"
            if got != want:
                raise TritonPybError(
                    "TPB230",
                    f"{side} '{field.name}': config.pbtxt says {got}, the function {want}",
                    f"model '{config.get('name', '')}'",
                    "build the model again, or correct config.pbtxt",
                )
