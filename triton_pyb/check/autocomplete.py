"""What ``auto_complete_config`` certainly does, read from its source without running it.

The usual function declares its tensors with literals, in a loop or one by one.  So much of Python is
interpreted here; at the first thing that cannot be known (a file, another module) the rest stays open, and
nothing is claimed about it.

Source: ``triton_python_backend_utils.ModelConfig`` of 24.10, messages measured there.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from triton_pyb.config.pbtxt import Message

_MOST_STEPS = 5000


class _Open(Exception):
    """From here on nothing is known."""


class _Returned(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class Raised(Exception):
    """The function certainly raises."""

    def __init__(self, node: ast.AST, said: str, kind: str) -> None:
        super().__init__(said)
        self.node, self.said, self.kind = node, said, kind


class _Handle:
    """The ``ModelConfig`` object that Triton passes in."""


_UNKNOWN = object()

#: What the object has.  Source: triton_python_backend_utils.py (24.10).
_METHODS = (
    "as_dict",
    "set_max_batch_size",
    "set_dynamic_batching",
    "add_input",
    "add_output",
    "set_model_transaction_policy",
)


@dataclass
class Completion:
    """The outcome of ``auto_complete_config``.

    Attributes
    ----------
    config : dict
        The configuration after all that is certain.
    certain : bool
        True when the whole function was followed.
    fault : Raised or None
        What it certainly raises.
    returns_config : bool or None
        None when that is not known.
    bad_types : list of (ast.AST, str)
        Data types that the server does not know: they make it drop everything that was completed.
    """

    config: dict[str, Any]
    certain: bool = False
    fault: Raised | None = None
    returns_config: bool | None = None
    sets_batch_size: bool = False
    sets_batching: bool = False
    bad_types: list[tuple[ast.AST, str]] = field(default_factory=list)

    def named(self, kind: str) -> tuple[str, ...] | None:
        """Names of the completed inputs or outputs; None when more may come."""
        return tuple(t["name"] for t in self.config[kind]) if self.certain else None

    def completes(self, kind: str, tensor: Message) -> bool:
        """True when an input or output of the configuration is, or may be, complete afterwards."""
        found = [t for t in self.config[kind] if t["name"] == tensor["name"]]
        return not self.certain or any(t["data_type"] != "TYPE_INVALID" and t["dims"] for t in found)


def initial_config(name: str, config: Message) -> dict[str, Any]:
    """The part of the model configuration that the function can change, as the server hands it over."""
    policy = config["model_transaction_policy"]
    found: dict[str, Any] = {
        "name": name,
        "max_batch_size": config["max_batch_size"],
        "input": [
            {
                "name": t["name"],
                "data_type": t["data_type"],
                "dims": list(t["dims"]),
                "optional": t["optional"],
            }
            for t in config["input"]
        ],
        "output": [{"name": t["name"], "data_type": t["data_type"], "dims": list(t["dims"])} for t in config["output"]],
    }
    for block in ("dynamic_batching", "sequence_batching", "ensemble_scheduling"):
        if block in config:
            found[block] = {}
    if policy is not None:
        found["model_transaction_policy"] = {"decoupled": policy["decoupled"]}
    return found


def interpret(function: ast.FunctionDef, config: dict[str, Any], known: dict[str, Any]) -> Completion:
    """Follow the function as far as it is certain.

    Parameters
    ----------
    known : dict
        Module constants.
    """
    completion = Completion(config)
    arguments = [*function.args.posonlyargs, *function.args.args]
    if not arguments:
        return completion
    run = _Run(completion, {**known, arguments[-1].arg: _Handle()})
    try:
        run.body(function.body)
        completion.certain, completion.returns_config = True, False
    except _Returned as returned:
        completion.certain = True
        if returned.value is not _UNKNOWN:
            completion.returns_config = isinstance(returned.value, _Handle)
    except Raised as fault:
        completion.certain, completion.fault = True, fault
    except (_Open, RecursionError):
        completion.certain = False
    return completion


class _Run:
    def __init__(self, completion: Completion, names: dict[str, Any]) -> None:
        self.completion, self.names, self.steps = completion, names, 0

    def body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise _Open
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self.assign(target, value)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.assign(node.target, self.value(node.value))
        elif isinstance(node, ast.Expr):
            self.value(node.value)
        elif isinstance(node, ast.For) and not node.orelse:
            items = self.value(node.iter)
            if not isinstance(items, (list, tuple, dict)):
                raise _Open
            for item in list(items):
                self.assign(node.target, item)
                self.body(node.body)
        elif isinstance(node, ast.If):
            test = self.value(node.test)
            if test is _UNKNOWN:
                raise _Open
            self.body(node.body if test else node.orelse)
        elif isinstance(node, ast.Return):
            raise _Returned(self.value(node.value) if node.value is not None else None)
        elif isinstance(node, ast.Raise):
            raise Raised(node, raised_text(node), "raise")
        elif isinstance(node, (ast.Pass, ast.Import, ast.ImportFrom)):
            for alias in node.names if not isinstance(node, ast.Pass) else ():
                self.names[(alias.asname or alias.name).split(".")[0]] = _UNKNOWN
        else:
            raise _Open

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, (list, tuple)) and len(value) == len(target.elts):
            for part, item in zip(target.elts, value, strict=False):
                self.assign(part, item)
        elif isinstance(target, ast.Subscript):
            holder, key = self.value(target.value), self.value(target.slice)
            if not isinstance(holder, (dict, list)) or key is _UNKNOWN:
                raise _Open
            try:
                holder[key] = value
            except (IndexError, TypeError) as error:
                raise _Open from error
        else:
            raise _Open

    def value(self, node: ast.expr) -> Any:
        self.steps += 1
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.names.get(node.id, _UNKNOWN)
        if isinstance(node, ast.List):
            return [self.value(item) for item in node.elts]
        if isinstance(node, ast.Tuple):
            return tuple(self.value(item) for item in node.elts)
        if isinstance(node, ast.Dict):
            if any(key is None for key in node.keys):
                return _UNKNOWN
            keys = [self.value(key) for key in node.keys if key is not None]
            if any(not isinstance(key, (str, int)) for key in keys):
                return _UNKNOWN
            return dict(zip(keys, (self.value(item) for item in node.values), strict=False))
        if isinstance(node, ast.UnaryOp):
            inner = self.value(node.operand)
            if isinstance(node.op, ast.USub) and isinstance(inner, (int, float)):
                return -inner
            if isinstance(node.op, ast.Not) and inner is not _UNKNOWN:
                return not inner
            return _UNKNOWN
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return _compare(node.ops[0], self.value(node.left), self.value(node.comparators[0]))
        if isinstance(node, ast.Subscript):
            holder, key = self.value(node.value), self.value(node.slice)
            if isinstance(holder, (dict, list)) and isinstance(key, (str, int)):
                try:
                    return holder[key]  # type: ignore[index]
                except (KeyError, IndexError, TypeError):
                    raise _Open from None
            return _UNKNOWN
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.ListComp):
            return self.comprehension(node)
        return _UNKNOWN

    def comprehension(self, node: ast.ListComp) -> Any:
        generator = node.generators[0]
        items = self.value(generator.iter)
        if len(node.generators) != 1 or generator.ifs or not isinstance(items, (list, tuple)):
            return _UNKNOWN
        found = []
        for item in items:
            self.assign(generator.target, item)
            found.append(self.value(node.elt))
        return found

    def call(self, node: ast.Call) -> Any:
        arguments = [self.value(argument) for argument in node.args]
        keywords = {keyword.arg: self.value(keyword.value) for keyword in node.keywords}
        if isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args:
            return keywords if None not in keywords else _UNKNOWN
        if not isinstance(node.func, ast.Attribute):
            return self._foreign(node, arguments, keywords)
        holder = self.value(node.func.value)
        name = node.func.attr
        if isinstance(holder, _Handle):
            return self.method(node, name, [*arguments, *keywords.values()])
        if isinstance(holder, list) and name == "append" and len(arguments) == 1:
            holder.append(arguments[0])
            return None
        if isinstance(holder, dict) and name == "get" and arguments and isinstance(arguments[0], (str, int)):
            return holder.get(arguments[0], arguments[1] if len(arguments) > 1 else None)
        if name == "deepcopy" and arguments and isinstance(arguments[0], _Handle):
            return arguments[0]
        return self._foreign(node, arguments, keywords)

    def _foreign(self, node: ast.Call, arguments: list[Any], keywords: dict[str | None, Any]) -> Any:
        """Another function: harmless unless it gets hold of the configuration."""
        for argument in [*arguments, *keywords.values()]:
            if isinstance(argument, (_Handle, dict, list)):
                raise _Open
        return _UNKNOWN

    def method(self, node: ast.Call, name: str, arguments: list[Any]) -> Any:
        config = self.completion.config
        if name not in _METHODS and not name.startswith("_"):
            raise Raised(node, f"'ModelConfig' object has no attribute '{name}'", "attribute")
        if name == "as_dict":
            return config
        if name == "set_dynamic_batching":
            for scheduler in ("sequence_batching", "ensemble_scheduling"):
                if scheduler in config:
                    said = (
                        f"Configuration specified scheduling_choice as '{scheduler}', but auto-complete-config "
                        f"function for model '{config['name']}' tries to set scheduling_choice as "
                        "'dynamic_batching'"
                    )
                    raise Raised(node, said, "scheduler")
            config["dynamic_batching"] = {}
            self.completion.sets_batching = True
            return None
        if len(arguments) != 1 or arguments[0] is _UNKNOWN:
            raise _Open
        argument = arguments[0]
        if name == "set_max_batch_size" and isinstance(argument, int):
            if config["max_batch_size"] > argument:
                said = (
                    f"configuration specified max_batch_size {config['max_batch_size']}, but in "
                    f"auto-complete-config function for model '{config['name']}' specified max_batch_size {argument}"
                )
                raise Raised(node, said, "batch")
            config["max_batch_size"] = argument
            self.completion.sets_batch_size = True
            return None
        if name in ("add_input", "add_output") and isinstance(argument, dict):
            return self.add(node, name.removeprefix("add_"), argument)
        if name == "set_model_transaction_policy" and isinstance(argument, dict):
            return self.policy(node, argument)
        raise _Open

    def add(self, node: ast.Call, kind: str, tensor: dict[Any, Any]) -> None:
        config = self.completion.config
        valid = ["name", "data_type", "dims"] + ["optional"] * (kind == "input")
        where = f"in auto-complete-config function for model '{config['name']}'"
        for key in tensor:
            if key not in valid:
                listed = ", ".join(f"'{name}'" for name in valid[:-1]) + f" and '{valid[-1]}'"
                said = f"{kind} '{tensor.get('name')}' {where} contains property other than {listed}."
                raise Raised(node, said, "property")
        if "name" not in tensor:
            raise Raised(node, f"{kind} {where} is missing 'name' property.", "property")
        if tensor["name"] is _UNKNOWN:
            raise _Open
        for key in ("data_type", "dims"):
            if key not in tensor:
                said = f"{kind} '{tensor['name']}' {where} is missing '{key}' property."
                raise Raised(node, said, "property")
        if any(value is _UNKNOWN for value in tensor.values()) or _holds_unknown(tensor["dims"]):
            raise _Open
        self._check_type(node, tensor["data_type"])
        for current in config[kind]:
            if current["name"] == tensor["name"]:
                self._merge(node, kind, current, tensor)
                return
        config[kind].append(tensor)

    def _check_type(self, node: ast.AST, data_type: Any) -> None:
        from triton_pyb.config.schema import model_config_type

        field = model_config_type().fields["input"].message
        assert field is not None
        if str(data_type).upper() not in field.fields["data_type"].enum:
            self.completion.bad_types.append((node, str(data_type)))

    def _merge(self, node: ast.Call, kind: str, current: dict[str, Any], tensor: dict[str, Any]) -> None:
        model, name = self.completion.config["name"], tensor["name"]
        if current["data_type"] not in ("TYPE_INVALID", tensor["data_type"]):
            said = (
                f"unable to load model '{model}', configuration expects datatype {current['data_type']} for {kind} "
                f"'{name}', model provides {tensor['data_type']}"
            )
            raise Raised(node, said, "type")
        if current["dims"] and current["dims"] != tensor["dims"]:  # a tuple never equals a list
            said = (
                f"model '{model}', tensor '{name}': the model expects dims {tensor['dims']} but the model "
                f"configuration specifies dims {current['dims']}"
            )
            raise Raised(node, said, "dims")
        if "optional" in current and "optional" in tensor and current["optional"] != tensor["optional"]:
            said = (
                f"model '{model}', tensor '{name}': the model expects optional {tensor['optional']} but the model "
                f"configuration specifies optional {current['optional']}"
            )
            raise Raised(node, said, "optional")
        current.update({key: tensor[key] for key in ("data_type", "dims", "optional") if key in tensor})

    def policy(self, node: ast.Call, argument: dict[Any, Any]) -> None:
        config = self.completion.config
        for key in argument:
            if key != "decoupled":
                said = (
                    f"model transaction property in auto-complete-config function for model '{config['name']}' "
                    "contains property other than 'decoupled'."
                )
                raise Raised(node, said, "policy")
        current = config.setdefault("model_transaction_policy", {})
        if "decoupled" in argument:
            if argument["decoupled"] is _UNKNOWN:
                raise _Open
            if current.get("decoupled", argument["decoupled"]) != argument["decoupled"]:
                said = (
                    f"trying to change decoupled property in auto-complete-config for model '{config['name']}', "
                    f"which is already set to '{current['decoupled']}'."
                )
                raise Raised(node, said, "policy")
            current["decoupled"] = argument["decoupled"]


def _compare(operator: ast.cmpop, left: Any, right: Any) -> Any:
    if left is _UNKNOWN or right is _UNKNOWN or isinstance(left, _Handle) or isinstance(right, _Handle):
        return _UNKNOWN
    try:
        if isinstance(operator, ast.Eq):
            return left == right
        if isinstance(operator, ast.NotEq):
            return left != right
        if isinstance(operator, ast.In):
            return left in right
        if isinstance(operator, ast.NotIn):
            return left not in right
        if isinstance(operator, (ast.Is, ast.IsNot)) and (left is None or right is None):
            return (left is right) == isinstance(operator, ast.Is)
        if isinstance(operator, ast.Gt):
            return left > right
        if isinstance(operator, ast.Lt):
            return left < right
    except TypeError:
        pass
    return _UNKNOWN


def _holds_unknown(value: Any) -> bool:
    return not isinstance(value, (list, tuple)) or any(item is _UNKNOWN for item in value)


def raised_text(node: ast.Raise) -> str:
    """``"RuntimeError: boom"`` as the server would print it, or the exception's name alone."""
    exception = node.exc
    if isinstance(exception, ast.Call):
        name = ast.unparse(exception.func).rsplit(".", 1)[-1]
        if len(exception.args) == 1 and isinstance(exception.args[0], ast.Constant):
            return f"{name}: {exception.args[0].value!s}"
        return name
    return ast.unparse(exception).rsplit(".", 1)[-1] if exception is not None else "an exception"
