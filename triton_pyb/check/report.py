"""Render findings: for people, for programs, for GitHub, as SARIF."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterator, Sequence
from string import Formatter
from typing import Any

from triton_pyb.check.finding import Finding, Place, printable
from triton_pyb.check.rule import Rule
from triton_pyb.check.rules import RULES

FORMATS = ("text", "json", "github", "sarif")
#: A warning in more models than this is told once, in text.
MOST_MODELS_APART = 5
_WIDTH = 100


def exit_status(findings: Sequence[Finding]) -> int:
    """0: nothing, or warnings only; 1: at least one error."""
    return int(any(finding.severity == "error" for finding in findings))


def render(findings: Sequence[Finding], style: str, *, models: int = 0, release: str = "") -> str:
    """All findings in one of `FORMATS`, with a final newline."""
    if style == "json":
        return json.dumps(_json(findings, models, release), indent=2, ensure_ascii=True) + "\n"
    if style == "sarif":
        return json.dumps(_sarif(findings), indent=2, ensure_ascii=True) + "\n"
    if style == "github":
        return "".join(_github(finding) + "\n" for finding in findings) + summary(findings, models, release) + "\n"
    return "".join(part + "\n\n" for part in _for_a_person(findings)) + summary(findings, models, release) + "\n"


def _for_a_person(findings: Sequence[Finding]) -> Iterator[str]:
    """Errors first; a warning that most of a repository shares would bury the others, and is one line."""
    having: dict[str, dict[str, None]] = {}
    for finding in findings:
        if finding.severity == "error":
            yield text(finding)
        else:
            having.setdefault(finding.code, {})[finding.model] = None
    folded = set()
    for finding in findings:
        models = list(having.get(finding.code, ()))
        if finding.severity == "error" or finding.code in folded:
            continue
        if len(models) <= MOST_MODELS_APART:
            yield text(finding)
            continue
        folded.add(finding.code)
        names = ", ".join(printable(name) for name in models)
        yield (
            f"warning {finding.code} in {len(models)} models ({names}): {RULES[finding.code].title()} "
            f"(--explain {finding.code}; --format json tells each)"
        )


def summary(findings: Sequence[Finding], models: int, release: str) -> str:
    """``"2 errors, 1 warning in 3 models (Triton 24.10)"``."""
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = len(findings) - errors
    return (
        f"{_count(errors, 'error')}, {_count(warnings, 'warning')} in {_count(models, 'model')}"
        f"{f' (Triton {release})' if release else ''}"
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def text(finding: Finding) -> str:
    """One finding for a person: place, what, the line, both ends, the drawing, the fix, the server's words."""
    lines = [f"{finding.place}: {finding.severity} {finding.code} {finding.message}"]
    lines += _excerpt(finding.place)
    for message, place in finding.related:
        lines.append(f"  also: {place}: {printable(message)}")
        lines += _excerpt(place)
    if finding.drawing:
        lines += ["    " + line for line in finding.drawing.split("\n")]
    lines.append(f"  fix:  {finding.fix}")
    if finding.said:
        lines.append(f"  triton: {printable(finding.said)}")
    elif finding.stage == "hang":
        lines.append("  triton: says nothing; the server start hangs")
    return "\n".join(lines)


def _excerpt(place: Place) -> list[str]:
    """The line of a place with a mark under the offending part; long lines are cut around it."""
    if not place.line or not place.text.strip():
        return []
    start = max(place.column - 1, 0)
    end = max(place.end_column - 1, start + 1)
    left = max(0, min(start - 20, len(place.text) - _WIDTH))
    shown = place.text[left : left + _WIDTH].replace("\t", " ")
    shown = "".join(character if character.isprintable() else "?" for character in shown)
    mark = "^" * max(1, min(end, left + _WIDTH) - start)
    number = str(place.line)
    return [f"  {number} | {shown}", f"  {' ' * len(number)} | {' ' * (start - left)}{mark}"]


def _json(findings: Sequence[Finding], models: int, release: str) -> dict[str, Any]:
    errors = sum(finding.severity == "error" for finding in findings)
    return {
        "release": release,
        "models": models,
        "errors": errors,
        "warnings": len(findings) - errors,
        "findings": [finding.to_dict() for finding in findings],
    }


def _github(finding: Finding) -> str:
    place = finding.place
    where = f"file={_property(printable(place.file))}"
    if place.line:
        where += f",line={place.line},col={place.column}"
    message = f"{finding.message}\nfix: {finding.fix}" + (f"\n{finding.drawing}" if finding.drawing else "")
    return f"::{finding.severity} {where},title={finding.code}::{_data(message)}"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")


def _sarif(findings: Sequence[Finding]) -> dict[str, Any]:
    codes = sorted({finding.code for finding in findings})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": RULES[code].title()},
            "fullDescription": {"text": inspect.getdoc(type(RULES[code])) or ""},
            "defaultConfiguration": {"level": RULES[code].severity},
        }
        for code in codes
    ]
    results = [
        {
            "ruleId": finding.code,
            "ruleIndex": codes.index(finding.code),
            "level": finding.severity,
            "message": {"text": f"{finding.message}\nfix: {finding.fix}"},
            "locations": [_location(finding.place)],
            "relatedLocations": [
                {**_location(place), "id": index, "message": {"text": printable(message)}}
                for index, (message, place) in enumerate(finding.related)
            ],
        }
        for finding in findings
    ]
    driver = {"name": "triton-pyb check", "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}],
    }


def _location(place: Place) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file)}}
    if place.line:
        physical["region"] = {
            "startLine": place.line,
            "startColumn": max(place.column, 1),
            "endColumn": max(place.end_column, place.column + 1),
        }
    return {"physicalLocation": physical}


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(os.fsencode(path.replace(os.sep, "/")))


def explain(code: str) -> str:
    """All about a rule: what, why, fix, source."""
    rule = RULES[code]
    kind = type(rule)
    lines = [f"{code} ({rule.severity}): {rule.title()}", "", *(inspect.getdoc(kind) or "").split("\n")[2:]]
    if rule.stage:
        lines += ["", f"Stage: {STAGES[rule.stage]}"]
    if rule.said and not _only_a_hole(rule.said):
        lines += [f"Triton says: {_plain(rule.said)}"]
    if rule.fix and not _only_a_hole(rule.fix):
        lines += ["", f"Fix: {_plain(rule.fix)}"]
    return "\n".join(lines) + "\n"


STAGES = {
    "poll": "poll: before any model loads; the cause stands in the server log only",
    "versions": "versions: the model is then absent from the repository index",
    "load": "load: the model is UNAVAILABLE, with this reason in the repository index",
    "dependency": "dependency: the ensemble is refused after its models have loaded; log only",
    "hang": "the server start hangs, and nothing is logged",
    "crash": "the whole server process dies",
}


#: What stands where a finding fills in something that its name alone does not tell.
_WORDS = {
    "or_backend": "‹, and write backend›",
    "or_hook": "‹, or in auto_complete_config›",
    "or_policy": "‹, or let version_policy serve that version›",
    "or_set": "‹, or set max_batch_size›",
    "shorter": "‹the dimensions behind the first›",
    "tail": "‹: the reason›",
    "unless": "‹, unless the first dimension belongs to each item›",
    "what": "‹what is wrong›",
    "who": "‹model of the step›",
}


def _plain(template: str) -> str:
    """A template for a reader: each hole as ‹words›."""
    shown = []
    for literal, hole, _, _ in Formatter().parse(template):
        shown.append(literal)
        if hole is not None:
            shown.append(_WORDS.get(hole, f"‹{hole.replace('_', ' ')}›"))
    return "".join(shown)


def _only_a_hole(template: str) -> bool:
    return all(not literal for literal, *_ in Formatter().parse(template))


def reference() -> str:
    """Markdown with one entry for each rule, for ``docs/errors.md``."""
    parts = []
    for code, rule in RULES.items():
        parts.append(f"### {code}\n\n**{rule.severity}**: {rule.title()}.\n")
        body = "\n".join((inspect.getdoc(type(rule)) or "").split("\n")[2:]).strip()
        parts.append(body + "\n" if body else "")
        if rule.said and not _only_a_hole(rule.said):
            parts.append(f"Triton says: `{_plain(rule.said)}`\n")
    return "\n".join(part for part in parts if part)


def rules_of_group(prefix: str) -> list[Rule]:
    """The rules whose code begins so."""
    return [rule for code, rule in RULES.items() if code.startswith(prefix)]
