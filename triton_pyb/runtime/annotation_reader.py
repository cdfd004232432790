"""Evaluate annotations and read each into a Field, collecting mistakes instead of raising the first."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, Mapping, Optional

from . import fields
from .batch_options import BATCH_MODES
from .callables import Place, call_method, called, parameters_of
from .errors import DeclarationError, did_you_mean
from .signature import Field

#: Kinds whose items come as an array, so that a joined call can stack them.
_ARRAYS = ("tensor", "number", "image")

#: What an annotation resolves to when it cannot be evaluated; None is an annotation of its own.
UNKNOWN = object()


class AnnotationReader:
    """One function being read; collects errors instead of raising the first."""

    def __init__(
        self, function: Callable[..., Any], place: Place, batch: str, localns: Optional[Mapping[str, Any]]
    ) -> None:
        self.function = function
        self.place = place
        self.batch = batch
        self.errors: List[DeclarationError] = []
        self.unresolved: List[str] = []
        self.injected: Dict[str, Dict[str, str]] = {}
        target = inspect.unwrap(called(function))
        target = target if hasattr(target, "__globals__") else call_method(target)
        self.globals: Dict[str, Any] = getattr(target, "__globals__", {})
        self.locals = dict(localns or {})
        self.parameters = parameters_of(function)

    def error(self, code: str, what: str, fix: str) -> None:
        self.errors.append(DeclarationError(code, what, str(self.place), fix))

    def field(
        self, what: str, annotation: Any, *, name: str, argument: str, side: str, optional: bool = False
    ) -> Optional[Field]:
        resolved = self.resolve(annotation, what)
        if resolved is UNKNOWN:
            return None
        resolved, listed = fields.strip_batch(resolved)
        resolved = self.resolve(resolved, what)
        if resolved is UNKNOWN:
            return None
        try:
            field = fields.read_field(resolved, name=name, argument=argument, optional=optional, listed=listed)
        except fields.Mistake as mistake:
            self.error(mistake.code, f"{what}: {mistake.what}", mistake.fix)
            return None
        if field.kind == "image" and side == "output" and (field.shape or field.options.get("decoded")):
            self.error("TPB106", f"{what}: an output is one picture per item", "leave out shape= and decoded=")
        self.check_batch(what, field)
        return field

    def check_batch(self, what: str, field: Field) -> None:
        if self.batch not in BATCH_MODES:
            return  # reported already
        if self.batch == "each":
            if field.listed:
                self.error(
                    "TPB110",
                    f'{what}: Batch[...] with batch="each": the function sees one item at a time',
                    'drop Batch[...], or write batch="list"',
                )
        elif self.batch == "list":
            if not field.listed:
                self.error(
                    "TPB110",
                    f'{what}: with batch="list" the function sees a list of items',
                    'write Batch[...] around it, or batch="stack" for one array',
                )
        elif not field.listed and (field.kind not in _ARRAYS or field.options.get("python") == "pil" or _many(field)):
            kind = "a PIL image" if field.options.get("python") == "pil" else field.kind
            self.error(
                "TPB110",
                f"{what}: with batch={self.batch!r} the function sees many items at once, and {kind} is no array",
                "write Batch[...] around it: a list with one entry per item",
            )

    def check_names(self, side: str, found: List[Field]) -> None:
        seen: Dict[str, Field] = {}
        for field in found:
            if field.name and field.name in seen:
                self.error(
                    "TPB108",
                    f"two {side}s are named '{field.name}' ('{seen[field.name].argument}' and '{field.argument}')",
                    "give each tensor a name of its own",
                )
            seen[field.name] = field

    def resolve(self, annotation: Any, what: str, report: bool = True) -> Any:
        """Evaluate an annotation written as text; UNKNOWN when that is not possible (noted or reported)."""
        text = getattr(annotation, "__forward_arg__", annotation)
        if not isinstance(text, str):
            return annotation
        try:
            return eval(text, self.globals, self.locals)  # the author's own annotation, as typing does it
        except NameError as error:
            if report:
                missing = str(error).split("'")[1] if "'" in str(error) else ""
                self.unresolved.append(f"{what}: {error}{did_you_mean(missing, self.globals)}")
        except DeclarationError as error:
            if report:
                self.errors.append(error)
        except Exception as error:
            if report:
                self.error(
                    "TPB104",
                    f"{what}: the annotation `{text}` does not evaluate: {type(error).__name__}: {error}",
                    "correct the annotation",
                )
        return UNKNOWN


def _many(field: Field) -> bool:
    """Several pictures per item."""
    return field.kind == "image" and field.shape != ()
