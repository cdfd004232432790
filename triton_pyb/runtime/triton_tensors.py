"""``pb_utils.Tensor`` <-> numpy and torch; DLPack, BF16 and devices live here only."""

from __future__ import annotations

import importlib.util
from typing import Any, Optional

import numpy as np

from .arrays import is_torch, to_numpy
from .signature import Field


def read_tensor(tensor: Any, field: Optional[Field], readonly: bool) -> Any:
    """The array behind a received tensor.

    Parameters
    ----------
    field : Field or None
        None for an input that the signature does not know.
    readonly : bool
        Share the tensor's own buffer instead of taking the copy that ``as_numpy()`` makes.

    Returns
    -------
    numpy.ndarray or torch.Tensor of shape (n_items, *dims)
        torch where the function asks for it and the tensor lives on a device or is BF16.

    Notes
    -----
    ``as_numpy()`` of a received tensor is a writable copy, the same one at every call; through DLPack numpy gets
    a read-only view (from 23.05 on, where Tensor has ``__dlpack__``).  Measured on 24.10.
    """
    wants_torch = field is not None and field.options.get("python") == "torch"
    if wants_torch and field is not None and (field.dtype == "BF16" or not _on_cpu(tensor)):
        from torch.utils.dlpack import from_dlpack

        return from_dlpack(tensor.to_dlpack())
    if not _on_cpu(tensor) and importlib.util.find_spec("torch") is not None:
        # Another input of this step is wanted on the device, so none was brought to the CPU for us.
        from torch.utils.dlpack import from_dlpack

        return to_numpy(from_dlpack(tensor.to_dlpack()))
    is_numeric = field is not None and field.dtype != "BYTES"
    if readonly and is_numeric and _on_cpu(tensor) and hasattr(tensor, "__dlpack__"):
        array = np.from_dlpack(tensor)
        array.flags.writeable = False
        return array
    return tensor.as_numpy()


def write_tensor(tensor_class: Any, name: str, array: Any) -> Any:
    """A ``pb_utils.Tensor`` (`tensor_class`) around an array, without a copy where it is C-contiguous."""
    if is_torch(array):
        from torch.utils.dlpack import to_dlpack

        return tensor_class.from_dlpack(name, to_dlpack(array.contiguous()))
    return tensor_class(name, array)


def _on_cpu(tensor: Any) -> bool:
    return bool(tensor.is_cpu())
