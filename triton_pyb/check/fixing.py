"""``--fix``: the repairs that can be made without asking.

Removed: a byte order mark, a comma behind the last element of a list, a -1 that begins the dims of every input and
output beside max_batch_size.  Replaced: ``FP32`` by ``TYPE_FP32`` and the like, ``=`` by ``:``.  Added:
``model_version: -1``, an empty version folder for an ensemble.  Moved: model.py from beside config.pbtxt into ``1/``.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator

from triton_pyb.check.ensemble_graph import EnsembleGraph
from triton_pyb.check.finding import printable
from triton_pyb.check.model import Model
from triton_pyb.check.repository import Repository
from triton_pyb.check.rules.tensors import BatchAxisInDims
from triton_pyb.check.rules.text_format import enum_repair
from triton_pyb.config.pbtxt import type_named

#: Start, end, replacement, and what that does.
Edit = tuple[int, int, str, str]


def fix(repository: Repository, allowed: Callable[[str, str], bool] = lambda code, model: True) -> list[str]:
    """Repair what is safe; one line for each repair, in the past tense.

    Parameters
    ----------
    allowed : callable (code, model) -> bool
        Which findings may be repaired (``--select``, ``--ignore``).
    """
    done: list[str] = []
    for model in repository.models:
        edits = [(code, edit) for code, edit in _edits(model) if allowed(code, model.name)]
        if edits and model.document is not None and not model.document.truncated:
            applied = _apply(model, [edit for _, edit in edits])
            done += [f"{printable(model.config_file)}: {what}" for what in applied]
        if allowed("TPB1501", model.name):
            done += _version_folder(model)
    return done


def _edits(model: Model) -> Iterator[tuple[str, Edit]]:
    document = model.document
    if document is None:
        return
    for problem in document.problems:
        if problem.kind == "bom":
            yield "TPB1020", (0, 1, "", "removed the byte order mark")
        elif problem.kind == "trailing-comma":
            yield (
                "TPB1007",
                (problem.start, problem.end, "", "removed a comma behind the last element of a list"),
            )
        elif problem.kind == "equals-sign":
            yield "TPB1009", (problem.start, problem.end, ":", "wrote ':' for '='")
        elif problem.kind == "unknown-enum" and problem.expected[0] == "data_type":
            name = enum_repair(problem.got, problem.expected[1:])
            if name and type_named(problem.got):
                yield "TPB1012", (problem.start, problem.end, name, f"wrote {name} for {problem.got}")
        elif problem.kind == "wrong-type" and problem.expected[:2] == ("enum", "data_type"):
            bare = problem.got.strip("\"'")
            name = enum_repair(bare, problem.expected[2:])
            if name:
                yield "TPB1013", (problem.start, problem.end, name, f'wrote {name} for {problem.got}"')
    if not model.understood:
        return
    suspects = BatchAxisInDims.suspects(model) if BatchAxisInDims.is_certain(model) else []
    axes = [(tensor["name"], *tensor.entries["dims"][:2]) for _, tensor in suspects]
    if all(document.text[first.end : second.start].strip() == "," for _, first, second in axes):
        for name, first, second in axes:  # all of them or none: half a repair is a new fault
            what = f"took the batch axis {first.value} out of the dims of '{name}'"
            yield "TPB1123", (first.start, second.start, "", what)
    for step in EnsembleGraph(model).steps:
        message = step.entry.value
        if "model_version" not in message and "model_name" in message:
            at = message.entry("model_name").end
            yield "TPB1622", (at, at, " model_version: -1", f"added model_version: -1 to step {step.index}")


def _apply(model: Model, edits: list[Edit]) -> list[str]:
    assert model.document is not None
    text = model.document.text
    applied: list[str] = []
    last = len(text) + 1
    for start, end, replacement, what in sorted(edits, reverse=True):
        if end > last:
            continue  # overlaps one that is already made
        text = text[:start] + replacement + text[end:]
        applied.append(what)
        last = start
    _write(model.config_file, text.encode("utf-8", "surrogateescape"))
    return applied[::-1]


def _write(file: str, data: bytes) -> None:
    """Replace a file whole, keeping its mode."""
    mode = os.stat(file).st_mode & 0o777
    handle, temporary = tempfile.mkstemp(prefix=".config.pbtxt.", dir=os.path.dirname(os.path.realpath(file)))
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, os.path.realpath(file))
    except BaseException:
        os.unlink(temporary)
        raise


def _version_folder(model: Model) -> list[str]:
    if model.versions or model.config_state != "file" or not model.understood or "1" in model.files:
        return []
    folder = os.path.join(model.path, "1")
    if os.path.exists(folder):
        return []
    if model.is_ensemble:
        os.mkdir(folder)
        with open(os.path.join(folder, ".keep"), "w", encoding="ascii"):
            pass  # git and zip drop empty folders
        return [f"{printable(model.path)}: created the version folder 1/"]
    if model.is_python and "model.py" in model.files and not model.subfolders:
        os.mkdir(folder)
        os.rename(os.path.join(model.path, "model.py"), os.path.join(folder, "model.py"))
        return [f"{printable(model.path)}: moved model.py into 1/"]
    return []
