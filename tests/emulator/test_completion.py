"""What is taken from `auto_complete_config`: every row as a 24.10 server answered."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from triton_pyb.emulator import EmulatedTriton, model_config
from triton_pyb.emulator.completion import CompletionRefused, take_over
from triton_pyb.emulator.errors import LoadFailed

_TENSOR = {"data_type": "TYPE_FP32", "dims": [-1]}
_GOOD: dict[str, Any] = {"input": [{"name": "INPUT0", **_TENSOR}], "output": [{"name": "OUTPUT0", **_TENSOR}]}


def _taken(completed: dict[str, Any], text: str = "") -> dict[str, Any]:
    config = model_config.parse(f'name: "m" backend: "python" {text}', "24.10")
    model_config.normalize(config)
    take_over(config, completed)
    return model_config.as_dict(config, "24.10")


def _with(key: str, value: Any) -> dict[str, Any]:
    completed = copy.deepcopy(_GOOD)
    completed["input"][0][key] = value
    return completed


@pytest.mark.parametrize(
    ("key", "given", "taken"),
    [
        ("optional", "TRUE", True),
        ("optional", "T", True),
        ("optional", "yes", True),
        ("optional", "no", False),
        ("optional", "0", False),
        ("data_type", "type_int8", "TYPE_INT8"),
        ("data_type", "type-int8", "TYPE_INT8"),
        ("dims", "3", [3]),
        ("dims", 3, [3]),
        ("dims", [[3]], [3]),
        ("dims", [None], []),
        ("reshape", {"shape": 3}, {"shape": [3]}),
    ],
)
def test_read_as_cpp_reads(key: str, given: Any, taken: Any) -> None:
    assert _taken(_with(key, given))["input"][0][key] == taken


@pytest.mark.parametrize(
    "completed",
    [
        _with("optional", "on"),
        _with("optional", ""),
        _with("name", 5),
        {**_GOOD, "nonsense": 1},
        {**_GOOD, "instance_group": 5},
        {**_GOOD, "parameters": {"k": "v"}},
        {**_GOOD, "max_batch_size": True},
        {**_GOOD, "sequence_batching": {}, "dynamic_batching": {}},
    ],
)
def test_what_cannot_be_read_voids_it_all(completed: dict[str, Any]) -> None:
    assert _taken({**completed, "max_batch_size": completed.get("max_batch_size", 8)})["input"] == []


def test_a_tensor_need_not_stand_in_a_list() -> None:
    taken = _taken({**_GOOD, "input": _GOOD["input"][0], "maxBatchSize": 4, "parameters": {"k": {"string_value": "v"}}})
    assert (taken["input"][0]["name"], taken["max_batch_size"], taken["parameters"]) == ("INPUT0", 4, {})


def test_schedulers() -> None:
    """One that is configured stays as it is; another one in its place voids it all."""
    assert _taken({**_GOOD, "sequence_batching": {}})["sequence_batching"] == {
        "max_sequence_idle_microseconds": 1000000,
        "control_input": [],
        "state": [],
        "iterative_sequence": False,
    }
    own = "max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 5 }"
    changed = _taken({**_GOOD, "dynamic_batching": {"max_queue_delay_microseconds": 7}}, own)
    assert (changed["dynamic_batching"]["max_queue_delay_microseconds"], len(changed["input"])) == (5, 1)
    others: list[dict[str, Any]] = [{}, {"sequence_batching": {}}]
    for other in others:
        kept = _taken({**_GOOD, **other}, own)
        assert ("dynamic_batching" in kept, kept["max_batch_size"], kept["input"]) == (True, 4, [])


def test_transaction_policy() -> None:
    assert _taken({**_GOOD, "model_transaction_policy": {"decoupled": "yes"}})["model_transaction_policy"] == {
        "decoupled": True
    }
    assert _taken(_GOOD, "model_transaction_policy { decoupled: true }")["model_transaction_policy"]["decoupled"]
    with pytest.raises(CompletionRefused, match="decoupled is 1, not true or false, .*: a real server dies here"):
        _taken({**_GOOD, "model_transaction_policy": {"decoupled": 1}})


@pytest.mark.parametrize("value", [float("nan"), [float("inf")]])
def test_numbers_that_are_none(value: Any) -> None:
    with pytest.raises(CompletionRefused, match=r"^Failed to accept document, invalid JSON\.$"):
        _taken({**_GOOD, "nonsense": value})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("config.as_dict()['max_batch_size'] = -1", "'max_batch_size' must be non-negative value for m"),
        (
            "config.as_dict()['ensemble_scheduling'] = {}",
            "ensemble scheduling cannot be set for model 'm' whose platform is not ensemble",
        ),
        ("raise ValueError('a\\0b')", "ValueError: a"),
        ("config.as_dict()['x'] = float('nan')", "Failed to accept document, invalid JSON."),
    ],
)
def test_what_is_checked_afterwards(tmp_path: Path, change: str, reason: str) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "config.pbtxt").write_text('backend: "python"')
    (tmp_path / "m" / "1" / "model.py").write_text(
        "class TritonPythonModel:\n    @staticmethod\n    def auto_complete_config(config):\n"
        f"        {change}\n        return config\n"
    )
    with pytest.raises(LoadFailed) as failed:
        EmulatedTriton(tmp_path).start()
    assert failed.value.reason == reason
