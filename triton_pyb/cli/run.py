"""``triton-pyb run``: one request to a model, from the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from triton_pyb.cli.errors import UsageError
from triton_pyb.cli.inputs import read_inputs
from triton_pyb.cli.outputs import as_json, show
from triton_pyb.cli.targets import repository_of
from triton_pyb.runtime.errors import did_you_mean

#: Release whose configuration files are read here: the newest, which knows every field.
_NEWEST = "26.07"


@click.command("run")
@click.argument("target")
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="VALUE, @FILE or @- (standard input)."
)
@click.option("-m", "--model", metavar="NAME", help="Default: the one model that no other model uses.")
@click.option("--output", "outputs", multiple=True, metavar="NAME", help="Only these outputs.")
@click.option(
    "--on", "place", default="emulator", show_default=True, metavar="emulator|triton|URL", help="Who runs it."
)
@click.option("--python", metavar="PATH", help="Python that runs the models.")
@click.option("--json", "for_programs", is_flag=True, help="One JSON object instead of panels.")
def command(
    target: str,
    inputs: tuple[str, ...],
    model: str | None,
    outputs: tuple[str, ...],
    place: str,
    python: str | None,
    for_programs: bool,
) -> None:
    """Send one request to a model of TARGET and show the answer.

    TARGET is a model repository, or a pipeline or step to build first (app.py:pipeline).

    \b
      triton-pyb run app.py:pipeline --input image=@photo.jpg
      triton-pyb run repository --model resize --input image=@a.jpg --input image=@b.jpg
      triton-pyb run repository --input x=@array.npy --input n=3 --on triton --json

    An input given several times becomes the rows of one request.
    """
    with repository_of(target) as (repository, entry):
        name = _choose_model(repository, model or entry)
        with _running(repository, place, python) as triton:
            values = read_inputs(inputs, triton.model_config(name))
            answer = triton.infer(name, values, outputs=outputs or None)
    if for_programs:
        click.echo(as_json(name, answer))
    else:
        show(answer, Console())


def _choose_model(repository: Path, wanted: str | None) -> str:
    """The wanted model, or the only one that is no step of an ensemble."""
    from triton_pyb.emulator.errors import LoadFailed
    from triton_pyb.emulator.repository import model_folders, read_config

    folders = model_folders(repository)
    if wanted is not None:
        if wanted in folders:
            return wanted
        raise UsageError(
            "TPB709",
            f"there is no model '{wanted}'{did_you_mean(wanted, folders)}",
            str(repository),
            f"use one of: {', '.join(folders) or 'none, the folder is empty'}",
        )
    steps: set[str] = set()
    for folder in folders.values():
        try:
            config = read_config(folder, _NEWEST)
        except LoadFailed:
            continue  # whoever runs it will say so, if it is wanted
        steps.update(step.model_name for step in config.ensemble_scheduling.step)
    entries = [name for name in folders if name not in steps]
    if len(entries) == 1:
        return entries[0]
    raise UsageError(
        "TPB712",
        f"got {len(entries)} models that may be meant: {', '.join(entries) or 'none'}",
        str(repository),
        "choose one with --model NAME" if entries else "give a folder that holds model folders",
    )


@contextmanager
def _running(repository: Path, place: str, python: str | None) -> Iterator[Any]:
    """Something with ``model_config(model)`` and ``infer(model, inputs, outputs=)``."""
    if place == "emulator":
        from triton_pyb.emulator import EmulatedTriton

        with EmulatedTriton(repository, python=python) as emulated:
            yield emulated
    elif place == "triton":
        from triton_pyb.server import RealTriton

        server = RealTriton(repository, python=python)
        with Console(stderr=True).status("starting Triton") as status:
            server.start(lambda doing: status.update(doing))
        with server:
            yield server
    elif "://" in place:
        from triton_pyb.server import TritonClient

        with TritonClient(place) as client:
            yield client
    else:
        raise UsageError(
            "TPB713",
            f"got --on {place}{did_you_mean(place, ('emulator', 'triton'))}",
            "--on",
            "write emulator, triton, http://host:port or grpc://host:port",
        )
