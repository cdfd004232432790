"""A step as Triton wants it: the class ``TritonPythonModel``."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any, Callable, Dict, List, Optional, Type

from . import steps
from .declaration import Place, place_of
from .dtypes import Array, config_name
from .errors import DeclarationError, TritonPybError
from .execution import Answer, Execution, Refusal
from .signature import Signature

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
    return _model_class(mark.function, mark.signature, mark.place)


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
    function = mark.function if mark is not None else step
    return _model_class(function, signature, place_of(function))


def _model_class(function: Callable[..., Any], signature: Signature, place: Place) -> Type[Any]:
    class TritonPythonModel:
        """One instance of the step; Triton calls the three methods."""

        def initialize(self, args: Dict[str, str]) -> None:
            self.adapter = Adapter(function, signature, place, args)

        def execute(self, requests: List[Any]) -> List[Any]:
            return self.adapter.execute(requests)

        def finalize(self) -> None:
            pass

    TritonPythonModel.__doc__ = f"{place}"
    return TritonPythonModel


class Adapter:
    """pb_utils requests in, pb_utils responses out."""

    def __init__(self, function: Callable[..., Any], signature: Signature, place: Place, args: Dict[str, str]) -> None:
        # Here, not at the top: the stub adds its classes after model.py was imported, and on the author's
        # machine there is no such module at all.
        self.pb_utils = importlib.import_module("triton_python_backend_utils")
        config = json.loads(args["model_config"])
        self.model_name = args["model_name"]
        batching = config.get("max_batch_size", 0) > 0
        check_config(config, signature, batching)
        self.signature = signature
        self.execution = Execution(function, signature, place, self.model_name, batching, self.log)

    def execute(self, requests: List[Any]) -> List[Any]:
        """As many responses as requests, each its own; raises for nothing that one request could cause."""
        tensors = [self.tensors(request) for request in requests]
        requested = [set(request.requested_output_names()) for request in requests]
        return [self.response(answer) for answer in self.execution.run(tensors, requested)]

    def tensors(self, request: Any) -> Dict[str, Array]:
        """The request's arrays by name; an optional input that did not come has no entry."""
        return {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}

    def response(self, answer: Answer) -> Any:
        """An answer in Triton's classes."""
        pb_utils = self.pb_utils
        if isinstance(answer, Refusal):
            # output_tensors is required up to 23.05, and codes exist from 23.09 on.
            return pb_utils.InferenceResponse(output_tensors=[], error=self.error(answer))
        return pb_utils.InferenceResponse(
            output_tensors=[pb_utils.Tensor(name, array) for name, array in answer.items()]
        )

    def error(self, refusal: Refusal) -> Any:
        """A TritonError with its code where the release has codes, the message alone before."""
        code = getattr(self.pb_utils.TritonError, refusal.code, None)
        if code is None:
            return self.pb_utils.TritonError(refusal.message)
        return self.pb_utils.TritonError(refusal.message, code)

    def log(self, text: str) -> None:
        """To the server's log; before 22.09 there is no Logger, and stdout would be buffered."""
        logger: Optional[Any] = getattr(self.pb_utils, "Logger", None)
        if logger is not None:
            logger.log_error(text)
        else:
            print(text, file=sys.stderr, flush=True)


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
            entry = declared.get(field.name)
            want = f"{config_name(field.dtype)} {list(field.dims(batching))}"
            got = f"{entry['data_type']} {[int(size) for size in entry['dims']]}" if entry else "nothing"
            if got != want:
                raise TritonPybError(
                    "TPB230",
                    f"{side} '{field.name}': config.pbtxt says {got}, the function {want}",
                    f"model '{config.get('name', '')}'",
                    "build the model again, or correct config.pbtxt",
                )
