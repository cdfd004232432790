"""Run the probes in the emulator and compare with the recorded answers of a real Triton 24.10.

    python -m tests.probes.run_emulator [--only REGEX] [--verbose] [--inline]

Prints the probes that differ and the count of those that agree.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tests.probes.compare import crashed, differences
from triton_pyb.emulator import EmulatedTriton, inference
from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.emulator.messages import WireRequest, WireTensor, wire_tensor

# The kit is untyped data.
probe_cases: Any = importlib.import_module("tests.probes.probe_cases")

HERE = Path(__file__).resolve().parent
HOST = "probe_host"
_RECORDED = json.loads((HERE / "real_results.json").read_text())

#: Loaded by a probe, never at the start.
_UNLOADED = ("helper_unloaded",)


def write_model(repository: Path, name: str, source: str | None, config: dict[str, Any] | str) -> None:
    """Write one model folder of the kit."""
    folder = repository / name / "1"
    folder.mkdir(parents=True)
    text = config if isinstance(config, str) else probe_cases.to_pbtxt(name, config)
    (folder.parent / "config.pbtxt").write_text(text)
    if source is not None:
        (folder / "model.py").write_text(source)


def write_repository(repository: Path, rename: Callable[[str], str] = lambda text: text) -> list[str]:
    """The host of the probes and its BLS targets; the names to load."""
    models = {HOST: (probe_cases.HOST_SOURCE, probe_cases.HOST_CONFIG), **probe_cases.HELPERS}
    for name, (source, config) in models.items():
        text = probe_cases.to_pbtxt(name, config)
        write_model(repository, rename(name), rename(source) if source else None, rename(text))
    return [rename(name) for name in models if name not in _UNLOADED]


@contextmanager
def probe_server(
    rename: Callable[[str], str] = lambda text: text, code: Path = HERE, inline: bool = False, release: str = "24.10"
) -> Iterator[tuple[EmulatedTriton, Path]]:
    """A running emulator with the models of the kit."""
    with tempfile.TemporaryDirectory() as scratch:
        repository = Path(scratch).resolve() / "repo"
        names = write_repository(repository, rename)
        environment = {"PROBE_CODE": str(code)}
        if inline:
            os.environ.update(environment)
        server = EmulatedTriton(
            str(repository),
            mode="faithful",
            model_control_mode="explicit",
            load_models=names,
            environment=environment,
            inline=inline,
            release=release,
        )
        with server:
            yield server, repository


def probe_request(name: str, rename: Callable[[str], str] = lambda text: text) -> WireRequest:
    """The request a probe is documented to be sent with."""
    spec = probe_cases.PROBES[name].request
    inputs = [_tensor(rename(tensor), *rest) for tensor, *rest in spec["inputs"]]
    inputs.append(wire_tensor(rename("PROBE"), "BYTES", [name]))
    return WireRequest(
        inputs,
        [rename(output) for output in spec.get("outputs", [])],
        request_id=spec.get("request_id", ""),
        correlation_id=spec.get("sequence_id", 0),
        flags=int(spec.get("sequence_start", False)) | int(spec.get("sequence_end", False)) << 1,
        timeout_us=spec.get("timeout_us", 0),
        priority=spec.get("priority", 0),
        parameters=spec.get("parameters", {}),
    )


def _tensor(name: str, datatype: str, shape: list[int], data: list[Any]) -> WireTensor:
    if datatype == "BF16":
        bits = np.array(data, np.float32).view(np.uint32) >> 16
        return WireTensor(name, datatype, tuple(shape), bits.astype(np.uint16).reshape(shape))
    return wire_tensor(name, datatype, data, shape)


def run_probe(server: EmulatedTriton, name: str, rename: Callable[[str], str] = lambda text: text) -> dict[str, Any]:
    """The probe's answer in the layout of the recorded ones; ``{"fault": ...}`` where a real server dies."""
    request = probe_request(name, rename)
    try:
        model = server._model(rename(HOST))
        request.model_name = model.name
        responses = inference.submit(model, request).result(60)
        answer = inference.one_response(responses, model.name)
    except InferenceFailed as failure:
        key = "fault" if failure.code.startswith("TPB") or type(failure).__name__ == "NeverAnswered" else "error"
        return {key: str(failure)}
    result: dict[str, Any] = json.loads(answer.outputs[0].array.ravel()[0])
    return result


def recorded(name: str) -> dict[str, Any]:
    """What the real server answered."""
    entry: dict[str, Any] = _RECORDED["probes"][name]
    return entry


def recorded_log(name: str) -> list[str]:
    """The lines the real server logged during a probe, time and process id replaced."""
    lines: list[str] = _RECORDED["logs"].get(name, [])
    return lines


def normalized(value: Any, repository: Path) -> Any:
    """The answer with the folders of this run replaced by the recording's placeholders."""
    text = json.dumps(value)
    for folder, placeholder in ((str(repository), "<REPO>"), (str(HERE), "<PROBES>")):
        text = text.replace(folder, placeholder)
    return json.loads(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--inline", action="store_true")
    options = parser.parse_args()
    agree = total = 0
    with probe_server(inline=options.inline) as (server, repository):
        for name, probe in probe_cases.PROBES.items():
            if probe.danger or not re.search(options.only, name):
                continue
            agree, total = _count(server, repository, name, options.verbose, agree, total)
        for name, probe in probe_cases.PROBES.items():
            if probe.danger and re.search(options.only, name):
                with probe_server(inline=options.inline) as (fresh, folder):
                    agree, total = _count(fresh, folder, name, options.verbose, agree, total)
    print(f"{agree} of {total} probes agree with the real server")
    return 0 if agree == total else 1


def _count(
    server: EmulatedTriton, repository: Path, name: str, verbose: bool, agree: int, total: int
) -> tuple[int, int]:
    real, ours = recorded(name), normalized(run_probe(server, name), repository)
    if crashed(real):
        print(f"died   {name}: {ours.get('fault', ours)}")
        return agree + ("fault" in ours), total + 1
    found = differences(real, ours)
    if found:
        print(f"differ {name} ({len(found)} leaves)")
        for path, theirs, mine in found[: None if verbose else 4]:
            print(f"    {path}\n      real {theirs!r}\n      ours {mine!r}")
    return agree + (not found), total + 1


if __name__ == "__main__":
    sys.exit(main())
