"""Write, test, check and package models for the Python backend of NVIDIA Triton Inference Server.

The author's words, and nothing else: all of it is floor 0, which travels into the model folder.
Floors, from the ground: runtime, config, emulator, repository, check, server, cli; imports point down only.
"""

import typing as _typing

if _typing.TYPE_CHECKING:
    from .runtime import vision
    from .runtime.adapter import triton_python_model
    from .runtime.annotations import Annotated, Batch, Image, Json, Lengths, Name, Tensor
    from .runtime.context import Context
    from .runtime.errors import (
        DeclarationError,
        Fatal,
        ItemError,
        NotFound,
        Reject,
        TritonPybError,
        Unavailable,
        Unsupported,
    )
    from .runtime.pipeline import ExistingModel, OnnxModel, Pipeline, Step, TorchScriptModel
    from .runtime.state import SequenceState, State
    from .runtime.steps import model, postprocess, preprocess
else:
    # Each word is imported when it is first used: pytest loads the plugin of an installed triton_pyb in every session,
    # and a session that does not use it shall not wait for numpy.
    _HOMES = {
        "adapter": ["triton_python_model"],
        "annotations": ["Annotated", "Batch", "Image", "Json", "Lengths", "Name", "Tensor"],
        "context": ["Context"],
        "errors": [
            "DeclarationError",
            "Fatal",
            "ItemError",
            "NotFound",
            "Reject",
            "TritonPybError",
            "Unavailable",
            "Unsupported",
        ],
        "pipeline": ["ExistingModel", "OnnxModel", "Pipeline", "Step", "TorchScriptModel"],
        "state": ["SequenceState", "State"],
        "steps": ["model", "postprocess", "preprocess"],
    }

    def __getattr__(name):
        import importlib

        if name == "vision":
            return importlib.import_module(".runtime.vision", __name__)
        for module, words in _HOMES.items():
            if name in words:
                value = globals()[name] = getattr(importlib.import_module(".runtime." + module, __name__), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})


__version__ = "0.1.0"

__all__ = [
    "Annotated",
    "Batch",
    "Context",
    "DeclarationError",
    "ExistingModel",
    "Fatal",
    "Image",
    "ItemError",
    "Json",
    "Lengths",
    "Name",
    "NotFound",
    "OnnxModel",
    "Pipeline",
    "Reject",
    "SequenceState",
    "State",
    "Step",
    "Tensor",
    "TorchScriptModel",
    "TritonPybError",
    "Unavailable",
    "Unsupported",
    "model",
    "postprocess",
    "preprocess",
    "triton_python_model",
    "vision",
]
