"""Text and parameters over HTTP binary, HTTP JSON and gRPC, and a header that reaches the function."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http

from triton_pyb.repository import build
from triton_pyb.server import RealTriton

from . import service_steps
from .conftest import strings

TEXTS = ["한국어", "🙂🧪", "", "a\0b\0", "x" * 5_000_000]
IDS = ["korean", "emoji", "empty", "nul", "5 MB"]

pytestmark = pytest.mark.real_triton


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealTriton]:
    repository: Path = tmp_path_factory.mktemp("transports") / "repository"
    for step in (service_steps.echo, service_steps.asks, service_steps.counted):
        build(step, repository)
    arguments = ["--http-header-forward-pattern=x-.*", "--grpc-header-forward-pattern=x-.*"]
    with RealTriton(repository, extra_args=arguments) as triton:
        yield triton


@pytest.mark.parametrize("text", TEXTS, ids=IDS)
@pytest.mark.parametrize("transport", ["http binary", "http json", "grpc"])
def test_text_both_ways(server: RealTriton, transport: str, text: str) -> None:
    module: Any = tritonclient.grpc if transport == "grpc" else tritonclient.http
    url = (server.grpc_url if transport == "grpc" else server.http_url).partition("://")[2]
    binary = {} if transport == "grpc" else {"binary_data": transport == "http binary"}
    options = {} if transport == "grpc" else {"network_timeout": 60.0, "connection_timeout": 60.0}
    inputs = []
    for name in ("text", "data"):
        inputs.append(module.InferInput(name, [1, 1], "BYTES"))
        inputs[-1].set_data_from_numpy(strings(text), **binary)
    outputs = [module.InferRequestedOutput(name, **binary) for name in ("text_out", "data_out")]
    client = module.InferenceServerClient(url, **options)
    try:
        answer = client.infer("echo", inputs, outputs=outputs)
        for name in ("text_out", "data_out"):
            got = answer.as_numpy(name)[0, 0]
            assert (got if isinstance(got, bytes) else got.encode()) == text.encode()
    finally:
        client.close()


def test_a_header_reaches_the_function(server: RealTriton) -> None:
    body = json.dumps(
        {
            "inputs": [{"name": "x", "datatype": "INT64", "shape": [1, 1], "data": [1]}],
            "parameters": {"lang": "ko"},
        }
    ).encode()
    request = urllib.request.Request(
        f"{server.http_url}/v2/models/asks/infer", body, {"x-tenant": "seven", "other": "not forwarded"}
    )
    with urllib.request.urlopen(request) as response:
        about = json.loads(json.loads(response.read())["outputs"][0]["data"][0])
    parameters = {name.lower(): value for name, value in about["parameters"].items()}
    assert parameters["x-tenant"] == "seven"
    assert parameters["lang"] == "ko"
    assert "other" not in parameters


def test_a_histogram_after_a_thousand_requests(server: RealTriton) -> None:
    client = tritonclient.http.InferenceServerClient(server.http_url.partition("://")[2], concurrency=8)
    tensor = tritonclient.http.InferInput("x", [1, 1], "FP64")
    tensor.set_data_from_numpy(np.array([[0.5]]))
    waiting = [client.async_infer("counted", [tensor]) for _ in range(1000)]
    assert all(answer.get_result().as_numpy("y")[0, 0] == 0.5 for answer in waiting)
    client.close()
    with urllib.request.urlopen(server.metrics_url) as page:
        text = page.read().decode()
    assert 'counted_x_bucket{le="1"} 1000' in text
    assert "counted_x_count 1000" in text
