"""Warm-up: requests the server makes itself before a model is ready.

Source: backend_model_instance.cc (GenerateWarmupData) of Triton's core 24.10.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_pyb.emulator import byte_tensors
from triton_pyb.emulator.messages import DATATYPES, WireRequest, WireTensor
from triton_pyb.emulator.validation import RequestRefused
from triton_pyb.runtime.dtypes import wire_name

_PREFIX = "[request id: <id_unknown>] warmup setting expects"


def samples(config: dict[str, Any], folder: Path) -> Iterator[tuple[str, list[WireRequest]]]:
    """Each warm-up sample's name and its requests, one per row, `count` times over.

    Raises
    ------
    RequestRefused
        For a sample that makes no request.
    """
    declared = {tensor["name"] for tensor in config["input"]}
    for sample in config["model_warmup"]:
        rows = sample["batch_size"]
        if rows < 1:
            continue  # the server skips it, with a line in the log
        for _ in range(max(1, sample["count"])):
            requests = []
            # A batching model gets `batch_size` requests of one row in one execute.
            for _ in range(rows if config["max_batch_size"] else 1):
                inputs = [
                    _tensor(name, setting, config, folder)
                    for name, setting in sample["inputs"].items()
                    if name in declared
                ]
                requests.append(WireRequest(inputs, model_name=config["name"]))
            yield sample["name"], requests


def _tensor(name: str, setting: dict[str, Any], config: dict[str, Any], folder: Path) -> WireTensor:
    dims = tuple(setting["dims"])
    if any(dim < 0 for dim in dims):
        raise RequestRefused(f"warmup setting expects all variable-size dimensions are specified for input '{name}'")
    shape = (1, *dims) if config["max_batch_size"] else dims
    datatype = wire_name(setting["data_type"])
    return WireTensor(name, datatype, shape, _data(name, setting, datatype, shape, folder))


def _data(name: str, setting: dict[str, Any], datatype: str, shape: tuple[int, ...], folder: Path) -> NDArray[Any]:
    if "zero_data" in setting:
        return _filled(datatype, shape, b"")
    if "random_data" in setting:
        # Not random on purpose: a warm-up that fails must fail each time.
        return _filled(datatype, shape, b"\x01")
    if "input_data_file" not in setting:
        raise RequestRefused(f"{_PREFIX} input '{name}' to have input_data_type set")
    path = folder / "warmup" / setting["input_data_file"]
    if not path.is_file():
        message = f"failed to open text file for read {path}: No such file or directory"
        raise RequestRefused(message, "INTERNAL")
    raw = path.read_bytes()
    if datatype == "BYTES":
        return byte_tensors.array_of(raw, datatype, shape)
    expected = prod(shape) * np.dtype(DATATYPES[datatype]).itemsize
    if len(raw) < expected:
        raise RequestRefused(
            f"{_PREFIX} {expected} bytes, but the data provided from {setting['input_data_file']}only has"
            f" {len(raw)} bytes"
        )
    return byte_tensors.array_of(raw[:expected], datatype, shape)


def _filled(datatype: str, shape: tuple[int, ...], element: bytes) -> NDArray[Any]:
    if datatype == "BYTES":
        array: NDArray[Any] = np.empty(shape, object)
        array[...] = element
        return array
    return np.full(shape, len(element)).astype(DATATYPES[datatype])
