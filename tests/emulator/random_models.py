"""Random hand-written models and random requests to them; each seed makes the same ones everywhere."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

DTYPES = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
    "BYTES": np.object_,
}

#: What a model does with its first input `x` (an array) to get its first output; all of it is an author's right.
BODIES = {
    "identity": "y = x",
    "double": "y = x if x.dtype == object else (x * 2).astype(x.dtype)",
    "transposed": "y = np.ascontiguousarray(x[..., ::-1])",
    "other_dtype": "y = np.zeros(x.shape, np.float64)",
    "first_row": "y = x[:1]",
    "flat": "y = x.reshape(-1)",
    "scalar": "y = np.float32(x.size) * np.ones((), np.float32)",
    "empty": "y = x[:0]",
    "text": "y = np.array([str(v) for v in x.reshape(-1)], dtype=object).reshape(x.shape)",
    "unicode": "y = np.array(['a', 'b'])",
    "strided": "y = np.repeat(x, 2, axis=0)[::2]",
    "raises": "raise ValueError('no ' + str(x.shape))",
    "raises_empty": "raise KeyError()",
    "exits": "raise SystemExit(3)",
    "answers_error": "return pb_utils.InferenceResponse(output_tensors=[], error=pb_utils.TritonError('not today', "
    "pb_utils.TritonError.NOT_FOUND))",
    "renamed": "name = name.lower(); y = x",
    "asks_for_nothing": "return pb_utils.InferenceResponse(output_tensors=[])",
}

MODEL = """
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def answer(self, request):
        x = request.inputs()[0].as_numpy()
        name = {output!r}
        {body}
        tensors = [pb_utils.Tensor(name, y)]
        if {extra}:
            tensors.append(pb_utils.Tensor("seen", np.array([[t.name() for t in request.inputs()]], dtype=object)))
        return pb_utils.InferenceResponse(output_tensors=tensors)

    def execute(self, requests):
        return [self.answer(request) for request in requests]
"""


class Model:
    """One random model: what its folder holds, and requests to it."""

    def __init__(self, number: int, seed: int) -> None:
        self.random = random.Random(f"{seed}-{number}")
        choice = self.random.choice
        self.name = f"m{number:03}"
        self.max_batch_size = choice([0, 0, 1, 4, 8])
        self.dtype = choice(list(DTYPES))
        self.dims = [choice([-1, 1, 2, 3]) for _ in range(choice([1, 1, 2, 3]))]
        self.second = (choice(list(DTYPES)), [choice([-1, 2])]) if self.random.random() < 0.3 else None
        self.optional = self.random.random() < 0.5
        self.body = choice(list(BODIES))
        self.extra = self.random.random() < 0.2

    def write(self, repository: Path) -> None:
        """The folder of the model."""
        folder = repository / self.name
        (folder / "1").mkdir(parents=True)
        text = MODEL.format(output="Y", body=BODIES[self.body], extra=self.extra)
        (folder / "1" / "model.py").write_text(text)
        kind = {"BYTES": "STRING"}
        entries = [f'input {{ name: "X" data_type: TYPE_{kind.get(self.dtype, self.dtype)} dims: {self.dims} }}']
        if self.second is not None:
            dtype, dims = self.second
            flag = "optional: true" if self.optional else ""
            entries.append(f'input {{ name: "Z" data_type: TYPE_{kind.get(dtype, dtype)} dims: {dims} {flag} }}')
        entries.append(f'output {{ name: "Y" data_type: TYPE_{kind.get(self.dtype, self.dtype)} dims: {self.dims} }}')
        if self.extra:
            entries.append('output { name: "seen" data_type: TYPE_STRING dims: [-1] }')
        batching = "dynamic_batching { }" if self.max_batch_size and self.random.random() < 0.6 else ""
        config = f'backend: "python"\nmax_batch_size: {self.max_batch_size}\n{batching}\n' + "\n".join(entries)
        (folder / "config.pbtxt").write_text(config + "\n")

    def request(self) -> dict[str, Any]:
        """Inputs for one request, right ones mostly."""
        inputs = {"X": self._array(self.dtype, self.dims)}
        if self.second is not None and self.random.random() < 0.7:
            rows = inputs["X"].shape[0] if self.max_batch_size and inputs["X"].ndim else None
            inputs["Z"] = self._array(*self.second, rows=rows)
        if self.random.random() < 0.04:
            inputs["NOPE"] = inputs["X"]
        if self.random.random() < 0.04:
            inputs.pop("X")
            inputs["x"] = self._array(self.dtype, self.dims)
        return inputs

    def _array(self, dtype: str, dims: list[int], rows: int | None = None) -> np.ndarray[Any, Any]:
        choice = self.random.choice
        shape = [size if size > 0 else choice([1, 2, 5]) for size in dims]
        if self.max_batch_size:
            shape.insert(0, rows if rows is not None and self.random.random() < 0.95 else choice([1, 1, 2, 3, 9]))
        if self.random.random() < 0.08:
            shape = choice([shape[1:] or [1], [*shape, 1], [size + 1 for size in shape]])
        if self.random.random() < 0.06:
            dtype = choice(list(DTYPES))
        numbers = np.random.default_rng(self.random.randrange(2**32)).integers(0, 100, size=shape)
        if dtype == "BYTES":
            words = np.empty(shape, object)
            for index, number in np.ndenumerate(numbers):
                words[index] = f"한{number}".encode() * (int(number) % 4)
            return words
        return numbers.astype(DTYPES[dtype])
