"""Group 17, second half: model.py loads, and a request will surprise its author."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from triton_pyb.check.finding import Finding, Place, printable
from triton_pyb.check.model import Model
from triton_pyb.check.module_search import shadowed_by
from triton_pyb.check.python_source import PythonSource
from triton_pyb.check.python_walk import Function, dotted, literal
from triton_pyb.check.rules.python_model import SourceRule
from triton_pyb.check.rules.warmup import samples
from triton_pyb.config.pbtxt import type_named
from triton_pyb.runtime.dtypes import wire_name
from triton_pyb.runtime.errors import did_you_mean

_READERS = frozenset(
    {"open", "io.open", "np.load", "numpy.load", "np.loadtxt", "np.fromfile", "numpy.fromfile", "cv2.imread"}
    | {
        "Image.open",
        "PIL.Image.open",
        "torch.load",
        "torch.jit.load",
        "joblib.load",
        "pd.read_csv",
        "pandas.read_csv",
    }
    | {
        "onnxruntime.InferenceSession",
        "ort.InferenceSession",
        "ImageFont.truetype",
        "cv2.dnn.readNet",
        "Path",
    }
)


class TrapRule(SourceRule):
    """Base of the warnings about model.py."""

    severity = "warning"
    stage = ""


def pb_name(source: PythonSource, name: str) -> str:
    """``"Tensor"`` for ``pb_utils.Tensor``, whatever pb_utils is called; else an empty string."""
    holder, _, attribute = name.rpartition(".")
    return attribute if holder in source.pb_utils_names else ""


def is_decoupled(model: Model) -> bool:
    policy = model.config["model_transaction_policy"]
    return bool(policy is not None and policy["decoupled"])


class NoExecute(TrapRule):
    """TritonPythonModel has no execute: the model loads, and every request fails.

    Source: measured on 24.10 (Q_py_no_execute).
    """

    code = "TPB1730"
    message = "TritonPythonModel has no execute(): the model loads, and every request fails{hint}"
    fix = "write def execute(self, requests)"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        if source.model_class is not None and not source.may_have("execute"):
            methods = [n.name for n in source.model_class.body if isinstance(n, ast.FunctionDef)]
            yield self.found(model, source.place(source.model_class), hint=did_you_mean("execute", methods))


class ExecuteReturnsNothing(TrapRule):
    """execute returns nothing, and the model is not decoupled: every client waits until its time-out.

    Source: measured on 24.10 (Q_py_returns_none: no reply within 20 s).
    """

    code = "TPB1731"
    message = "execute() {why}, and the model is not decoupled: the client waits for ever"
    fix = "return one InferenceResponse for each request"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        function = source.method("execute")
        if function is None or is_decoupled(model) or source.uses_attribute("get_response_sender"):
            return
        if source.completion is not None and (
            not source.completion.certain or "model_transaction_policy" in source.completion.config
        ):
            return
        returns = list(own_nodes(function, ast.Return))
        if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function)):
            return
        if all(isinstance(s, (ast.Raise, ast.Pass)) or _is_docstring(s) for s in function.body):
            if not any(isinstance(s, ast.Pass) for s in function.body):
                return
        valued = [r for r in returns if r.value is not None and literal(r.value) is None and not _is_none(r.value)]
        if not valued and not any(isinstance(s, ast.Raise) for s in function.body):
            where = source.place(returns[-1] if returns else function)
            yield self.found(model, where, why="returns None" if returns else "has no return")
        for node in valued:
            if isinstance(node.value, ast.List) and node.value.elts and all(_is_none(e) for e in node.value.elts):
                yield self.found(model, source.place(node), why="returns [None]")


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def own_nodes(function: Function, kind: type[ast.AST]) -> Iterator[ast.Return]:
    """Nodes of a kind in a function, not in the functions inside it."""
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop(0)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, kind) and isinstance(node, ast.Return):
            yield node
        stack[:0] = list(ast.iter_child_nodes(node))


class DecoupledReturnsList(TrapRule):
    """A decoupled model returns something from execute.

    Source: measured on 24.10 (execute must return None in the decoupled mode).
    """

    code = "TPB1732"
    message = "the model is decoupled, and execute() returns a value: the client gets an error"
    fix = "send responses with request.get_response_sender() and return None"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        function = source.method("execute")
        if isinstance(function, ast.FunctionDef) and is_decoupled(model):
            for node in own_nodes(function, ast.Return):
                if isinstance(node.value, (ast.List, ast.ListComp, ast.Tuple)):
                    yield self.found(model, source.place(node))


class WrongResponseContainer(TrapRule):
    """execute returns a tuple, a dict or one bare response instead of a list.

    Source: measured on 24.10 ("Expected a list in the execute return").
    """

    code = "TPB1733"
    message = "execute() returns {what} instead of a list: every request fails"
    fix = "return a list with one InferenceResponse for each request"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        function = source.method("execute")
        if function is None or is_decoupled(model):
            return
        for node in own_nodes(function, ast.Return):
            what = {ast.Tuple: "a tuple", ast.Dict: "a dict"}.get(type(node.value), "")
            if isinstance(node.value, ast.Call) and pb_name(source, dotted(node.value.func)) == "InferenceResponse":
                what = "one bare InferenceResponse"
            if what:
                yield self.found(model, source.place(node), what=what)


class WarmupAnswer(SourceRule):
    """execute certainly answers with something that is no answer, and a warmup sample runs it while the model loads.

    A list with something else in it is refused; None instead of a response leaves the server waiting for ever.

    Source: measured on 24.10 ("failed to run warmup sample"); python_backend/src/pb_stub.cc.
    """

    code = "TPB1729"
    stage = "load"
    message = "execute() {what}, and warmup sample '{sample}' runs it: {effect}"
    fix = "{repair}"
    said = (
        "Invalid argument: failed to run warmup sample '{sample}': Failed to process the request(s) for model "
        "'{model}_0', message: {text}"
    )

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        function, run = source.method("execute"), samples(model)
        completion = source.completion
        if not run or source.model_class is None or completion is not None and not completion.certain:
            return
        policy = completion.config.get("model_transaction_policy", {}) if completion is not None else {}
        decoupled = is_decoupled(model) or bool(policy.get("decoupled"))
        if function is None:
            what, text = "is not there", "" if source.may_have("execute") else "does not implement `execute` method."
        else:
            what, text = _wrong_answer(model, source, function, decoupled)
        if not what or function is None and not text:
            return
        hangs = text == "hang"
        yield self.found(
            model,
            source.place(function if function is not None else source.model_class),
            stage="hang" if hangs else None,
            said="" if hangs else None,
            what=what,
            text="Python model " if function is None else text,
            sample=run[0]["name"],
            effect="the server start hangs" if hangs else "the model does not load",
            repair="send the responses and return None"
            if decoupled
            else "return one InferenceResponse for each request",
        )


def _wrong_answer(model: Model, source: PythonSource, function: Function, decoupled: bool) -> tuple[str, str]:
    """What execute certainly returns that is no answer, and the server's words, ``"hang"`` when it has none."""
    returns = list(own_nodes(function, ast.Return))
    last = function.body[-1]
    generates = any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function))
    if generates or not isinstance(function, ast.FunctionDef) or any(isinstance(s, ast.Raise) for s in function.body):
        return "", ""
    if len(returns) > 1 or returns and returns[0] is not last:
        return "", ""
    value = returns[0].value if returns else None
    items = value.elts if isinstance(value, ast.List) else None
    sends = source.uses_attribute("get_response_sender")
    if decoupled:
        if isinstance(value, (ast.List, ast.ListComp, ast.Tuple, ast.Dict)):
            text = (
                f"Python model '{model.name}_0' is using the decoupled mode and the execute function must return None."
            )
            return "returns a value in a decoupled model", text
        if value is not None and not _is_none(value) or sends:
            return "", ""
        return "never asks for a response sender", "hang"
    if value is None or _is_none(value):
        return ("", "") if sends else ("returns None" if returns else "has no return", "hang")
    if items and all(_is_none(item) for item in items):
        return "returns [None]", "hang"
    if items == []:
        text = "Number of InferenceResponse objects do not match the number of InferenceRequest objects."
        return "returns an empty list", text
    if isinstance(value, (ast.Tuple, ast.Dict)):
        kind = "tuple" if isinstance(value, ast.Tuple) else "dict"
        return f"returns a {kind}", f"Expected a list in the execute return, found type '<class '{kind}'>'."
    if isinstance(value, ast.Call) and pb_name(source, dotted(value.func)) == "InferenceResponse":
        return "returns one bare InferenceResponse", "Expected a list in the execute return, found type "
    if items and isinstance(items[0], ast.Constant) and len(items) == 1:
        kind = type(items[0].value).__name__
        text = "Expected an 'InferenceResponse' object in the execute function return list, found type "
        return "returns something else than responses", f"{text}'<class '{kind}'>'."
    return "", ""


class UndeclaredOutput(TrapRule):
    """model.py makes an output that config.pbtxt does not declare.

    The server never compares what model.py returns with the configuration: the tensor is dropped without a word.

    Source: measured on 24.10 (Q_py_missing_output, Q_py_unknown_output).
    """

    code = "TPB1734"
    message = "output '{name}' is not declared: the server drops it without a word{hint}"
    fix = "declare it in config.pbtxt, or name one of: {known}"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        known = declared_names(model, source, "output")
        names = tensor_literals(source)
        if not known or names is None or source.uses_attribute(".exec("):
            return
        for name, node in names:
            if name not in known and not _goes_into_a_request(source, node):
                yield self.found(
                    model,
                    source.place(node),
                    name=printable(name),
                    hint=did_you_mean(name, known),
                    known=", ".join(known),
                )


def _goes_into_a_request(source: PythonSource, node: ast.Call) -> bool:
    """True when this file makes requests for other models (BLS): the tensor may be one of their inputs."""
    return b"InferenceRequest(" in source.data or b"async_exec" in source.data


def tensor_literals(source: PythonSource) -> list[tuple[str, ast.Call]] | None:
    """Names of ``pb_utils.Tensor("NAME", ...)`` calls; None when any name is not a literal."""
    found = []
    for node, name in source.calls:
        attribute = pb_name(source, name)
        if attribute == "Tensor" or attribute == "" and name.endswith("Tensor.from_dlpack"):
            if not node.args or not isinstance(literal(node.args[0]), str):
                return None
            found.append((str(literal(node.args[0])), node))
    return found


def declared_names(model: Model, source: PythonSource, kind: str) -> list[str]:
    """Names of the inputs or outputs; empty when they cannot be known."""
    if source.completion is not None:
        names = source.completion.named(kind)
        return list(names) if names is not None else []
    return [tensor["name"] for tensor in model.tensors(kind)]


class OutputNeverMade(TrapRule):
    """A declared output is never made by model.py.

    Alone, the client gets a success without that output; in an ensemble the next model is blamed.

    Source: measured on 24.10 (Q_py_missing_output, Q_ens_step_missing_output).
    """

    code = "TPB1735"
    message = "declared output '{name}' is never made in model.py: requests succeed without it{hint}"
    fix = 'make it: pb_utils.Tensor("{name}", array)'

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        made = tensor_literals(source)
        if not made or source.sibling_data and any(b"Tensor" in data for data in source.sibling_data):
            return
        names = [name for name, _ in made]
        for tensor in model.tensors("output"):
            name = tensor["name"]
            if (
                name
                and name not in names
                and f'"{name}"'.encode("utf-8", "surrogateescape") not in source.data
                and f"'{name}'".encode("utf-8", "surrogateescape") not in source.data
            ):
                loose = [n for n in names if n not in declared_names(model, source, "output")]
                yield self.found(model, tensor.entry("name"), name=name, hint=did_you_mean(name, loose))


class UndeclaredInput(TrapRule):
    """model.py asks for an input that config.pbtxt does not declare: it gets None.

    Source: get_input_tensor_by_name returns None for an unknown name.
    """

    code = "TPB1736"
    message = "input '{name}' is not declared: get_input_tensor_by_name returns None{hint}"
    fix = "declare it in config.pbtxt, or name one of: {known}"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        known = declared_names(model, source, "input")
        block = model.config["sequence_batching"]
        extra = [c["name"] for c in block["control_input"]] if block is not None else []
        extra += [s["input_name"] for s in block["state"]] if block is not None else []
        extra += [name for tensor in model.tensors("batch_input") for name in tensor["target_name"]]
        if not known:
            return
        for node, name in source.calls:
            if pb_name(source, name) == "get_input_tensor_by_name" and len(node.args) == 2:
                wanted = literal(node.args[1])
                if isinstance(wanted, str) and wanted not in known and wanted not in extra:
                    yield self.found(
                        model,
                        source.place(node),
                        name=wanted,
                        hint=did_you_mean(wanted, known),
                        known=", ".join(known),
                    )


class OutputTypeMismatch(TrapRule):
    """An output is made with another type than declared.

    The server passes it on: alone the client gets the wrong type, in an ensemble the next model refuses it.

    Source: measured on 24.10 (Q_py_wrong_output_dtype, Q_ens_intermediate_dtype_lie).
    """

    code = "TPB1737"
    message = "output '{name}' is declared {declared} and made as {made}: the server passes it on unchecked"
    fix = "write .astype({numpy}), or declare {made}"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        types = {tensor["name"]: tensor["data_type"] for tensor in model.tensors("output")}
        for name, node in tensor_literals(source) or []:
            declared = types.get(name)
            made = literal_type(node.args[1]) if len(node.args) > 1 else ""
            if made and isinstance(declared, str) and declared not in ("TYPE_INVALID", made):
                numpy = {"TYPE_STRING": "np.object_"}.get(declared, "np." + _numpy_name(declared))
                yield self.found(model, source.place(node), name=name, declared=declared, made=made, numpy=numpy)


def _numpy_name(declared: str) -> str:
    wire = wire_name(declared)
    return wire.lower().replace("fp", "float").replace("bool", "bool_")


def literal_type(node: ast.expr) -> str:
    """``TYPE_FP64`` for ``x.astype(np.float64)``, ``np.zeros(..., dtype=np.float64)`` or ``np.array([1.0])``.

    An empty string for what cannot be known.
    """
    if not isinstance(node, ast.Call):
        return ""
    candidates = [keyword.value for keyword in node.keywords if keyword.arg == "dtype"]
    name = dotted(node.func)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "astype" and node.args:
        candidates.append(node.args[0])
    elif name.rpartition(".")[0] in ("np", "numpy") and len(node.args) > 1:
        if name.rpartition(".")[2] in ("array", "asarray", "zeros", "ones", "empty", "ascontiguousarray"):
            candidates.append(node.args[1])
    for candidate in candidates:
        spelled = literal(candidate) if isinstance(candidate, ast.Constant) else dotted(candidate)
        holder, _, last = str(spelled or "").rpartition(".")
        if last and holder in ("", "np", "numpy"):
            found = type_named(last.rstrip("_") if last in ("object_", "bool_") else last)
            if found:
                return found
    return "" if candidates else _type_by_default(node)


def _type_by_default(node: ast.Call) -> str:
    """What NumPy chooses when a call with a literal value names no dtype."""
    holder, _, last = dotted(node.func).rpartition(".")
    if holder not in ("np", "numpy") or len(node.args) != 1 or node.keywords:
        return ""
    if last in ("zeros", "ones", "empty"):
        return "TYPE_FP64"
    if last not in ("array", "asarray") or not isinstance(node.args[0], (ast.List, ast.Tuple)):
        return ""
    kinds = _kinds(node.args[0])
    if kinds and kinds <= {"float", "int"}:
        return "TYPE_FP64" if "float" in kinds else "TYPE_INT64"
    return "TYPE_BOOL" if kinds == {"bool"} else ""


def _kinds(node: ast.expr) -> set[str]:
    """The types of the numbers in a nested list; ``"?"`` for what is no literal."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return set().union(*map(_kinds, node.elts))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return _kinds(node.operand)
    return {type(node.value).__name__} if isinstance(node, ast.Constant) else {"?"}


class RelativePath(TrapRule):
    """A file is opened by a relative path.

    The working folder is where the server was started, not the model folder.

    Source: measured on 24.10; server issues 3757 and 3222.
    """

    code = "TPB1739"
    message = '{call}("{path}") is relative to where the server was started, not to this file'
    fix = 'build it from os.path.dirname(__file__), or args["model_repository"] and args["model_version"]'

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        for node, name in source.calls:
            path = literal(node.args[0]) if node.args else None
            if name in _READERS and isinstance(path, str) and _is_relative_file(path) and not _joined(source, node):
                yield self.found(model, source.place(node), call=name, path=printable(path))


def _is_relative_file(path: str) -> bool:
    return bool(path) and path[0] not in "/~$" and "://" not in path and "." in os.path.basename(path) and path != "."


def _joined(source: PythonSource, node: ast.Call) -> bool:
    """True for ``base / Path("x.txt")``: then it is not relative."""
    return dotted(node.func) == "Path" and any(
        isinstance(other, ast.BinOp) and isinstance(other.op, ast.Div) and other.right is node
        for other in source.walked
    )


class KindGpuIgnored(TrapRule):
    """The configuration places instances on GPUs, and model.py never asks where.

    For a Python model KIND_GPU and gpus are only told to initialize(); code that ignores them stays on the CPU or
    puts every instance on GPU 0.

    Source: server issues 6124, 4581, 8555.
    """

    code = "TPB1740"
    message = "instance_group is KIND_GPU{gpus}, but model.py never reads model_instance_device_id"
    fix = 'use "cuda:" + args["model_instance_device_id"] in initialize(), or write kind: KIND_CPU'

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        group = next((g for g in model.config["instance_group"] if g["kind"] == "KIND_GPU"), None)
        if group is None or source.tree is None or source.inherits:
            return
        if source.uses_attribute("model_instance_device_id") or source.uses_attribute("model_instance_kind"):
            return
        gpus = f" on GPUs {', '.join(map(str, group['gpus']))}" if group["gpus"] else ""
        yield self.found(model, group.entry("kind") or group, gpus=gpus)


class ShadowedSibling(TrapRule):
    """A module beside model.py has the name of an installed one, which wins.

    Triton appends the model's folders to sys.path: the standard library and installed packages come first.

    Source: pb_stub.cc StubSetup; measured on 24.10.
    """

    code = "TPB1741"
    message = "'{file}' is shadowed by {winner} of that name: `import {module}` gets the other one"
    fix = "rename the file, or import it relatively: from .{module} import ..."

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        if b"sys.path.insert(0," in source.data:
            return  # the author has put the folder first, as a folder that triton_pyb built does
        for item in source.imports:
            top = item.module.split(".")[0]
            if item.level or not top:
                continue
            for folder in source.search_folders:
                path = os.path.join(folder, top + ".py")
                if not os.path.isfile(path):
                    path = os.path.join(folder, top, "__init__.py")
                winner = shadowed_by(top) if os.path.isfile(path) else ""
                if winner:
                    file = os.path.relpath(path, model.path)
                    yield self.found(model, source.place(item.node), file=printable(file), winner=winner, module=top)
                    break


class CopiedPbUtils(SourceRule):
    """A triton_python_backend_utils.py lies in the model folder, and wins over the server's.

    A true copy is harmless in 24.10 and fatal in older releases; a stand-in for tests lacks what the stub needs, and
    the model does not load.

    Source: server issues 3332 and 4743; measured on 24.10 ("has no attribute 'deserialize_bytes_tensor'").
    """

    code = "TPB1742"
    message = "{file} {what}"
    fix = "remove it; for tests use the emulator of triton_pyb"
    said = "Internal: AttributeError: module 'triton_python_backend_utils' has no attribute 'deserialize_bytes_tensor'"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        for folder in source.search_folders:
            path = os.path.join(folder, "triton_python_backend_utils.py")
            if not os.path.isfile(path):
                continue
            copy = b"def deserialize_bytes_tensor" in PythonSource(path, folder, model).data
            late = {"severity": "warning", "stage": "", "said": ""} if copy else {}
            what = "is a copy of what the server brings" if copy else "hides the server's, and lacks what it needs"
            file = printable(os.path.relpath(path, model.path))
            yield self.found(model, Place(path), file=file, what=what, **late)


class CompletionDropped(TrapRule):
    """auto_complete_config gives a data type that the server does not know: it drops everything.

    The model loads with the configuration it had before, and nothing is logged.  Write `TYPE_FP32`, not `FP32`.

    Source: python_be.cc:1910 (24.10; so in 26.07), measured (A_bad_dtype_string).
    """

    code = "TPB1743"
    message = "data_type '{got}' is unknown: the server drops all that auto_complete_config did, without a word"
    fix = "write {repair}"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        completion = source.completion
        for node, got in completion.bad_types if completion is not None else []:
            repair = type_named(got) or "TYPE_FP32 or another TYPE_ name"
            yield self.found(model, source.place(node), got=printable(got), repair=repair)


class RowZeroOnly(TrapRule):
    """Only the first row of a batch is used.

    `as_numpy()[0]` drops the other rows of a request; with max_batch_size above 1 the client gets one row
    back and no error.

    Source: server issue 3973 and two widely read tutorials; measured on 24.10.
    """

    code = "TPB1744"
    message = "as_numpy()[0] takes the first row only, and max_batch_size is {most}"
    fix = "treat every row: for row in tensor.as_numpy()"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        if model.max_batch_size < 2:
            return
        for node in source.nodes(ast.Subscript):
            if literal(node.slice) == 0 and isinstance(node.value, ast.Call):
                if isinstance(node.value.func, ast.Attribute) and node.value.func.attr == "as_numpy":
                    yield self.found(model, source.place(node), most=model.max_batch_size)


class BlsAnswerUnchecked(TrapRule):
    """Another model is called (BLS), and nobody asks whether it answered with an error.

    exec() does not raise: a failed call is an answer with has_error(), whose outputs are missing.

    Source: measured on 24.10 (an unknown model, a model that raises).
    """

    code = "TPB1745"
    message = "the answer of {call}() is never asked for has_error(): a failed call shows as missing outputs"
    fix = "raise pb_utils.TritonModelException(response.error().message()) when response.has_error()"

    def source(self, model: Model, source: PythonSource) -> Iterator[Finding]:
        if b"InferenceRequest" not in source.data or source.uses_attribute("has_error"):
            return
        for node, _ in source.calls:
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("exec", "async_exec"):
                yield self.found(model, source.place(node), call=node.func.attr)
