"""A step as Triton wants it: the class ``TritonPythonModel``."""

from __future__ import annotations

import importlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Set, Type

from . import steps
from .context import STATUS_MARK, Context, RequestInfo
from .errors import DeclarationError, TritonPybError
from .execution import Answer, Execution
from .initialization import check_config, model_info, read_settings, start_of
from .metrics import Metrics
from .refusals import Refusal
from .request_info import ReceivedInfo
from .server_log import print_at_once, route_logging, server_log
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
    print_at_once()
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
        self.response_class, self.tensor_class = self.pb_utils.InferenceResponse, self.pb_utils.Tensor
        config = json.loads(args["model_config"])
        batching = config.get("max_batch_size", 0) > 0
        check_config(config, signature, batching)
        self.signature = signature
        self.inputs = {field.name: field for field in signature.inputs}
        self.readonly = bool(signature.options.get("readonly"))
        self.call_pool: Optional[ThreadPoolExecutor] = None
        settings = read_settings(signature.options.get("settings", {}), config.get("parameters", {}))
        mark.check_companions(signature)
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
        answers: List[Any] = []
        infos: List[RequestInfo] = []
        asked: List[Set[str]] = []
        readable: List[int] = []
        for index, request in enumerate(requests):
            infos.append(ReceivedInfo(request))
            answers.append(self.read(request))
            if not isinstance(answers[index], Refusal):
                readable.append(index)
                asked.append(self.requested(request))
        if len(readable) == len(requests):
            answers = self.execution.run(answers, asked, infos)
        elif readable:
            ran = self.execution.run([answers[i] for i in readable], asked, [infos[i] for i in readable])
            for index, answer in zip(readable, ran):
                answers[index] = answer
        return [self.response(answer, info) for answer, info in zip(answers, infos)]

    def stream(self, requests: List[Any]) -> None:
        """Begin the streams of a decoupled model; each one ends with the final flag."""
        if self.streams is None:
            return
        for request in requests:
            info = ReceivedInfo(request)
            send = self.sender(request, info)
            tensors = self.read(request)
            received = tensors if isinstance(tensors, Refusal) else self.execution.receive(tensors, info)
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

    def read(self, request: Any) -> Any:
        """The request's arrays, or why they cannot be read: a tensor on a device that is out of reach here."""
        tensors: Dict[str, Any] = {}  # an optional input that did not come has no entry
        try:
            for tensor in request.inputs():
                name = tensor.name()
                tensors[name] = read_tensor(tensor, self.inputs.get(name), self.readonly)
        except Exception as error:
            return self.execution.refuse(error)
        return tensors

    def requested(self, request: Any) -> Set[str]:
        """The outputs this client asked for."""
        return set(request.requested_output_names())

    def response(self, answer: Answer, info: RequestInfo) -> Any:
        """An answer in Triton's classes."""
        if isinstance(answer, Refusal):
            # output_tensors is required up to 23.05, and codes exist from 23.09 on.
            return self.response_class(output_tensors=[], error=self.error(answer, info))
        return self.response_class([write_tensor(self.tensor_class, name, array) for name, array in answer.items()])

    def error(self, refusal: Refusal, info: RequestInfo) -> Any:
        """A TritonError with its code where the release has codes, the message alone before."""
        message = refusal.message
        if info.callers:  # a step of ours asked: up to 25.03 the code would be lost on the way back
            message = f"{STATUS_MARK}{refusal.code} {message}"
        code = getattr(self.pb_utils.TritonError, refusal.code, None)
        if code is None:
            return self.pb_utils.TritonError(message)
        return self.pb_utils.TritonError(message, code)
