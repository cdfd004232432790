from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from triton_pyb import __version__, cli
from triton_pyb.cli.errors import UsageError
from triton_pyb.runtime.errors import TritonPybError


def test_version() -> None:
    assert CliRunner().invoke(cli.main, ["--version"]).output == f"triton-pyb, version {__version__}\n"


@pytest.mark.parametrize("verb", cli.COMMANDS)
def test_every_verb_has_help(verb: str) -> None:
    answer = CliRunner().invoke(cli.main, [verb, "--help"])
    assert answer.exit_code == 0 and answer.output.startswith("Usage: ")


def test_help_names_every_verb() -> None:
    output = CliRunner().invoke(cli.main, ["-h"]).output
    assert all(f"  {verb} " in output for verb in cli.COMMANDS)


@pytest.mark.parametrize(("kind", "status"), [(UsageError, 2), (TritonPybError, 1)])
def test_an_error_is_three_lines_and_a_status(
    kind: type[TritonPybError], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    def fails() -> None:
        raise kind("TPB000", "it broke", "here", "mend it")

    monkeypatch.setattr(cli.main, "get_command", lambda ctx, name: fails)
    answer = CliRunner().invoke(cli.main, ["fails"])
    assert answer.exit_code == status
    assert answer.stderr.splitlines() == ["TPB000 it broke", "  where: here", "  fix:   mend it"]
    assert answer.stdout == ""


def test_an_unknown_verb_is_a_usage_error() -> None:
    answer = CliRunner().invoke(cli.main, ["srve"])
    assert answer.exit_code == 2 and "No such command 'srve'" in answer.stderr


def test_a_verb_is_imported_only_when_it_is_used() -> None:
    program = (
        "import sys; import triton_pyb.cli; print([name for name in ('tritonclient', 'rich') if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
