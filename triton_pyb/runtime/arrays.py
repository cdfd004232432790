"""numpy and torch arrays side by side: what is needed of either, torch never imported unless it is there."""

from __future__ import annotations

import sys
from typing import Any, List, Sequence

import numpy as np

from .dtypes import Array


def is_torch(value: Any) -> bool:
    """A torch.Tensor; false without looking further when nobody imported torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def fits(expected: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether a shape is one that these sizes allow; -1 allows every size."""
    if len(expected) != len(shape):
        return False
    for want, got in zip(expected, shape):
        if want not in (-1, got):
            return False
    return True


def concatenate(parts: Sequence[Any]) -> Any:
    """Join along axis 0; the very object that came when it is the only one."""
    if len(parts) == 1:
        return parts[0]
    if is_torch(parts[0]):
        return sys.modules["torch"].cat(list(parts))
    return np.concatenate(parts)


def as_torch(array: Any) -> Any:
    """A tensor that shares the array's memory; one that lives on a device comes back as it is."""
    if is_torch(array):
        return array
    import torch

    return torch.from_numpy(np.ascontiguousarray(array))


def rows(array: Any) -> List[Any]:
    """One view per entry of axis 0."""
    return [array[index] for index in range(len(array))]


def to_numpy(tensor: Any) -> Array:
    """A torch.Tensor's values on the CPU, shared where it lives there already; BF16 has no numpy dtype."""
    result: Array = tensor.detach().cpu().resolve_conj().resolve_neg().numpy()
    return result
