"""From an exception to the error answer a client gets, and what goes to the log besides."""

from __future__ import annotations

import os
import traceback
from typing import Callable, NamedTuple, Tuple, Type

from .callables import Place
from .errors import InputError, OutputError, RequestError

#: What an author's function may raise without taking the batch along.  SystemExit too: Triton itself turns a
#: sys.exit() in a library into an error of every request of the batch.
AUTHOR_ERRORS = (Exception, SystemExit)

#: The numbers of ``pb_utils.TritonError``'s codes, for the status output of masked items.
#: Source: triton_python_backend_utils, ``TritonError.__ErrorCode``.
STATUS = {"UNKNOWN": 0, "INTERNAL": 1, "NOT_FOUND": 2, "INVALID_ARG": 3, "UNAVAILABLE": 4, "UNSUPPORTED": 5}


#: Characters of a message to a client; the log has the rest.
LONGEST_MESSAGE = 4000


class Refusal(NamedTuple):
    """An error answer: the name of a status of ``pb_utils.TritonError``, and the text for the client."""

    code: str
    message: str


class Refusals:
    """Words errors for one step.

    Parameters
    ----------
    log : callable
        Takes the traceback of an author's exception, once per exception.
    """

    def __init__(
        self, model_name: str, place: Place, bad_input: Tuple[Type[Exception], ...], log: Callable[[str], None]
    ) -> None:
        self.model_name = model_name
        self.place = place
        self.bad_input = bad_input
        self.log = log
        file = os.path.basename(place.file)
        #: Model and function, short enough for a client.
        self.where = f"model '{model_name}', {place.function}() ({file}:{place.line})"

    def refuse(self, error: BaseException, detail: str = "") -> Refusal:
        """The answer for an exception; an unexpected one goes to the log with its traceback.

        Parameters
        ----------
        detail : str
            Which item, or which company of requests; "" when that says nothing.
        """
        detail = f", {detail}" if detail else ""
        if isinstance(error, RequestError):
            return self._refusal(error.triton_code, f"model '{self.model_name}'{detail}: {words(error.message)}")
        if isinstance(error, self.bad_input):
            return self._refusal("INVALID_ARG", f"model '{self.model_name}'{detail}: {named(error)}")
        if isinstance(error, InputError):
            return self._refusal("INVALID_ARG", f"{error.where}{detail}, {error.what} [{error.code}]")
        if isinstance(error, OutputError):
            self.report(f"{error.where}{detail}: {error}")
            return self._refusal("INTERNAL", f"{error.where}{detail}: {error.what} [{error.code}]; {error.fix}")
        self.report(f"{self.where}{detail}:\n{author_traceback(error)}")
        return self._refusal("INTERNAL", f"{self.where}{detail}: {named(error)}")

    def report(self, text: str) -> None:
        """One text to the log, in a form that every log takes."""
        self.log(sendable(text))

    def _refusal(self, code: str, message: str) -> Refusal:
        cut = message[:LONGEST_MESSAGE]
        if len(message) > LONGEST_MESSAGE:
            cut += f"... ({len(message) - LONGEST_MESSAGE} characters more)"
        return Refusal(code, sendable(cut))


def words(value: object) -> str:
    """``str(value)``, or what can be said where that raises."""
    try:
        return str(value)
    except Exception as error:
        return f"<its text cannot be shown: str() raised {type(error).__name__}>"


def named(error: BaseException) -> str:
    """``ValueError: what it says``."""
    return f"{type(error).__name__}: {words(error)}"


def sendable(text: str) -> str:
    """Text that pybind11 and the wire take: a lone surrogate has no UTF-8, and Triton cuts a message at a NUL."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode("utf-8")


def author_traceback(error: BaseException) -> str:
    """The traceback from the author's first frame on; ours above it says nothing to them."""
    here = os.path.dirname(os.path.abspath(__file__))
    step = error.__traceback__
    while step is not None and os.path.dirname(os.path.abspath(step.tb_frame.f_code.co_filename)) == here:
        step = step.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, step or error.__traceback__)).rstrip()
    except Exception:  # an exception that cannot be shown
        return "".join(traceback.format_tb(step or error.__traceback__)) + named(error)
