"""``triton-pyb rollback``: publish an older version again."""

from __future__ import annotations

from pathlib import Path

import click

from triton_pyb.repository.rollback import rollback


@click.command("rollback")
@click.argument("repository", type=click.Path(path_type=Path))
@click.argument("model")
@click.option("--to", type=click.IntRange(min=1), metavar="VERSION", help="Default: the one before the newest.")
@click.option("--overwrite", is_flag=True, help="Lose edits made by hand.")
def command(repository: Path, model: str, to: int | None, overwrite: bool) -> None:
    """Publish an older version of MODEL (an ensemble, or a step built alone) again, as a new version.

    What `triton-pyb build --new-version` keeps can be brought back.
    """
    version = rollback(repository, model, to or 0, overwrite=overwrite)
    click.echo(f"version {to or 'before the newest'} of {model} is published again, as version {version}")
