"""Further fields of a model configuration, typed; plain data in Triton's own words, written down by ``build``.

Every class is one message of ``model_config.proto`` and every attribute one of its fields, of the same name and
meaning.  What is left out is left to Triton.  What is not here goes into ``config_extra``, in the text format.

Examples
--------
>>> options = ModelOptions(
...     instance_group=[InstanceGroup(count=2, kind="KIND_GPU", gpus=[0, 1])],
...     dynamic_batching=DynamicBatching(preferred_batch_size=[4, 8], max_queue_delay_microseconds=500),
...     parameters={"threshold": "0.3"},
... )
>>> options.instance_group[0].gpus
[0, 1]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Optional, Sequence, Union


@dataclass(frozen=True)
class RateLimiterResource:
    """Something that an instance needs while it runs; on each device, or once per server with ``is_global``."""

    name: str
    count: int = 1
    is_global: bool = False


@dataclass(frozen=True)
class RateLimiter:
    """Takes effect with ``--rate-limit=execution_count``."""

    resources: Sequence[RateLimiterResource] = ()
    priority: Optional[int] = None


@dataclass(frozen=True)
class InstanceGroup:
    """Some instances of a model.

    Parameters
    ----------
    count : int
        Processes per device.
    kind : {"KIND_CPU", "KIND_GPU", "KIND_MODEL", "KIND_AUTO"}
        Unsaid: KIND_CPU for a step, KIND_AUTO (a GPU when there is one) for a core model.
    gpus : sequence of int
        Empty with KIND_GPU: every GPU.
    """

    count: int = 1
    kind: str = ""
    gpus: Sequence[int] = ()
    name: str = ""
    rate_limiter: Optional[RateLimiter] = None
    passive: Optional[bool] = None
    host_policy: str = ""
    profile: Sequence[str] = ()


@dataclass(frozen=True)
class QueuePolicy:
    """How long requests may wait.

    Parameters
    ----------
    timeout_action : {"REJECT", "DELAY"}
    """

    timeout_action: str = "REJECT"
    default_timeout_microseconds: Optional[int] = None
    allow_timeout_override: Optional[bool] = None
    max_queue_size: Optional[int] = None


@dataclass(frozen=True)
class DynamicBatching:
    """The server joins requests; sizes count items."""

    preferred_batch_size: Sequence[int] = ()
    max_queue_delay_microseconds: Optional[int] = None
    preserve_ordering: Optional[bool] = None
    priority_levels: Optional[int] = None
    default_priority_level: Optional[int] = None
    default_queue_policy: Optional[QueuePolicy] = None
    priority_queue_policy: Mapping[int, QueuePolicy] = field(default_factory=dict)


@dataclass(frozen=True)
class SequenceControl:
    """One control of a sequence, as values of an input.

    Parameters
    ----------
    kind : str
        ``"CONTROL_SEQUENCE_START"``, ``_READY``, ``_END`` or ``_CORRID``.
    int32_false_true, fp32_false_true, bool_false_true : two values
        What the input holds for false and for true; one of the three, except for ``_CORRID``.
    data_type : str
        For ``_CORRID``.
    """

    kind: str
    int32_false_true: Sequence[int] = ()
    fp32_false_true: Sequence[float] = ()
    bool_false_true: Sequence[bool] = ()
    data_type: str = ""


@dataclass(frozen=True)
class ControlInput:
    name: str
    control: Sequence[SequenceControl] = ()


@dataclass(frozen=True)
class InitialState:
    name: str
    data_type: str
    dims: Sequence[int]
    zero_data: Optional[bool] = None
    data_file: str = ""


@dataclass(frozen=True)
class SequenceStateTensor:
    """State that the server keeps: an output that comes back as an input."""

    input_name: str
    output_name: str
    data_type: str
    dims: Sequence[int]
    initial_state: Sequence[InitialState] = ()
    use_same_buffer_for_input_output: Optional[bool] = None
    use_growable_memory: Optional[bool] = None


@dataclass(frozen=True)
class StrategyDirect:
    max_queue_delay_microseconds: Optional[int] = None
    minimum_slot_utilization: Optional[float] = None


@dataclass(frozen=True)
class StrategyOldest:
    max_candidate_sequences: int
    preferred_batch_size: Sequence[int] = ()
    max_queue_delay_microseconds: Optional[int] = None
    preserve_ordering: Optional[bool] = None


@dataclass(frozen=True)
class SequenceBatching:
    """Requests of one sequence reach one instance; `direct` or `oldest`, not both."""

    max_sequence_idle_microseconds: Optional[int] = None
    control_input: Sequence[ControlInput] = ()
    state: Sequence[SequenceStateTensor] = ()
    direct: Optional[StrategyDirect] = None
    oldest: Optional[StrategyOldest] = None
    iterative_sequence: Optional[bool] = None


@dataclass(frozen=True)
class Latest:
    """The newest versions are served."""

    num_versions: int = 1


@dataclass(frozen=True)
class AllVersions:
    """Every version is served."""


@dataclass(frozen=True)
class Specific:
    """These versions are served."""

    versions: Sequence[int]


@dataclass(frozen=True)
class WarmupInput:
    """What one input holds during warmup; one of the three sources.

    Parameters
    ----------
    dims : sequence of int
        Per item.
    input_data_file : str
        A file beside the declaration; ``build`` takes it along into the folder ``warmup``.
    """

    data_type: str
    dims: Sequence[int]
    zero_data: Optional[bool] = None
    random_data: Optional[bool] = None
    input_data_file: str = ""


@dataclass(frozen=True)
class Warmup:
    """A request that the server sends to the model before it is ready."""

    name: str
    inputs: Mapping[str, WarmupInput]
    batch_size: int = 1
    count: Optional[int] = None


@dataclass(frozen=True)
class HistogramOptions:
    buckets: Sequence[float]


@dataclass(frozen=True)
class MetricControl:
    """Other buckets for one of Triton's own histograms, e.g. ``"nv_inference_first_response_histogram_ms"``."""

    family: str
    histogram_options: HistogramOptions


@dataclass(frozen=True)
class Accelerator:
    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ExecutionAccelerators:
    gpu_execution_accelerator: Sequence[Accelerator] = ()
    cpu_execution_accelerator: Sequence[Accelerator] = ()


@dataclass(frozen=True)
class CudaOptions:
    graphs: Optional[bool] = None
    busy_wait_events: Optional[bool] = None
    output_copy_stream: Optional[bool] = None


@dataclass(frozen=True)
class Optimization:
    """What a core model's backend may do.

    Parameters
    ----------
    priority : {"PRIORITY_DEFAULT", "PRIORITY_MAX", "PRIORITY_MIN"}
    graph_level : int
        ``graph { level: ... }``.
    input_pinned_memory, output_pinned_memory : bool
        ``{ enable: ... }``.
    """

    priority: str = ""
    graph_level: Optional[int] = None
    cuda: Optional[CudaOptions] = None
    execution_accelerators: Optional[ExecutionAccelerators] = None
    input_pinned_memory: Optional[bool] = None
    output_pinned_memory: Optional[bool] = None
    gather_kernel_buffer_threshold: Optional[int] = None
    eager_batching: Optional[bool] = None


@dataclass(frozen=True)
class ModelOptions:
    """``config=`` of a step, a core model or a pipeline.

    Parameters
    ----------
    response_cache : bool
        ``response_cache { enable: true }``; the server needs ``--cache-config`` too.
    decoupled : bool
        ``model_transaction_policy { decoupled: true }``.
    parameters : mapping of str to str
        ``parameters { key value { string_value } }``.
    labels : mapping of str to str
        Output -> a file beside the declaration with one label per line; ``build`` takes it along.
    config_extra : str
        More of ``config.pbtxt``, in the text format, merged at the end: lists grow, single values are replaced.
    """

    instance_group: Sequence[InstanceGroup] = ()
    dynamic_batching: Optional[DynamicBatching] = None
    sequence_batching: Optional[SequenceBatching] = None
    version_policy: Optional[Union[Latest, AllVersions, Specific]] = None
    model_warmup: Sequence[Warmup] = ()
    response_cache: Optional[bool] = None
    model_metrics: Sequence[MetricControl] = ()
    optimization: Optional[Optimization] = None
    decoupled: Optional[bool] = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    metric_tags: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    default_model_filename: str = ""
    runtime: str = ""
    config_extra: str = ""
