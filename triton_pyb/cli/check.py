"""``triton-pyb check``: find the faults of a model repository before a server does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from triton_pyb.cli.targets import repository_of


def _reasons(values: tuple[str, ...]) -> dict[str, str]:
    """``("TPB1708=installed in the image",)`` -> code (or code:model) and reason."""
    found: dict[str, str] = {}
    for value in values:
        codes, _, reason = value.partition("=")
        found |= {code.strip(): reason.strip() for code in codes.split(",")}
    return found


@click.command(name="check")
@click.argument("repositories", nargs=-1, metavar="REPOSITORY...", type=click.Path())
@click.option(
    "--release", metavar="YY.MM", help="Container release of the target, e.g. 21.10 or latest (default: 24.10)."
)
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
)
@click.option(
    "--select", metavar="CODE", multiple=True, help="Only these codes, or codes that begin so; A,B or given again."
)
@click.option("--ignore", metavar="CODE[:MODEL][=REASON]", multiple=True, help="Leave a code out, with the reason.")
@click.option(
    "--disable-auto-complete-config",
    "--strict-model-config",
    "strict",
    is_flag=True,
    help="The server runs with this flag.",
)
@click.option("--model-config-name", default="", metavar="NAME", help="The server reads configs/NAME.pbtxt.")
@click.option("--gpus", type=click.IntRange(min=0), help="GPUs of the target (default: at least one).")
@click.option("--backends", metavar="NAME,...", help="Backends that the target has besides NVIDIA's.")
@click.option("--rate-limit", is_flag=True, help="The server runs with --rate-limit=execution_count.")
@click.option("--rate-limit-resource", metavar="NAME:COUNT", multiple=True, help="As given to the server.")
@click.option("--import", "import_models", is_flag=True, help="Import every model.py in a child process too.")
@click.option("--fix", "repair", is_flag=True, help="Make the safe repairs, then check again.")
@click.option("--warnings-as-errors", is_flag=True, help="Exit with 1 for warnings too.")
@click.option("--explain", metavar="CODE", help="Tell all about a rule, and check nothing.")
def command(
    repositories: tuple[str, ...],
    release: str | None,
    style: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    strict: bool,
    model_config_name: str,
    gpus: int | None,
    backends: str | None,
    rate_limit: bool,
    rate_limit_resource: tuple[str, ...],
    import_models: bool,
    repair: bool,
    warnings_as_errors: bool,
    explain: str | None,
) -> None:
    """Find every fault that Triton reports on loading, hangs on, dies of, or hides.

    REPOSITORY is a folder of model folders, the folder of one model, or app.py:pipeline, which is built for the
    occasion.

    No server is started, and no model code runs unless --import is given.  Exit status: 0 nothing or warnings only,
    1 errors, 2 the command itself is wrong, or there is nothing to check.
    """
    from triton_pyb.check import report
    from triton_pyb.check.command import Options, run_command
    from triton_pyb.check.target import TargetError
    from triton_pyb.cli.authored import Authored

    folders = ExitStack()  # what was built for the check goes again when it is over
    try:
        if explain:
            click.echo(run_explain(explain), nl=False)
            return
        if not repositories:
            raise click.UsageError("name a model repository, or --explain CODE")
        opened = [folders.enter_context(_folder_of(repository)) for repository in repositories]
        outcome = run_command(
            opened,
            Options(
                release=release,
                select=[code.strip() for value in select for code in value.split(",")],
                ignore=_reasons(ignore),
                strict=strict,
                gpus=gpus,
                backends=tuple(backends.split(",")) if backends else None,
                config_name=model_config_name,
                rate_limit=rate_limit,
                resources=_resources(rate_limit_resource),
                import_models=import_models,
            ),
            repair=repair,
        )
        for folder, named in zip(opened, repositories, strict=True):
            if folder != named:
                outcome.findings = list(Authored(folder, named).findings(outcome.findings))
    except TargetError as error:
        click.echo(str(error), err=True)
        sys.exit(2)
    finally:
        folders.close()
    for line in outcome.repairs:
        click.echo(f"fixed: {line}", err=style != "text")
    click.echo(report.render(outcome.findings, style, models=outcome.models, release=outcome.release), nl=False)
    for note in outcome.notes:
        click.echo(f"warning: {note}", err=True)
    if outcome.is_empty:
        sys.exit(2)
    failed = report.exit_status(outcome.findings) or (warnings_as_errors and bool(outcome.findings))
    sys.exit(int(failed))


@contextmanager
def _folder_of(repository: str) -> Iterator[str]:
    """A repository as it is; ``app.py:pipeline`` is built for the occasion."""
    is_target = ":" in Path(repository).name or repository.endswith(".py")
    if Path(repository).exists() or not is_target:
        if not (repository.endswith(".py") and Path(repository).is_file()):
            yield repository
            return
    with repository_of(repository) as (folder, _):
        yield str(folder)


def run_explain(code: str) -> str:
    """The explanation of a code, or of every code that begins so."""
    from triton_pyb.check import report
    from triton_pyb.check.rules import RULES
    from triton_pyb.check.runner import known_codes

    code = code.upper()
    known_codes([code])
    return "\n".join(report.explain(known) for known in RULES if known.startswith(code))


def _resources(values: tuple[str, ...]) -> dict[str, int]:
    found = {}
    for value in values:
        name, _, count = value.partition(":")
        if not count.split(":")[0].isdigit():
            raise click.BadParameter(f"{value!r} is not NAME:COUNT", param_hint="--rate-limit-resource")
        found[name] = int(count.split(":")[0])
    return found
