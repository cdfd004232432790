"""CPU stand-in for Triton's pytorch backend: the same TorchScript folder, run by the torch package.

Runs in the real server as a Python-based backend (``<backends>/pytorch/model.py``) and in the emulator.
It stands alone: Python 3.8, numpy, torch and ``triton_python_backend_utils`` only.

Source: order of arguments, naming conventions and refusals follow ``GetNamingConvention``,
``ValidateInputs``, ``ValidateOutputs`` and ``ReadOutputTensors`` of triton-inference-server/pytorch_backend.
Not done here, and refused at load: ragged batches, ``batch_input``, ``batch_output``, sequence batching,
TYPE_BF16.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

try:
    import torch
except ImportError as error:
    raise ImportError(
        "the pytorch stand-in needs the package torch in the Python that runs the models: "
        f"{sys.executable} -m pip install torch ({error})"
    ) from error

#: Data types that the pytorch backend takes, and what torch calls them.
TORCH_DTYPES = {
    "TYPE_BOOL": torch.bool,
    "TYPE_UINT8": torch.uint8,
    "TYPE_INT8": torch.int8,
    "TYPE_INT16": torch.int16,
    "TYPE_INT32": torch.int32,
    "TYPE_INT64": torch.int64,
    "TYPE_FP16": torch.float16,
    "TYPE_FP32": torch.float32,
    "TYPE_FP64": torch.float64,
}

#: Fields of a model configuration that change what the real backend does and that this stand-in lacks.
UNSUPPORTED_FIELDS = ("batch_input", "batch_output", "sequence_batching")


class TritonPythonModel:
    def initialize(self, args: dict[str, str]) -> None:
        config = json.loads(args["model_config"])
        self.name = config["name"]
        self.batched = int(config.get("max_batch_size", 0)) > 0
        self.inputs = config.get("input", [])
        self.outputs = config.get("output", [])
        refuse_unsupported(config, self.batched)
        version = os.path.join(args["model_repository"], args["model_version"])
        path = os.path.join(version, config.get("default_model_filename") or "model.pt")
        self.module = load_module(self.name, path)
        threads = config.get("parameters", {}).get("INTRA_OP_THREAD_COUNT")
        if threads:
            torch.set_num_threads(int(threads["string_value"]))
        arguments = forward_arguments(self.module)
        self.takes_dict = len(arguments) == 1 and str(arguments[0].type).startswith("Dict")
        if self.takes_dict:
            self.order = list(range(len(self.inputs)))
        else:
            self.order = argument_positions(self.name, self.inputs, arguments)
        self.positions = output_positions(self.outputs)

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        if self.batched:  # one call for all; its failure is everybody's, as in the real backend
            return self._answer(requests)
        return [response for request in requests for response in self._answer([request])]

    def _answer(self, requests: Sequence[Any]) -> list[Any]:
        try:
            values, rows = self._join(requests)
            with torch.inference_mode():
                returned = self._call(values)
            parts = {
                output["name"]: self._split(output, self._pick(output["name"], returned), rows)
                for output in self.outputs
            }
        except Exception as error:  # TorchScript raises many types; all become error responses
            return [failed(self.name, error) for _ in requests]
        return [
            pb_utils.InferenceResponse(
                [
                    pb_utils.Tensor(name, arrays[index])
                    for name, arrays in parts.items()
                    if name in request.requested_output_names()
                ]
            )
            for index, request in enumerate(requests)
        ]

    def _join(self, requests: Sequence[Any]) -> tuple[list[Any], list[int]]:
        """One value per configured input, in the order of the configuration, and each request's rows."""
        values = []
        rows = [1] * len(requests)
        for declaration in self.inputs:
            arrays = [received(request, declaration) for request in requests]
            if self.batched:
                rows = [len(array) for array in arrays]
            array = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
            if declaration["data_type"] == "TYPE_STRING":
                values.append([item.decode("utf-8") for item in array])  # List[str]
            else:
                values.append(torch.from_numpy(array))
        return values, rows

    def _call(self, values: list[Any]) -> Any:
        if self.takes_dict:
            names = [entry["name"] for entry in self.inputs]
            return self.module(dict(zip(names, values)))  # noqa: B905  # strict= is 3.10
        return self.module(*(values[index] for index in self.order))

    def _pick(self, name: str, returned: Any) -> Any:
        """What the module returned for one configured output: by key, by position, or the only value."""
        if isinstance(returned, dict):
            if name not in returned:
                raise ValueError(f"output '{name}': the model returned the keys {sorted(returned)}")
            return returned[name]
        strings = isinstance(returned, list) and all(isinstance(item, str) for item in returned)
        several = isinstance(returned, (tuple, list)) and not strings
        values = list(returned) if several else [returned]
        position = self.positions[name]
        if position >= len(values):
            raise ValueError(f"output '{name}' is output {position} of the model, which returned {len(values)}")
        return values[position]

    def _split(self, declaration: dict[str, Any], value: Any, rows: list[int]) -> list[Any]:
        name, data_type = declaration["name"], declaration["data_type"]
        if data_type == "TYPE_STRING":
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise ValueError(f"output '{name}' is TYPE_STRING; the model returned {type(value)}")
            return [np.array([item.encode("utf-8") for item in value], dtype=np.object_)]
        if not isinstance(value, torch.Tensor):
            raise ValueError(f"output '{name}': the model returned {type(value)}, not a tensor")
        if value.dtype != TORCH_DTYPES[data_type]:
            raise ValueError(f"output '{name}' is {data_type} in the configuration; the model returned {value.dtype}")
        if value.dim() == 0:
            raise ValueError(f"output '{name}' is a scalar, which the pytorch backend does not support")
        array = value.contiguous().numpy()
        if not self.batched:
            return [array]
        if len(array) != sum(rows):
            raise ValueError(
                f"output '{name}' has shape {list(array.shape)} for {sum(rows)} rows; "
                "the first dimension must be the batch"
            )
        return np.split(array, np.cumsum(rows)[:-1])


def received(request: Any, declaration: dict[str, Any]) -> Any:
    """The array of one input, of the configured dtype."""
    name, data_type = declaration["name"], declaration["data_type"]
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    if tensor is None:
        raise ValueError(f"the request lacks input '{name}', which the pytorch backend needs")
    array = tensor.as_numpy()
    if array.dtype != np.dtype(pb_utils.triton_string_to_numpy(data_type)):
        raise ValueError(f"input '{name}' has dtype {array.dtype}; the configuration says {data_type}")
    return array


def failed(model: str, error: Exception) -> Any:
    """An error response; releases before 23.09 know no status codes, there the message goes alone."""
    message = f"model '{model}' (pytorch stand-in on the CPU): {error}"
    code = getattr(pb_utils.TritonError, "INVALID_ARG" if isinstance(error, ValueError) else "INTERNAL", None)
    return pb_utils.InferenceResponse(
        error=pb_utils.TritonError(message) if code is None else pb_utils.TritonError(message, code)
    )


def load_error(model: str, problem: str) -> Exception:
    return ValueError(f"unable to load model '{model}' (pytorch stand-in on the CPU): {problem}")


def refuse_unsupported(config: dict[str, Any], batched: bool) -> None:
    """Raise for what the real backend refuses, and for what this stand-in would otherwise ignore silently."""
    name = config["name"]
    for field in UNSUPPORTED_FIELDS:
        if config.get(field):
            raise load_error(name, f"'{field}' works only in Triton's own backend")
    for kind in ("input", "output"):
        entries = config.get(kind, [])
        if not entries:
            raise load_error(name, f"the configuration has no {kind}; the pytorch backend cannot complete it")
        for entry in entries:
            label = f"{kind} '{entry['name']}'"
            if entry.get("allow_ragged_batch"):
                raise load_error(name, f"'allow_ragged_batch' of {label} works only in Triton's own backend")
            if entry["data_type"] == "TYPE_STRING":
                if batched or len(entry["dims"]) != 1:
                    raise load_error(name, f"{label} is TYPE_STRING: it needs max_batch_size 0 and one dim")
            elif entry["data_type"] not in TORCH_DTYPES:
                raise load_error(name, f"{label} is {entry['data_type']}; known are {sorted(TORCH_DTYPES)}")


def load_module(model: str, path: str) -> Any:
    """The TorchScript module on the CPU; raises with the path when there is none or it cannot be read."""
    if not os.path.isfile(path):
        raise load_error(model, f"there is no file {path}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of TorchScript, which the real backend loads too
            module = torch.jit.load(path, map_location="cpu")
    except Exception as error:
        raise load_error(model, f"torch.jit.load cannot read {path}: {error}") from error
    return module.eval()


def forward_arguments(module: Any) -> list[Any]:
    """The arguments of ``forward`` without ``self``."""
    return [argument for argument in module.forward.schema.arguments if argument.name != "self"]


def index_in_name(name: str) -> int:
    """``INPUT__0`` -> 0; -1 when the name does not end in two underscores and digits."""
    match = re.match(r".*?__(\d+)$", name)
    return int(match.group(1)) if match else -1


def argument_positions(model: str, inputs: list[dict[str, Any]], arguments: list[Any]) -> list[int]:
    """Which configured input goes to each argument of ``forward``.

    All names are arguments: by name.  Else all end in ``__<index>``: by index.  Else: in the order of the
    configuration.
    """
    required = [argument.name for argument in arguments if not argument.has_default_value()]
    if not len(required) <= len(inputs) <= len(arguments):
        raise load_error(
            model,
            f"the configuration has {len(inputs)} inputs {[entry['name'] for entry in inputs]}, "
            f"forward() takes {len(arguments)} {[argument.name for argument in arguments]}",
        )
    names = [entry["name"] for entry in inputs]
    known = [argument.name for argument in arguments]
    if all(name in known for name in names):
        positions = [known.index(name) for name in names]
    elif all(index_in_name(name) >= 0 for name in names):
        positions = [index_in_name(name) for name in names]
    else:
        positions = list(range(len(names)))
    if sorted(positions) != list(range(len(names))):
        raise load_error(model, f"inputs {names} name the arguments {sorted(positions)}, which leaves gaps")
    return [positions.index(position) for position in range(len(positions))]


def output_positions(outputs: list[dict[str, Any]]) -> dict[str, int]:
    """Which of the returned values each configured output is: by ``__<index>``, else in configured order."""
    names = [entry["name"] for entry in outputs]
    if all(index_in_name(name) >= 0 for name in names):
        return {name: index_in_name(name) for name in names}
    return {name: position for position, name in enumerate(names)}
