"""One annotation -> one Field: which tensor stands behind which Python type."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Tuple

import numpy as np

from . import dtypes
from .annotations import Annotated, Batch, Image, Json, Marker, Name, Tensor
from .errors import did_you_mean
from .json_classes import is_json_class
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
CASTS = ("safe", "same_kind", "unsafe")


class Mistake(Exception):
    """What is wrong with one annotation; the caller adds where it stands."""

    def __init__(self, code: str, what: str, fix: str) -> None:
        super().__init__(code, what, fix)
        self.code, self.what, self.fix = code, what, fix


class _Description(NamedTuple):
    dtype: str
    shape: Tuple[Any, ...]
    kind: str
    options: Dict[str, Any]


def read_field(annotation: Any, *, name: str, argument: str, optional: bool, listed: bool) -> Field:
    """The Field behind a type, a marker, or ``Annotated[type, marker, ...]``.

    Raises
    ------
    Mistake
        When the type is none that a tensor can be, or the marker does not fit it.
    """
    python_type, marker, said_name = _split(annotation)
    described = _describe(python_type, marker)
    return Field(
        name=said_name or name,
        dtype=described.dtype,
        shape=described.shape,
        kind=described.kind,
        argument=argument,
        optional=optional,
        listed=listed,
        options=described.options,
    )


def with_decoded(field: Field) -> List[Field]:
    """The field, or both inputs of a picture that may come encoded or already decoded."""
    decoded = field.options.get("decoded", "")
    if not decoded:
        return [field]
    shape: Tuple[Any, ...] = (-1, -1) if field.options["mode"] == "GRAY" else (-1, -1, 3)
    encoded = Field(**{**vars(field), "optional": True, "options": {**field.options, "default": field.optional}})
    options = {"python": field.options["python"], "instead_of": field.name}
    return [encoded, Field(decoded, "UINT8", shape, "tensor", field.argument, True, field.listed, options)]


def naming_example(field: Field) -> str:
    """How the output would be written with a name."""
    if field.kind == "tensor":
        return f'Annotated[np.ndarray, Tensor("{field.dtype}", {field.shape}, name="...")]'
    if field.kind == "json":
        return 'Annotated[Any, Json(name="...")]'
    if field.kind == "image":
        return 'Annotated[np.ndarray, Image(name="...")]'
    return f'Annotated[{field.options.get("python", "str")}, Name("...")]'


def strip_batch(annotation: Any) -> Tuple[Any, bool]:
    """``Batch[X]`` -> (X, True); anything else comes back with False.

    ``Annotated[Batch[X], marker]`` means the same as ``Batch[Annotated[X, marker]]``.
    """
    metadata = getattr(annotation, "__metadata__", None)
    if metadata is not None:
        item, listed = strip_batch(annotation.__origin__)
        annotated: Any = Annotated
        return (annotated[(item,) + metadata], True) if listed else (annotation, False)
    annotation = without_none(annotation)
    if getattr(annotation, "__origin__", None) is Batch:
        return annotation.__args__[0], True
    return annotation, False


def _split(annotation: Any) -> Tuple[Any, Any, str]:
    """(Python type or None, marker or None, said name or "")."""
    if isinstance(annotation, Marker):
        return None, annotation, annotation.name
    metadata = getattr(annotation, "__metadata__", None)
    if metadata is None:
        return without_none(annotation), None, ""
    for item in metadata:
        if isinstance(item, type) and issubclass(item, Marker):
            raise Mistake("TPB113", f"{item.__name__} without parentheses", f"write {item.__name__}(...)")
    markers = [item for item in metadata if isinstance(item, Marker)]
    described = [item for item in markers if not isinstance(item, Name)]
    if len(described) > 1:
        raise Mistake("TPB113", f"{described[0]!r} and {described[1]!r} both describe it", "keep one of them")
    name = next((item.name for item in markers if item.name), "")
    return without_none(annotation.__origin__), described[0] if described else None, name


def without_none(annotation: Any) -> Any:
    """``Optional[X]`` and ``X | None`` -> X: that the client may leave it out is said by the default."""
    arguments = getattr(annotation, "__args__", ())
    if type(None) not in arguments or getattr(annotation, "__origin__", None) in (tuple, dict, list):
        return annotation
    others = [argument for argument in arguments if argument is not type(None)]
    return others[0] if len(others) == 1 else annotation


def _describe(python_type: Any, marker: Any) -> _Description:
    if isinstance(marker, Json):
        return _Description("BYTES", (), "json", _json_options(python_type, marker))
    if isinstance(marker, Image):
        return _image(python_type, marker)
    if isinstance(marker, Tensor):
        return _tensor(python_type, marker)
    if isinstance(python_type, type) and python_type in VALUES:
        dtype, kind = VALUES[python_type]
        return _Description(dtype, (), kind, {"python": python_type.__name__})
    if _is_named(python_type, "PIL.Image", "Image"):
        return _image(python_type, Image())
    if hasattr(python_type, "dim_str") and hasattr(python_type, "array_type"):
        return _jaxtyping(python_type, "")
    if python_type in (dict, list) or getattr(python_type, "__origin__", None) in (dict, list):
        raise Mistake(
            "TPB104",
            f"{_type_name(python_type)} alone does not say how it travels",
            "write `Annotated[..., Json()]` for one JSON value, or `Annotated[np.ndarray, Tensor(...)]` for an array",
        )
    if python_type is not Any and (_is_array(python_type) or _is_torch(python_type)):
        kind = "torch.Tensor" if _is_torch(python_type) else "np.ndarray"
        raise Mistake(
            "TPB104",
            "an array needs its dtype and its shape per item",
            f'write `Annotated[{kind}, Tensor("FP32", (3, 224, 224))]`, or `Image("RGB")` for an encoded picture',
        )
    what = "None" if python_type in (None, type(None)) else _type_name(python_type)
    raise Mistake(
        "TPB104",
        f"{what} is no type that a tensor can be",
        "use np.ndarray or torch.Tensor with Tensor(...), PIL.Image.Image, Image(...), str, bytes, int, float, bool, "
        "or Json()",
    )


def _json_options(python_type: Any, marker: Json) -> Dict[str, Any]:
    """The class behind the value, by name: the container imports it and never sees the annotation."""
    options: Dict[str, Any] = {}
    if marker.nan not in ("refuse", "null"):
        raise Mistake("TPB119", f"unknown nan={marker.nan!r} of Json", 'write nan="refuse" or nan="null"')
    if marker.nan != "refuse":
        options["nan"] = marker.nan
    if isinstance(python_type, type) and is_json_class(python_type):
        if "<" in python_type.__qualname__:
            raise Mistake(
                "TPB113",
                f"{python_type.__name__} is local to a function, so a packaged model cannot import it",
                "define the class at module level",
            )
        options["type"] = f"{python_type.__module__}:{python_type.__qualname__}"
    return options


def _image(python_type: Any, marker: Image) -> _Description:
    if marker.mode not in IMAGE_MODES:
        raise Mistake(
            "TPB114",
            f"unknown image mode {marker.mode!r}{did_you_mean(str(marker.mode), IMAGE_MODES)}",
            f"write one of {', '.join(map(repr, IMAGE_MODES))}",
        )
    shape = _shape(marker.shape)
    if len(shape) > 1 or (shape and marker.decoded):
        raise Mistake(
            "TPB106",
            f"{marker!r}: the pictures of one item are a list of any length or a fixed one",
            'write shape=("N",) or shape=(2,), without decoded=',
        )
    listing = getattr(python_type, "__origin__", None) is list
    inner = python_type.__args__[0] if listing else python_type
    if listing != bool(shape) and python_type is not None:
        raise Mistake(
            "TPB113",
            f"{marker!r} does not fit {_type_name(python_type)}",
            "several pictures per item are List[np.ndarray] with Image(..., shape=(n,)); one is np.ndarray",
        )
    if inner is not None and not _is_array(inner) and not _is_named(inner, "PIL.Image", "Image"):
        raise Mistake(
            "TPB113",
            f"{marker!r} does not fit {_type_name(python_type)}",
            "an image is an np.ndarray or a PIL.Image.Image in the function",
        )
    python = "pil" if _is_named(inner, "PIL.Image", "Image") else "numpy"
    if python == "pil" and marker.mode == "BGR":
        raise Mistake("TPB114", "PIL.Image.Image has no mode BGR", 'write Image("RGB"), or take an np.ndarray')
    options: Dict[str, Any] = {"mode": marker.mode, "max_pixels": marker.max_pixels, "python": python}
    options.update(_image_options(marker))
    return _Description("BYTES", shape, "image", options)


def _image_options(marker: Image) -> Dict[str, Any]:
    """What was said besides, checked; defaults are left out."""
    checks = {
        "base64": (isinstance(marker.base64, bool), "True or False"),
        "animated": (marker.animated in ("first", "refuse"), '"first" or "refuse"'),
        "format": (marker.format in ("JPEG", "PNG", "WEBP"), '"JPEG", "PNG" or "WEBP"'),
        "quality": (isinstance(marker.quality, int) and 1 <= marker.quality <= 100, "a whole number from 1 to 100"),
        "reduce_to": (marker.reduce_to is None or _is_size(marker.reduce_to), "(height, width)"),
        "decoded": (isinstance(marker.decoded, str), "the name of an input"),
    }
    defaults = vars(Image())
    options: Dict[str, Any] = {}
    for name, (good, wanted) in checks.items():
        value = getattr(marker, name)
        if not good:
            raise Mistake("TPB114", f"{name}={value!r} of an Image is not {wanted}", f"write {wanted}")
        if value != defaults[name]:
            options[name] = list(value) if isinstance(value, tuple) else value
    return options


def _is_size(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(n, int) and n > 0 for n in value)


def _tensor(python_type: Any, marker: Tensor) -> _Description:
    dtype = _dtype(python_type, marker)
    if marker.shape is None and python_type not in (int, float, bool):
        raise Mistake(
            "TPB106",
            f'Tensor("{dtype}") without the shape of one item',
            f'write Tensor("{dtype}", (3, 224, 224)), or Tensor("{dtype}", ()) for one number per item',
        )
    shape = _shape(() if marker.shape is None else marker.shape)
    if marker.cast not in CASTS:
        raise Mistake(
            "TPB119",
            f"unknown cast {marker.cast!r}{did_you_mean(str(marker.cast), CASTS)}",
            f"write one of {', '.join(map(repr, CASTS))}",
        )
    options: Dict[str, Any] = {} if marker.cast == "safe" else {"cast": marker.cast}
    if python_type in (int, float, bool):
        if shape != () or not dtype.lstrip("U").startswith(_NUMBERS[python_type]):
            raise Mistake(
                "TPB113",
                f"a {python_type.__name__} cannot be {dtype}{list(shape)}",
                f'a single number has the shape () and a fitting dtype, such as Tensor("{VALUES[python_type][0]}")',
            )
        return _Description(dtype, (), "number", {**options, "python": python_type.__name__})
    if _is_torch(python_type):
        if dtype == "BYTES":
            raise Mistake("TPB113", "a torch.Tensor holds no strings", "use np.ndarray")
        return _Description(dtype, shape, "tensor", {**options, "python": "torch"})
    if dtype == "BF16":
        raise Mistake(
            "TPB102",
            "BF16 has no numpy dtype, so a function cannot take or return it as an array",
            "use torch.Tensor (BF16 travels through DLPack, from 24.08 on), FP32 or FP16",
        )
    if hasattr(python_type, "dim_str") and hasattr(python_type, "array_type"):
        raise Mistake("TPB113", f"{marker!r} beside {python_type!r} says it twice", "keep one of the two")
    if python_type is not None and not _is_array(python_type):
        raise Mistake("TPB113", f"{marker!r} does not fit {_type_name(python_type)}", "a Tensor is an np.ndarray")
    return _Description(dtype, shape, "tensor", options)


def _dtype(python_type: Any, marker: Tensor) -> str:
    said = marker.dtype if marker.dtype is not None else _element_type(python_type)
    if said is None:
        raise Mistake(
            "TPB102", "Tensor() without a dtype", 'write Tensor("FP32", (...)), or take an NDArray[np.float32]'
        )
    dtype = "" if isinstance(said, (tuple, list)) else dtypes.canonical(said)
    if not dtype and isinstance(said, (tuple, list)):
        raise Mistake(
            "TPB102", f"{said!r} stands where the dtype belongs", f'write Tensor("FP32", {tuple(said)!r}): dtype, shape'
        )
    if not dtype:
        raise Mistake(
            "TPB102",
            f"unknown dtype {said!r}{did_you_mean(str(said), dtypes.NAMES)}",
            f"Triton's dtypes are {', '.join(dtypes.NAMES)}",
        )
    return dtype


def _element_type(python_type: Any) -> Any:
    """``NDArray[np.float32]`` -> ``np.float32``, or None."""
    arguments: Tuple[Any, ...] = getattr(python_type, "__args__", ())
    if len(arguments) != 2:
        return None
    scalar: Any = getattr(arguments[1], "__args__", (None,))[0]
    return scalar if isinstance(scalar, type) and issubclass(scalar, np.generic) else None


def _jaxtyping(python_type: Any, name: str) -> _Description:
    """``Float32[np.ndarray, "3 h w"]``: dtype and shape in one annotation."""
    candidates = {dtypes.canonical(item) for item in python_type.dtypes if isinstance(item, str)}
    if len(candidates) != 1 or "" in candidates:
        raise Mistake(
            "TPB102",
            f"{_type_name(python_type)} leaves the dtype open: {', '.join(map(str, python_type.dtypes))}",
            "write one with a width, such as Float32[np.ndarray, ...]",
        )
    shape = tuple(int(word) if word.isdigit() else word.lstrip("_#*?") or -1 for word in python_type.dim_str.split())
    if "..." in shape or any(word[:1] == "*" for word in python_type.dim_str.split()):
        raise Mistake("TPB106", f"{_type_name(python_type)} leaves the rank open", "name every axis")
    array_type = python_type.array_type
    options = {"python": "torch"} if _is_torch(array_type) else {}
    return _Description(candidates.pop(), _shape(shape), "tensor", options)


def _shape(shape: Any) -> Tuple[Any, ...]:
    if isinstance(shape, (int, str)):
        shape = (shape,)
    try:
        entries = tuple(-1 if size is None else size for size in shape)
    except TypeError:
        raise Mistake("TPB106", f"{shape!r} is no shape", "write a tuple of sizes, such as (3, 224, 224)") from None
    if entries and entries[0] in ("batch", "batch_size"):
        raise Mistake(
            "TPB106",
            f"the shape {entries!r} begins with the batch axis, which is never written",
            f"write the shape of one item: {entries[1:]!r}",
        )
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


def _is_torch(python_type: Any) -> bool:
    return _is_named(python_type, "torch", "Tensor")


def _is_named(python_type: Any, module: str, name: str) -> bool:
    """By name: importing the library only to compare a class would cost seconds."""
    return getattr(python_type, "__module__", "") == module and getattr(python_type, "__name__", "") == name


def _type_name(python_type: Any) -> str:
    return python_type.__name__ if isinstance(python_type, type) else str(python_type).replace("typing.", "")
