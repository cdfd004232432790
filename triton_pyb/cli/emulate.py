"""``triton-pyb emulate``: the emulator behind Triton's own ports, with tritonserver's own flags."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from triton_pyb.cli.errors import UsageError
from triton_pyb.runtime.errors import SeveralErrors, TritonPybError, did_you_mean

if TYPE_CHECKING:
    from triton_pyb.emulator.triton import EmulatedTriton

#: Flags of tritonserver 24.10 that change nothing here; each is named when it is given.
_WITHOUT_EFFECT = (
    "--log-info --log-warning --log-error --log-format --log-file --id --allow-http --allow-grpc --allow-metrics"
    " --http-thread-count --http-restricted-api --http-header-forward-pattern --reuse-http-port --reuse-grpc-port"
    " --http-address --grpc-address --metrics-address --grpc-infer-allocation-pool-size --grpc-max-response-pool-size"
    " --grpc-use-ssl --grpc-keepalive-time --allow-gpu-metrics --allow-cpu-metrics --metrics-interval-ms"
    " --metrics-config --trace-config --trace-file --trace-level --trace-rate --trace-count --backend-directory"
    " --backend-config --repoagent-directory --cache-config --cache-directory --rate-limit --rate-limit-resource"
    " --pinned-memory-pool-byte-size --cuda-memory-pool-byte-size --cuda-virtual-address-size"
    " --min-supported-compute-capability --buffer-manager-thread-count --host-policy --model-load-gpu-limit"
    " --model-load-thread-count --model-load-retry-count --model-namespacing --enable-peer-access"
    " --model-config-name --allow-vertex-ai --allow-sagemaker"
).split()
_TRUE = click.BOOL


#: A TCP port; 0 for any free one.
PORT = click.IntRange(0, 65535)


@click.command("emulate", context_settings={"ignore_unknown_options": True})
@click.argument("repository", required=False, type=click.Path())
@click.option("--model-repository", "repositories", multiple=True, help="As REPOSITORY; may be repeated.")
@click.option("--http-port", type=PORT, default=8000, show_default=True, help="0: any free port.")
@click.option("--grpc-port", type=PORT, default=8001, show_default=True, help="0: any free port.")
@click.option("--metrics-port", type=PORT, default=8002, show_default=True, help="0: any free port.")
@click.option(
    "--model-control-mode", type=click.Choice(["none", "explicit", "poll"]), default="none", show_default=True
)
@click.option("--load-model", "load_models", multiple=True, metavar="NAME", help="With explicit; '*' is everything.")
@click.option("--repository-poll-secs", default=15.0, show_default=True, help="How often poll mode looks.")
@click.option("--strict-readiness", type=_TRUE, default=True, show_default=True)
@click.option("--exit-on-error", type=_TRUE, default=True, show_default=True)
@click.option("--exit-timeout-secs", default=30, show_default=True, help="How long models may take to finalize.")
@click.option("--disable-auto-complete-config", is_flag=True)
@click.option("--log-verbose", default=0, show_default=True)
@click.option("--mode", type=click.Choice(["strict", "faithful"]), default="strict", show_default=True)
@click.option("--strict-off", multiple=True, metavar="CHECK", help="A strict check to leave out.")
@click.option("--release", default="24.10", show_default=True, help="The container release to emulate.")
@click.option("--gpus", default=0, show_default=True, help="GPUs of the emulated machine.")
@click.option("--python", metavar="PATH", help="The interpreter that runs the models.")
@click.option(
    "--execute-timeout-secs",
    "execute_timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    help="End a model whose execute takes longer; default: wait, as Triton does.",
)
@click.argument("others", nargs=-1, type=click.UNPROCESSED)
def command(repository: str | None, repositories: tuple[str, ...], others: tuple[str, ...], **options: Any) -> None:
    """Serve REPOSITORY with the emulator until Ctrl-C or SIGTERM.

    Speaks Triton's HTTP and gRPC protocols and writes its log in tritonserver's form. Flags of tritonserver
    that are not listed here are named and have no effect.
    """
    folders = [*([repository] if repository else []), *repositories]
    if not folders:
        raise UsageError(
            "TPB720",
            "no model repository was given",
            "triton-pyb emulate",
            "name a folder: triton-pyb emulate model_repository",
        )
    for folder in folders:
        if not Path(folder).is_dir():
            raise UsageError(
                "TPB722", f"there is no folder '{folder}'", "triton-pyb emulate", "name a model repository"
            )
    for flag in _ignored(others):
        click.echo(f"triton-pyb emulate does not take {flag}: it has no effect here", err=True)
    sys.exit(_serve(folders, **options))


def _ignored(arguments: tuple[str, ...]) -> list[str]:
    """The flags among `arguments`; a value that stands apart belongs to the flag before it."""
    flags = []
    previous = ""
    for argument in arguments:
        flag, has_value, _ = argument.partition("=")
        if flag in _WITHOUT_EFFECT:
            flags.append(flag)
        elif argument.startswith("-") or not previous:
            raise UsageError(
                "TPB721",
                f"got '{argument}'{did_you_mean(flag, _WITHOUT_EFFECT)}",
                "triton-pyb emulate",
                "leave it out, or see triton-pyb emulate --help",
            )
        previous = flag if flag in _WITHOUT_EFFECT and not has_value else ""
    return list(dict.fromkeys(flags))


def _serve(
    folders: list[str],
    http_port: int,
    grpc_port: int,
    metrics_port: int,
    strict_readiness: bool,
    exit_on_error: bool,
    exit_timeout_secs: int,
    disable_auto_complete_config: bool,
    log_verbose: int,
    repository_poll_secs: float,
    load_models: tuple[str, ...],
    **options: Any,
) -> int:
    from triton_pyb.emulator.endpoints import Endpoints
    from triton_pyb.emulator.triton import EmulatedTriton
    from triton_pyb.server.ports import choose_ports

    ports = choose_ports({"http": http_port, "grpc": grpc_port, "metrics": metrics_port})
    stopped, stop = os.pipe()  # a handler may interrupt the very wait for an Event, which then never ends
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os.write(stop, b"."))
    triton = EmulatedTriton(
        folders,
        auto_complete=not disable_auto_complete_config,
        load_models=load_models,
        exit_on_error=exit_on_error,
        **options,
    )
    _write_log(triton, log_verbose)
    try:
        triton.start()
    except TritonPybError as error:
        for each in error.errors if isinstance(error, SeveralErrors) else [error]:
            click.echo(str(each), err=True)
        return 1
    endpoints = Endpoints(
        triton.store,
        http_port=ports["http"],
        grpc_port=ports["grpc"],
        metrics_port=ports["metrics"],
        strict_readiness=strict_readiness,
    )
    endpoints.start()
    for protocol, service in (
        ("grpc", "GRPCInferenceService"),
        ("http", "HTTPService"),
        ("metrics", "Metrics Service"),
    ):
        triton.store.log.server("INFO", f"Started {service} at 127.0.0.1:{endpoints.ports[protocol]}")
    while not select.select([stopped], [], [], repository_poll_secs)[0]:
        if options["model_control_mode"] == "poll":
            triton.poll()
    return _stop(triton, endpoints, exit_timeout_secs)


def _write_log(triton: EmulatedTriton, verbose: int) -> None:
    from triton_pyb.emulator.log import writer

    log = triton.store.log
    log.settings["log_verbose_level"] = verbose
    log.listeners.append(writer(sys.stderr))


def _stop(triton: EmulatedTriton, endpoints: Any, timeout_s: int) -> int:
    endpoints.stop()
    ending = threading.Thread(target=triton.stop, daemon=True)
    ending.start()
    ending.join(timeout_s)
    if ending.is_alive():
        triton.store.log.server("ERROR", "Exit timeout expired. Exiting immediately.")
        return 1
    return 0
