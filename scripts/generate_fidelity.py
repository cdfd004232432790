"""Write docs/fidelity.md: what a real Triton 24.10 was asked, and where the emulator answers otherwise.

python scripts/generate_fidelity.py           write it
python scripts/generate_fidelity.py --check   exit 1 when it is out of date

Real answers come from the recordings of `tests/`, ours from the tests that compare with them: whatever is no strict
xfail there is equal, leaf by leaf. Only what ends a real server is run here, for the words that the emulator has
instead.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
PAGE = ROOT / "docs" / "fidelity.md"
CASES = ROOT / "tests" / "cases" / "config_cases.json"
#: The test modules with recorded answers: their KNOWN_DIFFERENCES are the strict xfails.
MODULES = ("test_model_probes", "test_recorded_loads", "test_recorded_requests")

HEADER = """# Fidelity

What a real Triton {oracle} answered, and what the emulator answers. Written by `scripts/generate_fidelity.py`;
"equal" is what a test asserts, leaf by leaf. The recordings are in `tests/probes` and `tests/cases`; other tests
(`tests/conformance`, `tests/emulator/test_random_requests.py`) ask a real server in the same run, and are not counted
here.
"""
LOADS = {
    "A": "auto-complete",
    "C": "configurations",
    "E": "ensembles",
    "P": "model.py that fails",
    "R": "repositories and versions",
    "S": "sequences and state",
    "W": "warm-up",
    "X": "what hangs or kills a server",
}


def page() -> str:
    """The whole text."""
    from tests.probes.run_emulator import Kit

    kit = Kit.original()
    parts = [_probes(kit), _model_probes(), _requests(), _loads()]
    totals = "| | recorded | equal | named instead | known gaps |\n|---|---|---|---|---|\n" + "".join(
        f"| {title} | {total} | {total - named - gaps} | {named} | {gaps} |\n" for title, total, named, gaps, _ in parts
    )
    whole = "| all | {} | {} | {} | {} |\n".format(
        sum(p[1] for p in parts), sum(p[1] - p[2] - p[3] for p in parts), *(sum(p[i] for p in parts) for i in (2, 3))
    )
    note = "\n*Named instead*: a real server dies or hangs there; the emulator says so, with a code, and stays up.\n"
    head = HEADER.format(oracle=kit.recorded["meta"]["triton"])
    texts = [text for *_, text in parts]
    return "\n".join([head, totals + whole + note, _gaps(), _releases(), *texts]).rstrip() + "\n"


Part = tuple[str, int, int, int, str]


def _probes(kit: Any) -> Part:
    from tests.probes.compare import crashed
    from tests.probes.run_emulator import probe_server, run_probe

    named = 0
    groups: dict[str, list[str]] = {}
    for name, probe in kit.cases.PROBES.items():
        real = kit.recorded["probes"][name]
        ours, verdict = "the same", "equal"
        answer = _short(real.get("result", real))
        if crashed(real):
            named += 1
            answer = "the stub dies" if "stub_died" in real else "no answer"
            with probe_server(kit, inline=True) as (server, repository):
                ours, verdict = _cell(run_probe(kit, server, repository, name)["fault"], 90), "named"
        groups.setdefault(probe.group, []).append(f"| {name} | {answer} | {ours} | {verdict} |")
    text = "## Probes of `triton_python_backend_utils`\n\nOne function inside `execute` each.\n"
    for group, rows in groups.items():
        text += f"\n**{group}**\n\n| probe | real answer | ours | |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    return "probes of pb_utils", len(kit.cases.PROBES), named, 0, text


def _short(value: Any) -> str:
    """An answer in a table's cell: small ones whole, others by their size."""
    from tests.probes.compare import flat

    text = json.dumps(value, ensure_ascii=False)
    return _cell(text, 60) if len(text) <= 60 else f"{len(list(flat(value)))} values: " + _cell(text, 44)


def _cell(text: str, width: int) -> str:
    text = " ".join(re.sub(r"0x[0-9a-f]{6,}", "0xADDR", text).split()).replace("|", "\\|")
    return "`" + (text if len(text) <= width else text[: width - 1] + "…").replace("`", "'") + "`"


def _model_probes() -> Part:
    from tests.emulator import test_model_probes
    from tests.emulator.model_probes import PROBES

    gaps = test_model_probes.KNOWN_DIFFERENCES
    text = (
        "## Whole models\n\nA model of its own each, loaded, called by tritonclient over HTTP and gRPC, unloaded.\n\n"
    )
    groups: dict[str, list[str]] = {}
    for name in PROBES:
        group = name.removeprefix("mp_").split("_")[0]
        groups.setdefault(group, []).append(name.removeprefix("mp_") + (" (gap)" if name in gaps else ""))
    text += "\n".join(_listed(group, names) for group, names in groups.items()) + "\n"
    return "whole models", len(PROBES), 0, len(gaps), text


def _listed(group: str, names: list[str]) -> str:
    return textwrap.fill(f"- {group} ({len(names)}): {', '.join(names)}", 118, subsequent_indent="  ")


def _requests() -> Part:
    from tests.emulator import test_recorded_requests
    from tests.emulator.recorded import cases_with_requests

    cases = cases_with_requests()
    gaps = [name for name in cases if name in test_recorded_requests.KNOWN_DIFFERENCES]
    statuses = Counter(str(request["status"]) for case in cases.values() for request in case["requests"])
    text = "## Requests over HTTP\n\n" + textwrap.fill(
        "Status and body, "
        + ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))
        + ", to the repositories of: "
        + ", ".join(f"{name} ({len(case['requests'])})" for name, case in cases.items())
        + ".",
        118,
    )
    total = sum(len(case["requests"]) for case in cases.values())
    return "requests over HTTP", total, 0, sum(len(cases[name]["requests"]) for name in gaps), text + "\n"


def _loads() -> Part:
    from tests.emulator import test_recorded_loads

    cases = [parameter.values[0] for parameter in test_recorded_loads._cases()]
    gaps = test_recorded_loads.KNOWN_DIFFERENCES
    rows = []
    for group, title in LOADS.items():
        here = [case for case in cases if case["group"] == group]
        count = Counter(case["expected"] for case in here)
        differ = ", ".join(case["name"] for case in here if case["name"] in gaps)
        dead = count["hang"] + count["crash"]
        rows.append(f"| {title} | {len(here)} | {count['ok'] + count['warn']} | {count['error']} | {dead} | {differ} |")
    text = (
        "## Repositories that load or fail\n\nThe same models load; the others fail with the server's own reason.\n\n"
        "| group | repositories | load | fail | hang or kill the server | gaps |\n|---|---|---|---|---|---|\n"
    )
    named = [case for case in cases if case["expected"] in ("hang", "crash") and case["name"] not in gaps]
    differing = [case for case in cases if case["name"] in gaps]
    return "repositories that load or fail", len(cases), len(named), len(differing), text + "\n".join(rows) + "\n"


def _gaps() -> str:
    """The strict xfails of the tests, one line each."""
    from tests.emulator import test_recorded_loads

    test_recorded_loads._cases()  # fills its list
    lines = []
    for name in MODULES:
        module = __import__(f"tests.emulator.{name}", fromlist=["KNOWN_DIFFERENCES"])
        for case, reason in module.KNOWN_DIFFERENCES.items():
            lines.append(f"- `{case}` ({name}): {reason}")
    lines += [f"- `{name}` ({path.stem}): {reason}" for path in _test_files() for name, reason in _xfails(path)]
    return "## Known gaps\n\nExactly the strict xfails of the tests.\n\n" + "\n".join(lines) + "\n"


def _test_files() -> list[Path]:
    return sorted([*(ROOT / "tests" / "emulator").rglob("test_*.py"), *(ROOT / "tests" / "conformance").glob("*.py")])


def _xfails(path: Path) -> Iterator[tuple[str, str]]:
    """The functions below ``@pytest.mark.xfail(reason=...)``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.xfail":
                reason = next(keyword.value for keyword in mark.keywords if keyword.arg == "reason")
                yield node.name, ast.literal_eval(reason)


def _releases() -> str:
    from triton_pyb.emulator.stub.releases import SINCE

    by_release: dict[str, list[str]] = {}
    for feature, release in SINCE.items():
        by_release.setdefault(release, []).append(feature)
    text = (
        "## Other releases\n\n`release=` takes away what came later. Nothing but 24.10 was measured; these are read"
        " from the release branches of the\nPython backend.\n\n"
    )
    return text + "\n".join(_listed(release, by_release[release]) for release in sorted(by_release)) + "\n"


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        fresh = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
        print("docs/fidelity.md is up to date" if fresh else "docs/fidelity.md is out of date: run this script")
        return 0 if fresh else 1
    PAGE.write_text(text, encoding="utf-8")
    print(f"docs/fidelity.md: {len(text.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
