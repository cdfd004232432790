"""The classification extension: an output as its top classes instead of its numbers."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from triton_pyb.emulator import std_sort
from triton_pyb.emulator.messages import WireError, WireFault, WireResponse, WireTensor, altered


def labels_of(config: dict[str, Any], folder: Path) -> dict[str, list[str]]:
    """Output name to the lines of its label file."""
    files = {output["name"]: output["label_filename"] for output in config["output"] if output["label_filename"]}
    return {name: (folder / file).read_text().splitlines() for name, file in files.items()}


def apply(response: WireResponse, counts: dict[str, int], config: dict[str, Any], folder: Path) -> WireResponse:
    """The response with the outputs named in `counts` as classes, or with the error or fault that comes of it."""
    counts = {name: count for name, count in counts.items() if count}  # 0 asks for the numbers themselves
    if not counts or not response.outputs:
        return response
    labels = labels_of(config, folder)
    batching = config["max_batch_size"] > 0
    outputs = []
    for tensor in response.outputs:
        count = counts.pop(tensor.name, 0)  # of two outputs with one name the first was asked for
        if not count:
            outputs.append(tensor)
        elif tensor.datatype == "BYTES":
            return _deadly(response, tensor, "of strings", config["name"])
        elif tensor.datatype in ("FP16", "BF16", "BOOL"):
            error = WireError("INVALID_ARG", _UNSUPPORTED.format(tensor.datatype))
            return altered(response, outputs=[], error=error)
        else:
            outputs.append(classified(tensor, count, labels.get(tensor.name, []), batching))
    return altered(response, outputs=outputs)


_UNSUPPORTED = "class result not available for output due to unsupported type '{}'"


def without_empty(response: WireResponse, counts: dict[str, int], model: str) -> WireResponse:
    """The response, or a fault where classes of an output without elements are asked for over HTTP."""
    for tensor in response.outputs:
        if counts.get(tensor.name) and not tensor.array.size and tensor.datatype not in ("FP16", "BF16", "BOOL"):
            return _deadly(response, tensor, "without elements", model)
    return response


def _deadly(response: WireResponse, tensor: WireTensor, what: str, model: str) -> WireResponse:
    fault = WireFault(
        "TPB585",
        f"classes were asked for of output '{tensor.name}', a tensor {what}: the server dies of it",
        f"model '{model}'",
        "ask for the output itself, without class_count",
    )
    return altered(response, outputs=[], fault=fault)


def classified(tensor: WireTensor, count: int, labels: list[str], batching: bool) -> WireTensor:
    """``"value:index[:label]"`` strings, the largest value first, per row.

    Source: TopkClassifications of Triton's server 24.10 (floats with six decimals).
    """
    rows = tensor.shape[0] if batching and tensor.shape else 1
    values = tensor.array.reshape(rows, prod(tensor.shape) // max(rows, 1))
    count = min(count, values.shape[1])
    strings = np.empty((rows, count), object)
    for row in range(rows):
        for place, index in enumerate(std_sort.descending(values[row], count)):
            strings[row, place] = _text(values[row, index], index, labels).encode()
    shape = (rows, count) if batching else (count,)
    return altered(tensor, datatype="BYTES", shape=shape, array=strings.reshape(shape))


def _text(value: Any, index: int, labels: list[str]) -> str:
    number = f"{float(value):.6f}" if np.asarray(value).dtype.kind == "f" else str(int(value))
    label = labels[index] if index < len(labels) else ""
    return f"{number}:{index}:{label}" if label else f"{number}:{index}"
