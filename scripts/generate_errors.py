"""Write docs/errors.md: every error code of the package, from the calls that raise it.

python scripts/generate_errors.py           write it
python scripts/generate_errors.py --check   exit 1 when it is out of date
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "triton_pyb"
PAGE = ROOT / "docs" / "errors.md"
CODE = re.compile(r"TPB\d{3,4}\Z")
#: Codes of the checker's rules have four digits, and stand in the classes of the rules.
RAISED = re.compile(r"TPB\d{3}\Z")

GROUPS = {
    "1": "Declarations",
    "2": "Requests and outputs, at run time",
    "3": "The graph of a pipeline",
    "4": "Building a model repository",
    "5": "The emulator",
    "6": "Servers and clients",
    "7": "The command line",
}

HEADER = """# Errors

Every error of `triton_pyb` has a code that never changes its meaning, says what is wrong, where, and what to do next.
This page lists the wording behind each code; `<...>` stands for what is filled in.
It is written by `scripts/generate_errors.py`; edit the code that raises the error instead.
"""


class Raised(NamedTuple):
    """One call that names a code, or one rule of the checker."""

    code: str
    what: str
    fix: str
    where: str  # "runtime/outputs.py, named_values()"
    explanation: str = ""


class Function(NamedTuple):
    """The innermost function around a call: its name, and what its local names were assigned, if only once."""

    name: str
    assigned: dict[str, ast.expr]


def collect(package: Path) -> list[Raised]:
    """Every code that a call or a tuple names first, and every rule class, in file order."""
    found = []
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        found += [raised for raised in _calls(tree, inside, Function("", {}))]
        found += [raised for raised in _rules(tree, inside)]
    return found


def _calls(node: ast.AST, inside: str, around: Function) -> Iterator[Raised]:
    for child in ast.iter_child_nodes(node):
        inner = around
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner = Function(child.name, _assigned_once(child))
        code_at = next((at for at, part in enumerate(_parts(child)[:2]) if _codes(part, inner)), None)
        parts = _parts(child)[code_at:] if code_at is not None else []
        if len(parts) < 2 or _codes(parts[1], inner):  # a code alone, or a list of codes
            parts = []
        for code in _codes(parts[0], inner) if parts else []:
            what = template(parts[1], inner)
            fix = template(parts[-1], inner) if len(parts) > 2 else ""
            place = f"{inside}, {inner.name}()" if inner.name else inside
            yield Raised(code, what, fix, place)
        yield from _calls(child, inside, inner)


def _parts(node: ast.AST) -> list[ast.expr]:
    """What a call is given, or what a tuple holds: (code, what, ..., fix), perhaps behind a name for programs."""
    if isinstance(node, ast.Call):
        return [*node.args, *(keyword.value for keyword in node.keywords)]
    return node.elts if isinstance(node, ast.Tuple) else []


def _codes(node: ast.expr, around: Function) -> list[str]:
    """The codes that an expression may be; those of rules stand in their classes."""
    if isinstance(node, ast.Name) and node.id in around.assigned:
        return _codes(around.assigned[node.id], Function("", {}))
    if isinstance(node, ast.IfExp):
        return [*_codes(node.body, around), *_codes(node.orelse, around)]
    is_code = isinstance(node, ast.Constant) and isinstance(node.value, str) and RAISED.match(node.value)
    return [str(node.value)] if is_code and isinstance(node, ast.Constant) else []


def _assigned_once(function: ast.AST) -> dict[str, ast.expr]:
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, []).append(node.value)
    return {name: values[0] for name, values in assigned.items() if len(values) == 1}


def _rules(tree: ast.Module, inside: str) -> Iterator[Raised]:
    """Rule classes: ``code``, ``message`` and ``fix`` are class attributes, the docstring explains."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        texts = {
            target.id: ast.literal_eval(statement.value)
            for statement in node.body
            if isinstance(statement, ast.Assign) and _is_text(statement.value)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }
        if CODE.match(texts.get("code", "")):
            what, fix = (re.sub(r"\{(\w+)[^}]*\}", r"<\1>", texts.get(key, "")) for key in ("message", "fix"))
            yield Raised(texts["code"], what, fix, f"{inside}, {node.name}", ast.get_docstring(node) or "")


def _is_text(node: ast.expr) -> bool:
    try:
        return isinstance(ast.literal_eval(node), str)
    except ValueError:
        return False


def template(node: ast.expr, around: Function) -> str:
    """The text that an expression makes, with ``<name>`` for what is only known at run time."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(template(part, around) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return template(node.value, around)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return template(node.left, around) + template(node.right, around)
    if isinstance(node, ast.IfExp):
        return "<" + " | ".join(template(part, around).strip("<>") for part in (node.body, node.orelse)) + ">"
    if isinstance(node, ast.Name):
        value = around.assigned.get(node.id)
        is_text = isinstance(value, (ast.JoinedStr, ast.Constant)) or (
            isinstance(value, ast.IfExp) and isinstance(value.body, (ast.JoinedStr, ast.Constant))
        )
        return template(value, around) if value is not None and is_text else f"<{node.id}>"
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("did_you_mean"):
        return "<; did you mean ...?>"
    return f"<{_noun(node)}>"


def _noun(node: ast.expr) -> str:
    """One word for an expression: the attribute, or the first name in it that is not a function's."""
    if isinstance(node, ast.Attribute):
        return {"__name__": "type", "filename": "file", "lineno": "line"}.get(node.attr, node.attr)
    if isinstance(node, ast.Subscript):
        return _noun(node.value)
    if isinstance(node, ast.Call):
        inner = [argument for argument in node.args if not isinstance(argument, ast.Constant)]
        if inner:
            return _noun(inner[-1])
        return _noun(node.func)
    if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
        return _noun(node.generators[0].iter)
    names = [child.id for child in ast.walk(node) if isinstance(child, ast.Name)]
    return names[0] if names else "..."


def render(raised: list[Raised]) -> str:
    """The page."""
    lines = [HEADER]
    for title, codes in _grouped(raised):
        lines.append(f"## {title}\n")
        for code in codes:
            lines.append(f"### {code}\n")
            lines += [_entry(item) for item in dict.fromkeys(item for item in raised if item.code == code)]
    return "\n".join(lines)


def _grouped(raised: list[Raised]) -> Iterator[tuple[str, list[str]]]:
    codes = sorted({item.code for item in raised}, key=lambda code: (len(code), code))
    for digit, title in GROUPS.items():
        group = [code for code in codes if len(code) == 6 and code[3] == digit]
        if group:
            yield title, group
    if rules := [code for code in codes if len(code) == 7]:
        yield "Rules of the checker", rules


def _entry(item: Raised) -> str:
    said = f"{item.code} {item.what}" + (f"\n  fix:   {item.fix}" if item.fix else "")
    explanation = f"{item.explanation}\n\n" if item.explanation else ""
    return f"{explanation}```text\n{said}\n```\n\n`{item.where}`\n"


def main(arguments: list[str]) -> int:
    text = render(collect(PACKAGE))
    if "--check" in arguments:
        current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        if current != text:
            print(f"{PAGE.relative_to(ROOT)} is out of date: run python scripts/generate_errors.py", file=sys.stderr)
            return 1
        return 0
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
