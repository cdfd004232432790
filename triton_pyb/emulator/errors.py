"""The errors a client of Triton meets, from the emulator and from a real server alike."""

from __future__ import annotations

import re

from triton_pyb.emulator.hints import fix_of_python
from triton_pyb.runtime.errors import TritonPybError

#: Triton's status codes and the HTTP status each is answered with.
#: Source: measured on 24.10 (HTTP front end); CANCELLED has no HTTP status of its own there.
HTTP_STATUS = {
    "UNKNOWN": 400,
    "INTERNAL": 500,
    "NOT_FOUND": 404,
    "INVALID_ARG": 400,
    "UNAVAILABLE": 503,
    "UNSUPPORTED": 501,
    "ALREADY_EXISTS": 400,
    "CANCELLED": 400,
}

#: How the server spells a status code inside the reason of a model that did not load.
STATUS_WORDS = {
    "UNKNOWN": "Unknown",
    "INTERNAL": "Internal",
    "NOT_FOUND": "Not found",
    "INVALID_ARG": "Invalid argument",
    "UNAVAILABLE": "Unavailable",
    "UNSUPPORTED": "Unsupported",
    "ALREADY_EXISTS": "Already exists",
    "CANCELLED": "Cancelled",
}


class InferenceFailed(TritonPybError):
    """Triton answered a request with an error.

    Attributes
    ----------
    message : str
        The server's text, verbatim.
    code : str
        Triton's status code, e.g. ``"INVALID_ARG"``.
    status : int
        The HTTP status that goes with `code`.
    log : str
        What the models logged with level ERROR while they executed this request (of several that were joined:
        without what is plainly another one's); empty where the server's log cannot be read.
    """

    def __init__(self, message: str, code: str = "INTERNAL", where: str = "", fix: str = "", log: str = "") -> None:
        super().__init__(code, message, where or "the answer of Triton", fix or fix_for(message, code, log))
        self.args = (message, code, where, fix, log)
        self.message, self.log = message, log
        self.status = HTTP_STATUS[code]

    def __str__(self) -> str:
        return super().__str__() + _quoted(self.log)


class ContractBroken(InferenceFailed):
    """The model did something that a real server lets through to its clients; only in strict mode.

    Attributes
    ----------
    rule : str
        The name of the check, as `EmulatedTriton(strict_off=...)` takes it.
    finding : TritonPybError
        What was got and what was expected.
    """

    def __init__(self, rule: str, finding: TritonPybError) -> None:
        super().__init__(f"{finding.code} {finding.what}", "INTERNAL", finding.where, finding.fix)
        self.args = (rule, finding)
        self.rule, self.finding = rule, finding


class NeverAnswered(InferenceFailed):
    """A real server would leave this request without an answer for ever."""

    def __init__(self, finding: TritonPybError) -> None:
        super().__init__(f"{finding.code} {finding.what}", "UNAVAILABLE", finding.where, finding.fix)
        self.args = (finding,)
        self.finding = finding


class LoadFailed(InferenceFailed):
    """A model could not be loaded.

    Attributes
    ----------
    model : str
        The model's name.
    stage : {"poll", "versions", "load", "dependency", "unknown"}
        Where the real server would have noticed.
    reason : str
        The cause alone, as the server's log or repository index words it.
    detail : str
        What the server writes elsewhere, or nowhere: for a file that does not parse, the place.
    """

    def __init__(
        self,
        model: str,
        stage: str,
        reason: str,
        version: int = 0,
        code: str = "INVALID_ARG",
        detail: str = "",
    ) -> None:
        if stage in ("poll", "unknown"):
            message = f"failed to load '{model}', failed to poll from model repository"
            status = "INTERNAL"
        elif stage == "load":
            text = f"{STATUS_WORDS[code]}: {reason}"
            message = f"load failed for model '{model}': version {version} is at UNAVAILABLE state: {text};\n"
            status = "INVALID_ARG"
        else:
            message, status = f"load failed for model '{model}': {reason}\n", "INVALID_ARG"
        more = [reason] if stage in ("poll", "unknown") else []  # else the message has it
        where = ": ".join([f"model '{model}'", *more, *([detail] if detail else [])])
        fix = fix_of_python(reason) or f"correct the model '{model}' and load it again"
        super().__init__(message, status, where, fix)
        self.args = (model, stage, reason, version, code, detail)
        self.model, self.stage, self.reason = model, stage, reason
        self.version, self.reason_code = version, code

    @property
    def index_reason(self) -> str:
        """The reason that the repository index shows: only a model that reached its load has one."""
        return f"{STATUS_WORDS[self.reason_code]}: {self.reason}" if self.stage == "load" else ""


class NotEmulated(TritonPybError):
    """A feature of Triton that the emulator does not have; it never pretends."""


#: Lines of a log that a rendered error quotes: the first ones tell who logged, the last ones what happened.
_FIRST, _LAST = 10, 30

#: How a step of this package begins what it answers itself, also behind "in ensemble 'e', ".
#: Source: runtime/refusals.py.
_STEP_SAYS = re.compile(r"^(?:in ensemble '[^']+', )*model '[^']+'(?=[,:])")
#: What a step says about an input that its declaration refuses carries a code.
_DECLARED = re.compile(r"\[TPB\d+\]")
_MODEL_SAYS = "read the message: the model itself answers this request so"


def fix_for(message: str, code: str, log: str = "", from_model: bool = False) -> str:
    """The next thing to do, by who words the message: the server, or the model's own code.

    Parameters
    ----------
    from_model : bool
        It is known that a model worded it; else its form decides.
    """
    of_python = fix_of_python(f"{message}\n{log}")
    if of_python:
        return of_python
    if code == "INTERNAL":
        if log:
            return "correct the model: the log below shows where it failed"
        if _STEP_SAYS.match(message):
            return "look into the server's log: it has the traceback"
    elif (from_model or _STEP_SAYS.match(message)) and not _DECLARED.search(message):
        return _MODEL_SAYS
    return _FIXES.get(code, _ASK_LOG)


def _quoted(log: str) -> str:
    lines = log.splitlines()
    if len(lines) > _FIRST + _LAST:
        left_out = f"... ({len(lines) - _FIRST - _LAST} lines more in .log)"
        lines = [*lines[:_FIRST], left_out, *lines[-_LAST:]]
    return "".join(f"\n  log:   {line}".rstrip() for line in lines)


_ASK_LOG = "read the message: it comes from the model or its server"
_FIXES = {
    "INVALID_ARG": "send what the model's configuration declares",
    "NOT_FOUND": "load the model, or correct its name or version",
    "UNAVAILABLE": "try again later, or look at why the model is not ready",
    "UNSUPPORTED": "use a request that this model supports",
}
