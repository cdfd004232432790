"""``triton-pyb rollback``: publish an older version again."""

from __future__ import annotations

from pathlib import Path

import click

from triton_pyb.repository.rollback import rollback
from triton_pyb.repository.versions import KEEP


@click.command("rollback")
@click.argument("repository", type=click.Path(path_type=Path))
@click.argument("model")
@click.option("--to", type=click.IntRange(min=1), metavar="VERSION", help="Default: the one before the newest.")
@click.option("--keep", type=click.IntRange(min=0), default=KEEP, show_default=True, help="Old versions that stay.")
@click.option("--overwrite", is_flag=True, help="Lose edits made by hand.")
def command(repository: Path, model: str, to: int | None, keep: int, overwrite: bool) -> None:
    """Publish an older version of MODEL (an ensemble, or a step built alone) again, as a new version.

    What `triton-pyb build --new-version` keeps can be brought back.  Rolled back twice, it is two versions back.
    """
    done = rollback(repository, model, to or 0, keep=keep, overwrite=overwrite)
    click.echo(f"{model}: version {done.version} is what version {done.was} was")
    if done.dropped:
        click.echo(f"no longer kept: version {', '.join(map(str, done.dropped))}")
