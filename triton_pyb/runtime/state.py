"""What a step keeps between calls: made once per instance, or once per sequence."""

from __future__ import annotations

import inspect
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, TypeVar, Union

from .annotations import Annotated, Marker
from .context import Context, RequestInfo

T = TypeVar("T")

#: Seconds after which an idle sequence is dropped, by Triton and by us, unless ``sequence_idle_s=`` says otherwise.
DEFAULT_SEQUENCE_IDLE_S = 60.0


class StateMarker(Marker):
    """Stands in the annotation of an argument that gets what ``@step.setup`` returned."""

    name = ""


class SequenceMarker(Marker):
    """Stands in the annotation of an argument that gets what ``@step.start_sequence`` returned."""

    name = ""


#: ``tokenizer: State[Tokenizer]``: what ``@step.setup`` returned, made once per instance in ``initialize``.
State = Annotated[T, StateMarker()]

#: ``total: SequenceState[Total]``: what ``@step.start_sequence`` returned for this request's ``correlation_id``.
SequenceState = Annotated[T, SequenceMarker()]


def call_with_context(function: Callable[..., Any], ctx: Context) -> Any:
    """Call a setup or close function, which may take the Context or nothing."""
    takes_one = any(
        parameter.default is parameter.empty or parameter.kind is parameter.VAR_POSITIONAL
        for parameter in inspect.signature(function).parameters.values()
    )
    return function(ctx) if takes_one else function()


class Instance:
    """One loaded step: what is called for each item, and what is let go at the end.

    Parameters
    ----------
    target : function or class
        A class is made without arguments, then its ``setup`` runs.
    setup : callable, optional
        Beside a function; its result is `state`.
    """

    def __init__(self, target: Any, setup: Optional[Callable[..., Any]], ctx: Context) -> None:
        self.state: Any = None
        self._close: Optional[Callable[[], Any]] = None
        if inspect.isclass(target):
            made: Any = target()
            if hasattr(made, "setup"):
                call_with_context(made.setup, ctx)
            self.function: Callable[..., Any] = made
            self._close = getattr(made, "close", None)
        else:
            self.function = target
            if setup is not None:
                self.state = call_with_context(setup, ctx)
                self._close = getattr(self.state, "close", None)

    def close(self) -> None:
        """Call ``close()`` of the class, or of what ``setup`` returned, when it has one."""
        if self._close is not None:
            self._close()


class Sequences:
    """One state per ``correlation_id``, dropped at the sequence's end flag or after idle time.

    Triton frees the slot of an idle sequence without telling the model, so the model counts for itself.
    Source: model_config.proto, ``ModelSequenceBatching.max_sequence_idle_microseconds``.
    """

    def __init__(self, start: Callable[[RequestInfo], Any], idle_s: float, clock: Callable[[], float] = time.monotonic):
        self.start = start
        self.idle_s = idle_s
        self.clock = clock
        self.states: Dict[Union[int, str], Any] = {}
        self.used_s: Dict[Union[int, str], float] = {}

    def of(self, request: RequestInfo) -> Any:
        """The state of this request's sequence; a new one when it starts, or when it was dropped."""
        now = self.clock()
        self._drop_idle(now)
        key = request.correlation_id
        if request.sequence_start:
            self._drop(key)  # a sequence that starts again
        if key not in self.states:
            self.states[key] = self.start(request)
        self.used_s[key] = now
        return self.states[key]

    def served(self, request: RequestInfo) -> None:
        """Drop the state after the request that ends the sequence."""
        if request.sequence_end:
            self._drop(request.correlation_id)

    def close(self) -> None:
        """Drop every state; the model is being unloaded."""
        for key in list(self.states):
            self._drop(key)

    def _drop_idle(self, now: float) -> None:
        idle: List[Union[int, str]] = [key for key, used in self.used_s.items() if now - used > self.idle_s]
        for key in idle:
            self._drop(key)

    def _drop(self, key: Union[int, str]) -> None:
        state = self.states.pop(key, None)
        self.used_s.pop(key, None)
        close = getattr(state, "close", None)
        if callable(close):
            close()


def injected_values(
    injected: Mapping[str, Mapping[str, str]], ctx: Context, state: Any, sequences: Optional[Sequences]
) -> Dict[str, Any]:
    """The arguments that are no inputs, apart from lengths, by argument name."""
    values: Dict[str, Any] = {}
    for name, what in injected.items():
        if what["kind"] == "context":
            values[name] = ctx
        elif what["kind"] == "state":
            values[name] = state
        elif what["kind"] == "sequence" and sequences is not None:
            values[name] = sequences.of(ctx.request)
    return values
