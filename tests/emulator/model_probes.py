"""Whole models of the recorded probes, served by the emulator and called by tritonclient.

python -m tests.emulator.model_probes        # prints agree/total over every call
"""

from __future__ import annotations

import json
import queue
import re
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

from tests.probes import compare
from tests.probes import probe_cases as _untyped_cases
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.endpoints import Endpoints

probe_cases: Any = _untyped_cases
REAL: dict[str, Any] = json.loads(Path(probe_cases.__file__).with_name("real_results.json").read_text())["models"]
PROBES: dict[str, Any] = {name: probe for name, probe in probe_cases.MODEL_PROBES.items() if name in REAL}
_NUMPY = {"FP32": "f4", "FP64": "f8", "INT32": "i4", "INT64": "i8", "UINT8": "u1", "BOOL": "?", "BYTES": "O"}
#: A real client waits this long and longer for what never comes.
_HANG_S = 1.0


class ProbeServer:
    """An emulated server with the probes' helper models; each probe's own model is loaded for its turn."""

    def __init__(self, folder: Path) -> None:
        self.repository, self.marks = folder / "repo", folder / "marks"
        self.marks.mkdir()
        for name, (source, config) in probe_cases.HELPERS.items():
            self._write(name, source, config)
        environment = {"PROBE_OUT": str(self.marks), "PROBE_CODE": str(Path(probe_cases.__file__).parent)}
        self.triton = EmulatedTriton(
            self.repository,
            mode="faithful",
            model_control_mode="explicit",
            load_models=[name for name in probe_cases.HELPERS if "unloaded" not in name],
            environment=environment,
        )
        self.ports: dict[str, int] = {}

    @contextmanager
    def running(self) -> Iterator[ProbeServer]:
        with self.triton:
            endpoints = Endpoints(self.triton.store, grpc_port=0, metrics_port=0, strict_readiness=False)
            endpoints.start()
            self.ports = endpoints.ports
            try:
                yield self
            finally:
                endpoints.stop()

    def _write(self, name: str, source: str, config: Any) -> None:
        folder = self.repository / name
        (folder / "1").mkdir(parents=True)
        text = config if isinstance(config, str) else probe_cases.to_pbtxt(name, config)
        (folder / "config.pbtxt").write_text(text)
        if source is not None:
            (folder / "1" / "model.py").write_text(source)

    def answer(self, name: str) -> dict[str, Any]:
        """Everything observed of one probe, in the layout of the recording."""
        probe = PROBES[name]
        self._write(name, probe["source"], probe["config"])
        result: dict[str, Any] = {}
        client = tritonclient.http.InferenceServerClient(f"127.0.0.1:{self.ports['http']}", network_timeout=60.0)
        try:
            client.load_model(name)
            result["load"] = "ok"
        except InferenceServerException as error:
            result["load_error"] = self._clean(error.message())
        if "load_error" not in result:
            result["calls"] = [self._calls(name, call, probe["stagger"]) for call in probe["calls"]]
            client.unload_model(name)
            self._await_unloaded(name)
        client.close()
        mark = self.marks / f"{name}.json"
        if mark.exists():
            result["marker"] = [json.loads(probe_cases.norm(line)) for line in mark.read_text().splitlines()]
        return result

    def _await_unloaded(self, name: str) -> None:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if any(f"successfully unloaded '{name}'" in record.message for record in self.triton.log):
                return
            time.sleep(0.02)

    def _calls(self, name: str, call: Any, stagger_s: float) -> Any:
        if not isinstance(call, list):
            return self._call(name, call)
        with ThreadPoolExecutor(len(call)) as pool:  # concurrent, one after the other has begun
            futures = []
            for one in call:
                futures.append(pool.submit(self._call, name, one))
                time.sleep(stagger_s)
            return [future.result() for future in futures]

    def _call(self, name: str, call: dict[str, Any]) -> dict[str, Any]:
        protocol = call.get("protocol", "http")
        client = tritonclient.http.InferenceServerClient(f"127.0.0.1:{self.ports['http']}")
        if protocol == "ready":
            return {"ready": client.is_model_ready(name)}
        if protocol == "config":
            return {"config": client.get_model_config(name)}
        if protocol == "metrics":
            url = f"http://127.0.0.1:{self.ports['metrics']}/metrics"
            text = urllib.request.urlopen(url, timeout=10).read().decode()
            return {"metrics": [line for line in text.splitlines() if call["grep"] in line]}
        if protocol == "grpc":
            return self._grpc(name, call)
        if protocol == "stream":
            return self._stream(name, call)
        return self._http(name, call)

    def _http(self, name: str, call: dict[str, Any]) -> dict[str, Any]:
        timeout_s = min(call.get("timeout", 20), _HANG_S) if _hangs(name) else call.get("timeout", 20)
        client = tritonclient.http.InferenceServerClient(
            f"127.0.0.1:{self.ports['http']}", network_timeout=timeout_s, connection_timeout=timeout_s
        )
        outputs = [tritonclient.http.InferRequestedOutput(o) for o in call.get("outputs", [])] or None
        options: dict[str, Any] = {
            key: call[key] for key in ("request_id", "sequence_id", "priority", "parameters") if key in call
        }
        if "sequence_id" in call:
            options |= {key: call[key] for key in ("sequence_start", "sequence_end") if key in call}
        if "timeout_us" in call:
            options["timeout"] = call["timeout_us"]
        try:
            result = client.infer(name, _inputs(tritonclient.http, call), outputs=outputs, **options)
        except InferenceServerException as error:
            return {"error": self._clean(error.message() or str(error)), "status": error.status()}
        except TimeoutError:
            return {"client_exception": "TimeoutError", "msg": "timed out"}
        finally:
            client.close()
        response = result.get_response()
        found: dict[str, Any] = {"outputs": {}}
        for output in response.get("outputs", []):
            value = result.as_numpy(output["name"])
            found["outputs"][output["name"]] = {
                "datatype": output["datatype"],
                "shape": output["shape"],
                "v": probe_cases.enc(value) if value is not None else None,
            }
        extra = {k: v for k, v in response.items() if k not in ("outputs", "model_name", "model_version")}
        return {**found, **({"extra": extra} if extra else {})}

    def _grpc(self, name: str, call: dict[str, Any]) -> dict[str, Any]:
        client = tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{self.ports['grpc']}")
        try:
            result = client.infer(name, _inputs(tritonclient.grpc, call), client_timeout=call.get("timeout", 10))
        except InferenceServerException as error:
            return {"error": self._clean(error.message()), "status": error.status()}
        finally:
            client.close()
        outputs = result.get_response().outputs
        return {"outputs": {o.name: {"datatype": o.datatype, "v": _value(result, o.name)} for o in outputs}}

    def _stream(self, name: str, call: dict[str, Any]) -> dict[str, Any]:
        arrived: queue.Queue[tuple[Any, Any]] = queue.Queue()
        client = tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{self.ports['grpc']}")
        client.start_stream(callback=lambda result, error: arrived.put((result, error)))
        items: list[dict[str, Any]] = []
        outputs = [tritonclient.grpc.InferRequestedOutput(o) for o in call.get("outputs", [])] or None
        client.async_stream_infer(
            name,
            _inputs(tritonclient.grpc, call),
            outputs=outputs,
            request_id=call.get("request_id", ""),
            enable_empty_final_response=True,
        )
        end = time.monotonic() + call.get("timeout", 5)
        while True:
            try:
                result, error = arrived.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                break
            if error is not None:
                items.append({"error": self._clean(error.message()), "status": error.status()})
                end = end if call.get("after_error") else min(end, time.monotonic() + 0.3)
                continue
            items.append(_item(result))
            if items[-1]["final"]:
                end = min(end, time.monotonic() + 0.3)
        client.stop_stream(cancel_requests=True)
        client.close()
        ended = any(item.get("final") or "error" in item for item in items)
        return {"stream": items, "hang": not ended}

    def _clean(self, text: str) -> str:
        text = str(probe_cases.norm(text)).replace(str(self.repository), "<REPO>")
        # The backend's own file is another one here: neither its place nor its inner frames compare.
        text = re.sub(r"  \S*/triton_python_backend_utils\.py\(\d+\): \w+\n", "", text)
        return re.sub(r"\(\S*/triton_python_backend_utils\.py\)", "(<BACKENDS>)", text)


def _hangs(name: str) -> bool:
    return "client_exception" in json.dumps(REAL[name])


def _inputs(protocol: Any, call: dict[str, Any]) -> list[Any]:
    inputs = []
    for name, datatype, shape, data in call.get("inputs", []):
        tensor = protocol.InferInput(name, list(shape), datatype)
        values = [item.encode() if isinstance(item, str) else item for item in data]
        array = np.array([*values, None], object)[:-1] if datatype == "BYTES" else np.array(values)
        tensor.set_data_from_numpy(array.astype(_NUMPY[datatype]).reshape(shape))
        inputs.append(tensor)
    return inputs


def _item(result: Any) -> dict[str, Any]:
    response = result.get_response()
    final = None
    if "triton_final_response" in response.parameters:
        final = response.parameters["triton_final_response"].bool_param
    outputs = {o.name: {"datatype": o.datatype, "v": _value(result, o.name)} for o in response.outputs}
    return {"outputs": outputs, "final": final}


def _value(result: Any, name: str) -> Any:
    return probe_cases.enc(result.as_numpy(name))


def difference(name: str, ours: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Where the emulator's answer differs; the order in which instances started counts for nothing."""
    real = {key: value for key, value in REAL[name].items() if key != "unload_error"}
    return compare.differences(_unordered(name, real), _unordered(name, ours))


def _unordered(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    several = "instance" in name and len(entry.get("marker", [])) > 1
    entry = {**entry, "marker": sorted(entry["marker"], key=json.dumps)} if several else entry
    text = re.sub(r"  <BACKENDS>\S*\(\d+\): \w+\\n", "", json.dumps(entry))
    found: dict[str, Any] = json.loads(re.sub(r"\(<BACKENDS>[^)]*\)", "(<BACKENDS>)", text))
    return found


def main() -> int:
    calls = agreeing = 0
    with tempfile.TemporaryDirectory() as folder, ProbeServer(Path(folder)).running() as server:
        for name in PROBES:
            count = sum(len(call) if isinstance(call, list) else 1 for call in PROBES[name]["calls"]) or 1
            calls += count
            found = difference(name, server.answer(name))
            agreeing += 0 if found else count
            for path, real, ours in found:
                print(f"{name}{path}\n  real     {real!r}\n  emulator {ours!r}")
    print(f"{agreeing}/{calls} calls of {len(PROBES)} model probes agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
