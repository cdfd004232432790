"""Write, test, check and package models for the Python backend of NVIDIA Triton Inference Server.

The author's words, and nothing else: all of it is floor 0, which travels into the model folder.
Floors, from the ground: runtime, config, emulator, repository, check, server, cli; imports point down only.
"""

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
