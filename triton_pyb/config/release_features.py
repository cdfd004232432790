"""First release of what came later: fields of config.pbtxt, and names on ``pb_utils``."""

from __future__ import annotations

#: (message, field) -> first release.  Source: common/protobuf/model_config.proto over the release branches.
FIELDS = {
    ("ModelInstanceGroup", "host_policy"): "21.06",
    ("ModelInstanceGroup", "passive"): "21.06",
    ("ModelInstanceGroup", "secondary_devices"): "21.06",
    ("ModelSequenceBatching.Control", "bool_false_true"): "21.09",
    ("ModelConfig", "response_cache"): "21.10",
    ("ModelSequenceBatching", "state"): "21.11",
    ("ModelInput", "optional"): "22.01",
    ("ModelSequenceBatching.State", "initial_state"): "22.01",
    ("ModelWarmup", "count"): "22.07",
    ("ModelEnsembling.Step", "model_namespace"): "23.03",
    ("ModelSequenceBatching.StrategyOldest", "preserve_ordering"): "23.08",
    ("ModelSequenceBatching", "iterative_sequence"): "23.11",
    ("ModelSequenceBatching.State", "use_growable_memory"): "23.11",
    ("ModelSequenceBatching.State", "use_same_buffer_for_input_output"): "23.11",
    ("ModelConfig", "runtime"): "24.01",
    ("ModelInput", "is_non_linear_format_io"): "24.08",
    ("ModelOutput", "is_non_linear_format_io"): "24.08",
    ("ModelConfig", "model_metrics"): "24.11",
    ("ModelEnsembling", "max_inflight_requests"): "25.11",
}

#: Enumeration value -> first release.
VALUES = {"TYPE_BF16": "22.05", "BATCH_ITEM_SHAPE": "22.03", "BATCH_ITEM_SHAPE_FLATTEN": "22.03"}

#: Name on pb_utils -> first release.  Source: python_backend over the release branches r20.10 to r26.07.
PB_UTILS_NAMES = {
    "TRITONSERVER_REQUEST_FLAG_SEQUENCE_START": "22.02",
    "TRITONSERVER_REQUEST_FLAG_SEQUENCE_END": "22.02",
    "TRITONSERVER_RESPONSE_COMPLETE_FINAL": "22.05",
    "using_decoupled_model_transaction_policy": "22.05",
    "ModelConfig": "22.06",
    "Logger": "22.09",
    "PreferredMemory": "23.04",
    "TRITONSERVER_MEMORY_GPU": "23.04",
    "TRITONSERVER_MEMORY_CPU": "23.04",
    "MetricFamily": "23.05",
    "get_model_dir": "23.07",
    "load_model": "23.07",
    "unload_model": "23.07",
    "is_model_ready": "23.07",
    "TRITONSERVER_REQUEST_RELEASE_ALL": "23.11",
    "TRITONSERVER_REQUEST_RELEASE_RESCHEDULE": "23.11",
}
