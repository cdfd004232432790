"""One request as it came: checked against the Signature, counted in items, decoded to columns."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Union

import numpy as np

from .arrays import as_torch, fits, is_torch
from .codecs import Unreadable, read_item
from .context import RequestInfo
from .dtypes import Array
from .errors import InputError
from .signature import Field, Signature

#: The items of one request for one argument: an array of shape (n_items, *shape) (numpy or torch), or a list.
Column = Union[Array, List[Any]]


class Received:
    """One readable request.

    Attributes
    ----------
    columns : dict of str to Column
        By argument name; an optional input that did not come has no entry.  An item that could not be
        decoded stands there as None and in `failed`.
    n_items : int
    symbols : dict of str to int
        What the named sizes of the input shapes are in this request.
    failed : dict of int to InputError
        Items that could not be decoded, where the Signature masks items.
    info : RequestInfo
    """

    def __init__(self, info: Optional[RequestInfo] = None) -> None:
        self.columns: Dict[str, Column] = {}
        self.n_items = 0
        self.symbols: Dict[str, int] = {}
        self.failed: Dict[int, InputError] = {}
        self.info = info or RequestInfo()


def receive(
    signature: Signature, tensors: Mapping[str, Any], model_name: str, info: Optional[RequestInfo] = None
) -> Received:
    """Read the tensors of one request.

    Parameters
    ----------
    tensors : mapping of str to numpy.ndarray or torch.Tensor of shape (n_items, *dims)
        By tensor name, as Triton handed them over.

    Raises
    ------
    InputError
        When an input is missing, does not have the declared shape, disagrees with another input in its number
        of items, or holds an item that cannot be decoded (unless the Signature masks items).
    """
    received = Received(info)
    counts: Dict[str, int] = {}
    for field in signature.inputs:
        array = tensors.get(field.name)
        if array is None:
            continue
        if field.argument in received.columns:
            raise _error(
                "TPB228",
                f"'{field.options.get('instead_of')}' and '{field.name}' both came: they are two forms of one input",
                model_name,
                "send one of them",
            )
        items = _items(field, array, model_name, received.symbols)
        counts[field.name] = len(items)
        received.columns[field.argument] = _column(field, items, model_name, received, signature)
    if len(received.columns) < len(signature.inputs):
        _check_missing(signature, received, model_name)
    if len(counts) > 1 and len(set(counts.values())) > 1:
        shown = ", ".join(f"'{name}' {count}" for name, count in counts.items())
        raise _error(
            "TPB225", f"the inputs disagree in their number of items: {shown}", model_name, "send one entry per item"
        )
    received.n_items = next(iter(counts.values()), 1)
    return received


def _check_missing(signature: Signature, received: Received, model_name: str) -> None:
    for field in signature.inputs:
        if field.argument in received.columns or field.options.get("default", field.optional):
            continue
        if "instead_of" in field.options:
            continue  # said for the encoded form already
        alternative = f" (or '{field.options['decoded']}')" if field.options.get("decoded") else ""
        raise _error(
            "TPB224", f"input '{field.name}'{alternative} is missing", model_name, f"send '{field.name}'{alternative}"
        )


def _items(field: Field, array: Any, model_name: str, symbols: Dict[str, int]) -> Any:
    """The tensor with the item's own shape behind axis 0; ``(n, 1)`` of a value becomes ``(n,)``."""
    if field.shape == () and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    expected = field.fixed_shape
    if array.shape[1:] == expected and array.ndim:
        return array
    shape = [int(size) for size in array.shape]
    if not shape or not fits(expected, shape[1:]):
        raise _error(
            "TPB226",
            f"input '{field.name}' has shape {shape}, expected [{', '.join(['items', *map(str, field.shape)])}]",
            model_name,
            "send axis 0 as the items of the request, then the shape of one item",
        )
    for symbol, size in zip(field.shape, shape[1:]) if field.symbols else ():
        if isinstance(symbol, str) and symbols.setdefault(symbol, size) != size:
            raise _error(
                "TPB226",
                f"input '{field.name}' has shape {shape}: {symbol} cannot be {symbols[symbol]} and {size}",
                model_name,
                f"send equal sizes where the shapes say {symbol}",
            )
    return array


def _column(field: Field, items: Any, model_name: str, received: Received, signature: Signature) -> Column:
    if field.kind == "tensor":
        if field.options.get("python") == "torch":
            items = as_torch(items)
        elif is_torch(items):
            raise _error(
                "TPB229",
                f"input '{field.name}' lives on {items.device}, and the function takes a numpy array",
                model_name,
                "leave FORCE_CPU_ONLY_INPUT_TENSORS as it was built, or take a torch.Tensor",
            )
        if field.options.get("python") == "pil":  # a picture that came decoded
            return [_pil(item) for item in items]
        return list(items) if field.listed else items
    if field.kind == "number" and not field.listed:
        return items  # type: ignore[no-any-return]  # numpy or torch
    return _decode(field, items, model_name, received, signature.masks_items)


def _decode(field: Field, items: Any, model_name: str, received: Received, masks: bool) -> List[Any]:
    decoded: List[Any] = []
    for index, element in enumerate(items):
        try:
            decoded.append(_decode_item(field, element))
        except Unreadable as bad:
            error = InputError(
                bad.code,
                f"{item_words(index, len(items))}, input '{field.name}': {bad.reason}",
                f"model '{model_name}'",
                f"send {_WANTED[field.kind]} in every item",
            )
            if not masks:
                raise error from None
            received.failed.setdefault(index, error)
            decoded.append(None)
    return decoded


def _decode_item(field: Field, element: Any) -> Any:
    if field.kind != "image" or field.shape == ():
        value = read_item(field, element)
        return _pil(value) if field.options.get("python") == "pil" else value
    pictures = []
    for place, entry in enumerate(element):
        try:
            value = read_item(field, entry)
        except Unreadable as bad:
            raise Unreadable(bad.code, f"picture {place} of {len(element)}: {bad.reason}") from None
        pictures.append(_pil(value) if field.options.get("python") == "pil" else value)
    return pictures


def _pil(array: Array) -> Any:
    import PIL.Image

    return PIL.Image.fromarray(np.ascontiguousarray(array))


_WANTED = {
    "image": "the bytes of a JPEG or PNG file",
    "text": "UTF-8 text",
    "json": "JSON text",
    "bytes": "bytes",
    "number": "a number",
}


def item_words(index: int, n_items: int) -> str:
    """``"item 2 of 5"``, counted from 0 as the client's own array is."""
    return f"item {index} of {n_items}"


def _error(code: str, what: str, model_name: str, fix: str) -> InputError:
    return InputError(code, what, f"model '{model_name}'", fix)
