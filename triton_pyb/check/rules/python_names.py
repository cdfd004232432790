"""Group 17, middle part: names that do not exist, in model.py, in pb_utils, in `args` and in the configuration."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from triton_pyb.check.finding import Finding, printable
from triton_pyb.check.model import Model
from triton_pyb.check.module_search import PB_UTILS
from triton_pyb.check.python_source import PythonSource
from triton_pyb.check.python_walk import Function, dotted, literal, within
from triton_pyb.check.rules.python_model import SourceRule
from triton_pyb.check.rules.python_traps import declared_names
from triton_pyb.config.schema import model_config_type
from triton_pyb.runtime.errors import did_you_mean

#: What exists in every module beside the builtins.
_MODULE_NAMES = {
    "__class__",
    "__module__",
    "__qualname__",
    "__annotations__",
    "__file__",
    "__name__",
    "__doc__",
    "__package__",
    "__spec__",
    "__loader__",
    "__builtins__",
    "__path__",
}

_TYPE_PARAMETERS = tuple(getattr(ast, kind) for kind in ("TypeVar", "ParamSpec", "TypeVarTuple") if hasattr(ast, kind))

#: Keys of the `args` of initialize(), all with text as value.  Source: measured on 24.10.
ARGS = (
    "model_config",
    "model_instance_kind",
    "model_instance_name",
    "model_instance_device_id",
    "model_repository",
    "model_version",
    "model_name",
)

#: Public names of pb_utils while a request runs, 24.10 and later.  Source: measured on 24.10.
PB_UTILS_SURFACE = frozenset(
    "InferenceRequest InferenceResponse Logger MetricFamily ModelConfig PreferredMemory TRITONSERVER_MEMORY_CPU "
    "TRITONSERVER_MEMORY_GPU TRITONSERVER_REQUEST_FLAG_SEQUENCE_END TRITONSERVER_REQUEST_FLAG_SEQUENCE_START "
    "TRITONSERVER_REQUEST_RELEASE_ALL TRITONSERVER_REQUEST_RELEASE_RESCHEDULE TRITONSERVER_RESPONSE_COMPLETE_FINAL "
    "TRITON_STRING_TO_NUMPY Tensor TritonError TritonModelException deserialize_bytes_tensor "
    "get_input_config_by_name get_input_tensor_by_name get_model_dir get_output_config_by_name "
    "get_output_tensor_by_name is_model_ready json load_model np numpy_to_triton_type serialize_byte_tensor struct "
    "triton_string_to_numpy triton_to_numpy_type unload_model using_decoupled_model_transaction_policy".split()
)


def bound_names(source: PythonSource) -> set[str] | None:
    """Every name that is bound anywhere in the file, in whatever scope; None when others may come."""
    if source.top_level_names is None:
        return None
    names = set(_MODULE_NAMES) | set(dir(builtins))
    names |= {node.id for node in source.nodes(ast.Name) if not isinstance(node.ctx, ast.Load)}
    names |= {node.name for node in source.nodes(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)}
    names |= {node.arg for node in source.nodes(ast.arg)}
    for node in source.nodes(ast.Import, ast.ImportFrom):
        if any(alias.name == "*" for alias in node.names):
            return None
        names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    for node in source.nodes(ast.Global, ast.Nonlocal):
        names |= set(node.names)
    for node in source.nodes(ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping, *_TYPE_PARAMETERS):
        names |= {getattr(node, "name", None) or "", getattr(node, "rest", None) or ""}
    return names


def certain_nodes(source: PythonSource) -> set[int]:
    """Nodes that are certainly evaluated while the model loads: not below a condition, a loop or a try."""
    if "certain" not in source.__dict__:
        source.__dict__["certain"] = _certain_nodes(source)
    found: set[int] = source.__dict__["certain"]
    return found


def _certain_nodes(source: PythonSource) -> set[int]:
    lazy = source.evaluates_no_annotations
    found = _certain(source.tree.body, lazy) if source.tree is not None else set()
    if source.model_class is not None:
        found |= _certain(source.model_class.body, lazy)
    names = ["__init__", "initialize"] + ["auto_complete_config"] * (source.completion is not None)
    for method in map(source.method, names):
        if isinstance(method, ast.FunctionDef):
            found |= _certain(method.body, lazy, in_function=True)
    return found


def _certain(body: list[ast.stmt], lazy: bool, in_function: bool = False) -> set[int]:
    found: set[int] = set()
    for statement in body:
        evaluated: list[ast.AST | None] = []
        if isinstance(statement, ast.With):
            found |= _certain(statement.body, lazy, in_function)
        elif isinstance(statement, ast.AnnAssign):
            evaluated = [statement.value, None if lazy or in_function else statement.annotation]
        elif isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign, ast.Return)):
            evaluated = [statement]
        elif isinstance(statement, (ast.If, ast.While)):
            evaluated = [statement.test]
        elif isinstance(statement, ast.For):
            evaluated = [statement.iter]
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            arguments = statement.args
            evaluated = [*statement.decorator_list, *arguments.defaults, *arguments.kw_defaults]
            evaluated += [] if lazy or getattr(statement, "type_params", None) else annotations_of(statement)
        elif isinstance(statement, ast.ClassDef) and not getattr(statement, "type_params", None):
            evaluated = [*statement.decorator_list, *statement.bases, *(k.value for k in statement.keywords)]
            found |= _certain(statement.body, lazy)
        found |= {id(node) for part in evaluated if part is not None for node in _unconditional(part)}
        if any(isinstance(node, (ast.Return, ast.Raise, ast.Yield)) for node in within(statement)):
            break
    return found


def annotations_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr | None]:
    """The annotations of the arguments and of the result, None for one that is not there."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return [*(argument.annotation for argument in every if argument is not None), function.returns]


def _unconditional(statement: ast.AST) -> Iterator[ast.AST]:
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.IfExp):
            stack.append(node.test)
        elif isinstance(node, ast.BoolOp):
            stack.append(node.values[0])
        elif not isinstance(node, (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
            stack += list(ast.iter_child_nodes(node))


def _initialize(source: PythonSource) -> Function | None:
    """The method `initialize`, where it takes its `args`."""
    function = source.method("initialize")
    return function if function is not None and len(function.args.args) >= 2 else None


class LoadOrLater(SourceRule):
    """Base: an error where it happens while the model loads, a warning where only a request may reach it."""

    def at(self, model: Model, source: PythonSource, node: ast.AST, certain: bool, **values: str) -> Finding:
        late = {"severity": "warning", "stage": "", "said": ""} if not certain else {}
        return self.found(model, source.place(node), **late, **values)


class UndefinedName(LoadOrLater):
    """A name is used that is bound nowhere in the file, mostly a forgotten import.

    At import, in the constructor or in initialize() the model does not load; elsewhere the request that reaches it
    fails.

    Source: Python's NameError, passed on by python_backend/src/pb_stub.cc.
    """

    code = "TPB1716"
    message = "name '{name}' is not defined{hint}"
    fix = "import or define '{name}'"
    said = "Internal: NameError: name '{name}' is not defined"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        bound = bound_names(source) if source.tree is not None else None
        if bound is None:
            return
        unbound = [node for node in source.nodes(ast.Name) if node.id not in bound]
        if not unbound:
            return
        certain = certain_nodes(source)
        skipped = _in_name_error_guard(source) | (_annotation_nodes(source) - certain)
        seen: set[str] = set()
        for node in unbound:
            if id(node) not in skipped and (node.id not in seen or id(node) in certain):
                seen.add(node.id)
                hint = did_you_mean(node.id, sorted(bound - set(dir(builtins)) - _MODULE_NAMES))
                yield self.at(model, source, node, id(node) in certain, name=node.id, hint=hint)


def _in_name_error_guard(source: PythonSource) -> set[int]:
    """Nodes below a try that expects such an error."""
    found: set[int] = set()
    for node in source.nodes(ast.Try):
        if node.handlers:
            found |= {id(inner) for statement in node.body for inner in ast.walk(statement)}
    return found


def _annotation_nodes(source: PythonSource) -> set[int]:
    found: set[int] = set()
    for node in source.walked:
        annotations: list[ast.expr | None] = []
        if isinstance(node, ast.arg):
            annotations = [node.annotation]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            annotations = [node.returns]
        elif isinstance(node, ast.AnnAssign):
            annotations = [node.annotation]
        for annotation in annotations:
            found |= {id(inner) for inner in ast.walk(annotation)} if annotation is not None else set()
    return found


class UnknownArgsKey(LoadOrLater):
    """initialize() reads a key that its `args` do not have.

    There are seven, all text: model_config (JSON), model_instance_kind, model_instance_name, model_instance_device_id,
    model_repository (the model's own folder), model_version, model_name.

    Source: measured on 24.10.
    """

    code = "TPB1717"
    message = "args has no key '{name}'{hint}"
    fix = "read one of: " + ", ".join(ARGS)
    said = "Internal: KeyError: '{name}'"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        function = _initialize(source)
        if function is None:
            return
        argument = function.args.args[-1].arg
        certain = certain_nodes(source)
        if any(
            isinstance(n, ast.Name) and n.id == argument and isinstance(n.ctx, ast.Store) for n in ast.walk(function)
        ):
            return
        for node in ast.walk(function):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == argument:
                key = literal(node.slice)
                if isinstance(key, str) and key not in ARGS and isinstance(node.ctx, ast.Load):
                    hint = did_you_mean(key, ARGS)
                    yield self.at(model, source, node, id(node) in certain, name=printable(key), hint=hint)


class UndeclaredConfigName(LoadOrLater):
    """model.py asks for the configuration of an input or output that is not declared.

    `get_output_config_by_name` then returns None, and taking its data_type fails in initialize().

    Source: triton_python_backend_utils.py (24.10).
    """

    code = "TPB1718"
    message = "{kind} '{name}' is not declared: {call} returns None{hint}"
    fix = "declare it in config.pbtxt, or name one of: {known}"
    said = "Internal: TypeError: 'NoneType' object is not subscriptable"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        certain = certain_nodes(source)
        subscripts = source.nodes(ast.Subscript)
        subscripted = {id(node.value) for node in subscripts}
        read = {node.value.id for node in subscripts if isinstance(node.value, ast.Name)}
        assigned = {
            id(node.value)
            for node in source.nodes(ast.Assign)
            if isinstance(node.targets[0], ast.Name) and node.targets[0].id in read
        }
        for node, name in source.calls:
            holder, _, last = name.rpartition(".")
            kind = {"get_input_config_by_name": "input", "get_output_config_by_name": "output"}.get(last, "")
            wanted = literal(node.args[1]) if kind and len(node.args) == 2 else None
            known = declared_names(model, source, kind) if isinstance(wanted, str) else []
            if holder in source.pb_utils_names and known and wanted not in known:
                fails = id(node) in certain and id(node) in subscripted | assigned
                hint = did_you_mean(str(wanted), known)
                values = {"kind": kind, "name": printable(str(wanted)), "call": last, "known": ", ".join(known)}
                yield self.at(model, source, node, fails, hint=hint, **values)


class ConfigurationIsText(LoadOrLater):
    """`args["model_config"]` is used as if it were read: it is JSON text.

    Source: triton_python_backend_utils.py get_input_config_by_name; measured on 24.10.
    """

    code = "TPB1726"
    message = "args['model_config'] is JSON text, and is used here as a dict"
    fix = 'write model_config = json.loads(args["model_config"])'
    said = "Internal: TypeError: string indices must be integers"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        function = _initialize(source)
        if function is None:
            return
        origin = Origins(function, source)
        certain = certain_nodes(source)
        for node in ast.walk(function):
            used: ast.expr | None = None
            if isinstance(node, ast.Subscript) and isinstance(literal(node.slice), str):
                used = node.value
            elif isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute):
                used = (
                    node.args[0]
                    if node.func.attr in ("get_input_config_by_name", "get_output_config_by_name")
                    else None
                )
            if used is not None and origin.is_text(used):
                yield self.at(model, source, node, id(node) in certain)


class ArgumentMisused(LoadOrLater):
    """initialize() takes its `args`, or the configuration in them, for something else than they are.

    `args` is a dict of text; `json.loads(args["model_config"])` is a dict with the fields of config.pbtxt; data types
    are spelled `TYPE_FP32` in it.

    Source: measured on 24.10 (AttributeError, TypeError and KeyError in initialize).
    """

    code = "TPB1747"
    message = "{text}"
    fix = "{repair}"
    said = "Internal: {text}"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        function = _initialize(source)
        if function is None:
            return
        origin = Origins(function, source)
        certain = certain_nodes(source)
        for node in ast.walk(function):
            text, repair = _misuse(origin, source, node) if id(node) in certain else ("", "")
            if text:
                yield self.at(model, source, node, True, text=text, repair=repair)


def _misuse(origin: Origins, source: PythonSource, node: ast.AST) -> tuple[str, str]:
    """What Python says to a node, and the repair; empty when it says nothing."""
    if isinstance(node, ast.Call) and node.args:
        called, argument = dotted(node.func), node.args[0]
        if called == "json.load" and origin.is_text(argument):
            return "AttributeError: 'str' object has no attribute 'read'", "write json.loads"
        if called == "json.loads" and origin.is_args(argument):
            said = "TypeError: the JSON object must be str, bytes or bytearray, not dict"
            return said, f'write json.loads({ast.unparse(argument)}["model_config"])'
        holder, _, last = called.rpartition(".")
        if last == "triton_string_to_numpy" and holder in source.pb_utils_names:
            wanted = literal(argument)
            if isinstance(wanted, str) and wanted not in _DATA_TYPES:
                return f"KeyError: '{printable(wanted)}'", "write a data_type as in config.pbtxt, such as TYPE_FP32"
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and not hasattr(dict, node.attr):
        if origin.is_args(node.value) or origin.is_config(node.value):
            repair = f'write {ast.unparse(node.value)}["{node.attr}"]'
            return f"AttributeError: 'dict' object has no attribute '{node.attr}'", repair
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and origin.is_config(node.value):
        fields = model_config_type().fields
        key = literal(node.slice)
        if isinstance(key, str) and key not in fields and key not in origin.stored:
            return f"KeyError: '{printable(key)}'", f"read a field of config.pbtxt{did_you_mean(key, fields)}"
    return "", ""


_DATA_TYPES = frozenset(
    "TYPE_BOOL TYPE_INT8 TYPE_INT16 TYPE_INT32 TYPE_INT64 TYPE_UINT8 TYPE_UINT16 TYPE_UINT32 TYPE_UINT64 TYPE_FP16 "
    "TYPE_FP32 TYPE_FP64 TYPE_STRING TYPE_BF16".split()
)


class UnknownSelfAttribute(LoadOrLater):
    """An attribute of `self` is read that nothing in the file ever sets.

    Source: Python's AttributeError, passed on by python_backend/src/pb_stub.cc.
    """

    code = "TPB1746"
    message = "self has no attribute '{name}'{hint}"
    fix = "set self.{name} first, or write one that exists"
    said = "Internal: AttributeError: 'TritonPythonModel' object has no attribute '{name}'"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        if source.model_class is None or source.inherits or any(word in source.data for word in _SETS_ATTRIBUTES):
            return
        known = {node.attr for node in source.nodes(ast.Attribute) if not isinstance(node.ctx, ast.Load)}
        for node in source.model_class.body:
            known |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
            known |= {getattr(node, "name", "")}
        certain = certain_nodes(source)
        for name in ("__init__", "initialize", "execute", "finalize"):
            function = source.method(name)
            if function is None or not function.args.args:
                continue
            own = function.args.args[0].arg
            for inner in ast.walk(function):
                if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id == own:
                    if inner.attr not in known and not inner.attr.startswith("__"):
                        known.add(inner.attr)
                        hint = did_you_mean(inner.attr, sorted(known - {inner.attr, ""}))
                        is_certain = id(inner) in certain
                        yield self.at(model, source, inner, is_certain, name=inner.attr, hint=hint)


#: What may set an attribute without its name.
_SETS_ATTRIBUTES = (b"setattr", b"__dict__", b"vars(", b"__getattr__", b"__slots__")


class UndeclaredParameter(LoadOrLater):
    """initialize() reads a parameter that config.pbtxt does not have.

    Source: measured on 24.10 (KeyError).
    """

    code = "TPB1727"
    message = "config.pbtxt has no parameter '{name}'{hint}"
    fix = 'add parameters {{ key: "{name}" value: {{ string_value: "..." }} }}, or read it with .get'
    said = "Internal: KeyError: '{name}'"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        function = _initialize(source)
        if function is None:
            return
        origin = Origins(function, source)
        known = [*model.config.map("parameters"), *(key for key in origin.stored if isinstance(key, str))]
        certain = certain_nodes(source)
        for node in ast.walk(function):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and origin.is_parameters(node.value):
                key = literal(node.slice)
                if isinstance(key, str) and key not in known and id(node) in certain:
                    name = printable(key)
                    yield self.at(model, source, node, True, name=name, hint=did_you_mean(key, known))


class Origins:
    """Where the values of names come from that initialize() binds exactly once."""

    def __init__(self, function: ast.FunctionDef | ast.AsyncFunctionDef, source: PythonSource) -> None:
        nodes = list(ast.walk(function))
        subscripts = [node for node in nodes if isinstance(node, ast.Subscript)]
        self.stored = {literal(node.slice) for node in subscripts if not isinstance(node.ctx, ast.Load)}
        bound = [
            ast.unparse(node)
            for node in nodes
            if isinstance(node, (ast.Name, ast.Attribute)) and not isinstance(node.ctx, ast.Load)
        ]
        self.argument = function.args.args[-1].arg
        if self.argument in bound:
            self.argument = ""
        self.values: dict[str, ast.expr] = {}
        for node in nodes:
            for target in node.targets if isinstance(node, ast.Assign) else ():
                if bound.count(ast.unparse(target)) == 1 and isinstance(node, ast.Assign):
                    self.values[ast.unparse(target)] = node.value
        names = [alias.asname or alias.name for node in source.nodes(ast.Import) for alias in node.names]
        others = {node.name for node in source.nodes(ast.FunctionDef, ast.ClassDef)} | set(bound)
        self.reads_json = "json" in names and "json" not in others
        #: True when something else may put keys into the configuration.
        self.is_open = any(isinstance(node, ast.Call) and self._may_change(node) for node in nodes)

    def _may_change(self, node: ast.Call) -> bool:
        called = dotted(node.func)
        if called.rpartition(".")[2] in ("update", "setdefault", "__setitem__"):
            return True
        if called in _READERS or called.rpartition(".")[2] in ("get_input_config_by_name", "get_output_config_by_name"):
            return False
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return any(self._is_config(part) or self._is_parameters(part) for part in given)

    def _followed(self, node: ast.expr) -> ast.expr:
        for _ in range(5):
            value = self.values.get(ast.unparse(node)) if dotted(node) else None
            if value is None:
                break
            node = value
        return node

    def is_text(self, node: ast.expr) -> bool:
        """True for ``args["model_config"]``."""
        node = self._followed(node)
        if (
            not isinstance(node, ast.Subscript)
            or literal(node.slice) != "model_config"
            or "model_config" in self.stored
        ):
            return False
        return isinstance(node.value, ast.Name) and node.value.id == self.argument

    def is_args(self, node: ast.expr) -> bool:
        """True for the argument of initialize()."""
        node = self._followed(node)
        return isinstance(node, ast.Name) and node.id == self.argument

    def is_config(self, node: ast.expr) -> bool:
        """True for ``json.loads(args["model_config"])`` that nothing else can have changed."""
        return not self.is_open and self._is_config(node)

    def is_parameters(self, node: ast.expr) -> bool:
        """True for the ``["parameters"]`` of it."""
        return not self.is_open and self._is_parameters(node)

    def _is_config(self, node: ast.expr) -> bool:
        read = self._followed(node)
        if not isinstance(read, ast.Call) or len(read.args) != 1 or read.keywords:
            return False
        return self.reads_json and dotted(read.func) == "json.loads" and self.is_text(read.args[0])

    def _is_parameters(self, node: ast.expr) -> bool:
        node = self._followed(node)
        if not isinstance(node, ast.Subscript) or literal(node.slice) != "parameters":
            return False
        return self._is_config(node.value)


#: Calls that read what they are given, and keep nothing of it.
_READERS = frozenset(
    {"print", "len", "str", "repr", "json.dumps", "isinstance", "list", "sorted", "dict", "type", "bool"}
)


class UnknownPbUtilsName(LoadOrLater):
    """pb_utils has no such name, in any release.

    Source: the names of pb_utils while a request runs, measured on 24.10.
    """

    code = "TPB1719"
    message = "pb_utils has no name '{name}'{hint}"
    fix = "write one that exists"
    said = "Internal: AttributeError: module 'triton_python_backend_utils' has no attribute '{name}'"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        certain = certain_nodes(source)
        attributes = source.nodes(ast.Attribute)
        stored = {node.attr for node in attributes if not isinstance(node.ctx, ast.Load)}
        unknown = [
            node
            for node in attributes
            if node.attr not in PB_UTILS_SURFACE
            and node.attr not in stored
            and not node.attr.startswith("_")
            and dotted(node.value) in source.pb_utils_names
        ]
        for item in source.imports:
            known = PB_UTILS_SURFACE | {"*"}
            for name in item.names if item.module == PB_UTILS[0] and not item.level and not item.guarded else ():
                if name not in known and not name.startswith("_"):
                    said = f"Internal: ImportError: cannot import name '{name}' from 'triton_python_backend_utils'"
                    hint = did_you_mean(name, PB_UTILS_SURFACE)
                    yield self.found(model, source.place(item.node), name=name, hint=hint, said=said)
        guarded = _in_name_error_guard(source) if unknown else set()
        for node in unknown:
            if id(node) not in guarded:
                hint = did_you_mean(node.attr, PB_UTILS_SURFACE)
                yield self.at(model, source, node, id(node) in certain, name=node.attr, hint=hint)


class BlsOutsideExecute(LoadOrLater):
    """Another model is called (BLS) in initialize() or finalize().

    BLS works in execute() only.

    Source: measured on 24.10 ("BLS is only supported during the 'execute' function.").
    """

    code = "TPB1721"
    message = "{method}() calls another model: BLS works in execute() only"
    fix = "make the first call in execute(), and keep its result"
    said = "Internal: TritonModelException: BLS is only supported during the 'execute' function."

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        certain = certain_nodes(source)
        for method in ("__init__", "initialize", "finalize"):
            function = source.method(method)
            nodes = list(ast.walk(function)) if function is not None else []
            requests = {
                target.id
                for node in nodes
                if isinstance(node, ast.Assign) and _makes_request(source, node.value)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            for node in nodes:
                if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                    continue
                holder = node.func.value
                named = isinstance(holder, ast.Name) and holder.id in requests
                if node.func.attr in ("exec", "async_exec") and (named or _makes_request(source, holder)):
                    fails = id(node) in certain and node.func.attr == "exec"
                    yield self.at(model, source, node, fails, method=method)


def _makes_request(source: PythonSource, node: ast.expr) -> bool:
    holder, _, last = dotted(node.func).rpartition(".") if isinstance(node, ast.Call) else ("", "", "")
    return last == "InferenceRequest" and holder in source.pb_utils_names


#: Removed from NumPy 1.24.
_REMOVED_ALIASES = frozenset({"float", "int", "bool", "object", "complex", "str"})


class RemovedNumpyAlias(LoadOrLater):
    """np.float and its like were removed from NumPy 1.24.

    The first request that reaches the line fails; in initialize() the model does not load.

    Source: NumPy 1.24 release notes; measured with numpy 1.26.
    """

    code = "TPB1738"
    severity = "warning"
    stage = ""
    message = "{alias} does not exist in NumPy 1.24 and later"
    fix = "write {repair}"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        names = {
            alias.asname or alias.name
            for node in source.nodes(ast.Import)
            for alias in node.names
            if alias.name == "numpy"
        }
        certain = certain_nodes(source) if model.target.at_least("23.01") else set()
        for node in source.nodes(ast.Attribute):
            if node.attr in _REMOVED_ALIASES:
                if isinstance(node.value, ast.Name) and node.value.id in names:
                    alias = f"{node.value.id}.{node.attr}"
                    repair = {"float": "float or np.float64", "int": "int or np.int64"}.get(
                        node.attr, f"{node.attr} or np.{node.attr}_"
                    )
                    said = f"Internal: AttributeError: module 'numpy' has no attribute '{node.attr}'."
                    worst = {"severity": "error", "stage": "load", "said": said} if id(node) in certain else {}
                    yield self.found(model, source.place(node), alias=alias, repair=repair, **worst)
