"""Group 17, first half: model.py, as far as it decides whether the model loads."""

from __future__ import annotations

import ast
import os
import re
import sys
import tarfile
import time
from collections.abc import Iterator
from typing import Any

from triton_pyb.check.autocomplete import raised_text
from triton_pyb.check.finding import Finding, Place, printable
from triton_pyb.check.model import Model
from triton_pyb.check.module_search import PB_UTILS
from triton_pyb.check.python_source import ATTACHED_LATER, PythonSource
from triton_pyb.check.python_walk import Function, at_import, certain_end, exit_call
from triton_pyb.check.rule import ModelRule
from triton_pyb.check.rules.backend import parameter
from triton_pyb.check.rules.layout import SHELL
from triton_pyb.check.rules.warmup import samples
from triton_pyb.runtime.errors import did_you_mean

_PYTHON = frozenset({"python"})
_PYTHON_FOLDER = re.compile(r"(?:^|/)lib/python(3\.\d+)/")


class SourceRule(ModelRule):
    """Base: looks at the model.py of every version that would be loaded."""

    needs = _PYTHON
    stage = "load"

    def check(self, model: Model) -> Iterator[Finding]:
        for source in model.sources:
            yield from self.source(model, source)

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        raise NotImplementedError


def _version(source: PythonSource) -> str:
    return os.path.basename(source.folder)


class ModelPyMissing(SourceRule):
    """The version folder has no model.py (or not the file that default_model_filename names).

    Up to 25.07 the server waits for ever for a stub process that has already ended: no port opens, and no error is
    logged.  Later releases report the model after 10 s.

    Source: python_backend/src/stub_launcher.cc:461 (24.10; timeout since 25.08), measured
    (P_default_model_filename_missing).
    """

    code = "TPB1701"
    stage = "hang"
    message = "{shown} does not exist: {effect}{hint}"
    fix = "put the file there, or correct default_model_filename"
    said = "Failed to preinitialize Python stub: Python model file not found in '<REPO>/{model}/{version}/{file}'"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        if source.state != "absent" or not os.path.isdir(source.folder):
            return
        file = os.path.basename(source.path)
        late = model.target.at_least("25.08")
        effect = "the model does not load" if late else "the server start hangs for ever"
        where = model.config.entry("default_model_filename")
        inside = [name for name in model.folders.names(source.folder) if name.endswith(".py")]
        hint = did_you_mean(file, inside)
        if "model.py" in model.files:
            hint = "; model.py lies one folder higher, beside config.pbtxt"
        yield self.found(
            model,
            where if where is not None else Place(source.folder),
            shown=printable(f"{model.name}/{_version(source)}/{file}"),
            effect=effect,
            hint=hint,
            stage="load" if late else None,
            version=_version(source),
            file=file,
        )


class ModelFileName(ModelRule):
    """default_model_filename is no name that Python can import.

    The stub imports `<version>.<name>`: the name must end in `.py`, and dots and spaces in it do not work.

    Source: python_backend/src/pb_stub.cc (24.10), measured ("Model name must end with '.py'").
    """

    code = "TPB1728"
    needs = frozenset({"config", "python"})
    stage = "load"
    message = 'default_model_filename "{file}" {why}'
    fix = 'write default_model_filename: "model.py", or another plain name that ends in .py'
    said = "Internal: {what}"

    def check(self, model: Model) -> Iterator[Finding]:
        file = model.completed.filename
        if not file or not all(source.state == "file" for source in model.sources):
            return  # TPB1701 tells
        name = file.rpartition("/")[2]
        stage, stem = None, name.removesuffix(".py")
        if SHELL.search(file):
            what, stage = "", "load" if model.target.at_least("25.08") else "hang"
            why = "holds a character that the start of the Python stub does not survive"
        elif not name.endswith(".py"):
            why, what = "does not end in .py", f"Model name must end with '.py'. Model name is \"{name}\"."
        elif "." in stem:
            version = model.selected_versions[0].number if model.selected_versions else 1
            what = f"ModuleNotFoundError: No module named '{version}.{stem.partition('.')[0]}'"
            why = "has a dot in its name, which Python takes for a package"
        else:
            return
        where = model.config.entry("default_model_filename")
        yield self.found(model, where, file=printable(file), why=why, what=what, stage=stage)


class ModelPyIsNoFile(SourceRule):
    """model.py is a folder, or cannot be read.

    Source: measured on 24.10 (R_model_py_is_directory: No module named '1.model').
    """

    code = "TPB1702"
    message = "{shown} is {what}"
    fix = "make it a readable file"
    said = "Internal: ModuleNotFoundError: No module named '{version}.{module}'"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        _ = source.data
        if source.state in ("folder", "unreadable"):
            file = os.path.basename(source.path)
            what = "a folder" if source.state == "folder" else "no readable file"
            values = {"version": _version(source), "module": file.removesuffix(".py"), "what": what}
            yield self.found(model, source.place(), shown=f"{model.name}/{_version(source)}/{file}", **values)


class ModelPySyntax(SourceRule):
    """model.py, or a module beside it that it imports, is no valid Python.

    Source: measured on 24.10 (P_syntax_error).
    """

    code = "TPB1703"
    message = "{text}{newer}"
    fix = "correct the line"
    said = "Internal: {kind}: {text} ({file}, line {line})"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        for candidate in (source, *source.siblings):
            error = candidate.syntax_error
            if error is None:
                continue
            line = error.lineno or 1
            place = candidate.place(line, max(error.offset or 1, 1))
            # Newer syntax than this Python's cannot be told from a mistake.
            older = sys.version_info[:2] < model.target.python
            newer = f" (read by Python {sys.version_info[0]}.{sys.version_info[1]})" if older else ""
            text = (error.msg or "invalid syntax").split("\n")[0]
            said = None if error.lineno is not None else "Internal: {kind}: {text}"
            yield self.found(
                model,
                place,
                severity="warning" if older else "error",
                stage="" if older else None,
                said=said,
                text=printable(text),
                newer=newer,
                kind=type(error).__name__,
                file=os.path.basename(candidate.path),
                line=line if error.lineno is None else error.lineno,
            )


class NoModelClass(SourceRule):
    """model.py does not define TritonPythonModel.

    Source: measured on 24.10 (P_no_class).
    """

    code = "TPB1704"
    message = "{file} defines no TritonPythonModel{hint}"
    fix = "name the class TritonPythonModel"
    said = "Internal: AttributeError: module '{version}.{module}' has no attribute 'TritonPythonModel'"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        names = source.top_level_names
        if source.tree is None or names is None or "TritonPythonModel" in names or certain_end(source.tree.body):
            return
        file = os.path.basename(source.path)
        classes = [node.name for node in source.tree.body if isinstance(node, ast.ClassDef)]
        hint = did_you_mean("TritonPythonModel", classes)
        if not hint and len(classes) == 1:
            hint = f"; it defines '{classes[0]}'"
        node = next((n for n in source.tree.body if isinstance(n, ast.ClassDef)), None)
        values = {"version": _version(source), "module": file.removesuffix(".py"), "file": file, "hint": hint}
        yield self.found(model, source.place(node if node is not None else 1), **values)


class ModelClassIsNoClass(SourceRule):
    """TritonPythonModel, or initialize, is bound to something that cannot be called.

    Source: measured on 24.10 ("'NoneType' object is not callable").
    """

    code = "TPB1724"
    message = "{name} is {what}, which cannot be called"
    fix = "write {proper}"
    said = "Internal: TypeError: '{type}' object is not callable"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        if source.tree is None:
            return
        value = last_value(source.tree.body, "TritonPythonModel")
        kind = _uncallable(source, value) if value is not None else ""
        name, proper = "TritonPythonModel", "class TritonPythonModel"
        if not kind and source.model_class is not None:
            value = last_value(source.model_class.body, "initialize")
            kind = _uncallable(source, value) if value is not None else ""
            name, proper = "initialize", "def initialize(self, args)"
        if kind and value is not None:
            what = f"a {kind} object" if kind != "NoneType" else "None"
            yield self.found(model, source.place(value), name=name, proper=proper, what=what, type=kind)
        abstract = _abstract_methods(source.model_class) if source.model_class is not None else []
        if abstract:
            listed = f"method{'s' * (len(abstract) > 1)} {', '.join(abstract)}"
            yield self.found(
                model,
                source.place(source.model_class),
                name="TritonPythonModel",
                what=f"an abstract class with the abstract {listed}",
                proper="the methods, or a class without abstract ones",
                said=f"Internal: TypeError: Can't instantiate abstract class TritonPythonModel with abstract {listed}",
            )


def _abstract_methods(found: ast.ClassDef) -> list[str]:
    """Methods of an abstract class that it declares abstract itself."""
    parents = [ast.unparse(base).rpartition(".")[2] for base in found.bases]
    parents += [ast.unparse(keyword.value).rpartition(".")[2] for keyword in found.keywords]
    return [
        node.name
        for node in found.body
        if isinstance(node, ast.FunctionDef)
        and {"ABC", "ABCMeta"} & set(parents)
        and any(ast.unparse(decorator).endswith("abstractmethod") for decorator in node.decorator_list)
    ]


def last_value(body: list[ast.stmt], name: str) -> ast.expr | None:
    """What a body binds a name to last, when that is a plain assignment at its top level."""
    found: ast.expr | None = None
    for statement in body:
        stored = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and node.id == name}
        if isinstance(statement, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in statement.targets
        ):
            found = statement.value
        elif stored or getattr(statement, "name", "") == name or isinstance(statement, (ast.Import, ast.ImportFrom)):
            found = None
    return found


def _uncallable(source: PythonSource, value: ast.expr) -> str:
    """The type of a value that cannot be called: a constant, or an instance of a plain class of this file."""
    if isinstance(value, ast.Constant):
        return type(value.value).__name__
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        for node in source.tree.body if source.tree is not None else []:
            if isinstance(node, ast.ClassDef) and node.name == value.func.id:
                methods = {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)}
                plain = not (node.bases or node.keywords or node.decorator_list)
                return node.name if plain and not methods & {"__call__", "__new__"} else ""
    return ""


class MethodSignature(SourceRule):
    """A method cannot be called the way Triton calls it.

    `initialize(self, args)`, `execute(self, requests)`, `finalize(self)`, a constructor without arguments, and
    `auto_complete_config(config)` as a static method.

    Source: measured on 24.10 (P_initialize_wrong_arity, P_init_ctor_requires_args); pb_stub.cc.
    """

    code = "TPB1705"
    message = "{method}({written}) cannot be called with {given}{effect}"
    fix = "write def {proper}"
    said = "Internal: TypeError: TritonPythonModel.{method}() {what}"

    CALLS = {
        "__new__": (0, "__new__(cls)", "no argument"),
        "__init__": (0, "__init__(self)", "no argument"),
        "initialize": (1, "initialize(self, args)", "one argument"),
        "execute": (1, "execute(self, requests)", "one argument"),
        "finalize": (0, "finalize(self)", "no argument"),
    }

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        for name, (given, proper, spoken) in self.CALLS.items():
            function = source.method(name) or _as_lambda(source, name)
            if function is None:
                continue
            what = unfit(function, given + (not _is_static(function)))
            if what:
                warmed = samples(model) if name == "execute" else []
                at_load = name in ("__new__", "__init__", "initialize") or bool(warmed)
                said = None if at_load else ""
                if warmed:
                    said = (
                        "Invalid argument: failed to run warmup sample '{sample}': Failed to process the request(s) "
                        "for model '{model}_0', message: " + self.said.removeprefix("Internal: ")
                    )
                yield self.found(
                    model,
                    source.place(function),
                    severity="error" if at_load else "warning",
                    stage=None if at_load else "",
                    said=said,
                    sample=warmed[0]["name"] if warmed else "",
                    method="<lambda>" if isinstance(function, ast.Lambda) else name,
                    written=ast.unparse(function.args),
                    given=spoken,
                    proper=proper,
                    what=what,
                    effect="" if at_load else ": every request fails" if name == "execute" else ": it is not run",
                )
        yield from self._hook(model, source)

    def _hook(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        function = source.method("auto_complete_config")
        if function is None or source.completion is None:
            return
        bound = any(ast.unparse(d) == "classmethod" for d in function.decorator_list)
        what = unfit(function, 1 + bound)
        if what:
            values = {"method": "auto_complete_config", "written": ast.unparse(function.args), "what": what}
            proper = "auto_complete_config(config) with @staticmethod"
            yield self.found(
                model,
                source.place(function),
                given="the configuration alone",
                proper=proper,
                effect="",
                **values,
            )


def _as_lambda(source: PythonSource, name: str) -> ast.Lambda | None:
    value = last_value(source.model_class.body, name) if source.model_class is not None else None
    return value if isinstance(value, ast.Lambda) else None


def _is_static(function: Function | ast.Lambda) -> bool:
    return isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(
        ast.unparse(decorator) == "staticmethod" for decorator in function.decorator_list
    )


def unfit(function: Function | ast.Lambda, count: int) -> str:
    """Why a function cannot be called with so many positional arguments, in Python's words; or an empty string."""
    known = {"staticmethod", "classmethod"}
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    if any(ast.unparse(decorator) not in known for decorator in decorators):
        return ""
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    required = names[: len(names) - len(arguments.defaults)]
    if count < len(required):
        missing = required[count:]
        if len(missing) == 1:
            return f"missing 1 required positional argument: '{missing[0]}'"
        listed = ", ".join(f"'{name}'" for name in missing[:-1]) + f" and '{missing[-1]}'"
        return f"missing {len(missing)} required positional arguments: {listed}"
    if count > len(names) and arguments.vararg is None:
        takes = f"takes {len(names)} positional argument{'s' * (len(names) != 1)}"
        if arguments.defaults:
            takes = f"takes from {len(required)} to {len(names)} positional arguments"
        return f"{takes} but {count} {'was' if count == 1 else 'were'} given"
    demanded = [a.arg for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=False) if d is None]
    if demanded:
        return f"missing {len(demanded)} required keyword-only argument{'s' * (len(demanded) > 1)}: '{demanded[0]}'"
    return ""


class CertainlyRaises(SourceRule):
    """Loading certainly raises: at import, in the constructor, in initialize, or in auto_complete_config.

    Source: measured on 24.10 (P_initialize_raises, P_sys_exit_in_initialize, A_raises).
    """

    code = "TPB1706"
    message = "{where} always ends here: {text}"
    fix = "remove it, or raise only when something is wrong"
    said = "Internal: {text}"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        if source.tree is None:
            return
        bodies = [("the import of the module", source.tree.body)]
        if source.model_class is not None:
            bodies.append(("the class body", source.model_class.body))
        for name in ("__init__", "initialize"):
            function = source.method(name)
            if isinstance(function, ast.FunctionDef):
                bodies.append((f"{name}()", function.body))
        for where, body in bodies:
            node = certain_end(body)
            if node is None or isinstance(node, ast.Call) and exit_call(node) in ("os._exit", "os.abort"):
                continue
            yield self.found(model, source.place(node), where=where, text=printable(_end_text(node)))
        completion = source.completion
        if completion is not None and completion.fault is not None and completion.fault.kind == "raise":
            node = completion.fault.node
            yield self.found(model, source.place(node), where="auto_complete_config()", text=completion.fault.said)


def _end_text(node: ast.AST) -> str:
    if isinstance(node, ast.Raise):
        return raised_text(node)
    if isinstance(node, ast.Assert):
        message = node.msg.value if isinstance(node.msg, ast.Constant) else ""
        return f"AssertionError: {message!s}".rstrip(": ")
    if isinstance(node, ast.Call):
        argument = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
        return f"SystemExit: {argument!s}".rstrip(": ")
    return ""


class ExitsAtImport(SourceRule):
    """The stub process is ended from within while the model loads.

    `os._exit` at import leaves the server waiting for an answer that never comes: its start hangs.  In initialize() the
    server notices, and the model does not load.

    Source: measured on 24.10 (P_exits_at_import); stub_launcher.cc:637 waits without a timeout in 26.07 too.
    """

    code = "TPB1707"
    stage = "hang"
    message = "{where} ends the stub process with {call}: {effect}"
    fix = "raise an exception instead"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        if source.tree is None:
            return
        bodies = [("the import of the module", source.tree.body)]
        for name in ("__init__", "initialize", "auto_complete_config"):
            function = source.method(name)
            if function is not None and (name != "auto_complete_config" or source.completion is not None):
                bodies.append((f"{name}()", function.body))
        for where, body in bodies:
            node = certain_end(body)
            if isinstance(node, ast.Call) and exit_call(node) in ("os._exit", "os.abort"):
                later = where in ("__init__()", "initialize()")
                yield self.found(
                    model,
                    source.place(node),
                    stage="load" if later else None,
                    said="Internal: Stub process '{model}_0' is not healthy." if later else None,
                    where=where,
                    call=ast.unparse(node),
                    effect="the model does not load" if later else "the server start hangs",
                )


class AttachedLater(SourceRule):
    """A pb_utils name is used while model.py is imported, before it exists.

    Since 22.06 the C++ names (`Tensor`, `InferenceRequest`, `InferenceResponse`, `TritonError`, `Logger` ...)
    are attached
    to pb_utils only after model.py was imported.  Module-level use, `from triton_python_backend_utils import
    Tensor` and
    annotations that Python evaluates all fail the load, although they pass against every stand-in.

    Source: measured on 24.10 (mp_life_module_level_names); pb_stub.cc.
    """

    code = "TPB1709"
    message = "pb_utils.{name} does not exist yet while model.py is imported"
    fix = "{repair}"
    said = "Internal: AttributeError: module 'triton_python_backend_utils' has no attribute '{name}'"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        if source.tree is None or not model.target.at_least("22.06"):
            return
        lazy = source.evaluates_no_annotations
        for node, repair in _evaluated(source.tree.body, lazy):
            if isinstance(node, ast.ImportFrom) and node.module in PB_UTILS and not node.level:
                for alias in node.names:
                    if alias.name in ATTACHED_LATER and node.module == PB_UTILS[0]:
                        said = (
                            f"Internal: ImportError: cannot import name '{alias.name}' from "
                            "'triton_python_backend_utils'"
                        )
                        fix = "write `import triton_python_backend_utils as pb_utils` and use it inside the methods"
                        yield self.found(model, source.place(node), name=alias.name, repair=fix, said=said)
            elif isinstance(node, ast.Attribute) and node.attr in ATTACHED_LATER:
                if isinstance(node.value, ast.Name) and node.value.id in source.pb_utils_names:
                    yield self.found(model, source.place(node), name=node.attr, repair=repair)


def _evaluated(body: list[ast.stmt], lazy: bool) -> Iterator[tuple[ast.AST, str]]:
    """Nodes evaluated at import, annotations included; each with its repair."""
    move = "move it into initialize() or execute()"
    future = "add `from __future__ import annotations` at the top"
    skip: set[int] = set()
    for node in at_import(body):
        if isinstance(node, ast.Try) and any(
            handler.type is None or "Error" in ast.unparse(handler.type) or "Exception" in ast.unparse(handler.type)
            for handler in node.handlers
        ):
            for inner in node.body:
                skip.update(id(child) for child in ast.walk(inner))
        if isinstance(node, ast.AnnAssign) and lazy:
            skip.update(id(child) for child in ast.walk(node.annotation))
        if isinstance(node, ast.If) and any(name in ast.unparse(node.test) for name in ("TYPE_CHECKING", "__name__")):
            for inner in node.body:
                skip.update(id(child) for child in ast.walk(inner))
        if id(node) in skip:
            continue
        yield node, move
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not lazy:
            arguments = node.args
            every = [
                *arguments.posonlyargs,
                *arguments.args,
                *arguments.kwonlyargs,
                arguments.vararg,
                arguments.kwarg,
            ]
            annotations = [a.annotation for a in every if a is not None] + [node.returns]
            for annotation in annotations:
                for part in ast.walk(annotation) if annotation is not None else ():
                    yield part, future


class CompletionFault(SourceRule):
    """auto_complete_config contradicts config.pbtxt, or uses the hook wrongly.

    It is called also when config.pbtxt is complete, unless the server runs with --disable-auto-complete-config.

    Source: triton_python_backend_utils.py ModelConfig, measured on 24.10 (cases A_*).
    """

    code = "TPB1710"
    message = "auto_complete_config always fails here: {text}"
    fix = "{repair}"
    said = "Internal: ValueError: {text}"

    REPAIRS = {
        "type": "write one data_type in both places",
        "dims": "write the same dims in both places",
        "optional": "write the same optional in both places",
        "batch": "raise it, or lower max_batch_size in config.pbtxt",
        "scheduler": "remove set_dynamic_batching(), or the other scheduler from config.pbtxt",
        "property": "give name, data_type and dims, and for inputs optional; nothing else",
        "policy": "give only 'decoupled', with the value of config.pbtxt",
        "attribute": "call one of add_input, add_output, set_max_batch_size, set_dynamic_batching, "
        "set_model_transaction_policy",
    }

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        completion = source.completion
        if completion is None or completion.fault is None or completion.fault.kind == "raise":
            return
        fault = completion.fault
        text = printable(fault.said)
        said = "Internal: AttributeError: {text}" if fault.kind == "attribute" else None
        yield self.found(model, source.place(fault.node), text=text, repair=self.REPAIRS[fault.kind], said=said)


class CompletedTensorFault(SourceRule):
    """auto_complete_config completes a tensor that the server then refuses.

    What the hook adds is held against the same rules as config.pbtxt.

    Source: core/src/model_config_utils.cc, ValidateIOShape, measured on 24.10.
    """

    code = "TPB1725"
    message = "auto_complete_config gives {kind} '{name}' {what}"
    fix = "give a name, and dims of at least 1, or -1 for a size that varies"
    said = "Invalid argument: model {kind} {text} for {model}"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        completion = source.completion
        if completion is None or not completion.certain or completion.fault is not None or completion.bad_types:
            return
        if completion.returns_config is False:
            return
        for kind in ("input", "output"):
            written = {tensor["name"] for tensor in model.tensors(kind) if tensor["dims"]}
            for tensor in completion.config[kind]:
                what, text = _refused(tensor)
                if what and tensor["name"] not in written:
                    where = source.place(source.method("auto_complete_config"))
                    yield self.found(model, where, kind=kind, name=tensor["name"], what=what, text=text)


def _refused(tensor: dict[str, Any]) -> tuple[str, str]:
    """What is wrong with a completed tensor, in our words and in the server's."""
    if not tensor["name"]:
        return "no name", "must specify 'name'"
    if not tensor["dims"]:
        return "no dims", f"'{tensor['name']}' must specify 'dims'"
    for dim in tensor["dims"]:
        if isinstance(dim, int) and dim < 1 and dim != -1:
            text = "dimension must be integer >= 1, or -1 to indicate a variable-size dimension"
            return f"the dimension {dim}", f"'{tensor['name']}' {text}"
    return "", ""


class CompletionReturnsNothing(SourceRule):
    """auto_complete_config does not return the configuration.

    Source: python_backend/src/pb_stub.cc:507 (24.10).
    """

    code = "TPB1711"
    message = "auto_complete_config does not return the configuration it was given"
    fix = "end it with `return auto_complete_model_config`"
    said = "Internal: auto_complete_config function in model '{model}' must return a valid pb.ModelConfig object."

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        completion = source.completion
        if completion is not None and completion.returns_config is False:
            function = source.method("auto_complete_config")
            last = function.body[-1] if function is not None else None
            yield self.found(model, source.place(last if isinstance(last, ast.Return) else function))


class EnvironmentMissing(ModelRule):
    """EXECUTION_ENV_PATH names something that is not there.

    The path is that inside the container; a bare name is relative to where the server was started.  Put the
    archive beside
    config.pbtxt and write `$$TRITON_MODEL_DIRECTORY/env.tar.gz`.

    Source: python_backend/src/pb_env.cc:252 (24.10).
    """

    code = "TPB1712"
    needs = _PYTHON
    stage = "load"
    message = 'EXECUTION_ENV_PATH is "{path}"{why}'
    fix = 'put the archive beside config.pbtxt and write "$$TRITON_MODEL_DIRECTORY/{name}"'
    said = "Internal: Failed to get the canonical path for {shown}."

    def check(self, model: Model) -> Iterator[Finding]:
        path, resolved, entry = environment(model)
        if entry is None or not path or os.path.exists(resolved):
            return
        absolute = path.startswith("/")
        inside = path.startswith("$$TRITON_MODEL_DIRECTORY")
        remote = "://" in path
        why = ", which does not exist" if inside or absolute else ", which is relative to the server's working folder"
        shown = path.replace("$$TRITON_MODEL_DIRECTORY", f"<REPO>/{model.name}")
        name = os.path.basename(path) or "env.tar.gz"
        if remote:
            return
        yield self.found(model, entry, path=path, why=why, shown=shown, name=name)


def environment(model: Model) -> tuple[str, str, object]:
    """EXECUTION_ENV_PATH as written, as a path of this machine, and its entry."""
    entry = parameter(model, "EXECUTION_ENV_PATH")
    if entry is None or entry.value is None:
        return "", "", None
    path = str(entry.value["string_value"])
    resolved = path.replace("$$TRITON_MODEL_DIRECTORY", os.path.abspath(model.path)).replace("\0", "")
    return path, resolved, entry


class EnvironmentUnusable(ModelRule):
    """The environment is neither a tar archive nor a folder with bin/activate.

    Source: python_backend/src/pb_env.cc:132 and stub_launcher.cc:508 (24.10).
    """

    code = "TPB1713"
    needs = _PYTHON
    stage = "load"
    message = "{path} {why}"
    fix = "pack the environment with conda-pack or venv-pack"
    said = "Internal: {what}"

    def check(self, model: Model) -> Iterator[Finding]:
        path, resolved, entry = environment(model)
        if entry is None or not os.path.exists(resolved):
            return
        shown = path.replace("$$TRITON_MODEL_DIRECTORY", f"<REPO>/{model.name}")
        if os.path.isdir(resolved):
            if not os.path.exists(os.path.join(resolved, "bin", "activate")):
                what = (
                    f"Path {shown}/bin/activate does not exist. The Python environment should contain an "
                    "'activate' script."
                )
                yield self.found(model, entry, path=path, why="has no bin/activate", what=what)
            return
        why = archive_fault(resolved)
        if why:
            what = "archive_read_open_filename() failed."
            yield self.found(model, entry, path=path, why=why, what=what)


def archive_fault(path: str) -> str:
    """``"is no tar archive"``, or an empty string."""
    try:
        if not os.path.isfile(path):
            return "is no regular file"
        with tarfile.open(path) as archive:
            archive.next()
        return ""
    except (tarfile.TarError, OSError, EOFError, ValueError):
        try:
            with open(path, "rb") as stream:
                head = stream.read(6)
        except OSError:
            return "cannot be read"
        # zip, zstd and 7z are read by the server's libarchive but not by tarfile
        return "" if head.startswith((b"PK", b"\x28\xb5\x2f\xfd", b"7z")) else "is no archive"


class EnvironmentPython(ModelRule):
    """The execution environment holds another Python than the stub of the target release.

    The stub is linked to one libpython: 3.8 up to 23.04, 3.10 up to 24.10, 3.12 since.  Another one needs a stub
    built for it: `triton_python_backend_stub` in the model folder.

    Source: python_backend README, "Creating Custom Execution Environments"; server issues 5895 and 8357.
    """

    code = "TPB1720"
    severity = "warning"
    needs = _PYTHON
    message = "{path} holds Python {found}; the stub of release {release} runs {wanted}"
    fix = "build the environment with Python {wanted}, or put a stub for {found} into the model folder"

    def check(self, model: Model) -> Iterator[Finding]:
        path, resolved, entry = environment(model)
        if entry is None or "triton_python_backend_stub" in model.files:
            return
        found = next((match for name in environment_names(resolved) if (match := _PYTHON_FOLDER.search(name))), None)
        wanted = "3." + str(model.target.python[1])
        if found is not None and found.group(1) != wanted:
            values = {"path": path, "found": found.group(1), "wanted": wanted, "release": model.target.release}
            yield self.found(model, entry, **values)


def environment_names(path: str) -> Iterator[str]:
    """Names in an environment, a folder or an archive; the first of a large archive only."""
    if os.path.isdir(path):
        lib = os.path.join(path, "lib")
        yield from (f"lib/{name}/" for name in (os.listdir(lib) if os.path.isdir(lib) else ()))
        return
    if not os.path.isfile(path) or archive_fault(path):
        return
    began = time.monotonic()
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                yield member.name
                if time.monotonic() - began > 0.5:
                    return
    except (tarfile.TarError, OSError, EOFError, ValueError):
        return


class ForceCpuValue(ModelRule):
    """FORCE_CPU_ONLY_INPUT_TENSORS is neither yes nor no.

    Source: python_backend/src/python_be.cc:1853 (24.10).
    """

    code = "TPB1714"
    needs = _PYTHON
    stage = "load"
    message = 'FORCE_CPU_ONLY_INPUT_TENSORS is "{got}"'
    fix = 'write "yes" or "no"'
    said = "Unsupported: Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: {got}'"

    def check(self, model: Model) -> Iterator[Finding]:
        entry = parameter(model, "FORCE_CPU_ONLY_INPUT_TENSORS")
        got = entry.value["string_value"] if entry is not None and entry.value is not None else "no"
        if entry is not None and got not in ("yes", "no"):
            yield self.found(model, entry, got=got)


class WarmupRaises(SourceRule):
    """execute certainly raises, and a warmup sample runs it while the model loads.

    The model does not load; now and then the whole server dies of it (SIGSEGV, seen on 24.10).

    Source: python_backend/src/python_be.cc:1106 (24.10), measured (W_model_raises).
    """

    code = "TPB1715"
    message = "execute() always ends here ({text}), and warmup sample '{sample}' runs it"
    fix = "let execute() answer, or remove model_warmup"
    said = (
        "Invalid argument: failed to run warmup sample '{sample}': Failed to process the request(s) for model "
        "'{model}_0', message: {text}"
    )

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        run = samples(model)
        function = source.method("execute")
        node = certain_end(function.body) if function is not None and run else None
        if node is not None:
            yield self.found(model, source.place(node), text=printable(_end_text(node)), sample=run[0]["name"])


class ImportFails(SourceRule):
    """The model does not load in the emulator (only with `--import`).

    A child process imports model.py and runs auto_complete_config and initialize as Triton's stub would: what no
    reading can know (a file that is not there, a shape that does not fit) shows here.

    Source: the emulator, verified against a real Triton 24.10.
    """

    code = "TPB1750"
    message = "{text}"
    fix = "{repair}"
    said = "Internal: {text}"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        return iter(())  # `triton_pyb.check.importing` reports it
