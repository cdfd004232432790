"""Every default that the server fills in; the expected configurations are a real server's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.probes import probe_cases
from triton_pyb.emulator import model_config
from triton_pyb.emulator.model_config import ConfigRefused
from triton_pyb.emulator.repository import read_config

REAL = json.loads(Path(probe_cases.__file__).with_name("real_results.json").read_text())["models"]


def completed(text: str, folder: Path, release: str = "24.10") -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    (folder / "config.pbtxt").write_text(text)
    config = read_config(folder, release)
    model_config.complete_instance_groups(config, 0)
    return model_config.as_dict(config, release)


def test_what_a_real_server_gave_to_initialize(tmp_path: Path) -> None:
    real = REAL["mp_life_init_args"]["marker"][0]["config"]
    text = (
        'name: "mp_life_init_args" backend: "python" max_batch_size: 2'
        ' input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [2, -1] } ]'
        ' output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [-1, -1] } ]'
        " instance_group [ { count: 1 kind: KIND_CPU } ]"
        ' parameters { key: "p" value { string_value: "v" } }'
    )
    assert completed(text, tmp_path / "mp_life_init_args") == real


def test_defaults_of_dynamic_batching(tmp_path: Path) -> None:
    real = REAL["mp_ac_batch"]["calls"][-1]["config"]
    config = completed('max_batch_size: 4 backend: "python" dynamic_batching { }', tmp_path / "m")
    assert config["dynamic_batching"] == real["dynamic_batching"]
    assert list(config["dynamic_batching"]) == list(real["dynamic_batching"])


def test_numbers_are_numbers_and_enums_are_names(tmp_path: Path) -> None:
    config = completed(
        'backend: "python" max_batch_size: 4'
        " sequence_batching { direct { max_queue_delay_microseconds: 7 minimum_slot_utilization: 0.1 } }"
        " version_policy { specific { versions: [3, 9007199254740993] } }",
        tmp_path / "m",
    )
    assert config["sequence_batching"]["direct"] == {
        "max_queue_delay_microseconds": 7,
        "minimum_slot_utilization": 0.1,
    }
    assert config["sequence_batching"]["max_sequence_idle_microseconds"] == 1_000_000
    assert config["version_policy"] == {"specific": {"versions": [3, 9007199254740993]}}
    assert config["instance_group"][0]["kind"] == "KIND_CPU"


def test_names_of_instance_groups(tmp_path: Path) -> None:
    groups = 'instance_group [ { count: 2 }, { name: "own" count: -3 } ]'
    config = completed(f'backend: "python" {groups}', tmp_path / "m")
    assert [(group["name"], group["count"]) for group in config["instance_group"]] == [("m_0", 2), ("own", 1)]
    assert completed('backend: "python"', tmp_path / "n")["instance_group"][0]["name"] == "n"


@pytest.mark.parametrize(("release", "present"), [("21.10", False), ("23.10", False), ("24.01", True), ("24.10", True)])
def test_an_older_release_does_not_report_newer_fields(release: str, present: bool, tmp_path: Path) -> None:
    assert ("runtime" in completed('backend: "python"', tmp_path / "m", release)) is present


def test_an_older_release_refuses_newer_fields() -> None:
    text = 'input [ { name: "x" optional: true } ]'
    model_config.parse(text, "22.01")
    with pytest.raises(ConfigRefused, match='"inference.ModelInput" has no field named "optional"'):
        model_config.parse(text, "21.10")


@pytest.mark.parametrize(
    ("file", "backend", "platform"),
    [
        ("model.py", "python", ""),
        ("model.onnx", "onnxruntime", "onnxruntime_onnx"),
        ("model.pt", "pytorch", "pytorch_libtorch"),
        ("model.plan", "tensorrt", "tensorrt_plan"),
        ("model.xml", "openvino", ""),
    ],
)
def test_the_backend_follows_from_the_file(file: str, backend: str, platform: str, tmp_path: Path) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / file).touch()
    config = completed("", tmp_path / "m")
    assert (config["backend"], config["platform"], config["default_model_filename"]) == (backend, platform, file)


def test_only_the_first_folder_in_string_order_is_looked_at(tmp_path: Path) -> None:
    for version, file in (("2", "model.py"), ("10", "notes.txt")):
        (tmp_path / "m" / version).mkdir(parents=True)
        (tmp_path / "m" / version / file).touch()
    from triton_pyb.emulator.errors import LoadFailed

    with pytest.raises(LoadFailed, match="failed to poll") as failed:
        completed("", tmp_path / "m")
    assert failed.value.reason.startswith("Invalid model name: Could not determine backend for model 'm'")


@pytest.mark.parametrize(
    ("written", "told"),
    [("0", "0"), ("1", "1"), ("-0.0", "0"), ("0.1", "0.1"), ("100000", "100000"), ("1000000", "1000000.0")]
    + [("16777216", "16777216"), ("123456789", "123456792"), ("0.1234567", "0.123456702")],
)
def test_floats_as_the_server_tells_them(written: str, told: str, tmp_path: Path) -> None:
    """Source: args["model_config"] of 24.10, but for the last, which follows from how the others are printed."""
    control = f"control [ {{ kind: CONTROL_SEQUENCE_START fp32_false_true: [ {written}, 1 ] }} ]"
    text = f'backend: "python" sequence_batching {{ control_input [ {{ name: "S" {control} }} ] }}'
    sequence = completed(text, tmp_path / "m")["sequence_batching"]
    assert json.dumps(sequence["control_input"][0]["control"][0]["fp32_false_true"]) == f"[{told}, 1]"
    assert "direct" not in sequence  # unless config.pbtxt has it


def test_numbers_of_64_bits_that_stay_strings(tmp_path: Path) -> None:
    spec = 'graph_spec [ { batch_size: 1 input { key: "I" value { dim: [ 4 ] } } } ]'
    group = "instance_group [ { secondary_devices [ { kind: KIND_NVDLA device_id: 1 } ] } ]"
    config = completed(f'backend: "python" optimization {{ cuda {{ {spec} }} }} {group}', tmp_path / "m")
    assert config["optimization"]["cuda"]["graph_spec"][0]["input"] == {"I": {"dim": ["4"]}}
    assert config["instance_group"][0]["secondary_devices"] == [{"kind": "KIND_NVDLA", "device_id": "1"}]
