"""What ``initialize`` makes of the model configuration: settings, placement, a refusal when it was edited wrongly."""

from __future__ import annotations

import inspect
import json
import os
from typing import Any, Callable, Dict, Mapping, Optional

from .context import ModelInfo, RequestInfo
from .dtypes import config_name
from .errors import TritonPybError
from .metrics import Metrics
from .signature import Signature
from .steps import StepMark


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


def start_of(mark: StepMark) -> Callable[[RequestInfo], Any]:
    """What makes the state of a new sequence; it may take the request, or nothing."""
    function = mark.start_sequence_function
    if function is None:
        raise TypeError(f"{mark.place} has no start_sequence")  # check_companions() was asked before
    takes_request = bool(inspect.signature(function).parameters)
    return function if takes_request else lambda request: function()
