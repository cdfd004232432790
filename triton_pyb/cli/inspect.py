"""``triton-pyb inspect``: what lies in a model folder or a repository."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from triton_pyb.repository.inspection import Inspected, inspect_folder, model_folders


@click.command("inspect")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "for_programs", is_flag=True, help="One JSON object instead of text.")
def command(folder: Path, for_programs: bool) -> None:
    """Show what lies in FOLDER, a model folder or a repository: built from what, for what, and what was edited."""
    found = [inspect_folder(model) for model in model_folders(folder)]
    if for_programs:
        click.echo(json.dumps({"folder": str(folder), "models": [model.to_dict() for model in found]}))
        return
    console = Console(highlight=False, soft_wrap=True)
    for model in found:
        _show(model, console)


def _show(model: Inspected, console: Console) -> None:
    if model.unreadable:
        console.print(Text.assemble((model.name, "bold"), "  config.pbtxt cannot be read"))
        console.print(Text(f"  {model.unreadable}", "red"))
    else:
        said = f"  {model.runs_on}  max_batch_size {model.max_batch_size}"
        console.print(Text.assemble((model.name, "bold"), said))
    for tensor in model.inputs:
        console.print(Text(f"  in   {tensor}"))
    for tensor in model.outputs:
        console.print(Text(f"  out  {tensor}"))
    if model.steps:
        console.print(Text(f"  steps     {' > '.join(model.steps)}"))
    console.print(Text(f"  versions  {', '.join(model.versions) or 'none'}"))
    manifest = model.manifest
    if manifest is None:
        console.print(Text("  built     not by triton_pyb", "dim"))
    else:
        release = f", for release {manifest.release}" if manifest.release else ""
        console.print(Text(f"  built     from {manifest.source} by triton_pyb {manifest.tool}{release}"))
        if manifest.was:
            console.print(Text(f"  is        what version {manifest.was} was (rolled back)"))
        if manifest.requirements:
            console.print(Text(f"  needs     {', '.join(manifest.requirements)}"))
    for word, names in (("edited", model.edited), ("missing", model.missing), ("added", model.added)):
        for name in names:
            console.print(Text(f"  {word:9} {name}", "yellow"))
    console.print()
