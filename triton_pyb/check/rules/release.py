"""Group 18: what the target release does not have yet, or has no more."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triton_pyb.check.finding import Finding, Severity
from triton_pyb.check.model import Model
from triton_pyb.check.python_source import PythonSource
from triton_pyb.check.python_walk import Import, at_import, dotted, literal
from triton_pyb.check.rule import ModelRule
from triton_pyb.check.rules.python_model import SourceRule
from triton_pyb.check.target import python_of
from triton_pyb.config.pbtxt import walk
from triton_pyb.config.release_features import FIELDS, PB_UTILS_NAMES, VALUES

#: (class on pb_utils, keyword) -> first release.
KEYWORDS = {
    ("InferenceRequest", "correlation_id"): "21.08",
    ("InferenceRequest", "flags"): "22.02",
    ("InferenceRequest", "timeout"): "23.03",
    ("InferenceRequest", "parameters"): "23.03",
    ("InferenceRequest", "preferred_memory"): "23.04",
    ("InferenceRequest", "trace"): "23.08",
    ("InferenceResponse", "parameters"): "25.02",
    ("TritonError", "code"): "23.09",
}

#: Method of a request or of its sender -> first release.
METHODS = {
    "get_response_sender": "22.05",
    "parameters": "23.03",
    "timeout": "23.03",
    "trace": "23.08",
    "is_cancelled": "23.10",
    "set_release_flags": "23.11",
}

#: What only newer Pythons have.
MODULES = {"zoneinfo": (3, 9), "graphlib": (3, 9), "tomllib": (3, 11)}
STANDARD_NAMES = {
    ("functools", "cache"): (3, 9),
    ("math", "lcm"): (3, 9),
    ("asyncio", "to_thread"): (3, 9),
    ("asyncio", "TaskGroup"): (3, 11),
    ("asyncio", "timeout"): (3, 11),
    ("itertools", "pairwise"): (3, 10),
    ("itertools", "batched"): (3, 12),
    ("enum", "StrEnum"): (3, 11),
    ("datetime", "UTC"): (3, 11),
    ("typing", "Annotated"): (3, 9),
    ("typing", "TypeAlias"): (3, 10),
    ("typing", "ParamSpec"): (3, 10),
    ("typing", "Self"): (3, 11),
    ("typing", "override"): (3, 12),
    ("dataclasses", "KW_ONLY"): (3, 10),
}
STRING_METHODS = {"removeprefix": (3, 9), "removesuffix": (3, 9)}
_NEWER_NODES = (
    *(getattr(ast, kind) for kind in ("Match", "TryStar", "TypeAlias") if hasattr(ast, kind)),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Subscript, ast.BinOp, ast.Call, ast.Attribute),
)
_NOT_SUBSCRIPTABLE = "Internal: TypeError: 'type' object is not subscriptable"
_GENERICS = ("list", "dict", "tuple", "set", "frozenset", "type")


class LaterField(ModelRule):
    """A field of config.pbtxt is newer than the target release, which then cannot read the whole file.

    Source: common/protobuf/model_config.proto, diff over the release branches; "has no field named" (measured
    on 24.10).
    """

    code = "TPB1801"
    needs = frozenset({"config"})
    stage = "poll"
    message = "field '{field}' needs release {since}; the target is {release}{default}"
    fix = "remove it, or run {since} or later (and check with --release {since})"
    said = 'Message type "inference.{owner}" has no field named "{field}".'

    def check(self, model: Model) -> Iterator[Finding]:
        for message, name, entry in walk(model.config):
            owner = message.type.name.removeprefix("inference.")
            since = FIELDS.get((owner, name))
            if since is not None and not model.target.at_least(since):
                where = model.span(entry.name_start, entry.name_start + len(name))
                yield self.found(model, where, field=name, owner=owner, **_target(model, since))


def _target(model: Model, since: str) -> dict[str, str]:
    default = "" if model.target.chosen else " (the default)"
    return {"since": since, "release": model.target.release, "default": default}


class LaterValue(ModelRule):
    """An enumeration value of config.pbtxt is newer than the target release.

    Source: common/protobuf/model_config.proto, diff over the release branches.
    """

    code = "TPB1802"
    needs = frozenset({"config"})
    stage = "poll"
    message = "{value} needs release {since}; the target is {release}{default}"
    fix = "use another, or run {since} or later"
    said = 'Unknown enumeration value of "{value}" for field "{field}".'

    def check(self, model: Model) -> Iterator[Finding]:
        for _, name, entry in walk(model.config):
            since = VALUES.get(entry.value) if isinstance(entry.value, str) else None
            if since is not None and not model.target.at_least(since) and name in ("data_type", "kind"):
                yield self.found(model, entry, value=entry.value, field=name, **_target(model, since))


class LaterApi(SourceRule):
    """model.py, or a module that travels with it, uses a name of pb_utils that the target release does not have.

    In initialize() and auto_complete_config() the model does not load; in execute() every request that reaches the line
    fails.

    Source: python_backend over the release branches; contract measured on 24.10.
    """

    code = "TPB1803"
    message = "{what} needs release {since}; the target is {release}{default}"
    fix = "do without it, or run {since} or later"
    said = "Internal: AttributeError: module 'triton_python_backend_utils' has no attribute '{name}'"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        for current in (source, *source.travelling):
            yield from self._in(model, current)

    def _in(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        loading = set()
        for name in ("__init__", "initialize"):
            method = source.method(name)
            loading |= {id(node) for node in ast.walk(method)} if method is not None else set()
        for node, what, name, since in _api_uses(source):
            if model.target.at_least(since) or b"hasattr" in source.data or _guarded(source, node):
                continue
            at_load = id(node) in loading
            yield self.found(
                model,
                source.place(node),
                severity="error" if at_load else "warning",
                stage=None if at_load else "",
                said=None if at_load else "",
                what=what,
                name=name,
                **_target(model, since),
            )


def _guarded(source: PythonSource, node: ast.AST) -> bool:
    for outer in source.walked:
        if isinstance(outer, ast.Try) and any(node is inner for body in outer.body for inner in ast.walk(body)):
            return True
    return False


def _api_uses(source: PythonSource) -> Iterator[tuple[ast.AST, str, str, str]]:
    for node in source.nodes(ast.Attribute, ast.Call):
        if isinstance(node, ast.Attribute):
            holder = dotted(node.value)
            if holder in source.pb_utils_names and node.attr in PB_UTILS_NAMES:
                yield node, f"pb_utils.{node.attr}", node.attr, PB_UTILS_NAMES[node.attr]
            if holder.rpartition(".")[0] in source.pb_utils_names and holder.endswith(".TritonError"):
                since = "23.10" if node.attr == "CANCELLED" else "23.09"
                yield node, f"TritonError.{node.attr}", node.attr, since
        elif isinstance(node, ast.Call):
            name = dotted(node.func)
            holder, _, last = name.rpartition(".")
            if holder in source.pb_utils_names:
                for keyword in node.keywords:
                    first = KEYWORDS.get((last, keyword.arg or ""))
                    if first is not None:
                        yield keyword.value, f"{last}({keyword.arg}=...)", last, first
                if last == "TritonError" and len(node.args) > 1:
                    yield node, "TritonError with a code", last, "23.09"
            elif last in METHODS and holder in (
                "request",
                "req",
                "r",
                "inference_request",
                "sender",
                "response_sender",
            ):
                yield node, f"{holder}.{last}()", last, METHODS[last]
            elif isinstance(node.func, ast.Attribute) and node.func.attr == "exec" and node.keywords:
                if any(k.arg == "decoupled" and literal(k.value) is True for k in node.keywords):
                    yield node, "exec(decoupled=True)", "exec", "23.03"


class LaterHook(SourceRule):
    """auto_complete_config is newer than the target release, which never calls it.

    The configuration then lacks what the function adds.

    Source: python_backend pull request 138 (22.06).
    """

    code = "TPB1804"
    severity = "warning"
    stage = ""
    message = "auto_complete_config is not called before 22.06; the target is {release}"
    fix = "write the whole configuration into config.pbtxt"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        function = source.method("auto_complete_config")
        if function is not None and not model.target.at_least("22.06"):
            yield self.found(model, source.place(function), release=model.target.release)


class LaterPython(SourceRule):
    """model.py, or a module that travels with it, uses what the Python of the target release does not have.

    21.10 to 23.04 bring Python 3.8, up to 24.10 Python 3.10, later ones 3.12; each stub runs only its own version.

    Source: release notes and compatibility tables of the containers.
    """

    code = "TPB1805"
    message = "{what} needs Python {needs}; release {release} runs {has}{default}"
    fix = "write it the older way, or run a release with Python {needs} ({since} or later)"
    said = "Internal: SyntaxError: invalid syntax"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        has = model.target.python
        severity: Severity = "error" if model.target.chosen else "warning"
        for current in (source, *source.travelling):
            for node, what, needs, at_load in newer_syntax(current):
                if needs > has:
                    worst = severity if at_load else "warning"
                    said = _NOT_SUBSCRIPTABLE if isinstance(node, ast.Subscript) else None
                    yield self.found(
                        model,
                        current.place(node),
                        severity=worst,
                        stage=None if worst == "error" else "",
                        said=said if worst == "error" else "",
                        what=what,
                        needs=f"3.{needs[1]}",
                        has=f"3.{has[1]}",
                        release=model.target.release,
                        default="" if model.target.chosen else " (the default target)",
                        since=_first_release(needs),
                    )


def _first_release(python: tuple[int, int]) -> str:
    return next((r for r in ("21.10", "23.05", "24.11") if python_of(r) >= python), "none so far")


def newer_syntax(source: PythonSource) -> Iterator[tuple[ast.AST, str, tuple[int, int], bool]]:
    """``(node, what, Python it needs, fails at load)`` for all that Python 3.8 does not know."""
    if source.tree is None:
        return
    lazy = any(isinstance(n, ast.ImportFrom) and n.module == "__future__" for n in source.tree.body)
    quiet = _annotations(source, ast.AnnAssign) if lazy else set()
    annotations = _annotations(source)
    running = {id(node) for node in at_import(source.tree.body)}
    at_load = running - _set_apart(source)
    for node in source.nodes(ast.AnnAssign):
        if id(node) not in running:  # a local variable's annotation is never evaluated
            quiet |= {id(inner) for inner in ast.walk(node.annotation)}
    stored = {node.id for node in source.nodes(ast.Name) if isinstance(node.ctx, ast.Store)}
    for node in source.nodes(*_NEWER_NODES):
        if id(node) in quiet:
            continue
        kind = type(node).__name__
        if kind == "Match":
            yield node, "match", (3, 10), True
        elif kind == "TryStar":
            yield node, "except*", (3, 11), True
        elif kind == "TypeAlias":
            yield node, "type X = ...", (3, 12), True
        elif getattr(node, "type_params", None):
            yield node, "[T] behind a name", (3, 12), True
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in _GENERICS:
            if id(node) in annotations:
                yield node, ast.unparse(node), (3, 9), True
            elif node.value.id not in stored and id(node) in at_load:
                yield node, ast.unparse(node), (3, 9), True
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and id(node) in annotations:
            yield node, f"the annotation {ast.unparse(node)}", (3, 10), True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STRING_METHODS:
            yield node, f"str.{node.func.attr}", STRING_METHODS[node.func.attr], False
        elif isinstance(node, ast.Attribute) and tuple(dotted(node).rsplit(".", 1)) in STANDARD_NAMES:
            module, name = dotted(node).rsplit(".", 1)
            yield node, f"{module}.{name}", STANDARD_NAMES[module, name], False
    for item in source.imports:
        yield from _newer_import(item)


def _set_apart(source: PythonSource) -> set[int]:
    """Nodes below ``if TYPE_CHECKING:`` and ``if sys.version_info ...:``, which may never run."""
    words = ("TYPE_CHECKING", "version_info")
    outer = [node for node in source.nodes(ast.If, ast.IfExp) if any(w in ast.unparse(node.test) for w in words)]
    return {id(inner) for node in outer for inner in ast.walk(node)}


def _newer_import(item: Import) -> Iterator[tuple[ast.AST, str, tuple[int, int], bool]]:
    if item.level or item.guarded:
        return
    if item.module in MODULES:
        yield item.node, f"module {item.module}", MODULES[item.module], True
    for name in item.names:
        if (item.module, name) in STANDARD_NAMES:
            yield item.node, f"{item.module}.{name}", STANDARD_NAMES[item.module, name], True


def _annotations(source: PythonSource, *more: type[ast.AST]) -> set[int]:
    """Nodes in the annotations of functions, which Python evaluates when the module or class runs."""
    every: list[ast.expr | None] = []
    for node in source.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        every += [a.annotation for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        every.append(node.returns)
    every += [node.annotation for node in source.nodes(*more)]
    found: set[int] = set()
    for annotation in every:
        found |= {id(inner) for inner in ast.walk(annotation)} if annotation is not None else set()
    return found


class NoTensorFlow(ModelRule):
    """The target release has no TensorFlow backend any more.

    NVIDIA's container brings it up to 25.02.

    Source: release notes 25.03 ("TensorFlow backend is deprecated"), server build.py.
    """

    code = "TPB1806"
    severity = "warning"
    needs = frozenset({"config", "single"})
    message = "the TensorFlow backend ends with release 25.02{now}"
    fix = "export the model to ONNX, or stay on 25.02"

    def check(self, model: Model) -> Iterator[Finding]:
        if model.completed.backend == "tensorflow":
            now = f"; the target is {model.target.release}" if model.target.at_least("25.03") else ""
            where = model.config.entry("platform") or model.config.entry("backend")
            yield self.found(model, where, now=now)


class LibtorchNames(ModelRule):
    """The tensors of a TorchScript model are not named the way the pytorch backend expects.

    `INPUT__0`, `OUTPUT__0`, or the names of forward()'s arguments (22.06 and later); outputs always by number,
    unless the model
    returns a dictionary.

    Source: server issues 4671, 3307, 590; pytorch_backend/src/libtorch.cc naming convention.
    """

    code = "TPB1807"
    severity = "warning"
    needs = frozenset({"config", "single"})
    message = "{kind} '{name}' of a TorchScript model should be named {expected}"
    fix = 'write name: "{expected}"'

    def check(self, model: Model) -> Iterator[Finding]:
        if model.completed.backend != "pytorch" or model.config["runtime"]:
            return
        for kind in ("input", "output"):
            for index, tensor in enumerate(model.tensors(kind)):
                name = tensor["name"]
                head, separator, number = name.rpartition("__")
                if separator and head and number.isdigit():
                    continue
                if kind == "input" and model.target.at_least("22.06"):
                    continue  # may be an argument of forward()
                if name:
                    expected = f"{kind.upper()}__{index}"
                    yield self.found(model, tensor.entry("name"), kind=kind, name=name, expected=expected)
