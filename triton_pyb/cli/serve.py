"""``triton-pyb serve``: a real Triton in the foreground."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from triton_pyb.cli.targets import repository_of

if TYPE_CHECKING:
    from triton_pyb.server import RealTriton


#: A TCP port; 0 for any free one.
PORT = click.IntRange(0, 65535)


@click.command("serve")
@click.argument("target")
@click.option("--http-port", type=PORT, default=8000, show_default=True, help="0: any free port.")
@click.option("--grpc-port", type=PORT, default=8001, show_default=True, help="0: any free port.")
@click.option("--metrics-port", type=PORT, default=8002, show_default=True, help="0: any free port.")
@click.option("--python", metavar="PATH", help="Python, or virtual environment, that runs the models.")
@click.option(
    "--model-control-mode",
    type=click.Choice(["none", "explicit", "poll"]),
    default="none",
    show_default=True,
)
@click.option("--load-model", "load_models", multiple=True, metavar="NAME", help="With explicit; '*' is everything.")
@click.option("--timeout-s", default=120.0, show_default=True, help="How long the models may take to load.")
@click.option("-v", "--verbose", is_flag=True, help="Follow the whole log, not only warnings, errors and prints.")
@click.argument("triton_arguments", nargs=-1, type=click.UNPROCESSED)
def command(target: str, verbose: bool, triton_arguments: tuple[str, ...], timeout_s: float, **options: Any) -> None:
    """Start a real Triton on TARGET and keep it until Ctrl-C.

    TARGET is a model repository, or a pipeline or step to build first (app.py:pipeline). Arguments after `--`
    go to tritonserver as they are.
    """
    from triton_pyb.server import RealTriton
    from triton_pyb.server import log as server_log

    console = Console()
    with _ended_by_signals(), repository_of(target) as (repository, _):
        server = RealTriton(repository, extra_args=triton_arguments, timeout_s=timeout_s, **options)
        follow = _Follower(server, console, server_log.readable if verbose else server_log.notable)
        try:
            _serve(server, console, follow, verbose)
        except KeyboardInterrupt:
            follow()
            console.print("stopping")
            server.stop()
            follow()
        finally:
            server.stop()
    console.print("stopped")


def _serve(server: RealTriton, console: Console, follow: _Follower, verbose: bool) -> None:
    _start(server, console, follow, verbose)
    while True:
        follow()
        server.raise_if_dead()
        time.sleep(0.2)


def _start(server: RealTriton, console: Console, follow: _Follower, verbose: bool) -> None:
    if verbose:
        server.start(follow)
        follow()
    else:
        with console.status("starting") as status:
            server.start(lambda doing: status.update(doing))
    console.print(server.description, highlight=False)
    show_models(_models(server), console)
    console.print(
        f"ready  {server.http_url}  {server.grpc_url}  {server.metrics_url}   Ctrl-C stops it",
        highlight=False,
        soft_wrap=True,
    )


def _models(server: RealTriton) -> Table:
    table = Table("model", "version", "backend", "inputs", "outputs", "max_batch_size")
    for entry in server.repository_index():
        if entry.get("state") != "READY":
            table.add_row(entry["name"], str(entry.get("version", "")), "", entry.get("reason", "not loaded"), "", "")
            continue
        config = server.model_config(entry["name"])
        backend = config.get("backend") or config.get("platform", "")
        if backend in server.stand_ins:
            backend += " (CPU stand-in)"
        table.add_row(
            entry["name"],
            str(entry["version"]),
            backend,
            tensors_text(config.get("input", [])),
            tensors_text(config.get("output", [])),
            str(config.get("max_batch_size", 0)),
        )
    return table


def show_models(table: Table, console: Console) -> None:
    """As wide as a person's terminal; whole rows where no terminal is, so that a program finds them."""
    if console.is_terminal:
        console.print(table)
        return
    wide = console.options.update(max_width=10_000)
    width = Measurement.get(console, wide, table).maximum
    for line in console.render_lines(table, wide.update(width=width), pad=False):
        console.out("".join(segment.text for segment in line), highlight=False)


def tensors_text(declared: list[dict[str, Any]]) -> str:
    return "\n".join(
        f"{tensor['name']} {tensor['data_type'].removeprefix('TYPE_')} {list(tensor['dims'])}".replace("[", "\\[")
        + (", optional" if tensor.get("optional") else "")
        for tensor in declared
    )


class _Follower:
    """Prints what the log has got since the last call, also after the end; a `waiting` callback of
    `RealTriton.start` too.
    """

    def __init__(self, server: RealTriton, console: Console, shown: Callable[[str], Iterable[str]]) -> None:
        self._server, self._console, self._shown = server, console, shown
        self._position = self._lines = 0

    def __call__(self, _: str = "") -> None:
        for line in self._shown(self._new_lines()):
            self._console.out(line, highlight=False)

    def _new_lines(self) -> str:
        if self._server.pid is None:  # its file has gone with it
            return "\n".join(self._server.log.split("\n")[self._lines :])
        with self._server.log_path.open("rb") as log:
            log.seek(self._position)
            whole_lines = log.read().rpartition(b"\n")[0]
        if whole_lines:
            self._position += len(whole_lines) + 1
            self._lines += whole_lines.count(b"\n") + 1
        return whole_lines.decode(errors="replace")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM ends the command as Ctrl-C does: in order, the server first."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
