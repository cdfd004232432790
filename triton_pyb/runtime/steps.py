"""``@preprocess``, ``@postprocess`` and ``@model``: mark a function as a step and return it unchanged."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple, Type, TypeVar, overload

from .batch_options import Problem, check_assets, check_bad_input, check_keywords, check_model_name, is_names
from .by_position import by_position
from .callables import Place, place_of
from .declaration import Unresolved, read_signature
from .errors import DeclarationError
from .signature import Signature

if TYPE_CHECKING:
    from typing import Protocol

    from typing_extensions import ParamSpec, Unpack

    from .batch_options import StepOptions

    P = ParamSpec("P")
    R = TypeVar("R", covariant=True)
    C = TypeVar("C")
    F = TypeVar("F", bound=Callable[..., Any])

    class StepFunction(Protocol[P, R]):
        """A marked function: still the same function, and two decorators for what goes with it."""

        __name__: str

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

        def setup(self, function: F) -> F:
            """Mark what runs once per instance; its result goes where ``State[T]`` is annotated."""

        def start_sequence(self, function: F) -> F:
            """Mark what runs when a sequence starts; its result goes where ``SequenceState[T]`` is annotated."""

    class _Marker(Protocol):
        """``@preprocess(...)``, waiting for the function."""

        @overload
        def __call__(self, function: Type[C]) -> Type[C]: ...  # type: ignore[overload-overlap]  # a class is callable too

        @overload
        def __call__(self, function: Callable[P, R]) -> StepFunction[P, R]: ...


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
    bad_input : tuple of exception classes
        Exceptions of the function that mean INVALID_ARG.
    assets : tuple of str
        Files that travel with the code.
    config : object or None
        Further fields of the model configuration.
    setup_function, start_sequence_function : callable or None
        What ``@step.setup`` and ``@step.start_sequence`` marked.
    place : Place
        Where the function stands.
    scope : dict
        Globals of the module in which the declaration was made: its ``__name__``, ``__file__``, and the name
        under which a wrapped function can be found again.
    """

    def __init__(self, role: str, function: Callable[..., Any], given: Mapping[str, Any], frame: FrameType) -> None:
        self.role = role
        self.function = function
        self.name: str = str(given.get("name") or getattr(function, "__name__", type(function).__name__))
        self.max_batch_size: Optional[int] = given.get("max_batch_size")
        self.instances: Optional[int] = given.get("instances")
        self.bad_input: Tuple[Type[Exception], ...] = given.get("bad_input", ())
        self.assets: Tuple[str, ...] = tuple(given.get("assets", ())) if is_names(given.get("assets", ())) else ()
        self.config: Any = given.get("config")
        self.setup_function: Optional[Callable[..., Any]] = None
        self.start_sequence_function: Optional[Callable[..., Any]] = None
        self.place: Place = place_of(function, frame)
        self.scope: Dict[str, Any] = frame.f_globals
        self._given = dict(given)
        self._signature: Optional[Signature] = None
        if reads_annotations:
            try:
                self._signature = self._read(_local_names(frame))
            except Unresolved:
                pass  # a name under TYPE_CHECKING or defined further down: `signature` tries again

    def check_companions(self, signature: Signature) -> None:
        """What goes with the function is there; it is marked after it, so this is asked when a tool needs it.

        Raises
        ------
        DeclarationError
            When an argument takes a State or SequenceState, and nothing says where it comes from.
        """
        for argument, what in signature.injected.items():
            if what["kind"] == "sequence" and self.start_sequence_function is None:
                raise DeclarationError(
                    "TPB127",
                    f"argument '{argument}' takes a SequenceState, and nothing says how a sequence begins",
                    str(self.place),
                    f"mark a function that returns it: @{self.place.function}.start_sequence",
                )
            if what["kind"] == "state" and self.setup_function is None:
                raise DeclarationError(
                    "TPB128",
                    f"argument '{argument}' takes a State, and nothing says where it comes from",
                    str(self.place),
                    f"mark a function that returns it: @{self.place.function}.setup",
                )

    def _read(self, localns: Mapping[str, Any]) -> Signature:
        given = self._given
        problems = check_keywords(given) + check_bad_input(self.bad_input) + self._check_numbers()
        problems += check_model_name(self.name) + check_assets(given.get("assets", ()))
        return read_signature(
            self.function,
            inputs=given.get("inputs"),
            outputs=given.get("outputs"),
            batch=given.get("batch", "each"),
            options=given,
            problems=problems,
            localns=localns,
            place=self.place,
        )

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
                self._signature = self._read({})
            except Unresolved as error:
                raise DeclarationError(
                    "TPB115",
                    f"an annotation cannot be resolved: {error}",
                    str(self.place),
                    "correct the name, or import it at module level (outside `if TYPE_CHECKING:`)",
                ) from None
        return self._signature

    def _check_numbers(self) -> List[Problem]:
        return [
            (
                "TPB116",
                f"{option}={value!r} is no whole number of at least {least}",
                f"write {option}={8 if least == 0 else 1}, or leave it out",
            )
            for option, value, least in (
                ("max_batch_size", self.max_batch_size, 0),
                ("instances", self.instances, 1),
            )
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least)
        ]


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
    name : str
        The model's name; default the function's name.
    max_batch_size : int, optional
        0 for the explicit form.  A pipeline's own value holds for its steps; a step that says otherwise is an error.
    instances : int, optional
        How many processes run this step; default 1.
    batch : {"each", "stack", "list", "pad", "request"}
        ``"each"``: the function gets one item and returns one.  ``"stack"``: arrays with a leading axis, the items
        of all requests joined.  ``"list"``: a list of items, ragged allowed.  ``"pad"``: as ``"stack"``, variable
        axes padded.  ``"request"``: one request as it came.  What is no array comes as ``Batch[...]``, a list.
    workers : int
        ``"each"``: how many threads run items at the same time; default 1.
    limit : int
        Joined modes: at most so many items per call.
    group_by : str
        Joined modes: only items with one value of this input, or of this request parameter, meet in a call.
    ragged : {"bucket"}
        ``"stack"``: pictures of different sizes within one request are served in one call per size.
    fallback : {"split"}
        Joined modes: when a call raises, it is repeated on halves until only the bad items fail.  Says that the
        function may be run again.
    on_item_error : {"fail_request", "mask"}
        What a bad item does: fail its request (which names the item), or be marked in an INT32 output named by
        `status_output` (``"status"``; 0 for a good item, else the number of a Triton status), with zeros or empty
        text in the other outputs.
    bad_input : tuple of exception classes
        Exceptions of the function that mean INVALID_ARG instead of INTERNAL.
    pad_value : number
        ``"pad"``: default 0.
    pad_to, multiple_of : int
        ``"pad"``: the size of every variable axis, or a number it is rounded up to; default the longest item.
    settings : dict
        Names and default values, JSON; ``parameters`` of the model configuration may change them, with the same
        type, and ``ctx.settings`` has them.
    sequence_idle_s : float
        With a SequenceState: seconds after which an idle sequence's state is dropped; default 60.
    readonly : bool
        Hand numeric inputs over without a copy, as read-only arrays (through DLPack, from 23.05 on).
    assets : sequence of str
        Files that travel with the code, relative to its file; patterns allowed.
    config : ModelOptions
        Further fields of the model configuration.

    Raises
    ------
    DeclarationError
        At the decorator, with every mistake of the declaration.

    Examples
    --------
    >>> import numpy as np
    >>> from triton_pyb import Annotated, Tensor, preprocess
    >>> @preprocess
    ... def double(
    ...     x: Annotated[np.ndarray, Tensor("FP32", (2,))],
    ... ) -> Annotated[np.ndarray, Tensor("FP32", (2,), name="y")]:
    ...     return 2 * x
    >>> double(np.ones(2)).tolist()
    [2.0, 2.0]
    """

    def __init__(self, role: str) -> None:
        self.role = role

    @overload
    def __call__(self, function: Type[C]) -> Type[C]: ...  # type: ignore[overload-overlap]  # a class is callable too

    @overload
    def __call__(self, function: Callable[P, R]) -> StepFunction[P, R]: ...

    @overload
    def __call__(self, **options: Unpack[StepOptions]) -> _Marker: ...

    def __call__(self, function: Optional[Any] = None, **options: Unpack[StepOptions]) -> Any:
        frame = sys._getframe(1)

        def mark(target: Any) -> Any:
            step = StepMark(self.role, target, options, frame)
            setattr(target, MARK, step)
            if not isinstance(target, type):
                _add_companions(target, step)
            return target

        return mark if function is None else mark(function)

    def wrap(self, function: Callable[..., Any], **options: Unpack[StepOptions]) -> WrappedStep:
        """Mark a function without touching it; assign the result to a module-level name.

        Where its arguments have no names (``*args`` of a torch module, a function written in C), they are passed
        in the order of ``inputs=``.
        """
        wrapped = WrappedStep(function)
        step = StepMark(self.role, by_position(function, options.get("inputs")), options, sys._getframe(1))
        setattr(wrapped, MARK, step)
        _add_companions(wrapped, step)
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


def _add_companions(target: Any, step: StepMark) -> None:
    """``@step.setup`` and ``@step.start_sequence`` beside a function."""

    def setup(function: Callable[..., Any]) -> Callable[..., Any]:
        step.setup_function = function
        return function

    def start_sequence(function: Callable[..., Any]) -> Callable[..., Any]:
        step.start_sequence_function = function
        return function

    target.setup = setup
    target.start_sequence = start_sequence


def _local_names(frame: FrameType) -> Mapping[str, Any]:
    """Names of the scope around the decorator: annotations of a function defined in a test see them."""
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)
