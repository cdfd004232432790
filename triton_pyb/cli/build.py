"""``triton-pyb build``: an application module to model folders."""

from __future__ import annotations

import json
import sys
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from triton_pyb.cli.graph import draw
from triton_pyb.config.releases import find_release
from triton_pyb.repository.build import Built, build


@click.command("build")
@click.argument("target", metavar="APP[:PIPELINE]")
@click.argument("repository", type=click.Path())
@click.option("--overwrite", is_flag=True, help="Lose what something else made, edits, and kept versions.")
@click.option("--new-version", is_flag=True, help="Publish as new versions; the ensemble, which pins them, last.")
@click.option("--keep", type=click.IntRange(min=0), help="Old versions that stay, with --new-version.  [default: 2]")
@click.option("--release", default="", metavar="RELEASE", help="Refuse what this container (24.10, latest) cannot run.")
@click.option(
    "--env",
    type=click.Choice(["none", "pack", "image"]),
    default="none",
    show_default=True,
    help="Packages: the container has them; an archive in the model folder; a Dockerfile beside REPOSITORY.",
)
@click.option("--env-archive", type=click.Path(), default="", help="An archive of conda-pack or venv-pack.")
@click.option("--machine", type=click.Choice(["x86_64", "aarch64"]), default="x86_64", help="Of the container.")
@click.option("--json", "for_programs", is_flag=True, help="One JSON object instead of a drawing.")
def command(target: str, repository: str, for_programs: bool, **options: Any) -> None:
    """Write the model folders of APP[:PIPELINE] into REPOSITORY.

    \b
      triton-pyb build app.py:pipeline models
      triton-pyb build package.module:step models --json

    The name may be left out where the module has one pipeline, or one step.
    """
    if options["keep"] is not None and not options["new_version"]:
        raise click.UsageError("--keep says how many old versions stay: it needs --new-version")
    built = build(target, repository, **options)
    if for_programs:
        click.echo(json.dumps(as_dict(built), ensure_ascii=False))
    else:
        show(built, target, Console(highlight=False))


def as_dict(built: Built) -> dict[str, Any]:
    """What ``--json`` prints."""
    return {
        "repository": str(built.repository),
        "entry": built.entry,
        "models": list(built.models),
        "third_party": list(built.third_party),
        "requirements": list(built.requirements),
        "release": built.release,
        "shm_bytes": built.shm_bytes,
        "image": str(built.image) if built.image else None,
        "versions": built.versions,
        "published": list(built.published),
        "notes": list(built.notes),
    }


def show(built: Built, target: str, console: Console) -> None:
    """The folders, the graph, what must be installed, and what the author should know."""
    console.print(Text.assemble("built ", (target, "bold"), " into ", (str(built.repository), "bold")))
    console.print()
    if built.graph is not None:
        console.print(Text(draw(built.graph)))
        console.print()
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for name in built.models:
        kind = "what a client calls" if name == built.entry else ""
        table.add_row(f"{built.repository}/{name}", Text(kind, "dim"))
    console.print(table)
    console.print()
    if built.versions is not None:
        console.print(Text(_published(built, built.versions)), soft_wrap=True)
    console.print(Text(f"needs where Triton runs: {_needs(built)}"), soft_wrap=True)
    if built.image is not None:
        console.print(Text(f"image: docker build {built.image}"), soft_wrap=True)
    for note in built.notes:
        console.print(Text(f"note: {note}", "yellow"), soft_wrap=True)


def _published(built: Built, versions: dict[str, int]) -> str:
    """Which version a client gets, and whether it is new."""
    if built.published:
        return "published: " + ", ".join(f"version {versions[name]} of {name}" for name in built.published)
    said = ", ".join(f"version {versions[name]} of {name}" for name in ([built.entry] if built.entry else versions))
    return f"nothing changed: {said} is this already"


def _needs(built: Built) -> str:
    """The packages; a container with another Python may need other versions than are in use here."""
    needs = ", ".join(built.requirements) or "nothing"
    here = sys.version_info[:2]
    if not built.release or find_release(built.release).python == here:
        return needs
    python = find_release(built.release).python_text
    return f"{needs}  (versions in use here, on Python {here[0]}.{here[1]}; that container has {python})"
