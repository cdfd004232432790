"""``triton-pyb diff``: what differs between two model folders or repositories."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from triton_pyb.repository.difference import Change, differences


@click.command("diff")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--json", "for_programs", is_flag=True, help="One JSON object instead of text.")
@click.pass_context
def command(ctx: click.Context, a: Path, b: Path, for_programs: bool) -> None:
    """Show what differs between A and B, each a model folder or a repository; exit status 1 when anything does."""
    changes = differences(a, b)
    if for_programs:
        click.echo(json.dumps({"changes": [change._asdict() for change in changes]}))
    else:
        _show(changes, Console(highlight=False, soft_wrap=True))
    ctx.exit(1 if changes else 0)


_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def _show(changes: list[Change], console: Console) -> None:
    if not changes:
        console.print("no difference")
    for model, group in itertools.groupby(changes, lambda change: change.model):
        console.print(Text(model, "bold"))
        for change in group:
            console.print(Text(f"  {change.kind:11}  {change.what}"))
            for line in change.lines:
                console.print(Text(f"    {line}", _STYLES.get(line[:1], "")))
