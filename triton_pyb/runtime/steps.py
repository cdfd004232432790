"""``@preprocess``, ``@postprocess`` and ``@model``: mark a function as a step and return it unchanged."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Callable, Dict, Mapping, Optional, TypeVar, Union, overload

from .declaration import Place, Unresolved, place_of, read_signature
from .errors import DeclarationError
from .signature import Signature

F = TypeVar("F", bound=Callable[..., Any])

#: Where the mark stands on a marked function.
MARK = "__triton_step__"

#: False inside a packaged model: there signature.json says everything and annotations may be written
#: in a Python newer than the container's, so they are never evaluated.
reads_annotations = True


class StepMark:
    """What a decorator leaves on a function.

    Attributes
    ----------
    role : str
        ``"preprocess"``, ``"postprocess"`` or ``"model"``: for people, all three build the same thing.
    function : callable
        The author's function.
    name : str
        The model's name in a repository; the function's name unless said.
    max_batch_size, instances : int or None
        None leaves the choice to the pipeline (or to the default, 8 and 1).
    place : Place
        Where the function stands.
    scope : dict
        Globals of the module in which the declaration was made: its ``__name__``, ``__file__``, and the name
        under which a wrapped function can be found again.
    """

    def __init__(
        self,
        role: str,
        function: Callable[..., Any],
        *,
        name: str,
        inputs: Optional[Mapping[str, Any]],
        outputs: Optional[Mapping[str, Any]],
        batch: str,
        max_batch_size: Optional[int],
        instances: Optional[int],
        frame: FrameType,
    ) -> None:
        self.role = role
        self.function = function
        self.name = name or getattr(function, "__name__", type(function).__name__)
        self.max_batch_size = max_batch_size
        self.instances = instances
        self.place: Place = place_of(function)
        self.scope: Dict[str, Any] = frame.f_globals
        self._reading: Dict[str, Any] = {"inputs": inputs, "outputs": outputs, "batch": batch}
        self._signature: Optional[Signature] = None
        self._check_numbers()
        if reads_annotations:
            try:
                self._signature = read_signature(function, localns=_local_names(frame), **self._reading)
            except Unresolved:
                pass  # a name under TYPE_CHECKING or defined further down: `signature` tries again

    @property
    def signature(self) -> Signature:
        """The step's Signature.

        Raises
        ------
        DeclarationError
            When an annotation names something that still does not exist.
        """
        if self._signature is None:
            try:
                self._signature = read_signature(self.function, **self._reading)
            except Unresolved as error:
                raise DeclarationError(
                    "TPB115",
                    f"an annotation cannot be resolved: {error}",
                    str(self.place),
                    "import the name at module level (outside `if TYPE_CHECKING:`)",
                ) from None
        return self._signature

    def _check_numbers(self) -> None:
        for option, value, least in (
            ("max_batch_size", self.max_batch_size, 0),
            ("instances", self.instances, 1),
        ):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise DeclarationError(
                    "TPB116",
                    f"{option}={value!r} is no whole number of at least {least}",
                    str(self.place),
                    f"write {option}={max(least, 8 if least == 0 else 1)}, or leave it out",
                )


class WrappedStep:
    """A function that may not be touched, marked from outside; calling it calls the function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__wrapped__ = function
        self.__doc__ = getattr(function, "__doc__", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<step around {self.__wrapped__!r}>"


class StepDecorator:
    """``@preprocess`` or ``@preprocess(...)``.

    Parameters
    ----------
    inputs, outputs : mapping of str to marker or type, optional
        ``{"image": Image("RGB")}``: instead of annotations.  Input names are argument names; output names
        are the keys of a returned dict, the parts of a returned tuple in this order, or, when there is one,
        the bare return value.
    batch : {"each", "stack"}
        ``"each"``: the function gets one item.  ``"stack"``: arrays with a leading axis, the items of all
        requests joined; what is no array comes as ``Batch[...]``, a list.
    name : str
        The model's name; default the function's name.
    max_batch_size : int, optional
        0 for the explicit form.  A pipeline's own value holds for its steps; a step that says otherwise is an error.
    instances : int, optional
        How many processes run this step; default 1.

    Raises
    ------
    DeclarationError
        At the decorator, with every mistake of the declaration.

    Examples
    --------
    >>> import numpy as np
    >>> from triton_pyb import Annotated, Tensor, preprocess
    >>> @preprocess
    ... def double(x: Annotated[np.ndarray, Tensor("FP32", (2,))]) -> Annotated[np.ndarray, Tensor("FP32", (2,), name="y")]:
    ...     return 2 * x
    >>> double(np.ones(2)).tolist()
    [2.0, 2.0]
    """

    def __init__(self, role: str) -> None:
        self.role = role

    @overload
    def __call__(self, function: F) -> F: ...

    @overload
    def __call__(
        self,
        *,
        inputs: Optional[Mapping[str, Any]] = None,
        outputs: Optional[Mapping[str, Any]] = None,
        batch: str = "each",
        name: str = "",
        max_batch_size: Optional[int] = None,
        instances: Optional[int] = None,
    ) -> Callable[[F], F]: ...

    def __call__(
        self,
        function: Optional[F] = None,
        *,
        inputs: Optional[Mapping[str, Any]] = None,
        outputs: Optional[Mapping[str, Any]] = None,
        batch: str = "each",
        name: str = "",
        max_batch_size: Optional[int] = None,
        instances: Optional[int] = None,
    ) -> Union[F, Callable[[F], F]]:
        frame = sys._getframe(1)

        def mark(target: F) -> F:
            step = StepMark(
                self.role,
                target,
                name=name,
                inputs=inputs,
                outputs=outputs,
                batch=batch,
                max_batch_size=max_batch_size,
                instances=instances,
                frame=frame,
            )
            setattr(target, MARK, step)
            return target

        return mark if function is None else mark(function)

    def wrap(
        self,
        function: Callable[..., Any],
        *,
        inputs: Optional[Mapping[str, Any]] = None,
        outputs: Optional[Mapping[str, Any]] = None,
        batch: str = "each",
        name: str = "",
        max_batch_size: Optional[int] = None,
        instances: Optional[int] = None,
    ) -> WrappedStep:
        """Mark a function without touching it; assign the result to a module-level name."""
        wrapped = WrappedStep(function)
        step = StepMark(
            self.role,
            function,
            name=name,
            inputs=inputs,
            outputs=outputs,
            batch=batch,
            max_batch_size=max_batch_size,
            instances=instances,
            frame=sys._getframe(1),
        )
        setattr(wrapped, MARK, step)
        return wrapped

    def __repr__(self) -> str:
        return f"@{self.role}"


preprocess = StepDecorator("preprocess")
postprocess = StepDecorator("postprocess")
model = StepDecorator("model")


def mark_of(step: Any) -> Optional[StepMark]:
    """The mark a decorator left on `step`, or None."""
    mark = getattr(step, MARK, None)
    return mark if isinstance(mark, StepMark) else None


def _local_names(frame: FrameType) -> Mapping[str, Any]:
    """Names of the scope around the decorator: annotations of a function defined in a test see them."""
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)
