"""Read a tritonserver log: what went wrong, without what is no fault on a machine without a GPU."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from triton_pyb.emulator import sources

#: Parts of lines that a healthy server writes on a machine without a GPU.
NOISE = (
    "Unable to allocate pinned system memory",
    "failed to allocate pinned system memory",
    "CudaDriverHelper has not been initialized",
    "unable to create stream for ensemble",
    "unable to create stream for TRITONBACKEND",
    "Failed to initialize NVML",
    "DCGM unable to start",
    "Signal (15) received",
    "failed to stop server: Internal - Exit timeout expired",  # a client keeps its connection open, as clients do
)

#: The stub could not even import: up to 25.07 the server then waits for it for ever.
#: Source: StubProcess::Launch, python_backend/src/stub_launcher.cc.
STUB_NEVER_STARTS = (
    "Failed to preinitialize Python stub",
    "error while loading shared libraries",
)

_LINE = re.compile(r'^([IWEF])\d{4} [\d:.]+ +\d+ +(\S+)\] +(?:"(.*)"|(.*))$')
_SAYS_NO_CAUSE = re.compile(r"failed to load '[^']+'$|error: creating server: Internal - failed to load all models$")
_LIBPROTOBUF = re.compile(r"^\[libprotobuf ERROR \S+\] ")
_NAMED_CAUSE = re.compile(
    r"(?:Poll failed for model directory '(.+?)':|failed to load (?:model )?'(.+?)'(?: version \d+)?:"
    r"|Invalid argument: in ensemble (\S+),) *(.+)",
    re.DOTALL,
)
#: The same cause comes again, with the model's name, in a later line.
_SAID_AGAIN = ("Failed to initialize Python stub", "ERROR: Failed to create instance")
_SIGNS = (
    *STUB_NEVER_STARTS,
    "Poll failed",
    "failed to load",
    "failed to poll",
    "libprotobuf ERROR",
    "terminate called",
    "what():",
    "Signal (",
    "Failed to initialize Python stub",
    "ignore version directory",
)


def messages(text: str) -> Iterator[tuple[str, str]]:
    """``(level, message)`` of every line; level is one of ``IWEF``, or empty for lines of another kind."""
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            yield "", line
            continue
        quoted = match.group(3)
        yield match.group(1), match.group(4) or "" if quoted is None else _unquoted(quoted)


def without_noise(text: str) -> str:
    """The log as it is, less the lines of `NOISE`."""
    return "".join(line for line in text.splitlines(True) if not any(part in line for part in NOISE))


def errors(text: str) -> str:
    """The messages of level ERROR, in order; tracebacks name the author's files."""
    found = [message for level, message in messages(without_noise(text)) if level and level in "EF"]
    return sources.restored("\n".join(found))


def readable(text: str) -> Iterator[str]:
    """Every line, a quoted message with the line breaks that its author wrote."""
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is not None and "\\n" in (match.group(3) or ""):
            line = line[: match.start(3) - 1] + sources.restored(_unquoted(match.group(3)))
        yield line


def printed(text: str) -> str:
    """What the models' processes print: the lines that are no entries, no tables and no blanks of the server's."""
    return "\n".join(line for line in notable(text) if not _LINE.match(line.partition("\n")[0]))


def notable(text: str) -> Iterator[str]:
    """Of `readable`: warnings, errors, and what the models' processes print; no noise, no tables of the server's."""
    for line in readable(without_noise(text)):
        match = _LINE.match(line.partition("\n")[0])
        if match is not None and match.group(1) != "I" or match is None and line[:1] not in ("", "|", "+"):
            yield line


def tail(text: str, lines: int = 10) -> str:
    """The last lines that are no noise and no rows of the tables the server prints at its start."""
    kept = [line for line in without_noise(text).splitlines() if line.strip() and line[0] not in "|+"]
    return "\n".join(kept[-lines:])


def failures(text: str, model: str = "") -> str:
    """The messages that tell of a failure, each cause once, in order; only those of `model` when it is given.

    Messages that name no model at all (of the protobuf parser, of the dynamic linker) are always kept.
    """
    found: dict[str, None] = {}
    for level, message in messages(without_noise(text)):
        if level not in ("E", "F") and not any(sign in message for sign in _SIGNS):
            continue
        if (model and not _concerns(message, model)) or _SAYS_NO_CAUSE.match(message):
            continue
        found[_LIBPROTOBUF.sub("libprotobuf: ", message.strip())] = None
    repeated = [m for m in found if m.startswith(_SAID_AGAIN) and sum(_cause(m) in other for other in found) > 1]
    return "\n".join(message for message in found if message not in repeated)


def causes(text: str) -> dict[str, str]:
    """Why each model did not load: its name -> one line."""
    found: dict[str, str] = {}
    for _, message in messages(text):
        match = _NAMED_CAUSE.match(message)
        if match:
            found.setdefault(match.group(1) or match.group(2) or match.group(3), match.group(4).splitlines()[0])
    return found


def still_loading(text: str) -> list[str]:
    """Names of the models whose loading began and has not ended."""
    names: dict[str, None] = {}
    for _, message in messages(text):
        begun = re.match(r"loading: (.+):\d+$", message)
        ended = re.match(r"(?:successfully loaded|failed to load) '(.+?)'", message)
        if begun:
            names[begun.group(1)] = None
        elif ended:
            names.pop(ended.group(1), None)
    return list(names)


def _concerns(message: str, model: str) -> bool:
    named = re.search(r"(?:model|directory|load) '", message) is not None or "/model.py" in message
    about = re.search(rf"['/ ]{re.escape(model)}(?:['/:, ;]|$|_\d+_\d+)", message) is not None
    return about or not named


def _cause(message: str) -> str:
    return message.partition(": ")[2].removeprefix("Failed to create instance: ")


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text
