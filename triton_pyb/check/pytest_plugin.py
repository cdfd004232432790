"""``pytest --triton-check``: one test for each model of the repositories that pytest collects.

A folder is a model repository when it holds model folders with a ``config.pbtxt``. Options: ``--triton-
release`` as the command's ``--release``; ``triton_check_ignore`` in the ini file lists codes to leave out, each
with ``=`` and a reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

if TYPE_CHECKING:
    from triton_pyb.check.finding import Finding


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("triton_pyb")
    group.addoption("--triton-check", action="store_true", help="check model repositories: one test for each model")
    group.addoption("--triton-release", metavar="YY.MM", help="container release that --triton-check checks for")
    parser.addini("triton_check_ignore", "codes that --triton-check leaves out: CODE[:MODEL]=REASON", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse wrong options once, and not for every model."""
    if not config.getoption("--triton-check"):
        return
    from triton_pyb.check.runner import known_entries
    from triton_pyb.check.target import TargetError, known_release

    release = config.getoption("--triton-release")
    where = "--triton-release"
    try:
        if release is not None:
            known_release(release)
        where = f"triton_check_ignore in {config.inipath}"
        known_entries(_reasons(config))
    except TargetError as error:
        raise pytest.UsageError(f"{where}: {error.code} {error.what}; {error.fix}") from None


def _reasons(config: pytest.Config) -> dict[str, str]:
    lines: list[str] = config.getini("triton_check_ignore")
    return dict(_code_and_reason(line) for line in lines)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.name == "config.pbtxt" and parent.config.getoption("--triton-check"):
        return ModelConfigFile.from_parent(parent, path=file_path)
    return None


class ModelConfigFile(pytest.File):
    """A ``config.pbtxt``: its item is the model, checked together with its repository."""

    def collect(self) -> Iterator[pytest.Item]:
        yield ModelItem.from_parent(self, name=self.path.parent.name)


class ModelItem(pytest.Item):
    """One model."""

    def runtest(self) -> None:
        model = self.path.parent
        errors = [finding for finding in self._findings(model.parent) if finding.model == model.name]
        warnings = [finding for finding in errors if finding.severity == "warning"]
        errors = [finding for finding in errors if finding.severity == "error"]
        if warnings:
            from triton_pyb.check import report

            self.add_report_section("call", "triton-check", "\n\n".join(report.text(f) for f in warnings))
        if errors:
            raise ModelFaults(errors)

    def _findings(self, repository: Path) -> list[Finding]:
        """All findings of a repository: checked once in a session, however many models it has."""
        known: dict[Path, list[Finding]] = self.session.stash.setdefault(_FINDINGS, {})
        if repository not in known:
            from triton_pyb.check import check

            reasons = _reasons(self.config)
            known[repository] = check(repository, release=self.config.getoption("--triton-release"), ignore=reasons)
        return known[repository]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, ModelFaults):
            return ShownFaults(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"triton model {self.name}"


_FINDINGS = pytest.StashKey[dict[Path, "list[Finding]"]]()


def _code_and_reason(line: str) -> tuple[str, str]:
    code, _, reason = line.partition("=")
    return code.strip(), reason.strip()


class ModelFaults(Exception):
    """A model has errors."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__(findings)
        self.findings = findings

    def __str__(self) -> str:
        from triton_pyb.check import report

        return "\n\n".join(report.text(finding) for finding in self.findings)


class ShownFaults(TerminalRepr):
    """The faults as the command shows them; `reprcrash` is what pytest's short summary tells."""

    def __init__(self, faults: ModelFaults) -> None:
        first, *others = faults.findings
        more = f" (and {len(others)} more)" if others else ""
        self.shown = str(faults)
        self.reprcrash = ReprFileLocation(first.place.file, first.place.line, f"{first.code} {first.message}{more}")

    def toterminal(self, tw: TerminalWriter) -> None:
        tw.write(self.shown + "\n")
