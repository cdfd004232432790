"""ModelOptions: every field of a model configuration, as protobuf and as text."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from triton_pyb.config.options import OptionsError, apply_options, files_named
from triton_pyb.runtime import model_options as mo
from triton_pyb.runtime.model_options import ModelOptions


def applied(options: object, before: str = "") -> Any:
    config = text_format.Parse(before, model_config_pb2.ModelConfig())
    apply_options(config, options, "step 'double' (app.py:3)")
    return config


def parsed(text: str) -> Any:
    return text_format.Parse(text, model_config_pb2.ModelConfig())


@pytest.mark.parametrize(
    "options, text",
    [
        (ModelOptions(), ""),
        (ModelOptions(instance_group=[mo.InstanceGroup(2, "KIND_GPU", [0, 1]), mo.InstanceGroup(kind="KIND_CPU")]),
         "instance_group [{count: 2 kind: KIND_GPU gpus: [0, 1]}, {count: 1 kind: KIND_CPU}]"),
        (ModelOptions(instance_group=[mo.InstanceGroup(rate_limiter=mo.RateLimiter(
            [mo.RateLimiterResource("R", 3), mo.RateLimiterResource("G", is_global=True)], priority=2))]),
         "instance_group [{count: 1 rate_limiter {resources [{name: 'R' count: 3}, {name: 'G' count: 1 global: true}] "
         "priority: 2}}]"),
        (ModelOptions(dynamic_batching=mo.DynamicBatching()), "dynamic_batching {}"),
        (ModelOptions(dynamic_batching=mo.DynamicBatching(
            [4, 8], 100, True, 2, 1, mo.QueuePolicy("DELAY", 1000, True, 5), {2: mo.QueuePolicy(max_queue_size=1)})),
         "dynamic_batching {preferred_batch_size: [4, 8] max_queue_delay_microseconds: 100 preserve_ordering: true "
         "priority_levels: 2 default_priority_level: 1 default_queue_policy {timeout_action: DELAY "
         "default_timeout_microseconds: 1000 allow_timeout_override: true max_queue_size: 5} "
         "priority_queue_policy {key: 2 value {timeout_action: REJECT max_queue_size: 1}}}"),
        (ModelOptions(version_policy=mo.Latest(2)), "version_policy {latest {num_versions: 2}}"),
        (ModelOptions(version_policy=mo.AllVersions()), "version_policy {all {}}"),
        (ModelOptions(version_policy=mo.Specific([1, 3])), "version_policy {specific {versions: [1, 3]}}"),
        (ModelOptions(sequence_batching=mo.SequenceBatching(
            5000, [mo.ControlInput("START", [mo.SequenceControl("CONTROL_SEQUENCE_START", [0, 1])])],
            oldest=mo.StrategyOldest(16))),
         "sequence_batching {max_sequence_idle_microseconds: 5000 control_input [{name: 'START' control "
         "[{kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1]}]}] oldest {max_candidate_sequences: 16}}"),
        (ModelOptions(sequence_batching=mo.SequenceBatching(direct=mo.StrategyDirect(), state=[mo.SequenceStateTensor(
            "i", "o", "FP32", [1], [mo.InitialState("z", "TYPE_FP32", [1], zero_data=True)])])),
         "sequence_batching {direct {} state [{input_name: 'i' output_name: 'o' data_type: TYPE_FP32 dims: [1] "
         "initial_state [{name: 'z' data_type: TYPE_FP32 dims: [1] zero_data: true}]}]}"),
        (ModelOptions(model_warmup=[mo.Warmup("w", {"x": mo.WarmupInput("FP32", [2], zero_data=True)}, 4, 2)]),
         "model_warmup [{name: 'w' batch_size: 4 count: 2 inputs {key: 'x' value {data_type: TYPE_FP32 dims: [2] "
         "zero_data: true}}}]"),
        (ModelOptions(model_warmup=[mo.Warmup("w", {"x": mo.WarmupInput("BYTES", [1], input_data_file="d/x.bin")})]),
         "model_warmup [{name: 'w' batch_size: 1 inputs {key: 'x' value {data_type: TYPE_STRING dims: [1] "
         "input_data_file: 'x.bin'}}}]"),
        (ModelOptions(response_cache=True), "response_cache {enable: true}"),
        (ModelOptions(response_cache=False), "response_cache {}"),
        (ModelOptions(decoupled=True), "model_transaction_policy {decoupled: true}"),
        (ModelOptions(parameters={"a": "1"}), "parameters {key: 'a' value {string_value: '1'}}"),
        (ModelOptions(metric_tags={"a": "1"}), "metric_tags {key: 'a' value: '1'}"),
        (ModelOptions(model_metrics=[mo.MetricControl("nv_x", mo.HistogramOptions([1, 2.5]))]),
         "model_metrics {metric_control [{metric_identifier {family: 'nv_x'} histogram_options {buckets: [1, 2.5]}}]}"),
        (ModelOptions(optimization=mo.Optimization(
            "PRIORITY_MAX", 1, mo.CudaOptions(graphs=True), mo.ExecutionAccelerators(
                gpu_execution_accelerator=[mo.Accelerator("tensorrt", {"precision_mode": "FP16"})]), False, True)),
         "optimization {priority: PRIORITY_MAX graph {level: 1} cuda {graphs: true} execution_accelerators "
         "{gpu_execution_accelerator [{name: 'tensorrt' parameters {key: 'precision_mode' value: 'FP16'}}]} "
         "input_pinned_memory {} output_pinned_memory {enable: true}}"),
        (ModelOptions(default_model_filename="m.onnx", runtime="model.py"),
         "default_model_filename: 'm.onnx' runtime: 'model.py'"),
        (ModelOptions(config_extra="model_operations { op_library_filename: ['a.so'] }"),
         "model_operations {op_library_filename: ['a.so']}"),
    ],
)  # fmt: skip
def test_a_field_is_written_as_triton_names_it(options: ModelOptions, text: str) -> None:
    assert applied(options) == parsed(text)


def test_every_field_of_model_config_has_a_place() -> None:
    """What the SDK writes itself, what ModelOptions has, and what is left to config_extra."""
    ours = {"name", "platform", "backend", "max_batch_size", "input", "output", "ensemble_scheduling"}
    typed = {field.name for field in dataclasses.fields(ModelOptions)} | {"model_transaction_policy"}
    extra = {"batch_input", "batch_output", "cc_model_filenames", "model_operations", "model_repository_agents"}
    assert {field.name for field in model_config_pb2.ModelConfig.DESCRIPTOR.fields} - ours - typed == extra


def test_what_is_said_replaces_what_the_step_says() -> None:
    before = "instance_group [{count: 1 kind: KIND_CPU}] dynamic_batching {max_queue_delay_microseconds: 7}"
    options = ModelOptions(
        instance_group=[mo.InstanceGroup(3, "KIND_CPU")], dynamic_batching=mo.DynamicBatching(preserve_ordering=True)
    )
    assert applied(options, before) == parsed(
        "instance_group [{count: 3 kind: KIND_CPU}] "
        "dynamic_batching {max_queue_delay_microseconds: 7 preserve_ordering: true}"
    )


def test_labels_name_outputs() -> None:
    before = "output [{name: 'y'}]"
    assert applied(ModelOptions(labels={"y": "data/l.txt"}), before) == parsed(
        "output [{name: 'y' label_filename: 'l.txt'}]"
    )
    with pytest.raises(OptionsError, match="labels names 'Y', which is no output; did you mean 'y'?"):
        applied(ModelOptions(labels={"Y": "l.txt"}), before)


def test_files_that_must_travel() -> None:
    warmup = mo.Warmup("w", {"x": mo.WarmupInput("FP32", [1], input_data_file="d/x.bin")})
    options = ModelOptions(labels={"y": "data/l.txt"}, model_warmup=[warmup])
    assert files_named(options) == {"l.txt": "data/l.txt", "warmup/x.bin": "d/x.bin"}


@pytest.mark.parametrize(
    "options, code, said",
    [
        ({"a": 1}, "TPB440", "is no ModelOptions"),
        (ModelOptions(instance_group=[mo.InstanceGroup(kind="KIND_GPUS")]), "TPB441", "did you mean 'KIND_GPU'?"),
        (ModelOptions(instance_group=[mo.InstanceGroup(count="two")]), "TPB441", "count='two'"),  # type: ignore[arg-type]
        (ModelOptions(parameters={"a": 1}), "TPB441", "parameters={'a': 1} is no text"),  # type: ignore[dict-item]
        (ModelOptions(metric_tags={"a": 1}), "TPB441", "no mapping of text to text"),  # type: ignore[dict-item]
        (ModelOptions(sequence_batching=mo.SequenceBatching(direct=mo.StrategyDirect(), oldest=mo.StrategyOldest(1))),
         "TPB441", "direct and oldest exclude each other"),
        (ModelOptions(dynamic_batching=mo.DynamicBatching(), sequence_batching=mo.SequenceBatching()),
         "TPB441", "dynamic_batching and sequence_batching exclude each other"),
        (ModelOptions(dynamic_batching=mo.DynamicBatching(preferred_batch_size=["8"])), "TPB441",  # type: ignore[list-item]
         "preferred_batch_size='8'"),
        (ModelOptions(config_extra="max_batch_size 8"), "TPB442", "config_extra does not parse: 1:16"),
        (ModelOptions(config_extra="name: 'other'"), "TPB441", "config_extra says name: 'other', the declaration 'm'"),
    ],
)  # fmt: skip
def test_what_no_configuration_can_hold(options: object, code: str, said: str) -> None:
    with pytest.raises(OptionsError) as caught:
        applied(options, "name: 'm'")
    assert caught.value.code == code
    assert said in caught.value.what
