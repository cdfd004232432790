"""Random requests, most of them wrong, to the emulator and to a real Triton: the same status, the same words."""

from __future__ import annotations

import http.client
import json
import random
from math import prod
from typing import Any

import pytest

from tests.emulator.twins import INPUTS

pytestmark = pytest.mark.real_triton

DATATYPES = ["FP32", "INT32", "BYTES", "FP64", "BOOL", "UINT8", "INT64", "FP16", "NONE", 5]
VALUES = {"FP32": 1.5, "FP64": 2.5, "BYTES": "ab", "STRING": "ab", "BOOL": True}


class Requests:
    """A stream of requests; each seed makes the same ones everywhere."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def tensor(self, name: Any, dtype: Any, dims: list[int]) -> dict[str, Any]:
        choice = self.random.choice
        shape: Any = [dim if dim > 0 else choice([0, 1, 3]) for dim in dims]
        if self.often(0.85):
            rows = choice([1, 1, 1, 2, 0, 9])
            shape = [rows or int(-1 in dims), *shape]  # no rows and no elements: nobody would answer
        if self.often(0.12):
            shape = choice([[], [1], [*shape, 1], shape[1:], [1, *shape], [dim + 1 for dim in shape]])
        count = min(prod(shape), 50) if shape else 0
        if self.often(0.03):
            shape = choice(["x", 5, [1, -1], [1.0, 2], [None]])
        datatype = "BYTES" if dtype == "STRING" else dtype
        datatype = choice(DATATYPES) if self.often(0.1) else datatype
        name = choice(["NOPE", "", name.lower(), 5]) if self.often(0.04) else name
        count += choice([-1, 1]) if self.often(0.08) and count else 0
        entry = {"name": name, "shape": shape, "datatype": datatype, "data": self.data(datatype, count)}
        if self.often(0.04):
            entry.pop(choice(list(entry)))
        if self.often(0.06):
            sizes = {"binary_data_size": choice([0, 3])}
            entry["parameters"] = choice([sizes, {"shared_memory_region": "r"}, 5, {}])
            if self.often(0.5):
                entry.pop("data", None)
        return entry

    def data(self, datatype: Any, count: int) -> list[Any]:
        odd: list[Any] = ["s", None, True, 1.5, -3, [], {}, 10**20]
        return [self.random.choice(odd) if self.often(0.06) else VALUES.get(datatype, 3) for _ in range(count)]

    def next(self) -> tuple[str, dict[str, Any]]:
        choice = self.random.choice
        model = choice(list(INPUTS))
        inputs = [self.tensor(*each) for each in INPUTS[model]]
        if self.often(0.15):
            inputs.pop(self.random.randrange(len(inputs)))
        if self.often(0.15):
            inputs.append(self.tensor(choice(["IN", "Y", "Z", "A"]), "FP32", [2]))
        if self.often(0.3):
            self.random.shuffle(inputs)
        body: dict[str, Any] = {"inputs": inputs}
        if self.often(0.2):
            body["outputs"] = [{"name": choice(["OUT", "NOPE", "Y"])}]
        if self.often(0.2):
            body["id"] = choice(["abc", "", 5])
        if self.often(0.2) or model == "sequence":
            whole = {"sequence_id": choice([0, 3, "a", ""]), "sequence_start": True, "sequence_end": True}
            odd: list[dict[str, Any]] = [{"priority": -1}, {"timeout": "x"}, {"triton_foo": 1}, {"x": [1]}, {"x": "y"}]
            body["parameters"] = choice([whole, *odd])
        return model, body


def ask(port: int, model: str, body: dict[str, Any]) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("POST", f"/v2/models/{model}/infer", json.dumps(body))
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "surrogateescape")
    except TimeoutError:
        return 0, "no answer"
    finally:
        connection.close()


@pytest.mark.parametrize("seed", range(4))
def test_same_answers(seed: int, twin_ports: dict[str, tuple[int, int]]) -> None:
    requests, refused = Requests(seed), 0
    for _ in range(150):
        model, body = requests.next()
        ours, theirs = (ask(port, model, body) for port in twin_ports["http"])
        assert ours == theirs, f"{model}: {json.dumps(body)}"
        refused += ours[0] != 200
    assert 50 < refused < 145  # neither all good nor all bad, or the requests teach nothing
