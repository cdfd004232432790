"""A step as Triton wants it: the class ``TritonPythonModel``."""

from __future__ import annotations

import importlib
import json
import os
from typing import Any, Dict, List, Mapping, Optional, Set, Type

from . import steps
from .context import ModelInfo, RequestInfo
from .declaration import place_of
from .dtypes import config_name
from .errors import DeclarationError, TritonPybError
from .execution import Answer, Execution
from .refusals import Refusal
from .server_log import route_logging, server_log
from .signature import Signature
from .steps import StepMark
from .triton_tensors import read_tensor, write_tensor

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

        def execute(self, requests: List[Any]) -> List[Any]:
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
        self.log = server_log(self.pb_utils)
        self.log_handler = route_logging(self.pb_utils)
        self.execution = Execution(
            mark.function,
            signature,
            place_of(mark.function),
            args["model_name"],
            batching,
            self.log,
            mark.bad_input,
            model_info(args),
        )

    def execute(self, requests: List[Any]) -> List[Any]:
        """As many responses as requests, each its own; raises for nothing that one request could cause."""
        tensors = [self.tensors(request) for request in requests]
        requested = [self.requested(request) for request in requests]
        infos = [request_info(request) for request in requests]
        return [self.response(answer) for answer in self.execution.run(tensors, requested, infos)]

    def close(self) -> None:
        """Let threads and the log handler go."""
        self.execution.close()
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

    def response(self, answer: Answer) -> Any:
        """An answer in Triton's classes."""
        pb_utils = self.pb_utils
        if isinstance(answer, Refusal):
            # output_tensors is required up to 23.05, and codes exist from 23.09 on.
            return pb_utils.InferenceResponse(output_tensors=[], error=self.error(answer))
        return pb_utils.InferenceResponse(
            output_tensors=[write_tensor(pb_utils, name, array) for name, array in answer.items()]
        )

    def error(self, refusal: Refusal) -> Any:
        """A TritonError with its code where the release has codes, the message alone before."""
        code = getattr(self.pb_utils.TritonError, refusal.code, None)
        if code is None:
            return self.pb_utils.TritonError(refusal.message)
        return self.pb_utils.TritonError(refusal.message, code)


def request_info(request: Any) -> RequestInfo:
    """What a request says besides its tensors; what an old release does not know stays at its default."""
    flags: int = _ask(request, "flags", 0)
    return RequestInfo(
        request_id=request.request_id(),
        parameters=json.loads(_ask(request, "parameters", "{}") or "{}"),
        correlation_id=request.correlation_id(),
        sequence_start=bool(flags & 1),  # TRITONSERVER_REQUEST_FLAG_SEQUENCE_START
        sequence_end=bool(flags & 2),  # TRITONSERVER_REQUEST_FLAG_SEQUENCE_END
        timeout_us=_ask(request, "timeout", 0),
        cancelled=getattr(request, "is_cancelled", None),
    )


def _ask(request: Any, method: str, default: Any) -> Any:
    """Call a getter that exists from some release on only."""
    getter = getattr(request, method, None)
    return default if getter is None else getter()


def model_info(args: Mapping[str, str]) -> ModelInfo:
    """Where this instance runs."""
    device = "cpu"
    if args["model_instance_kind"] == "GPU":
        device = f"cuda:{args['model_instance_device_id']}"
    model_dir = args["model_repository"]  # the model's own folder, in spite of its name
    return ModelInfo(args["model_name"], model_dir, os.path.join(model_dir, args["model_version"]), device)


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
