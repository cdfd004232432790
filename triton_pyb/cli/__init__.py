"""The command `triton-pyb`: arguments to one call each.

A verb is a module with a click command named ``command``; it is imported when it is used, so that
``triton-pyb check`` does not wait for a Triton client.
"""

from __future__ import annotations

import importlib
from typing import Any

import click

from triton_pyb import __version__
from triton_pyb.cli.console import INTERRUPTED, ended_quietly, show_anything, show_error
from triton_pyb.runtime.errors import TritonPybError

#: Verb -> module.  The order is that of ``--help``.
COMMANDS = {
    "build": "triton_pyb.cli.build",
    "check": "triton_pyb.cli.check",
    "diff": "triton_pyb.cli.diff",
    "import": "triton_pyb.cli.import_",
    "inspect": "triton_pyb.cli.inspect",
    "rollback": "triton_pyb.cli.rollback",
    "run": "triton_pyb.cli.run",
    "serve": "triton_pyb.cli.serve",
    "emulate": "triton_pyb.cli.emulate",
}


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name]).command
        return command

    def main(self, *args: Any, **options: Any) -> Any:
        show_anything()
        with ended_quietly():
            return super().main(*args, **options)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["for_programs"] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except TritonPybError as error:
            ctx.exit(show_error(error, ctx.meta["for_programs"]))
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="triton-pyb")
def main() -> None:
    """Write, test, check and package models for Triton's Python backend."""
