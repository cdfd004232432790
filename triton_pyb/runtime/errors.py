"""Every error this package raises, and the errors an author raises to answer one request."""

from __future__ import annotations

import difflib
from typing import Iterable, List, Optional, Sequence


class TritonPybError(Exception):
    """Base class of every error of this package.

    Parameters
    ----------
    code : str
        Stable identifier, e.g. ``"TPB203"``: the anchor of its entry in ``docs/errors.md``.
    what : str
        One line, complete on its own: it may be all that a client sees.
    where : str
        Model, function, tensor and, when known, ``file:line`` of the author's code.
    fix : str
        The next thing to do, in the imperative.
    """

    def __init__(self, code: str, what: str, where: str, fix: str) -> None:
        super().__init__(code, what, where, fix)  # all in args: it pickles as it is
        self.code, self.what, self.where, self.fix = code, what, where, fix

    def __str__(self) -> str:
        return f"{self.code} {self.what}\n  where: {self.where}\n  fix:   {self.fix}"


class DeclarationError(TritonPybError):
    """A step, a core model or a pipeline is declared wrongly; raised where the declaration stands."""


class OutputError(TritonPybError):
    """An author's function returned something that its declared outputs cannot hold."""


class InputError(TritonPybError):
    """A request brought something that a declared input cannot hold: INVALID_ARG for that request."""


class SeveralErrors(TritonPybError):
    """More than one thing is wrong; all are reported at once.

    Attributes
    ----------
    errors : tuple of TritonPybError
        In the order in which they were found, at least two.
    """

    def __init__(self, errors: Sequence[TritonPybError]) -> None:
        first = errors[0]
        super().__init__(first.code, first.what, first.where, first.fix)
        self.args = (tuple(errors),)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return f"{len(self.errors)} errors\n" + "\n".join(str(error) for error in self.errors)


class SeveralDeclarationErrors(SeveralErrors, DeclarationError):
    """Several declaration mistakes of one function or pipeline."""


def raise_all(errors: Sequence[DeclarationError]) -> None:
    """Raise nothing, the one error, or one error that carries them all."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise SeveralDeclarationErrors(errors)


def nearest(name: str, known: Iterable[str]) -> Optional[str]:
    """The known name most like `name`, or None when nothing is alike."""
    candidates: List[str] = list(known)
    by_lower = {candidate.lower(): candidate for candidate in reversed(candidates)}
    matches = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.6)
    return by_lower[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'PROBS'?"``, or an empty string."""
    match = nearest(name, known)
    return f"; did you mean '{match}'?" if match else ""


class RequestError(Exception):
    """An answer an author gives to one request instead of outputs.

    Attributes
    ----------
    triton_code : str
        The name of the status in ``pb_utils.TritonError`` (releases before 23.09 have none: there
        the message goes alone).
    """

    triton_code = "INTERNAL"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Reject(RequestError):
    """The client sent something unusable: INVALID_ARG (HTTP 400) for this request only."""

    triton_code = "INVALID_ARG"


class NotFound(RequestError):
    """Something the client named does not exist: NOT_FOUND (HTTP 404) for this request only."""

    triton_code = "NOT_FOUND"


class Unavailable(RequestError):
    """Try again later: UNAVAILABLE (HTTP 503) for this request only."""

    triton_code = "UNAVAILABLE"


class Unsupported(RequestError):
    """The request asks for what this model does not do: UNSUPPORTED (HTTP 501) for this request only."""

    triton_code = "UNSUPPORTED"


class Fatal(RequestError):
    """This instance cannot go on: this and every later request gets UNAVAILABLE with the reason.

    From 26.03 on the model also reports itself not ready, so that an orchestrator can restart it.
    """

    triton_code = "UNAVAILABLE"


class ItemError:
    """Stands in a returned list in place of one item's value: that item failed, the others are right.

    Parameters
    ----------
    message : str or RequestError
        ``ItemError("no face found")`` is INVALID_ARG; ``ItemError(NotFound("..."))`` keeps the other's status.
    """

    def __init__(self, message: object) -> None:
        self.error = message if isinstance(message, RequestError) else Reject(str(message))

    def __repr__(self) -> str:
        return f"ItemError({self.error.message!r})"
