"""Group 17, third part: model.py loads, and what it does to a request fails it or leaves it without an end."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from triton_pyb.check.finding import Finding, printable
from triton_pyb.check.model import Model
from triton_pyb.check.python_source import PythonSource
from triton_pyb.check.python_walk import certain_end, dotted, exit_call, is_never_true, literal
from triton_pyb.check.rules.python_traps import TrapRule, is_decoupled, pb_name
from triton_pyb.check.rules.warmup import samples

_FINAL = "TRITONSERVER_RESPONSE_COMPLETE_FINAL"

#: Calls that only keep a response sender, or hand it to a function of this file.
_CARRIERS = frozenset(
    {"append", "appendleft", "add", "insert", "put", "put_nowait", "setdefault", "submit", "Thread", "Timer", "partial"}
    | {"send", "print", "zip", "id", "len", "str", "repr"}
)

#: Where Python opens text as UTF-8 whatever the environment says.
_UTF8_SINCE = "24.11"

#: What makes the standard output take any text.
_STDOUT_CHANGED = re.compile(rb"sys\.stdout\s*=|reconfigure|TextIOWrapper|redirect_stdout")

#: Exceptions whose handlers catch a text that does not fit.
_CATCH_UNICODE = frozenset(
    {"", "Exception", "BaseException", "ValueError", "UnicodeError", "UnicodeEncodeError", "UnicodeDecodeError"}
)


def _modules(source: PythonSource) -> list[PythonSource]:
    """model.py and what it imports from its folder, without the package's own runtime in a built model."""
    own = os.path.join(source.folder, "triton_pyb") + os.sep
    return [source, *(other for other in source.siblings if not other.path.startswith(own))]


def _below_if_main(source: PythonSource) -> set[int]:
    """Nodes that do not run in Triton."""
    return {
        id(inner)
        for node in source.nodes(ast.If)
        if is_never_true(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }


def _caught(source: PythonSource, names: frozenset[str]) -> set[int]:
    """Nodes below a try with a handler for one of these exceptions; ``""`` stands for a bare ``except``."""
    found: set[int] = set()
    for node in source.nodes(ast.Try):
        kinds: list[ast.expr | None] = []
        for handler in node.handlers:
            kinds += handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any((dotted(kind).rpartition(".")[2] if kind is not None else "") in names for kind in kinds):
            found |= {id(inner) for statement in node.body for inner in ast.walk(statement)}
    return found


class NeverFinal(TrapRule):
    """A decoupled model sends responses and never says which one is the last.

    Source: measured on 24.10 (the client gets the responses, and then waits until its time-out).
    """

    code = "TPB1748"
    message = "the model is decoupled, and model.py never sends the final flag: its clients wait for ever"
    fix = "end each request with response_sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        if source.inherits or not (is_decoupled(model) or _decoupled_by_hook(source)):
            return
        helpers = [*source.sibling_data, *(other.data for other in source.siblings)]
        if any(word in data for data in helpers for word in (b"send", b"flags", _FINAL.encode())):
            return
        attributes = source.nodes(ast.Attribute)
        sends = [node for node, _ in source.calls if isinstance(node.func, ast.Attribute) and node.func.attr == "send"]
        if not sends or "get_response_sender" not in {node.attr for node in attributes}:
            return
        if len(sends) < sum(node.attr == "send" for node in attributes):
            return  # `send` itself is handed on
        if not _may_end(source, sends) and not _leaves_the_file(source):
            yield self.found(model, source.place(sends[0]))


def _decoupled_by_hook(source: PythonSource) -> bool:
    completion = source.completion
    policy = completion.config.get("model_transaction_policy") if completion is not None and completion.certain else {}
    return bool((policy or {}).get("decoupled"))


def _may_end(source: PythonSource, sends: list[ast.Call]) -> bool:
    """True when some flag is, or may be, sent."""
    if any(len(node.args) > 1 or any(isinstance(arg, ast.Starred) for arg in node.args) for node in sends):
        return True
    if any(keyword.arg is None for node in sends for keyword in node.keywords):
        return True
    if any(node.arg == "flags" for node in source.nodes(ast.keyword)):
        return True
    names = {node.id for node in source.nodes(ast.Name)} | {node.attr for node in source.nodes(ast.Attribute)}
    constants = {node.value for node in source.nodes(ast.Constant) if isinstance(node.value, str)}
    return _FINAL in names or bool({_FINAL, "flags"} & constants)


def _leaves_the_file(source: PythonSource) -> bool:
    """True when a response sender is handed to code that is not in this file."""
    senders = {"get_response_sender"}
    for node in source.nodes(ast.Assign):
        if isinstance(node.value, ast.Call) and _last(node.value) == "get_response_sender":
            senders |= {name for target in node.targets if (name := _last(target))}
    own = {node.name for node in source.nodes(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)}
    return any(
        _last(node.func) not in own | _CARRIERS
        for node, _ in source.calls
        for value in [*node.args, *(keyword.value for keyword in node.keywords)]
        if _last(value) in senders
    )


def _last(node: ast.AST) -> str:
    """``"sender"`` of ``sender`` and ``self.sender``, and of a call of it."""
    if isinstance(node, ast.Call):
        return _last(node.func)
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


class RaisesTritonError(TrapRule):
    """pb_utils.TritonError is raised, and is no exception.

    It is what `InferenceResponse(error=...)` takes; the exception is called TritonModelException.

    Source: measured on 24.10 ("TypeError: exceptions must derive from BaseException").
    """

    code = "TPB1749"
    message = "TritonError is no exception: the requests that get here fail with a TypeError instead of this text"
    fix = "raise pb_utils.TritonModelException(...), or answer with InferenceResponse(error=pb_utils.TritonError(...))"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        for current in _modules(source):
            for node in current.nodes(ast.Raise):
                raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                if raised is not None and pb_name(current, dotted(raised)) == "TritonError":
                    yield self.found(model, current.place(node))


class TensorOfPlainValue(TrapRule):
    """pb_utils.Tensor is given something else than a NumPy array.

    Lists, tuples, numbers and NumPy's scalars are not converted.

    Source: measured on 24.10 ("TypeError: __init__(): incompatible constructor arguments").
    """

    code = "TPB1751"
    message = "Tensor takes a NumPy array, and {what} is none: the requests that get here fail with a TypeError"
    fix = "write np.array({value}, dtype=...) with the type that config.pbtxt declares"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        for current in _modules(source):
            for node, name in current.calls:
                if pb_name(current, name) == "Tensor" and len(node.args) == 2:
                    what, value = _plain(node.args[1]), ast.unparse(node.args[1])
                    if what:
                        short = printable(value if len(value) <= 30 else "...")
                        yield self.found(model, current.place(node.args[1]), what=what, value=short)


def _plain(node: ast.expr) -> str:
    """``"a list"``; empty for what may be an array."""
    kinds = {ast.List: "a list", ast.ListComp: "a list", ast.Tuple: "a tuple", ast.Dict: "a dict", ast.Set: "a set"}
    if isinstance(node, ast.Call):
        holder, _, last = dotted(node.func).rpartition(".")
        if holder in ("np", "numpy") and re.fullmatch(r"u?int(8|16|32|64)|float(16|32|64)|bool_", last):
            return f"{holder}.{last}(...)" if node.args and literal(node.args[0]) is not None else ""
        return "a list" if isinstance(node.func, ast.Attribute) and node.func.attr == "tolist" else ""
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return "a number"
    if isinstance(node, ast.JoinedStr):
        return "text"
    if isinstance(node, ast.Constant):
        names = {str: "text", bytes: "a bytes object", bool: "a bool"}
        return names.get(type(node.value), "a number" if isinstance(node.value, (int, float, complex)) else "")
    return kinds.get(type(node), "")


class PrintsBeyondAscii(TrapRule):
    """Text beyond ASCII is printed, and up to 24.10 the standard output takes ASCII.

    Python inside Triton follows neither PYTHONUTF8 nor the C locale's coercion: only LANG or LC_ALL with UTF-8 helps,
    and with a stub for Python 3.11 or later nothing does.  What goes to the standard error is escaped.

    Source: measured on 24.10 ("UnicodeEncodeError: 'ascii' codec can't encode"); pybind11/embed.h.
    """

    code = "TPB1752"
    message = "prints '{character}', and Python inside Triton prints ASCII up to 24.10: UnicodeEncodeError"
    fix = "write pb_utils.Logger.log_info(...), or once before sys.stdout.reconfigure(encoding='utf-8')"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        if model.target.at_least(_UTF8_SINCE) or "triton_pyb.json" in model.folders.names(source.folder):
            return  # the runtime of a built model sees to it
        modules = _modules(source)
        if any(_STDOUT_CHANGED.search(current.data) for current in modules):
            return
        for current in modules:
            skipped = _below_if_main(current) | _caught(current, _CATCH_UNICODE)
            for node, name in current.calls:
                if name not in ("print", "sys.stdout.write") or id(node) in skipped:
                    continue
                if any(keyword.arg == "file" for keyword in node.keywords):
                    continue
                values = [*node.args, *(keyword.value for keyword in node.keywords)]
                text = "".join(character for value in values for character in _written(value) if character > "\x7f")
                if text:
                    yield self.found(model, current.place(node), character=printable(text[0]))


def _written(node: ast.expr) -> str:
    """The literal text that certainly comes out when this is printed."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_written, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        return _written(node.left) + (_written(node.right) if isinstance(node.op, ast.Add) else "")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _written(node.func.value)
    return ""


class OpensInAscii(TrapRule):
    """A text file is opened without an encoding, and up to 24.10 that means ASCII.

    What works on the author's machine, where it means UTF-8, fails there on the first byte beyond ASCII.  Files that
    lie in the model's folder and hold ASCII are left alone.

    Source: measured on 24.10 ("UnicodeDecodeError: 'ascii' codec can't decode"); pybind11/embed.h.
    """

    code = "TPB1753"
    message = "{call} without encoding {does} ASCII in Triton up to 24.10: text beyond it is a UnicodeError"
    fix = "name the encoding, e.g. {repair}"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        if model.target.at_least(_UTF8_SINCE):
            return
        modules = _modules(source)
        if any(b"setlocale" in current.data for current in modules):
            return
        for current in modules:
            skipped = _below_if_main(current) | _caught(current, _CATCH_UNICODE) | _only_ascii_written(current)
            own = current.top_level_names
            for node, name in current.calls:
                call = _opens_text(node, name)
                if not call or id(node) in skipped or name == "open" and (own is None or "open" in own):
                    continue
                path = node.func if call.endswith("_text") else node.args[0]
                if not _is_ascii(source, model, path):
                    writes = call == "write_text" or call == "open" and set(_mode(node)) & set("wax")
                    repair = f"{call}({'encoding=' if call == 'read_text' else '..., encoding='}'utf-8')"
                    does = "writes" if writes else "reads"
                    yield self.found(model, current.place(node), call=call + "()", does=does, repair=repair)


def _mode(node: ast.Call) -> str:
    """The mode of a call of open; ``"b"`` when it cannot be known."""
    values = [keyword.value for keyword in node.keywords if keyword.arg == "mode"] + node.args[1:2]
    mode = literal(values[0]) if values else "r"
    return mode if isinstance(mode, str) else "b"


def _opens_text(node: ast.Call, name: str) -> str:
    """``"open"``, ``"read_text"`` or ``"write_text"`` of a call that leaves the encoding to the environment."""
    if any(keyword.arg in (None, "encoding", "errors") for keyword in node.keywords):
        return ""
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return ""
    if name in ("open", "io.open"):
        return "open" if 0 < len(node.args) < 4 and "b" not in _mode(node) else ""
    last = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return last if (last, len(node.args)) in (("read_text", 0), ("write_text", 1)) else ""


def _only_ascii_written(source: PythonSource) -> set[int]:
    """Calls of open below a with that writes no more than ASCII: literals, and JSON, which escapes the rest."""
    found: set[int] = set()
    for node in source.nodes(ast.With):
        inside = [inner for statement in node.body for inner in ast.walk(statement)]
        for item in node.items:
            name = item.optional_vars.id if isinstance(item.optional_vars, ast.Name) else ""
            uses = sum(isinstance(inner, ast.Name) and inner.id == name for inner in inside)
            if name and uses == sum(isinstance(inner, ast.Call) and _writes_ascii(inner, name) for inner in inside):
                found.add(id(item.context_expr))
    return found


def _writes_ascii(node: ast.Call, name: str) -> bool:
    called = dotted(node.func)
    if called == "json.dump" and len(node.args) == 2:
        plain = not any(keyword.arg in (None, "ensure_ascii") for keyword in node.keywords)
        return plain and isinstance(node.args[1], ast.Name) and node.args[1].id == name
    return (
        called == f"{name}.write"
        and isinstance(literal(node.args[0] if node.args else None), str)
        and (literal(node.args[0]).isascii())
    )


def _is_ascii(source: PythonSource, model: Model, path: ast.AST) -> bool:
    """True for a file of the kernel, and for one of the model's folder that holds ASCII."""
    parts = [node.value for node in ast.walk(path) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    if parts and parts[0].startswith(("/proc/", "/sys/", "/dev/", "/etc/")):
        return True
    for name in [*parts, "/".join(parts)] if parts else []:
        for folder in source.search_folders:
            file = os.path.join(folder, name.strip("/").replace("\0", ""))
            if name and os.path.isfile(file):
                try:
                    with open(file, "rb") as stream:
                        return stream.read(1 << 24).isascii()
                except OSError:
                    return False
    return False


class ExitsInExecute(TrapRule):
    """execute ends its process.

    `sys.exit` is an exception there, which fails all requests of the batch; `os._exit` takes the model's process away,
    with every request that it has in hand.

    Source: measured on 24.10 ("SystemExit: 1", "Stub process 'm_0' is not healthy").
    """

    code = "TPB1754"
    message = "{call}() in execute() {effect}"
    fix = "raise pb_utils.TritonModelException(...), or answer one request with InferenceResponse(error=...)"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        function = source.method("execute")
        if function is None or samples(model) and certain_end(function.body) is not None:  # TPB1715 tells
            return
        own = {node.name for node in source.nodes(ast.FunctionDef, ast.AsyncFunctionDef)}
        caught = _caught(source, frozenset({"", "BaseException", "SystemExit"}))
        forks = b"fork" in source.data or b"multiprocessing" in source.data
        for node in ast.walk(function):
            call = exit_call(node) if isinstance(node, ast.Call) else ""
            dies = call in ("os._exit", "os.abort")
            if not call or call in own or (forks if dies else id(node) in caught):
                continue
            effect = "ends the model's process: the requests that it has in hand fail"
            if not dies:
                effect = "fails every request of the batch with 'SystemExit'"
            yield self.found(model, source.place(node), call=call, effect=effect)
