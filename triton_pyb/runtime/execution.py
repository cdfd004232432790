"""Run a step's function over the requests of one batch; every request gets an answer of its own."""

from __future__ import annotations

import os
import traceback
from typing import Any, Callable, Collection, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from .batching import group_by_shape, join, split
from .declaration import Place
from .dtypes import Array
from .errors import InputError, OutputError, RequestError
from .outputs import ItemOutputs, joined_outputs, on_wire
from .received import Received, item_words, receive
from .signature import Signature

Tensors = Mapping[str, Array]


class Refusal(NamedTuple):
    """An error answer: the name of a status of ``pb_utils.TritonError``, and the text for the client."""

    code: str
    message: str


Answer = Union[Dict[str, Array], Refusal]

#: What an author's function may raise without taking the batch along.  SystemExit too: Triton itself turns a
#: sys.exit() in a library into an error of every request of the batch.
_AUTHOR_ERRORS = (Exception, SystemExit)


class Execution:
    """One step, ready to run.

    Parameters
    ----------
    function : callable
        The author's function.
    signature : Signature
    place : Place
        Where the function stands, for messages and tracebacks.
    model_name : str
    batching : bool
        True when the server counts axis 0 as the batch (``max_batch_size > 0``).
    log : callable
        Takes the traceback of an author's exception, once per exception.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature,
        place: Place,
        model_name: str,
        batching: bool,
        log: Callable[[str], None],
    ) -> None:
        self.function = function
        self.signature = signature
        self.place = place
        self.model_name = model_name
        self.batching = batching
        self.log = log

    @property
    def where(self) -> str:
        """Model and function, short enough for a client."""
        return f"model '{self.model_name}', {self.place.function}() ({os.path.basename(self.place.file)}:{self.place.line})"

    def run(
        self, requests: Sequence[Tensors], requested: Optional[Sequence[Optional[Collection[str]]]] = None
    ) -> List[Answer]:
        """Answer every request, in order.

        Parameters
        ----------
        requests : sequence of mapping
            Tensors by name, each of shape (n_items, *dims).
        requested : sequence of collection of str or None, optional
            The outputs that each client asked for; None asks for all.

        Returns
        -------
        list of dict or Refusal, length len(requests)
            Never raises for anything an author's function or a client does.
        """
        wanted = list(requested) if requested is not None else [None] * len(requests)
        answers: List[Optional[Answer]] = [None] * len(requests)
        readable: Dict[int, Received] = {}
        for index, tensors in enumerate(requests):
            try:
                readable[index] = receive(self.signature, tensors, self.model_name)
            except Exception as error:
                answers[index] = self.refusal(error, "")
        if self.signature.batch == "each":
            for index, received in readable.items():
                answers[index] = self.each(received, wanted[index])
        else:
            order = list(readable)
            for group in group_by_shape([readable[index].columns for index in order]):
                members = [order[position] for position in group]
                joined = self.joined([readable[i] for i in members], [wanted[i] for i in members])
                for index, answer in zip(members, joined):
                    answers[index] = answer
        return [answer if answer is not None else Refusal("INTERNAL", "no answer") for answer in answers]

    def each(self, received: Received, requested: Optional[Collection[str]]) -> Answer:
        """One call per item; the first bad item fails the request and is named."""
        outputs = ItemOutputs(self.signature, received.n_items, requested, self.where)
        for index in range(received.n_items):
            arguments = {name: _value(column[index]) for name, column in received.columns.items()}
            try:
                outputs.add(index, self.function(**arguments))
            except _AUTHOR_ERRORS as error:
                return self.refusal(error, item_words(index, received.n_items))
        return outputs.tensors(self.batching)

    def joined(self, received: Sequence[Received], requested: Sequence[Optional[Collection[str]]]) -> List[Answer]:
        """One call for the items of several requests; an exception fails the requests of this call."""
        counts = [request.n_items for request in received]
        n_rows = sum(counts)
        names = received[0].columns
        arguments = {name: join([request.columns[name] for request in received]) for name in names}
        needed = None if None in requested else {name for names in requested if names is not None for name in names}
        try:
            columns = joined_outputs(self.signature, self.function(**arguments), n_rows, needed, self.where)
        except _AUTHOR_ERRORS as error:
            company = f"in a call that joined {n_rows} items of {len(received)} requests" if len(received) > 1 else ""
            return [self.refusal(error, company)] * len(received)
        parts = {name: split(column, counts) for name, column in columns.items()}
        answers: List[Answer] = []
        for position, names_wanted in enumerate(requested):
            answers.append(
                {
                    field.name: on_wire(field, np.asarray(parts[field.name][position]), self.batching)
                    for field in self.signature.outputs
                    if names_wanted is None or field.name in names_wanted
                }
            )
        return answers

    def refusal(self, error: BaseException, detail: str) -> Refusal:
        """The error answer for an exception; an unexpected one goes to the log with its traceback."""
        detail = f", {detail}" if detail else ""
        if isinstance(error, RequestError):
            return Refusal(error.triton_code, f"model '{self.model_name}'{detail}: {error.message}")
        if isinstance(error, InputError):
            return Refusal("INVALID_ARG", f"{error.where}{detail}, {error.what} [{error.code}]")
        if isinstance(error, OutputError):
            self.log(f"{error.where}{detail}: {error}")
            return Refusal("INTERNAL", f"{error.where}{detail}: {error.what} [{error.code}]")
        self.log(f"{self.where}{detail}:\n{_author_traceback(error)}")
        return Refusal("INTERNAL", f"{self.where}{detail}: {type(error).__name__}: {error}")


def _value(element: Any) -> Any:
    """One entry of a column as the function gets it: a number as Python's own, the rest as it is."""
    return element.item() if isinstance(element, np.generic) else element


def _author_traceback(error: BaseException) -> str:
    """The traceback from the author's first frame on; ours above it says nothing to them."""
    here = os.path.dirname(os.path.abspath(__file__))
    step = error.__traceback__
    while step is not None and os.path.dirname(os.path.abspath(step.tb_frame.f_code.co_filename)) == here:
        step = step.tb_next
    return "".join(traceback.format_exception(type(error), error, step or error.__traceback__)).rstrip()
