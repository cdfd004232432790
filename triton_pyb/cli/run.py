"""``triton-pyb run``: one request to a model, from the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray
from rich.console import Console

from triton_pyb.check.repository import is_model_folder
from triton_pyb.cli.errors import UsageError
from triton_pyb.cli.inputs import read_inputs
from triton_pyb.cli.outputs import as_json, show
from triton_pyb.cli.request_options import read_options
from triton_pyb.cli.saving import Saving
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
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Of the request.")
@click.option("--request-id", default="", metavar="ID", help="As the model and the server's log see it.")
@click.option("--sequence", default="", metavar="ID[:start][:end]", help="Correlation id, and what the request begins.")
@click.option(
    "--save", "folder", type=click.Path(path_type=Path), metavar="FOLDER", help="Pictures and other bytes to files."
)
@click.option("--json", "for_programs", is_flag=True, help="One JSON object, in a line, for each response.")
def command(
    target: str,
    inputs: tuple[str, ...],
    model: str | None,
    outputs: tuple[str, ...],
    place: str,
    python: str | None,
    parameters: tuple[str, ...],
    request_id: str,
    sequence: str,
    folder: Path | None,
    for_programs: bool,
) -> None:
    """Send one request to a model of TARGET and show the answer; of a decoupled model, each response as it comes.

    TARGET is a model repository, the folder of one model, or a pipeline or step to build first (app.py:pipeline).

    \b
      triton-pyb run app.py:pipeline --input image=@photo.jpg
      triton-pyb run repository --model resize --input image=@a.jpg --input image=@b.jpg
      triton-pyb run repository --input x=@array.npy --input n=3 --on triton --json
      triton-pyb run app.py:draw --input text=cat --save pictures

    An input given several times becomes the rows of one request.
    """
    options = read_options(parameters, request_id, sequence)
    saving = Saving(folder) if folder is not None else None
    console = Console()
    with repository_of(target) as (repository, entry):
        name = _choose_model(repository, model or entry)
        with _running(repository, place, python) as triton:
            config = triton.model_config(name)
            values = read_inputs(inputs, config)
            for answer in _answers(triton, config, values, outputs, options):
                files = saving.save(answer) if saving is not None else None
                if for_programs:
                    click.echo(as_json(name, answer, files))
                else:
                    show(answer, console, files)


def _answers(
    triton: Any, config: dict[str, Any], values: dict[str, Any], outputs: tuple[str, ...], options: dict[str, Any]
) -> Iterator[dict[str, NDArray[Any]]]:
    """One answer; of a decoupled model, which a request may get any number of, as they come."""
    if config.get("model_transaction_policy", {}).get("decoupled"):
        yield from triton.stream_infer(config["name"], values, outputs=outputs or None, **options)
    else:
        yield triton.infer(config["name"], values, outputs=outputs or None, **options)


def _choose_model(repository: Path, wanted: str | None) -> str:
    """The wanted model, or the only one that is no step of an ensemble."""
    from triton_pyb.emulator.errors import LoadFailed
    from triton_pyb.emulator.repository import model_folders, read_config

    alone = is_model_folder(str(repository))
    folders = {repository.resolve().name: repository} if alone else model_folders(repository)
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
    """Something with `model_config`, `infer` and `stream_infer`."""
    if place == "emulator":
        from triton_pyb.emulator import EmulatedTriton
        from triton_pyb.emulator.log import pass_on

        server = EmulatedTriton(repository, python=python)
        server.store.log.output_listeners[:] = [lambda _, line: pass_on("stderr", line)]  # stdout is the answer's
        with server:
            yield server
    elif place == "triton":
        from triton_pyb.server import RealTriton
        from triton_pyb.server import log as server_log

        real = RealTriton(repository, python=python)
        if is_model_folder(str(repository)):
            model = repository.resolve()
            real = RealTriton(model.parent, python=python, model_control_mode="explicit", load_models=[model.name])
        try:
            with Console(stderr=True).status("starting Triton") as status:
                real.start(lambda doing: status.update(doing))
            yield real
        finally:
            real.stop()
            printed = server_log.printed(real.log)
            if printed:
                click.echo(printed, err=True)
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
