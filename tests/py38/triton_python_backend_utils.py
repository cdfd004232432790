"""Just enough of Triton's module to run a packaged model: Python 3.8, no Triton, no emulator.

It has what release 21.10 has: no Logger, no error codes.
"""
# ruff: noqa: UP006, UP035, UP045  # Python 3.8

from typing import Any, Dict, List, Optional

import numpy as np


class Tensor:
    def __init__(self, name: str, array: "np.ndarray[Any, Any]") -> None:
        self._name, self._array = name, array

    def name(self) -> str:
        return self._name

    def is_cpu(self) -> bool:
        return True

    def as_numpy(self) -> "np.ndarray[Any, Any]":
        return self._array


class TritonError:
    def __init__(self, message: str) -> None:
        self._message = message

    def message(self) -> str:
        return self._message


class InferenceRequest:
    def __init__(self, tensors: Dict[str, "np.ndarray[Any, Any]"], requested: List[str]) -> None:
        self._tensors = [Tensor(name, array) for name, array in tensors.items()]
        self._requested = requested

    def inputs(self) -> List[Tensor]:
        return self._tensors

    def requested_output_names(self) -> List[str]:
        return self._requested

    def request_id(self) -> str:
        return ""

    def correlation_id(self) -> int:
        return 0

    def flags(self) -> int:
        return 0


class InferenceResponse:
    def __init__(self, output_tensors: List[Tensor], error: Optional[TritonError] = None) -> None:
        self._outputs, self._error = output_tensors, error

    def output_tensors(self) -> List[Tensor]:
        return self._outputs

    def has_error(self) -> bool:
        return self._error is not None

    def error(self) -> Optional[TritonError]:
        return self._error
