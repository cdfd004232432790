"""Putting pb_utils together for one stub: the C++ module, and what of it is set on the Python module."""

from __future__ import annotations

import importlib.util
import os
from importlib.machinery import BuiltinImporter, ModuleSpec
from types import ModuleType
from typing import Any, Callable, Dict

from . import bls, logger, metrics, model_control, request, response, sender, tensor
from .casters import SOME_OBJECT
from .enums import LOG_LEVELS, MEMORY_TYPES, METRIC_KINDS, build_enum
from .errors import MODULE, TritonModelException
from .pybind import PybindClass, wrap
from .releases import SINCE
from .signatures import Bound, Parameter, Signature

PB_UTILS = "triton_python_backend_utils"
BACKEND_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "backend", "python")

# Set on pb_utils after model.py was imported, in the stub's order.
_COPIED = (
    "TritonError",
    "TritonModelException",
    "Tensor",
    "InferenceRequest",
    "InferenceResponse",
    "Logger",
    "PreferredMemory",
    "TRITONSERVER_MEMORY_GPU",
    "TRITONSERVER_MEMORY_CPU",
    "MetricFamily",
    "load_model",
    "unload_model",
    "is_model_ready",
)

_SHARED_MEMORY = PybindClass("SharedMemory")


@_SHARED_MEMORY.method("free_memory", returns="int")
def _free_memory(stub: Any, self: Any) -> int:
    return 2**20


def _future_done(stub: Any, future: Any) -> None:
    stub.background_done(future)


def build_c_module(stub: Any) -> ModuleType:
    """``c_python_backend_utils`` as the stub's release has it; fills ``stub.classes`` and ``stub.defaults``."""
    names: Dict[str, Any] = {"TritonModelException": TritonModelException}
    if stub.release.has("PreferredMemory"):
        names.update(_memory_names(stub))
    if stub.release.has("InferenceTrace"):
        names["InferenceTrace"] = request.TRACE.build(stub)
        stub.defaults["trace"] = wrap(stub, "InferenceTrace", None)
    names["TritonError"] = _triton_error(stub)
    for recipe in (
        tensor.TENSOR,
        response.INFERENCE_RESPONSE,
        request.REQUEST,
        sender.SENDER,
        bls.RESPONSE_ITERATOR,
        _SHARED_MEMORY,
    ):
        if stub.release.has(recipe.name):
            names[recipe.name] = recipe.build(stub)
    if stub.release.has("Logger"):
        names["Logger"] = _logger(stub)
    if stub.release.has("MetricFamily"):
        names.update(_metric_names(stub))
    for signature, function in model_control.FUNCTIONS:
        if stub.release.has(signature.name):
            names[signature.name] = Bound(stub, signature, function)
    if stub.release.has("shared_memory"):
        names["shared_memory"] = wrap(stub, "SharedMemory", True)
    if stub.release.has("async_event_future_done_callback"):
        callback = Signature("async_event_future_done_callback", "function", "", [Parameter("py_future", SOME_OBJECT)])
        names[callback.name] = Bound(stub, callback, _future_done)
    module = ModuleType(MODULE)
    builtin: Any = BuiltinImporter
    module.__spec__ = ModuleSpec(MODULE, builtin, origin="built-in")
    vars(module).update(names)
    return module


def _memory_names(stub: Any) -> Dict[str, Any]:
    memory_type = build_enum(stub, "MemoryType", "MemoryType", MEMORY_TYPES)
    names = {"PreferredMemory": request.PREFERRED_MEMORY.build(stub), "MemoryType": memory_type}
    names.update({name: memory_type.__members__[name] for name in MEMORY_TYPES})
    stub.defaults["preferred_memory"] = wrap(stub, "PreferredMemory", None)
    return names


def _triton_error(stub: Any) -> Any:
    codes = response.known_error_codes(stub)
    extra: Dict[str, Any] = {}
    if codes:
        code_class = build_enum(stub, "__ErrorCode", "TritonError.__ErrorCode", codes)
        stub.defaults["INTERNAL"] = code_class.__members__["INTERNAL"]
        extra = {"__ErrorCode": code_class, **response.error_code_properties(stub)}
    return response.TRITON_ERROR.build(stub, extra)


def _logger(stub: Any) -> Any:
    level_class = build_enum(stub, "LogLevel", "Logger.LogLevel", LOG_LEVELS)
    stub.defaults["INFO"] = level_class.__members__["INFO"]
    return logger.LOGGER.build(stub, logger.level_attributes(level_class))


def _metric_names(stub: Any) -> Dict[str, Any]:
    kinds = {name: value for name, value in METRIC_KINDS.items() if stub.release.has(f"MetricFamily.{name}")}
    kind_class = build_enum(stub, "MetricKind", "MetricKind", kinds)
    members = {name: kind_class.__members__[name] for name in kinds}
    metric = metrics.METRIC.build(stub)
    family = metrics.METRIC_FAMILY.build(stub, members)
    return {"MetricKind": kind_class, "Metric": metric, "MetricFamily": family, **members}


def load_python_module(stub: Any) -> ModuleType:
    """A fresh ``triton_python_backend_utils``, the Python half only, without what the release lacks."""
    path = os.path.join(BACKEND_FOLDER, PB_UTILS + ".py")
    spec = importlib.util.spec_from_file_location(PB_UTILS, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.__doc__ = None
    stub.serialize = module.serialize_byte_tensor
    for feature in SINCE:
        if stub.release.has(feature):
            continue
        if feature in vars(module):
            delattr(module, feature)
        elif feature == "ModelConfig.set_model_transaction_policy" and hasattr(module, "ModelConfig"):
            del module.ModelConfig.set_model_transaction_policy
    return module


def add_c_names(c_module: ModuleType, pb_utils: ModuleType) -> None:
    """What the stub sets on pb_utils once model.py is imported."""
    for name in _COPIED:
        if hasattr(c_module, name):
            setattr(pb_utils, name, getattr(c_module, name))


def add_get_model_dir(stub: Any, pb_utils: ModuleType) -> None:
    """`get_model_dir`, which the stub only adds before `auto_complete_config` and before `__init__`."""
    signature, function = model_control.GET_MODEL_DIR
    if stub.release.has("get_model_dir"):
        made: Callable[..., Any] = Bound(stub, signature, function)
        made.__module__ = PB_UTILS
        vars(pb_utils)["get_model_dir"] = made
