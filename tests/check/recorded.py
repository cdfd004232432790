"""Repositories on which a real Triton 24.10 has given its verdict (``tests/cases/config_cases.json``)."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from triton_pyb.check import Finding, check

CASES = Path(__file__).parent.parent / "cases" / "config_cases.json"


@cache
def cases() -> list[dict[str, Any]]:
    """The cases as recorded."""
    found: list[dict[str, Any]] = json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    return found


def write_case(case: dict[str, Any], root: Path) -> Path:
    """Lay the repository of a case down; a path ``../repo2/...`` lies beside it."""
    repository = root / "repository"
    repository.mkdir(parents=True)
    for path, content in case["files"].items():
        target = root / path[3:] if path.startswith("../") else repository / path
        target.parent.mkdir(parents=True, exist_ok=True)
        data = base64.b64decode(content["b64"]) if isinstance(content, dict) else content.encode()
        target.write_bytes(data)
    for path in case["dirs"]:
        (repository / path).mkdir(parents=True, exist_ok=True)
    return repository


def options(case: dict[str, Any], root: Path) -> tuple[list[Path], dict[str, Any]]:
    """The flags of the server that gave the verdict, as options of the check."""
    folders, found = [root / "repository"], dict[str, Any]()
    for argument in case["args"]:
        flag, _, value = argument.partition("=")
        if flag == "--disable-auto-complete-config":
            found["strict"] = True
        elif flag == "--model-config-name":
            found["config_name"] = value
        elif flag == "--rate-limit":
            found["rate_limit"] = True
        elif flag == "--rate-limit-resource":
            name, _, count = value.partition(":")
            found["resources"] = {name: int(count)}
        elif flag == "--model-repository":
            folders.append(Path(value.replace("{ROOT}", str(root))))
    if case["host_dependent"]:
        # The machine of the recording: no GPU, and the python backend alone.
        found |= {"gpus": 0, "backends": ["=", "python", "ensemble"]}
    return folders, found


def check_case(case: dict[str, Any], root: Path) -> list[Finding]:
    """Write the case and check it."""
    write_case(case, root)
    folders, found = options(case, root)
    return check(folders, **found)


def plain(said: str | None) -> str:
    """A message without traceback, note and closing punctuation."""
    text = (said or "").split("\n\nAt:")[0]
    return re.sub(r" NOTE: Setting a non-zero.*", "", text, flags=re.S).strip().rstrip('";').strip()


@dataclass
class Verdict:
    """What the check made of one case."""

    found: bool
    same_words: bool
    false_errors: list[Finding]


def judge(case: dict[str, Any], findings: list[Finding]) -> Verdict:
    """Compare the findings with what the server said."""
    errors = [finding for finding in findings if finding.severity == "error"]
    mine = [finding for finding in errors if finding.model == case["focus"]]
    ready = {name for name, versions in case["models"].items() if versions and set(versions.values()) == {"READY"}}
    false = [finding for finding in errors if finding.model in ready]
    if case["expected"] == "ok":
        return Verdict(True, True, false)
    if case["protobuf_error"] and case["stage"] == "poll":
        wanted = [plain(re.sub(r"^.*?\d+:\d+: ", "", line)) for line in case["protobuf_error"]]
        same = any(plain(finding.said) in wanted for finding in mine)
    elif case["expected"] == "error":
        wanted = [plain(case["error"])]
        same = any(plain(finding.said) and wanted[0].startswith(plain(finding.said)) for finding in mine)
    else:  # the server said nothing of use: the stage is the cause
        same = any(finding.stage == case["expected"] for finding in mine)
    return Verdict(bool(mine), same, false)
