"""``triton-pyb import``: hand-written model folders to an application module."""

from __future__ import annotations

from pathlib import Path

import click

from triton_pyb.repository.importing import import_folder


@click.command("import")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--into", type=click.Path(path_type=Path), metavar="FOLDER", help="Default: ./NAME_app")
def command(folder: Path, into: Path | None) -> None:
    """Read FOLDER, a model folder or a repository, and write an application that builds the same again.

    Models come along as they are; ensembles become pipelines that can be edited.
    """
    place = into or Path(f"{folder.absolute().name}_app")
    imported = import_folder(folder, place)
    click.echo(f"{imported.module} holds {', '.join(imported.models)}")
    for name, why in imported.kept.items():
        click.echo(f"'{name}' stays a folder: {why}")
    for why in imported.unreadable:
        click.echo(f"cannot be read, correct it before you build: {why}")
    click.echo(f"build it again:  triton-pyb build {imported.target} REPOSITORY")
