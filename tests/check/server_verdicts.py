"""Ask a real Triton about the examples of the rules, and compare its verdict with ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.check.examples import EXAMPLES
from tests.check.recorded import plain
from tests.check.variants import models, renamed, write
from triton_pyb.check import Finding, check
from triton_pyb.check.rules import RULES
from triton_pyb.server import RealTriton, ServerError

#: Stages that take the whole server down: such an example gets a server of its own.
ALONE = ("hang", "crash")

#: An exception during warm-up is a load error, and now and then the end of the server (SIGSEGV, 24.10).
AT_TIMES_DEADLY = ("TPB1408", "TPB1715")


@dataclass
class Answer:
    """One repository, asked."""

    code: str
    side: str  # "broken" or "good"
    expected: str  # "loads", "refused", "hang" or "crash"
    got: str
    same_words: bool = True
    detail: str = ""

    @property
    def agrees(self) -> bool:
        return self.expected == self.got


def asked(codes: Iterable[str] = ()) -> list[str]:
    """The examples that a server of 24.10 without GPU can be asked about."""
    chosen = set(codes)
    return [code for code, example in EXAMPLES.items() if not example.not_asked and (not chosen or code in chosen)]


def stage(code: str) -> str:
    """What the server does to the broken repository of a rule."""
    return RULES[code].stage if RULES[code].severity == "error" else ""


def focus(names: list[str]) -> str:
    """The model that the example is about: the ensemble when there is one."""
    for name in names:
        if name.rsplit("_", 1)[-1] == "e":
            return name
    return names[0]


def needs_own_server(code: str) -> bool:
    """True when the broken repository may take the server down."""
    return stage(code) in ALONE or code in AT_TIMES_DEADLY


def together(codes: list[str], folder: Path) -> Iterator[Answer]:
    """Ask one server in explicit mode about many examples, one model after the other."""
    jobs = []
    for code in codes:
        for side, files in (("broken", EXAMPLES[code].broken), ("good", EXAMPLES[code].good)):
            if needs_own_server(code) and side == "broken":
                continue
            prefix = f"{code.lower()}_{side}_"
            mine = renamed(files, {name: prefix + name for name in models(files)})
            write(mine, folder / "all")
            write(mine, folder / (code + side))
            findings = check(folder / (code + side), **EXAMPLES[code].options)
            jobs.append((code, side, focus(models(mine)), findings))
    extra = ["--exit-on-error=false", "--strict-readiness=false"]
    with RealTriton(folder / "all", model_control_mode="explicit", extra_args=extra) as server:
        for code, side, name, findings in jobs:
            yield ask(server, code, side, name, findings)


def ask(server: RealTriton, code: str, side: str, name: str, findings: list[Finding]) -> Answer:
    """Load one model and compare."""
    expected = "refused" if side == "broken" and stage(code) else "loads"
    before = len(server.log)
    try:
        server.load_model(name)
    except ServerError as error:
        written = server.log[before:] + str(error)
        said = [plain(finding.said) for finding in findings if finding.code == code]
        same = side == "good" or any(_unquoted(text) in _unquoted(written) for text in said if text)
        return Answer(code, side, expected, "refused", same, f"{error}\n    we say: {said}")
    server.unload_model(name)
    return Answer(code, side, expected, "loads")


def _unquoted(text: str) -> str:
    text = re.sub(r"<(REPO|BACKENDS)>[^\s']*|/[^\s']*/(all|repository|backends)/[^\s']*", "PATH", text)
    return re.sub(r"[\\\"]", "", text).replace("{{", "{").replace("}}", "}")


def alone(code: str, folder: Path, timeout_s: float) -> Answer:
    """Start a server on the broken repository of a rule that hangs or kills it."""
    write(EXAMPLES[code].broken, folder)
    server = RealTriton(folder, extra_args=["--exit-on-error=false", "--strict-readiness=false"], timeout_s=timeout_s)
    try:
        server.start()
    except ServerError as error:
        got = "crash" if "ended" in str(error) or "died" in str(error) else "hang"
        expected = got if code in AT_TIMES_DEADLY and got == "crash" else stage(code)
        return Answer(code, "broken", expected, got, detail=str(error))
    else:
        got = "loads" if server.is_model_ready(focus(models(EXAMPLES[code].broken))) else "refused"
        return Answer(code, "broken", "refused" if code in AT_TIMES_DEADLY else stage(code), got)
    finally:
        server.stop()
