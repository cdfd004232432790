"""CPU stand-in for Triton's onnxruntime backend: the same model folder, run by the onnxruntime package.

Runs in the real server as a Python-based backend (``<backends>/onnxruntime/model.py``) and in the emulator.
It stands alone: Python 3.8, numpy, onnxruntime and ``triton_python_backend_utils`` only.

Source: what it accepts and refuses follows ``ValidateInputs``, ``ValidateOutputs`` and
``CompareDimsSupported`` of triton-inference-server/onnxruntime_backend.  Not done here, and refused at
load: ragged batches, ``batch_input``, ``batch_output``, sequence batching.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

try:
    import onnxruntime
except ImportError as error:
    raise ImportError(
        "the onnxruntime stand-in needs the package onnxruntime in the Python that runs the models: "
        f"{sys.executable} -m pip install onnxruntime ({error})"
    ) from error

#: Type of an ONNX tensor -> data type of a model configuration.  BF16 has no numpy dtype: it is refused.
DATA_TYPES = {
    "tensor(bool)": "TYPE_BOOL",
    "tensor(uint8)": "TYPE_UINT8",
    "tensor(uint16)": "TYPE_UINT16",
    "tensor(uint32)": "TYPE_UINT32",
    "tensor(uint64)": "TYPE_UINT64",
    "tensor(int8)": "TYPE_INT8",
    "tensor(int16)": "TYPE_INT16",
    "tensor(int32)": "TYPE_INT32",
    "tensor(int64)": "TYPE_INT64",
    "tensor(float16)": "TYPE_FP16",
    "tensor(float)": "TYPE_FP32",
    "tensor(double)": "TYPE_FP64",
    "tensor(string)": "TYPE_STRING",
}

#: Fields of a model configuration that change what the real backend does and that this stand-in lacks.
UNSUPPORTED_FIELDS = ("batch_input", "batch_output", "sequence_batching")


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(auto_complete_model_config: Any) -> Any:
        """Fill in what a configuration leaves out, as the real backend does from the model file."""
        config = auto_complete_model_config.as_dict()
        said = [kind for kind in ("input", "output") if config.get(kind)]
        if len(said) == 2:
            return auto_complete_model_config
        name = config["name"]
        session = open_session(name, model_file(config, pb_utils.get_model_dir()), config)
        ends = [*session.get_inputs(), *session.get_outputs()]
        batched = int(config.get("max_batch_size", 0)) > 0
        if not batched and not said and all(end.shape and known_dim(end.shape[0]) == -1 for end in ends):
            auto_complete_model_config.set_max_batch_size(4)  # the backend's default-max-batch-size
            auto_complete_model_config.set_dynamic_batching()
            batched = True
        if "input" not in said:
            for end in session.get_inputs():
                auto_complete_model_config.add_input(declared(name, end, batched))
        if "output" not in said:
            for end in session.get_outputs():
                auto_complete_model_config.add_output(declared(name, end, batched))
        return auto_complete_model_config

    def initialize(self, args: dict[str, str]) -> None:
        config = json.loads(args["model_config"])
        self.name = config["name"]
        self.batched = int(config.get("max_batch_size", 0)) > 0
        self.inputs = config.get("input", [])
        self.outputs = config.get("output", [])
        refuse_unsupported(config)
        version = os.path.join(args["model_repository"], args["model_version"])
        self.session = open_session(self.name, model_file(config, version), config)
        check_inputs(self.name, self.inputs, self.session, self.batched)
        check_outputs(self.name, self.outputs, self.session, self.batched)
        self.scalars = {end.name for end in self.session.get_outputs() if not end.shape}

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        if self.batched:  # one call for all; its failure is everybody's, as in the real backend
            return self._answer(requests)
        return [response for request in requests for response in self._answer([request])]

    def _answer(self, requests: Sequence[Any]) -> list[Any]:
        try:
            feed, rows = self._join(requests)
            wanted = [output["name"] for output in self.outputs]
            results = dict(zip(wanted, self.session.run(wanted, feed)))  # noqa: B905  # strict= is 3.10
            parts = {name: self._split(name, array, rows) for name, array in results.items()}
        except Exception as error:  # onnxruntime raises many types; all become error responses
            return [failed(self.name, error) for _ in requests]
        return [
            pb_utils.InferenceResponse(
                [
                    pb_utils.Tensor(name, parts[name][index])
                    for name in wanted
                    if name in request.requested_output_names()
                ]
            )
            for index, request in enumerate(requests)
        ]

    def _join(self, requests: Sequence[Any]) -> tuple[dict[str, Any], list[int]]:
        feed: dict[str, Any] = {}
        rows: list[int] = [1] * len(requests)
        for declaration in self.inputs:
            name = declaration["name"]
            present = [received(request, declaration) for request in requests]
            arrays = [array for array in present if array is not None]
            if not arrays:  # an optional input, and max_batch_size 0: one request at a time
                continue
            if self.batched:
                rows = [len(array) for array in arrays]
            feed[name] = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        scalars = {end.name for end in self.session.get_inputs() if not end.shape}
        return {name: a.reshape(()) if name in scalars else a for name, a in feed.items()}, rows

    def _split(self, name: str, array: Any, rows: list[int]) -> list[Any]:
        array = np.asarray(array)
        if not self.batched:
            if name in self.scalars:  # Triton has no scalars: the configuration says how many ones
                dims = next(dims_of(output) for output in self.outputs if output["name"] == name)
                array = array.reshape(dims)
            return [array]
        if array.ndim == 0 or len(array) != sum(rows):
            raise ValueError(
                f"output '{name}' has shape {list(array.shape)} for {sum(rows)} rows; "
                "the first dimension must be the batch"
            )
        return np.split(array, np.cumsum(rows)[:-1])


def received(request: Any, declaration: dict[str, Any]) -> Any | None:
    """The array of one input, strings as str (what onnxruntime wants), or None when the request lacks it."""
    tensor = pb_utils.get_input_tensor_by_name(request, declaration["name"])
    if tensor is None:
        return None
    array = tensor.as_numpy()
    expected = pb_utils.triton_string_to_numpy(declaration["data_type"])
    if array.dtype != np.dtype(expected):
        raise ValueError(
            f"input '{declaration['name']}' has dtype {array.dtype}; the configuration says {declaration['data_type']}"
        )
    if array.dtype == np.object_:
        texts = [item.decode("utf-8") if isinstance(item, bytes) else item for item in array.ravel()]
        array = np.array(texts, dtype=np.object_).reshape(array.shape)
    return array


def failed(model: str, error: Exception) -> Any:
    """An error response; releases before 23.09 know no status codes, there the message goes alone."""
    message = f"model '{model}' (onnxruntime stand-in on the CPU): {error}"
    code = getattr(pb_utils.TritonError, "INVALID_ARG" if isinstance(error, ValueError) else "INTERNAL", None)
    return pb_utils.InferenceResponse(
        error=pb_utils.TritonError(message) if code is None else pb_utils.TritonError(message, code)
    )


def load_error(model: str, problem: str) -> Exception:
    return ValueError(f"unable to load model '{model}' (onnxruntime stand-in on the CPU): {problem}")


def refuse_unsupported(config: dict[str, Any]) -> None:
    """Raise for fields that this stand-in would otherwise ignore silently."""
    model = config["name"]
    for field in UNSUPPORTED_FIELDS:
        if config.get(field):
            raise load_error(model, f"'{field}' works only in Triton's own backend")
    for declaration in config.get("input", []):
        label = f"input '{declaration['name']}'"
        if declaration.get("allow_ragged_batch"):
            raise load_error(model, f"'allow_ragged_batch' of {label} works only in Triton's own backend")
        if declaration.get("optional") and int(config.get("max_batch_size", 0)) > 0:
            raise load_error(model, f"optional {label} needs max_batch_size 0")


def model_file(config: dict[str, Any], version: str) -> str:
    return os.path.join(version, config.get("default_model_filename") or "model.onnx")


def open_session(model: str, path: str, config: dict[str, Any]) -> Any:
    """Open the file; raises with the path when there is none or onnxruntime cannot read it."""
    if os.path.isdir(path):  # a model with external data: a folder of the same name
        path = os.path.join(path, "model.onnx")
    if not os.path.isfile(path):
        raise load_error(model, f"there is no file {path}")
    options = onnxruntime.SessionOptions()
    parameters = config.get("parameters", {})
    for key, attribute in (
        ("intra_op_thread_count", "intra_op_num_threads"),
        ("inter_op_thread_count", "inter_op_num_threads"),
    ):
        if key in parameters:
            setattr(options, attribute, int(parameters[key]["string_value"]))
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise load_error(model, f"onnxruntime cannot read {path}: {error}") from error


def known_dim(dim: Any) -> int:
    """A fixed dimension as it is; a symbolic or unknown one as -1."""
    return dim if isinstance(dim, int) and dim >= 0 else -1


def shape_of(end: Any) -> list[int]:
    return [known_dim(dim) for dim in end.shape]


def dims_of(declaration: dict[str, Any]) -> list[int]:
    """The dims that the backend sees: those of `reshape` where there is one."""
    reshape = declaration.get("reshape")
    return [int(dim) for dim in (reshape["shape"] if reshape else declaration["dims"])]


def declared(model: str, end: Any, batched: bool) -> dict[str, Any]:
    """What a model configuration says about an input or output of the model file."""
    shape = shape_of(end)[1:] if batched else shape_of(end)
    return {"name": end.name, "data_type": data_type(model, end), "dims": shape or [1]}


def data_type(model: str, end: Any) -> str:
    if end.type not in DATA_TYPES:
        raise load_error(model, f"'{end.name}' is a {end.type}, which this stand-in cannot pass on")
    return DATA_TYPES[end.type]


def check_inputs(model: str, inputs: list[dict[str, Any]], session: Any, batched: bool) -> None:
    """Raise unless the configured inputs are those of the model file."""
    ends = {end.name: end for end in session.get_inputs()}
    if len(inputs) != len(ends):
        raise load_error(
            model,
            f"the configuration has {len(inputs)} inputs {[entry['name'] for entry in inputs]}, "
            f"the model file has {len(ends)} {list(ends)}",
        )
    for declaration in inputs:
        check_end(model, "input", declaration, ends, batched, exact=False)


def check_outputs(model: str, outputs: list[dict[str, Any]], session: Any, batched: bool) -> None:
    """Raise unless every configured output is one of the model file (which may have more)."""
    ends = {end.name: end for end in session.get_outputs()}
    for declaration in outputs:
        check_end(model, "output", declaration, ends, batched, exact=True)


def check_end(
    model: str, kind: str, declaration: dict[str, Any], ends: dict[str, Any], batched: bool, exact: bool
) -> None:
    """Raise unless name, data type and shape of one configured tensor are those of the model file.

    A configured -1 stands for any size only where the model file has a variable dimension too; a fixed
    configured size fits a variable dimension of an input, but not of an output (`exact`).
    """
    label = f"{kind} '{declaration['name']}'"
    if declaration["name"] not in ends:
        raise load_error(model, f"unknown {label}; the model file has {sorted(ends)}")
    end = ends[declaration["name"]]
    said, provided = declaration["data_type"], data_type(model, end)
    if said != provided:
        raise load_error(model, f"{label} is {said} in the configuration and {provided} in the model file")
    shape, dims = shape_of(end), dims_of(declaration)
    if not shape:  # a scalar is configured as [1]
        if batched or any(dim != 1 for dim in dims):
            raise load_error(model, f"{label} is a scalar: it needs max_batch_size 0 and dims [1], got {dims}")
        return
    if batched and shape[0] != -1:
        raise load_error(
            model,
            f"max_batch_size is above 0, but {label} has shape {shape} in the model file: "
            "its first dimension is not variable",
        )
    full = [-1, *dims] if batched else dims
    fits = len(full) == len(shape) and all(
        have == want or (have == -1 and not exact)
        for have, want in zip(shape, full)  # noqa: B905
    )
    if not fits:
        batch = " (with the batch dimension in front)" if batched else ""
        raise load_error(model, f"{label} has shape {shape} in the model file; the configuration says {full}{batch}")
