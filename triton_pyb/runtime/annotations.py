"""The author's words: what may stand inside ``Annotated[...]`` of a step's signature.

``Tensor``, ``Image`` and ``Json`` always describe one item; the batch axis is never written.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, List, Optional, Tuple, TypeVar, Union

T = TypeVar("T")

#: One entry of an item's shape: a size, -1 (any), or a symbol such as ``"H"`` that must agree within one item.
Dim = Union[int, str]

if TYPE_CHECKING:
    from typing import Annotated as Annotated

    Batch = List
else:

    class Batch(List[T]):
        """``Batch[X]``: all items of one call as a list, in the joined modes, for what is not an array."""

    if sys.version_info >= (3, 9):
        from typing import Annotated
    else:

        class Annotated:
            """``Annotated[X, ...]`` where ``typing`` has none; kept whole so that it can still be read."""

            __slots__ = ("__metadata__", "__origin__")

            def __class_getitem__(cls, parameters):
                annotated = object.__new__(cls)
                annotated.__origin__, annotated.__metadata__ = parameters[0], tuple(parameters[1:])
                return annotated

            def __getitem__(self, parameters):  # ``State[T]``: which T it is says nothing here
                return self

            def __call__(self, *args, **kwargs):  # typing's own checks take callables only
                raise TypeError("Annotated[...] is no constructor")


class Marker:
    """Base class of the words below: immutable, compared by value."""

    name: str

    def _key(self) -> Tuple[Any, ...]:
        return tuple(sorted(vars(self).items(), key=lambda item: item[0]))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        said = {key: value for key, value in vars(self).items() if value != defaults[key].default}
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in said.items())})"


class Tensor(Marker):
    """A numeric or string array.

    Parameters
    ----------
    dtype : str or numpy dtype
        Any usual spelling: ``"FP32"``, ``"TYPE_FP32"``, ``"float32"``, ``np.float32``.  May be left out where
        the Python type says it: ``Annotated[NDArray[np.float32], Tensor(shape=(3,))]``.
    shape : tuple of int or str
        The shape of one item: sizes, ``-1``, or symbols (``("H", "W", 3)``); ``()`` for one number.  May be left
        out for a Python number only.
    name : str, optional
        The tensor's name in Triton; an input's default is its argument's name.
    cast : {"safe", "same_kind", "unsafe"}
        Output only.  ``"safe"`` refuses a cast that would lose something.  ``"same_kind"`` lets floats overflow
        and integers wrap, as numpy's own rule of that name does; ``"unsafe"`` takes any number.
    """

    def __init__(
        self, dtype: object = None, shape: Optional[Tuple[Dim, ...]] = None, name: str = "", cast: str = "safe"
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.name = name
        self.cast = cast


class Image(Marker):
    """An encoded picture (JPEG, PNG, ...) in one TYPE_STRING element, decoded to a UINT8 array.

    Parameters
    ----------
    mode : {"RGB", "BGR", "GRAY"}
        Channel order of the array that the function gets: shape (height, width, 3), or (height, width) for GRAY.
    max_pixels : int
        A larger picture is rejected before it is decoded.  The default is Pillow's own warning limit.
    shape : tuple of one int or str
        ``()`` for one picture per item.  ``(2,)`` or ``("N",)``: several, and the function gets a list of them.
    decoded : str
        Name of a second, optional input that takes the picture already decoded: UINT8 of shape
        (height, width, 3), or (height, width) for GRAY, in `mode`.  A request sends one of the two.
    base64 : bool
        Also take base64 text and data URLs.
    animated : {"first", "refuse"}
        Of several frames the first is taken, or the picture is rejected.
    reduce_to : (height, width), optional
        Decode a large JPEG at 1/2, 1/4 or 1/8 of its size, never below this: several times as fast.
    format : {"JPEG", "PNG", "WEBP"}
        As output: how the array that the function returns is encoded.
    quality : int
        As output: of JPEG and WebP, 1 to 100.
    """

    def __init__(
        self,
        mode: str = "RGB",
        name: str = "",
        max_pixels: int = 89_478_485,
        shape: Tuple[Dim, ...] = (),
        decoded: str = "",
        base64: bool = False,
        animated: str = "first",
        reduce_to: Optional[Tuple[int, int]] = None,
        format: str = "JPEG",
        quality: int = 95,
    ) -> None:
        self.mode = mode
        self.name = name
        self.max_pixels = max_pixels
        self.shape = shape
        self.decoded = decoded
        self.base64 = base64
        self.animated = animated
        self.reduce_to = reduce_to
        self.format = format
        self.quality = quality


class Json(Marker):
    """One JSON value as UTF-8 text in one TYPE_STRING element; the function sees the value.

    With a dataclass or a pydantic model as its Python type the function sees, and returns, an instance of it;
    the class stands at the top level of a module that travels.

    Parameters
    ----------
    nan : {"refuse", "null"}
        As output: NaN and infinities, which JSON does not have, are an error or become null.
    """

    def __init__(self, name: str = "", nan: str = "refuse") -> None:
        self.name = name
        self.nan = nan


class Lengths(Marker):
    """With ``batch="pad"``: the true sizes of an input's variable axes, before padding.

    ``lengths: Annotated[np.ndarray, Lengths("tokens")]`` is INT64 of shape (n_rows,), or (n_rows, n_variable)
    when the input has several variable axes.
    """

    name = ""

    def __init__(self, input: str) -> None:
        self.input = input


class Name(Marker):
    """The tensor name of a plain value: ``-> Annotated[str, Name("label")]``."""

    def __init__(self, name: str) -> None:
        self.name = name
