"""Run the probes in the emulator and compare with the recorded answers of a real Triton 24.10.

    python -m tests.probes.run_emulator [--only REGEX] [--verbose] [--inline] [--renamed] [--python PYTHON]

Prints the probes that differ and the count of those that agree.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.probes.compare import crashed, differences
from triton_pyb.emulator import EmulatedTriton, inference
from triton_pyb.emulator.errors import InferenceFailed, NeverAnswered
from triton_pyb.emulator.messages import WireRequest, WireTensor, wire_tensor

HERE = Path(__file__).resolve().parent

_UNPACKED = re.compile(r"/tmp/[\w./-]*?/1/model\.py")

#: Loaded by a probe, never at the start.
_UNLOADED = "unloaded"

#: Other names for the models and tensors of the kit: no answer may hang on a name.
RENAMES = {
    r"probe_host": "roost_of_all",
    r"helper_(?=identity|unloaded|batched|bytes|bf16|echo|two_out|error|decoupled|wrong|ensemble|files|fail)": "aide_",
    r"\bINPUT0": "Image_in",
    r"\bOUTPUT(\d)": r"Out_\1",
    r"\bRESULT\b": "REPORT",
    r"\bX_(?=FP|BF|INT|UINT|BOOL|BYTES)": "W_",
    r"\bY_(?=FP32|BYTES)": "Z_",
    r"\bMETA\b": "NOTES",
    r"\bMODE\b": "FASHION",
}
#: The server hands inputs over in the order of a hash of their names: other names, another order.
NOT_UNDER_OTHER_NAMES = ("recv_input_order",)


def renamed(text: str) -> str:
    """`text` with every name of `RENAMES` replaced."""
    for old, new in RENAMES.items():
        text = re.sub(old, new, text)
    return text


@dataclass
class Kit:
    """The probes, and what a real server answered to them."""

    folder: Path
    cases: Any
    recorded: dict[str, Any]
    host: str = "probe_host"

    @classmethod
    def original(cls) -> Kit:
        return cls.load(HERE, (HERE / "real_results.json").read_text(encoding="utf-8"))

    @classmethod
    def under_other_names(cls, folder: Path) -> Kit:
        """The same kit, written to `folder` with all models and tensors renamed."""
        (folder / "probe_cases.py").write_text(renamed((HERE / "probe_cases.py").read_text(encoding="utf-8")))
        kit = cls.load(folder, renamed((HERE / "real_results.json").read_text(encoding="utf-8")))
        kit.host = renamed(kit.host)
        for name in NOT_UNDER_OTHER_NAMES:
            del kit.cases.PROBES[name]
        return kit

    @classmethod
    def load(cls, folder: Path, recorded: str) -> Kit:
        spec = importlib.util.spec_from_file_location("probe_cases", folder / "probe_cases.py")
        assert spec is not None and spec.loader is not None
        cases = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cases)
        return cls(folder, cases, json.loads(recorded))

    def write_repository(self, repository: Path) -> list[str]:
        """The host and its BLS targets; the names to load."""
        models = {self.host: (self.cases.HOST_SOURCE, self.cases.HOST_CONFIG), **self.cases.HELPERS}
        for name, (source, config) in models.items():
            folder = repository / name / "1"
            folder.mkdir(parents=True)
            text = config if isinstance(config, str) else self.cases.to_pbtxt(name, config)
            (folder.parent / "config.pbtxt").write_text(text)
            if source is not None:
                (folder / "model.py").write_text(source)
        return [name for name in models if not name.endswith(_UNLOADED)]

    def request(self, name: str) -> WireRequest:
        """The request a probe is documented to be sent with."""
        spec = self.cases.PROBES[name].request
        inputs = [_tensor(*tensor) for tensor in spec["inputs"]]
        return WireRequest(
            [*inputs, wire_tensor("PROBE", "BYTES", [name])],
            list(spec.get("outputs", [])),
            request_id=spec.get("request_id", ""),
            correlation_id=spec.get("sequence_id", 0),
            flags=int(spec.get("sequence_start", False)) | int(spec.get("sequence_end", False)) << 1,
            timeout_us=spec.get("timeout_us", 0),
            priority=spec.get("priority", 0),
            parameters=spec.get("parameters", {}),
            model_name=self.host,
        )


@contextmanager
def probe_server(
    kit: Kit, inline: bool = False, python: str | None = None, release: str = "24.10"
) -> Iterator[tuple[EmulatedTriton, Path]]:
    """A running emulator with the models of the kit, and the folder of its repository."""
    with tempfile.TemporaryDirectory() as scratch:
        repository = Path(scratch).resolve() / "repo"
        names = kit.write_repository(repository)
        environment = {"PROBE_CODE": str(kit.folder)}
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
            python=python,
        )
        with server:
            yield server, repository


def _tensor(name: str, datatype: str, shape: list[int], data: list[Any]) -> WireTensor:
    if datatype == "BF16":
        bits = np.array(data, np.float32).view(np.uint32) >> 16
        return WireTensor(name, datatype, tuple(shape), bits.astype(np.uint16).reshape(shape))
    return wire_tensor(name, datatype, data, shape)


def run_probe(kit: Kit, server: EmulatedTriton, repository: Path, name: str) -> dict[str, Any]:
    """The probe's answer in the layout of the recorded ones; ``{"fault": ...}`` where a real server dies."""
    try:
        model = server._model(kit.host)
        responses = inference.submit(model, kit.request(name)).result(60)
        answer = inference.one_response(responses, kit.host)
    except NeverAnswered as fault:
        return {"fault": str(fault)}
    except InferenceFailed as failure:
        return {"error": failure.message}
    text: str = answer.outputs[0].array.ravel()[0].decode()
    for folder, placeholder in ((str(repository), "<REPO>"), (str(kit.folder), "<PROBES>")):
        text = text.replace(folder, placeholder)
    result: dict[str, Any] = json.loads(text)
    return result


def verdict(kit: Kit, name: str, ours: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """The leaves that differ from the recording; where the real server died, ours must be a named fault."""
    real = kit.recorded["probes"][name]
    if crashed(real):
        return [] if "fault" in ours else [("", "a dead or hanging server", ours)]
    found = [(path, _unpathed(theirs), _unpathed(mine)) for path, theirs, mine in differences(real, ours)]
    return [leaf for leaf in found if leaf[1] != leaf[2]]


def _unpathed(leaf: Any) -> Any:
    # Where a server unpacks the files of load_model() is its own affair.
    return _UNPACKED.sub("<TEMPORARY>/1/model.py", leaf) if isinstance(leaf, str) else leaf


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--inline", action="store_true")
    parser.add_argument("--renamed", action="store_true", help="under other names for models and tensors")
    parser.add_argument("--python", help="interpreter of the models' processes")
    parser.add_argument("--kit", type=Path, help="another folder with probe_cases.py and real_results.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        kit = Kit.original()
        if options.renamed:
            kit = Kit.under_other_names(Path(scratch))
        elif options.kit:
            kit = Kit.load(options.kit, (options.kit / "real_results.json").read_text(encoding="utf-8"))
            kit.cases.PROBES = {
                name: probe for name, probe in kit.cases.PROBES.items() if name in kit.recorded["probes"]
            }
        return _report(kit, options)


def _report(kit: Kit, options: argparse.Namespace) -> int:
    names = [name for name in kit.cases.PROBES if re.search(options.only, name)]
    dangerous = [name for name in names if kit.cases.PROBES[name].danger]
    agree = 0
    groups = [[name for name in names if name not in dangerous], *([name] for name in dangerous)]
    for group in groups:
        with probe_server(kit, options.inline, options.python) as (server, repository):
            for name in group:
                found = verdict(kit, name, run_probe(kit, server, repository, name))
                agree += not found
                _print(name, found, options.verbose)
    print(f"{agree} of {len(names)} probes agree with the real server")
    return 0 if agree == len(names) else 1


def _print(name: str, found: list[tuple[str, Any, Any]], verbose: bool) -> None:
    if found:
        print(f"differ {name} ({len(found)} leaves)")
    for path, theirs, mine in found[: None if verbose else 4]:
        print(f"    {path}\n      real {theirs!r}\n      ours {mine!r}")


if __name__ == "__main__":
    sys.exit(main())
