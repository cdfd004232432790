"""Read a function's annotations, or ``inputs=``/``outputs=``, into a Signature; report every mistake at once.

Runs on the author's machine only: a packaged model reads ``signature.json`` instead.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from . import fields
from .annotation_reader import UNKNOWN, AnnotationReader
from .annotations import Lengths
from .batch_options import BATCH_MODES, Problem, read_options
from .callables import (
    Place,
    is_generator,
    own_annotations,
    place_of,
    return_annotation_of,
)
from .context import Context
from .errors import did_you_mean, raise_all
from .padding import variable_axes
from .signature import Field, Signature
from .state import SequenceMarker, StateMarker


class Unresolved(Exception):
    """An annotation names something that does not exist yet; the build tries again."""


def read_signature(
    function: Callable[..., Any],
    *,
    inputs: Optional[Mapping[str, Any]] = None,
    outputs: Optional[Mapping[str, Any]] = None,
    batch: str = "each",
    options: Optional[Mapping[str, Any]] = None,
    problems: Sequence[Problem] = (),
    localns: Optional[Mapping[str, Any]] = None,
    place: Optional[Place] = None,
) -> Signature:
    """The Signature of `function`.

    Parameters
    ----------
    options : mapping
        The decorator's other keywords; those that belong to the batch mode are kept.
    problems : sequence of (code, what, fix)
        Mistakes found elsewhere in the same declaration, to be reported with these.

    Raises
    ------
    DeclarationError
        For every mistake; several at once come as one ``SeveralDeclarationErrors``.
    Unresolved
        When an annotation names something unknown so far and nothing else is wrong.
    """
    reader = _Reader(function, place or place_of(function), batch, localns)
    kept, option_problems = read_options(batch, options or {})
    for problem in (*problems, *option_problems):
        reader.error(*problem)
    reader.check_function()
    found_inputs = reader.inputs(inputs)
    found_outputs, bare = reader.outputs(outputs)
    if is_generator(function):
        kept["streams"] = True
    if kept.get("on_item_error") == "mask":
        found_outputs.append(Field(kept.get("status_output", "status"), "INT32", (), "status"))
    reader.check_names("input", found_inputs)
    reader.check_names("output", found_outputs)
    reader.check_injected(found_inputs)
    reader.check_padding(found_inputs, found_outputs)
    raise_all(reader.errors)
    if reader.unresolved:
        raise Unresolved("; ".join(reader.unresolved))
    module = getattr(function, "__module__", "") or ""
    qualified = getattr(function, "__qualname__", type(function).__qualname__)
    return Signature(
        f"{module}:{qualified}", tuple(found_inputs), tuple(found_outputs), batch, bare, reader.injected, kept
    )


class _Reader(AnnotationReader):
    """One function being read: its inputs, what is injected, its outputs."""

    def check_function(self) -> None:
        if self.batch not in BATCH_MODES:
            self.error(
                "TPB109",
                f"unknown batch mode {self.batch!r}{did_you_mean(str(self.batch), BATCH_MODES)}",
                f"write one of {', '.join(map(repr, BATCH_MODES))}",
            )
        streams = is_generator(self.function)
        if streams and self.batch != "each":
            self.error(
                "TPB111",
                f"a generator answers one item with many responses, which batch={self.batch!r} cannot",
                'write batch="each"',
            )
        if inspect.isclass(self.function) and not callable(vars(self.function).get("__call__")):
            self.error("TPB111", "a class needs __call__ to be a step", "write `def __call__(self, ...)`")
        for parameter in self.parameters.values():
            if parameter.kind is parameter.POSITIONAL_ONLY:
                self.error(
                    "TPB105",
                    f"argument '{parameter.name}' is positional-only, and inputs are passed by name",
                    "write a function with an ordinary argument around it",
                )
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                star = "*" if parameter.kind == parameter.VAR_POSITIONAL else "**"
                self.error(
                    "TPB105",
                    f"argument '{star}{parameter.name}' cannot be an input: a model has a fixed list of inputs",
                    "give each input an argument of its own",
                )

    def inputs(self, given: Optional[Mapping[str, Any]]) -> List[Field]:
        usable = {
            name: parameter
            for name, parameter in self.parameters.items()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        }
        if given is not None:
            for name in given:
                if name not in usable:
                    self.error(
                        "TPB112",
                        f"inputs= names '{name}', which is no argument{did_you_mean(name, usable)}",
                        f"the arguments are {', '.join(map(repr, usable)) or 'none'}",
                    )
        found: List[Field] = []
        for name, parameter in usable.items():
            if not self.inject(name, parameter):
                found += self.input(name, parameter, given)
        if not found and not self.errors and not self.unresolved:
            self.error("TPB101", "a step needs at least one input", "give the function an annotated argument")
        return found

    def inject(self, name: str, parameter: inspect.Parameter) -> bool:
        """Note an argument that is no input: a Context, or the lengths of a padded input."""
        if parameter.annotation is parameter.empty:
            return False
        annotation = fields.without_none(self.resolve(parameter.annotation, f"input '{name}'", report=False))
        if annotation is Context:
            self.injected[name] = {"kind": "context"}
            return True
        for marker in getattr(annotation, "__metadata__", ()):
            if isinstance(marker, Lengths):
                self.injected[name] = {"kind": "lengths", "input": marker.input}
            elif isinstance(marker, StateMarker):
                self.injected[name] = {"kind": "state"}
            elif isinstance(marker, SequenceMarker):
                self.injected[name] = {"kind": "sequence"}
        return name in self.injected

    def check_injected(self, inputs: Sequence[Field]) -> None:
        known = {field.name: field for field in inputs if "instead_of" not in field.options}
        for argument, what in self.injected.items():
            if what["kind"] == "sequence" and self.batch not in ("each", "request"):
                self.error(
                    "TPB118",
                    f"argument '{argument}': SequenceState belongs to one request, "
                    f"and batch={self.batch!r} joins several",
                    'write batch="each" or batch="request"',
                )
            if what["kind"] != "lengths":
                continue
            if self.batch != "pad":
                self.error(
                    "TPB118", f"argument '{argument}': Lengths(...) belongs to batch=\"pad\"", 'write batch="pad"'
                )
            elif what["input"] not in known:
                self.error(
                    "TPB112",
                    f"argument '{argument}': Lengths('{what['input']}') names no input"
                    f"{did_you_mean(what['input'], known)}",
                    f"the inputs are {', '.join(map(repr, known))}",
                )
            else:
                self.check_lengths(argument, known[what["input"]])

    def check_lengths(self, argument: str, field: Field) -> None:
        if field.listed or not variable_axes(field):
            self.error(
                "TPB118",
                f"argument '{argument}': input '{field.name}' is not padded: "
                + ("Batch[...] keeps its items apart" if field.listed else f"all sizes of {field} are fixed"),
                "leave the argument out",
            )
        may_be_absent = field.options.get("default", field.optional)
        if may_be_absent and self.parameters[argument].default is inspect.Parameter.empty:
            self.error(
                "TPB118",
                f"argument '{argument}': a request may come without input '{field.name}', and then it has no lengths",
                f"write `{argument}: ... = None`",
            )

    def check_padding(self, inputs: Sequence[Field], outputs: Sequence[Field]) -> None:
        """An output of open size would hold padding or not, depending on what else is in the call."""
        padded = [field for field in inputs if -1 in field.shape and field.kind == "tensor" and not field.listed]
        for output in outputs:
            if self.batch == "pad" and padded and -1 in output.shape and not output.listed:
                self.error(
                    "TPB106",
                    f"output '{output.name}' has an open size, and so has the padded input '{padded[0].name}': "
                    "only a name says whether it is the same one",
                    'name both sizes: ("T",) and ("T",) where padding is cut off again, ("T",) and ("K",) where not',
                )

    def input(self, name: str, parameter: inspect.Parameter, given: Optional[Mapping[str, Any]]) -> List[Field]:
        optional = parameter.default is not parameter.empty
        if given is not None:
            if name not in given:
                if not optional:
                    self.error("TPB101", f"argument '{name}' is not in inputs=", f"add '{name}' to inputs=")
                return []
            annotation = given[name]
        elif parameter.annotation is parameter.empty:
            self.error(
                "TPB101",
                f"argument '{name}' has no annotation",
                f'write `{name}: Annotated[np.ndarray, Tensor("FP32", (...))]`, `{name}: str`, or say it in inputs=',
            )
            return []
        else:
            annotation = parameter.annotation
        field = self.field(f"input '{name}'", annotation, name=name, argument=name, side="input", optional=optional)
        return fields.with_decoded(field) if field is not None else []

    def outputs(self, given: Optional[Mapping[str, Any]]) -> Tuple[List[Field], bool]:
        if given is not None:
            if not given:
                self.error("TPB107", "outputs= is empty: a step needs at least one output", "name the outputs")
            found = [
                self.field(f"output '{name}'", word, name=name, argument=name, side="output")
                for name, word in given.items()
            ]
            return [field for field in found if field is not None], len(given) == 1
        annotation = return_annotation_of(self.function)
        if annotation is inspect.Signature.empty:
            self.error(
                "TPB107",
                "the function has no return annotation",
                'write `-> Annotated[np.ndarray, Tensor("FP32", (...), name="...")]`, or say it in outputs=',
            )
            return [], True
        resolved = self.resolve(annotation, "the return annotation")
        if resolved is not UNKNOWN and is_generator(self.function):
            resolved = self.resolve(self.yielded(resolved), "the return annotation")
        if resolved is UNKNOWN:
            return [], True
        named = self.named_outputs(resolved)
        if named is None:
            field = self.field("the output", resolved, name="", argument="", side="output")
            if field is not None and not field.name:
                self.error(
                    "TPB103",
                    "the output has no name",
                    f'say it: `{fields.naming_example(field)}`, or `outputs={{"name": ...}}`',
                )
            return ([field] if field is not None else []), True
        found = [
            self.field(f"output '{key}'", word, name=key, argument=key, side="output") for key, word in named.items()
        ]
        return [field for field in found if field is not None], False

    def yielded(self, annotation: Any) -> Any:
        """``Iterator[X]``, ``Generator[X, ...]``, ``AsyncIterator[X]`` -> X."""
        origin = getattr(annotation, "__origin__", None)
        if getattr(origin, "__module__", "") == "collections.abc":
            return annotation.__args__[0]
        self.error(
            "TPB107",
            f"the function yields, and its return annotation is {annotation!r}",
            'write `-> Iterator[Annotated[str, Name("token")]]`: what one response holds',
        )
        return UNKNOWN

    def named_outputs(self, annotation: Any) -> Optional[Dict[str, Any]]:
        """The parts of a container of outputs, or None when `annotation` is one output."""
        origin = getattr(annotation, "__origin__", None)
        if origin is tuple and not hasattr(annotation, "__metadata__"):
            return self.tuple_outputs(annotation.__args__)
        if not inspect.isclass(annotation):
            return None
        if dataclasses.is_dataclass(annotation):
            names = [item.name for item in dataclasses.fields(annotation)]
        elif hasattr(annotation, "_fields") or hasattr(annotation, "__total__"):  # NamedTuple, TypedDict
            names = list(annotation.__annotations__)
        else:
            return None
        module = sys.modules.get(annotation.__module__)
        saved, self.globals = self.globals, {**self.globals, **vars(module)} if module else self.globals
        try:
            hints = own_annotations(annotation)
            resolved = {name: self.resolve(hints[name], f"output '{name}'") for name in names}
        finally:
            self.globals = saved
        return {name: hint for name, hint in resolved.items() if hint is not UNKNOWN}

    def tuple_outputs(self, parts: Tuple[Any, ...]) -> Dict[str, Any]:
        named: Dict[str, Any] = {}
        for index, part in enumerate(parts):
            item, _ = fields.strip_batch(part)
            name = next((m.name for m in getattr(item, "__metadata__", ()) if getattr(m, "name", "")), "")
            if not name:
                self.error(
                    "TPB103",
                    f"output {index} of the tuple has no name",
                    'say it: Annotated[str, Name("...")], or name="..." in its Tensor, Json or Image',
                )
            if name in named:
                self.error("TPB108", f"two outputs are named '{name}'", "give each tensor a name of its own")
            named[name or f"#{index}"] = part
        return named
