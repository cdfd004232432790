"""The classification extension: an output as its top classes instead of its numbers."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from triton_pyb.emulator.messages import WireResponse, WireTensor, altered


def labels_of(config: dict[str, Any], folder: Path) -> dict[str, list[str]]:
    """Output name to the lines of its label file."""
    files = {output["name"]: output["label_filename"] for output in config["output"] if output["label_filename"]}
    return {name: (folder / file).read_text().splitlines() for name, file in files.items()}


def apply(response: WireResponse, counts: dict[str, int], config: dict[str, Any], folder: Path) -> WireResponse:
    """The response with the outputs named in `counts` as classes."""
    counts = {name: count for name, count in counts.items() if count}  # 0 asks for the numbers themselves
    if not counts:
        return response
    labels = labels_of(config, folder)
    batching = config["max_batch_size"] > 0
    outputs = [
        classified(tensor, counts[tensor.name], labels.get(tensor.name, []), batching)
        if tensor.name in counts
        else tensor
        for tensor in response.outputs
    ]
    return altered(response, outputs=outputs)


def classified(tensor: WireTensor, count: int, labels: list[str], batching: bool) -> WireTensor:
    """``"value:index[:label]"`` strings, the largest value first, per row.

    Source: TopkClassifications of Triton's server 24.10 (floats with six decimals).
    """
    rows = tensor.shape[0] if batching and tensor.shape else 1
    values = tensor.array.reshape(rows, prod(tensor.shape) // max(rows, 1))
    count = min(count, values.shape[1])
    strings = np.empty((rows, count), object)
    for row in range(rows):
        best = np.argsort(-values[row].astype(np.float64), kind="stable")[:count]
        for place, index in enumerate(best):
            strings[row, place] = _text(values[row, index], int(index), labels).encode()
    shape = (rows, count) if batching else (count,)
    return altered(tensor, datatype="BYTES", shape=shape, array=strings.reshape(shape))


def _text(value: Any, index: int, labels: list[str]) -> str:
    number = f"{float(value):.6f}" if np.asarray(value).dtype.kind == "f" else str(int(value))
    label = labels[index] if index < len(labels) else ""
    return f"{number}:{index}:{label}" if label else f"{number}:{index}"
