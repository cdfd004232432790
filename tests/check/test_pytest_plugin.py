"""``pytest --triton-check``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.examples import EXAMPLES, GOOD_CONFIG, MODEL_PY, model
from tests.check.variants import write

pytest_plugins = ["pytester"]


@pytest.fixture
def repository(pytester: pytest.Pytester) -> Path:
    folder = pytester.path / "repository"
    write(model(), folder)
    bad = GOOD_CONFIG.replace('"m"', '"bad"').replace("dims", "shape")
    write({"bad/config.pbtxt": bad, "bad/1/model.py": MODEL_PY}, folder)
    return folder


def test_one_item_for_each_model(pytester: pytest.Pytester, repository: Path) -> None:
    result = pytester.runpytest("--triton-check", "repository")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*config.pbtxt:4:* error TPB1011 ModelInput has no field 'shape'*"])


def test_nothing_without_the_option(pytester: pytest.Pytester, repository: Path) -> None:
    result = pytester.runpytest("repository")
    result.assert_outcomes()


def test_release_and_ignore(pytester: pytest.Pytester, repository: Path) -> None:
    write(EXAMPLES["TPB1801"].broken, repository)
    arguments = ("--triton-check", "--triton-release", "21.10", "repository")
    pytester.runpytest(*arguments).assert_outcomes(failed=2)
    pytester.makeini("[pytest]\ntriton_check_ignore =\n    TPB1801=patched server\n    TPB1011:bad=generated later\n")
    pytester.runpytest(*arguments).assert_outcomes(passed=2)


def test_the_short_summary_tells_the_fault(
    pytester: pytest.Pytester, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    result = pytester.runpytest("--triton-check", "repository")
    result.stdout.fnmatch_lines(["FAILED *::bad - TPB1011 ModelInput has no field 'shape'*(and 1 more)"])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("TPBX=why", "*ERROR: triton_check_ignore in *tox.ini: TPB711 there is no rule 'TPBX'*; name a rule such as *"),
        ("TPB17:=why", "*ERROR: triton_check_ignore in *tox.ini: TPB717 'TPB17:' has no model behind the colon; *"),
    ],
)
def test_a_wrong_entry_is_one_usage_error(pytester: pytest.Pytester, repository: Path, line: str, told: str) -> None:
    pytester.makeini(f"[pytest]\ntriton_check_ignore =\n    {line}\n")
    result = pytester.runpytest("--triton-check", "repository")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])
    assert "Traceback" not in str(result.stdout) + str(result.stderr)
    pytester.runpytest("repository").assert_outcomes()


def test_a_wrong_release_is_one_usage_error(pytester: pytest.Pytester, repository: Path) -> None:
    result = pytester.runpytest("--triton-check", "--triton-release", "99.01", "repository")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ERROR: --triton-release: TPB710 there is no Triton release '99.01'*"])
