"""``--import``: load every Python model in a child process, with the emulator in place of Triton.

The child may hang, die or print whatever it likes: it has a time limit and its own process group, and its verdict is
one line of JSON.  ``python -m triton_pyb.check.importing FOLDER RELEASE GPUS AUTO_COMPLETE`` is the child.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from triton_pyb.check.finding import Finding, Place, printable
from triton_pyb.check.model import Model
from triton_pyb.check.python_source import PythonSource
from triton_pyb.check.repository import Repository
from triton_pyb.check.rules import RULES
from triton_pyb.emulator.hints import fix_of_python

#: How long one model may take to load.
TIMEOUT_S = 120.0
_MARK = "TRITON_PYB_IMPORT "
_FRAME = re.compile(r"^\s+(?P<file>.+?)\((?P<line>\d+)\): ", re.MULTILINE)


def import_findings(repository: Repository, findings: Sequence[Finding]) -> list[Finding]:
    """What the import of the models shows that reading did not.

    Parameters
    ----------
    findings : sequence of Finding
        What is known: a model with an error of its own is not imported.
    """
    broken = {finding.model for finding in findings if finding.severity == "error"}
    models = [model for model in repository.models if "python" in model.facts and model.name not in broken]
    with ThreadPoolExecutor(max_workers=max(1, min(4, os.cpu_count() or 1))) as pool:
        found = pool.map(lambda model: list(_import(model)), models)
    return [finding for part in found for finding in part]


def _import(model: Model) -> Iterator[Finding]:
    reason = run_child(model)
    if not reason:
        return
    text = printable(reason.split("\n")[0])
    missing = re.match(r"(?:ModuleNotFoundError|ImportError): No module named '([^']+)'", reason)
    place = _place(model, reason)
    repair = f"correct {'the line' if place.line else 'the model'} and check again"
    if missing:
        repair = f"install {missing.group(1)} here to have this model imported too"
    severity = "warning" if missing else "error"
    repair = fix_of_python(reason) or repair
    rule = RULES["TPB1750"]
    yield rule.found(model, place, severity=severity, text=text, repair=repair)


def _place(model: Model, reason: str) -> Place:
    """The innermost frame inside the model folder."""
    folder = os.path.realpath(model.path)
    for frame in _FRAME.finditer(reason):
        file = os.path.realpath(frame["file"])
        if file.startswith(folder + os.sep):
            shown = os.path.join(model.path, os.path.relpath(file, folder))
            return PythonSource(shown, os.path.dirname(shown), model).place(int(frame["line"]))
    return Place(model.sources[0].path if model.sources else model.path)


def run_child(model: Model, timeout_s: float = TIMEOUT_S) -> str:
    """Why the model does not load, or an empty string."""
    target = model.target
    arguments = [os.path.abspath(model.path), target.release, str(1 if target.gpus is None else target.gpus)]
    arguments.append("0" if target.strict else "1")
    process = subprocess.Popen(
        [sys.executable, "-m", "triton_pyb.check.importing", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="backslashreplace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"the model did not load within {timeout_s:g} s"
    for line in output.splitlines():
        if line.startswith(_MARK):
            return str(json.loads(line[len(_MARK) :]))
    return f"the process that imported it ended with status {process.returncode}"


def child(folder: str, release: str, gpus: str, auto_complete: str) -> None:
    """Load one model in the emulator and print the reason why it does not load."""
    from triton_pyb.emulator import EmulatedTriton, LoadFailed

    reason = ""
    server = EmulatedTriton(folder, release=release, gpus=int(gpus), auto_complete=auto_complete == "1")
    try:
        server.start()
    except LoadFailed as failure:
        reason = failure.reason or str(failure)
    finally:
        server.stop()
    print(_MARK + json.dumps(reason), flush=True)


if __name__ == "__main__":
    child(*sys.argv[1:5])
