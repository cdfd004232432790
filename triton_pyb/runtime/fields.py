"""One annotation -> one Field: which tensor stands behind which Python type."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import numpy as np

from . import dtypes
from .annotations import Image, Json, Marker, Name, Tensor
from .errors import did_you_mean
from .signature import Field

#: Plain Python types and what they are in Triton.  A Python int is 64 bits wide here and a float is a double,
#: so neither loses anything; ``Annotated[float, Tensor("FP32")]`` says otherwise.
VALUES: Dict[type, Tuple[str, str]] = {
    str: ("BYTES", "text"),
    bytes: ("BYTES", "bytes"),
    int: ("INT64", "number"),
    float: ("FP64", "number"),
    bool: ("BOOL", "number"),
}
_NUMBERS = {int: "INT", float: "FP", bool: "BOOL"}
IMAGE_MODES = ("RGB", "BGR", "GRAY")


class Mistake(Exception):
    """What is wrong with one annotation; the caller adds where it stands."""

    def __init__(self, code: str, what: str, fix: str) -> None:
        super().__init__(code, what, fix)
        self.code, self.what, self.fix = code, what, fix


def read_field(annotation: Any, *, name: str, argument: str, optional: bool, listed: bool) -> Field:
    """The Field behind a type, a marker, or ``Annotated[type, marker, ...]``.

    Raises
    ------
    Mistake
        When the type is none that a tensor can be, or the marker does not fit it.
    """
    python_type, marker, said_name = _split(annotation)
    dtype, shape, kind, options = _describe(python_type, marker)
    return Field(
        name=said_name or name,
        dtype=dtype,
        shape=shape,
        kind=kind,
        argument=argument,
        optional=optional,
        listed=listed,
        options=options,
    )


def naming_example(field: Field) -> str:
    """How the output would be written with a name."""
    if field.kind == "tensor":
        return f'Annotated[np.ndarray, Tensor("{field.dtype}", {field.shape}, name="...")]'
    if field.kind == "json":
        return 'Annotated[Any, Json(name="...")]'
    if field.kind == "image":
        return 'Annotated[np.ndarray, Image(name="...")]'
    return f'Annotated[{field.options.get("python", "str")}, Name("...")]'


def _split(annotation: Any) -> Tuple[Any, Any, str]:
    """(Python type or None, marker or None, said name or "")."""
    if isinstance(annotation, Marker):
        return None, annotation, annotation.name
    metadata = getattr(annotation, "__metadata__", None)
    if metadata is None:
        return annotation, None, ""
    markers = [item for item in metadata if isinstance(item, Marker)]
    described = [item for item in markers if not isinstance(item, Name)]
    if len(described) > 1:
        raise Mistake("TPB113", f"{described[0]!r} and {described[1]!r} both describe it", "keep one of them")
    name = next((item.name for item in markers if item.name), "")
    return annotation.__origin__, described[0] if described else None, name


def _describe(python_type: Any, marker: Any) -> Tuple[str, Tuple[Any, ...], str, Dict[str, Any]]:
    """(dtype, shape, kind, options)."""
    if isinstance(marker, Json):
        return "BYTES", (), "json", {}
    if isinstance(marker, Image):
        return _image(python_type, marker)
    if isinstance(marker, Tensor):
        return _tensor(python_type, marker)
    if isinstance(python_type, type) and python_type in VALUES:
        dtype, kind = VALUES[python_type]
        return dtype, (), kind, {"python": python_type.__name__}
    if python_type in (dict, list) or getattr(python_type, "__origin__", None) in (dict, list):
        raise Mistake(
            "TPB104",
            f"{_type_name(python_type)} alone does not say how it travels",
            "write `Annotated[..., Json()]` for one JSON value, or `Annotated[np.ndarray, Tensor(...)]` for an array",
        )
    if python_type is not Any and _is_array(python_type):
        raise Mistake(
            "TPB104",
            "an array needs its dtype and its shape per item",
            'write `Annotated[np.ndarray, Tensor("FP32", (3, 224, 224))]`, or `Image("RGB")` for an encoded picture',
        )
    raise Mistake(
        "TPB104",
        f"{_type_name(python_type)} is no type that a tensor can be",
        "use np.ndarray with Tensor(...) or Image(...), str, bytes, int, float, bool, or Json()",
    )


def _image(python_type: Any, marker: Image) -> Tuple[str, Tuple[Any, ...], str, Dict[str, Any]]:
    if marker.mode not in IMAGE_MODES:
        raise Mistake(
            "TPB114",
            f"unknown image mode {marker.mode!r}{did_you_mean(str(marker.mode), IMAGE_MODES)}",
            f"write one of {', '.join(map(repr, IMAGE_MODES))}",
        )
    if python_type is not None and not _is_array(python_type):
        raise Mistake(
            "TPB113", f"{marker!r} does not fit {_type_name(python_type)}", "an image is an np.ndarray in the function"
        )
    return "BYTES", (), "image", {"mode": marker.mode, "max_pixels": marker.max_pixels}


def _tensor(python_type: Any, marker: Tensor) -> Tuple[str, Tuple[Any, ...], str, Dict[str, Any]]:
    dtype = dtypes.canonical(marker.dtype)
    if not dtype:
        spelled = str(marker.dtype)
        raise Mistake(
            "TPB102",
            f"unknown dtype {marker.dtype!r}{did_you_mean(spelled, dtypes.NAMES)}",
            f"Triton's dtypes are {', '.join(dtypes.NAMES)}",
        )
    if dtype == "BF16":
        raise Mistake(
            "TPB102", "BF16 has no numpy dtype, so a function cannot take or return it as an array", "use FP32 or FP16"
        )
    shape = _shape(marker.shape)
    if python_type in (int, float, bool):
        if shape != () or not dtype.lstrip("U").startswith(_NUMBERS[python_type]):
            raise Mistake(
                "TPB113",
                f"a {python_type.__name__} cannot be {dtype}{list(shape)}",
                f'a single number has the shape () and a fitting dtype, such as Tensor("{VALUES[python_type][0]}")',
            )
        return dtype, (), "number", {"python": python_type.__name__}
    if python_type is not None and not _is_array(python_type):
        raise Mistake("TPB113", f"{marker!r} does not fit {_type_name(python_type)}", "a Tensor is an np.ndarray")
    return dtype, shape, "tensor", {}


def _shape(shape: Any) -> Tuple[Any, ...]:
    if isinstance(shape, (int, str)):
        shape = (shape,)
    try:
        entries = tuple(-1 if size is None else size for size in shape)
    except TypeError:
        raise Mistake("TPB106", f"{shape!r} is no shape", "write a tuple of sizes, such as (3, 224, 224)") from None
    for size in entries:
        is_size = isinstance(size, (int, np.integer)) and not isinstance(size, bool) and (size > 0 or size == -1)
        is_symbol = isinstance(size, str) and size.isidentifier()
        if not is_size and not is_symbol:
            raise Mistake(
                "TPB106",
                f"{size!r} in the shape {entries!r} is neither a size above 0, nor -1, nor a symbol",
                'write a positive int, -1 for any size, or a name such as "H"',
            )
    return tuple(size if isinstance(size, str) else int(size) for size in entries)


def _is_array(python_type: Any) -> bool:
    """An ndarray, with or without its element type; Any leaves the question to the marker."""
    if python_type is Any:
        return True
    origin: Any = getattr(python_type, "__origin__", python_type)
    return isinstance(origin, type) and issubclass(origin, np.ndarray)


def _type_name(python_type: Any) -> str:
    return python_type.__name__ if isinstance(python_type, type) else str(python_type).replace("typing.", "")
