"""Findings in a repository that was built for the occasion, told at the places of their author."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from triton_pyb.check.finding import Finding, Place


class Authored:
    """The way from the files of a built repository back to those it was built from.

    Parameters
    ----------
    repository : path
        The built repository.
    target : str
        What it was built from: ``app.py:pipeline`` or ``app:pipeline``.
    """

    def __init__(self, repository: str | os.PathLike[str], target: str) -> None:
        self.repository = Path(repository)
        named = target if target.endswith(".py") else target.rpartition(":")[0]
        self.file = Path(named if named.endswith(".py") else named.replace(".", "/") + ".py")

    def findings(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The findings, each once, with the places that exist when the command is over."""
        seen: set[tuple[str, str, Place]] = set()
        for finding in findings:
            place = self.place(finding.place)
            related = tuple((message, self.place(other)) for message, other in finding.related)
            if place != finding.place and (finding.code, finding.message, place) in seen:
                continue  # a module travels with every model that imports it
            seen.add((finding.code, finding.message, place))
            yield replace(finding, place=place, related=related)

    def place(self, place: Place) -> Place:
        """The place in a module of the author, or the function that a generated file was made from."""
        try:
            parts = Path(place.file).relative_to(self.repository).parts
        except ValueError:
            return place
        source = self._same(parts[2:], Path(place.file)) if len(parts) > 2 else None
        if source is not None:
            return replace(place, file=str(source))
        return self._function(parts[0]) if parts else Place(str(self.file))

    def _same(self, inside: tuple[str, ...], built: Path) -> Path | None:
        """The file of the author with these bytes, beside the target's or in a folder above it."""
        folder = self.file.parent
        for above in (folder, *folder.absolute().parents):
            candidate = above.joinpath(*inside)
            if candidate.is_file() and built.is_file() and candidate.read_bytes() == built.read_bytes():
                return candidate
        return None

    def _function(self, model: str) -> Place:
        """Where the function of a model is defined; the target's file for an ensemble."""
        for signature in sorted(self.repository.glob(f"{model}/*/signature.json")):
            module, _, name = json.loads(signature.read_text(encoding="utf-8")).get("function", "").partition(":")
            inside = tuple((module.replace(".", "/") + ".py").split("/"))
            source = self._same(inside, signature.parent.joinpath(*inside))
            if source is not None:
                return _definition(source, name.rpartition(".")[2])
        return Place(str(self.file))


def _definition(source: Path, name: str) -> Place:
    text = source.read_text(encoding="utf-8", errors="replace")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            line = text.splitlines()[node.lineno - 1]
            return Place(str(source), node.lineno, node.col_offset + 1, len(line) + 1, line)
    return Place(str(source))
