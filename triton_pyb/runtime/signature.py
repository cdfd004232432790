"""Signature: the one truth about a step, as plain data that travels as ``signature.json``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Dict, Optional, Tuple

from .annotations import Dim
from .dtypes import NUMPY_DTYPES, Dtype

#: What ``signature.json`` looks like; a runtime refuses a file of another version.
FORMAT = 1


@dataclass(frozen=True)
class Field:
    """One input or one output of a step.

    Attributes
    ----------
    name : str
        The tensor's name in Triton.
    dtype : str
        Wire name, ``"FP32"``; text, JSON and encoded images are ``"BYTES"``.
    shape : tuple of int or str
        Of one item, without the batch axis: sizes, -1, or symbols.  ``()`` for a value.
    kind : str
        How an item is read and written: ``"tensor"``, ``"number"``, ``"text"``, ``"bytes"``, ``"json"`` or ``"image"``.
    argument : str
        Input: the argument's name.  Output: the key or attribute of the returned value, or ``""``
        where the function returns this one output bare.
    optional : bool
        Input only: the argument has a Python default, so the client may leave it out.
    listed : bool
        In a joined mode the function sees ``Batch[...]``, a list of items, instead of one array.
    options : dict
        What the kind needs besides: ``{"mode": "RGB", "max_pixels": ...}``, ``{"python": "int"}``.
        ``python`` is the type the function sees: ``"numpy"``, ``"torch"``, ``"pil"``, ``"int"``, ...
    """

    name: str
    dtype: str
    shape: Tuple[Dim, ...]
    kind: str = "tensor"
    argument: str = ""
    optional: bool = False
    listed: bool = False
    options: Dict[str, Any] = field(default_factory=dict)

    @cached_property
    def fixed_shape(self) -> Tuple[int, ...]:
        """The shape with -1 in place of every symbol."""
        return tuple(-1 if isinstance(size, str) else size for size in self.shape)

    @cached_property
    def symbols(self) -> Tuple[str, ...]:
        """The named sizes of the shape."""
        return tuple(size for size in self.shape if isinstance(size, str))

    @cached_property
    def numpy_dtype(self) -> Dtype:
        """The dtype of the array that Triton hands over; object for BYTES."""
        return NUMPY_DTYPES[self.dtype]

    def dims(self, batching: bool) -> Tuple[int, ...]:
        """``dims`` of the model configuration.

        Parameters
        ----------
        batching : bool
            True for ``max_batch_size > 0``: per-item dims, ``(1,)`` for a value.  False for the explicit
            form: a leading -1 that counts the items.

        Notes
        -----
        Source: model_config.proto; with ``max_batch_size > 0`` the server prepends the batch axis, and an
        empty ``dims`` needs a ``reshape``, so a value is ``[1]``.
        """
        if not batching:
            return (-1,) + self.fixed_shape
        return self.fixed_shape or (1,)

    def __str__(self) -> str:
        return f"'{self.name}' {self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class Signature:
    """What one step takes and gives.

    Attributes
    ----------
    function : str
        ``"module:qualified.name"`` of the author's function; how a packaged model finds it.
    inputs, outputs : tuple of Field
        In declared order.
    batch : str
        ``"each"``, ``"stack"``, ``"list"``, ``"pad"`` or ``"request"``.
    bare : bool
        The function returns its one output itself, not a container of named outputs.
    injected : dict of str to dict
        Arguments that are no inputs: ``{"ctx": {"kind": "context"}}``,
        ``{"n": {"kind": "lengths", "input": "tokens"}}``.
    options : dict
        What belongs to the batch mode: ``workers``, ``limit``, ``group_by``, ``ragged``, ``fallback``,
        ``on_item_error``, ``pad_value``, ``pad_to``, ``multiple_of``, ``readonly``; only those that were said.
    """

    function: str
    inputs: Tuple[Field, ...]
    outputs: Tuple[Field, ...]
    batch: str = "each"
    bare: bool = False
    injected: Dict[str, Dict[str, str]] = field(default_factory=dict)
    options: Dict[str, Any] = field(default_factory=dict)

    @cached_property
    def streams(self) -> bool:
        """The function yields: the model is decoupled."""
        return bool(self.options.get("streams"))

    @cached_property
    def has_sequences(self) -> bool:
        """The function keeps a state per ``correlation_id``: the model needs sequence batching."""
        return any(what["kind"] == "sequence" for what in self.injected.values())

    @cached_property
    def masks_items(self) -> bool:
        """A failed item is marked in the status output instead of failing its request."""
        return self.options.get("on_item_error") == "mask"

    def ragged(self, field: Field) -> bool:
        """Triton may join requests that differ in this input's shape: the function never stacks them.

        Source: model_config.proto, ``ModelInput.allow_ragged_batch``.
        """
        stacks = self.batch == "stack" and self.options.get("ragged") != "bucket"
        return not stacks and -1 in field.fixed_shape

    @cached_property
    def item_outputs(self) -> Tuple[Field, ...]:
        """The outputs that the function itself returns."""
        return tuple(field for field in self.outputs if field.kind != "status")

    @cached_property
    def status_output(self) -> Optional[Field]:
        """The output that says of each item whether it was served, or None."""
        return next((field for field in self.outputs if field.kind == "status"), None)

    def input(self, name: str) -> Optional[Field]:
        """The input of that tensor name, or None."""
        return next((field for field in self.inputs if field.name == name), None)

    def output(self, name: str) -> Optional[Field]:
        """The output of that tensor name, or None."""
        return next((field for field in self.outputs if field.name == name), None)

    def to_dict(self) -> Dict[str, Any]:
        """JSON-able; :meth:`from_dict` gives an equal Signature back."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> Signature:
        """Raises ValueError when `data` was written in another format version."""
        values = dict(data)
        version = values.pop("format", None)
        if version != FORMAT:
            raise ValueError(f"signature.json has format {version!r}, this runtime reads {FORMAT}")
        for side in ("inputs", "outputs"):
            values[side] = tuple(Field(**{**item, "shape": tuple(item["shape"])}) for item in values[side])
        return cls(**values)
