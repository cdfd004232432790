"""For every rule the smallest broken repository and the smallest good one.

A repository is a dict from path to text (None: an empty folder).  A real server was asked about each of them:
``scripts/check-rules`` asks it again.
"""

# ruff: noqa: E501  (tables of short texts)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Files = Mapping[str, "str | bytes | None"]

MODEL_PY = """import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        rows = np.zeros((1, 4), np.float32)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", rows)]) for _ in requests]
"""

HEAD = 'name: "m"\nbackend: "python"\nmax_batch_size: 8\n'
INPUT = 'input [ { name: "IN" data_type: TYPE_FP32 dims: [ 4 ] } ]\n'
OUTPUT = 'output [ { name: "OUT" data_type: TYPE_FP32 dims: [ 4 ] } ]\n'
BATCHING = "dynamic_batching { }\n"
GOOD_CONFIG = HEAD + INPUT + OUTPUT + BATCHING


@dataclass
class Example:
    """A broken and a good repository, the options of the check, and how the server can be asked."""

    broken: Files
    good: Files
    options: dict[str, Any] = field(default_factory=dict)
    #: Empty when the real server is not asked, else why not.
    not_asked: str = ""


def model(config: str | None = GOOD_CONFIG, source: str | None = MODEL_PY, **more: str | bytes | None) -> Files:
    """One Python model; `more` are further files, ``__`` for ``/`` and ``_DOT_`` for ``.``."""
    files: dict[str, str | bytes | None] = {}
    if config is not None:
        files["m/config.pbtxt"] = config
    if source is not None:
        files["m/1/model.py"] = source
    files.update({path.replace("__", "/").replace("_DOT_", "."): text for path, text in more.items()})
    return files


def text(broken: str, good: str = GOOD_CONFIG) -> Example:
    """The configuration differs, model.py does not."""
    return Example(model(broken), model(good))


def added(broken: str, good: str = "", head: str = HEAD, io: str = INPUT + OUTPUT, batching: str = BATCHING) -> Example:
    """A good configuration with something added."""
    return text(head + io + batching + broken, head + io + batching + good)


def swapped(broken: str, good: str) -> Example:
    """The scheduler differs."""
    return text(HEAD + INPUT + OUTPUT + broken, HEAD + INPUT + OUTPUT + good)


ECHO_PY = MODEL_PY.replace(
    "rows = np.zeros((1, 4), np.float32)",
    'rows = pb_utils.get_input_tensor_by_name(requests[0], "IN").as_numpy()',
)


def source(broken: str, good: str = MODEL_PY, config: str = GOOD_CONFIG, **options: Any) -> Example:
    """model.py differs."""
    late = "needs another release than the server at hand" if "release" in options else ""
    return Example(model(config, broken), model(config, good), options, late)


#: A decoupled model, and what ends each of its requests.
SENDS = (
    "import triton_python_backend_utils as pb_utils\n\n\nclass TritonPythonModel:\n    def execute(self, requests):\n"
    "        for request in requests:\n            sender = request.get_response_sender()\n"
    '            tensor = pb_utils.get_input_tensor_by_name(request, "IN")\n'
    '            answer = pb_utils.Tensor("OUT", tensor.as_numpy())\n'
    "            sender.send(pb_utils.InferenceResponse([answer]))\n"
)
ENDS = "            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)\n"


def method(code: str) -> str:
    """A good model.py with more methods (written without indentation)."""
    body = "\n".join("    " + line if line else "" for line in code.strip().split("\n"))
    return MODEL_PY + "\n" + body + "\n"


def hook(code: str) -> str:
    """A model.py whose auto_complete_config does this."""
    body = "\n".join("    " + line for line in code.strip().split("\n"))
    return method(f"@staticmethod\ndef auto_complete_config(config):\n{body}")


def step(name: str, inputs: str = "IN=X", outputs: str = "OUT=Y", version: str = "model_version: -1") -> str:
    """``step("a", "IN=X", "OUT=Y")``."""
    maps = "".join(
        f' {kind} {{ key: "{pair.split("=")[0]}" value: "{pair.split("=")[1]}" }}'
        for kind, pairs in (("input_map", inputs), ("output_map", outputs))
        for pair in pairs.split(",")
        if pair
    )
    return f'  step {{ model_name: "{name}" {version}{maps} }}\n'


def tensor(kind: str, name: str, dims: str = "4", dtype: str = "TYPE_FP32", more: str = "") -> str:
    return f'{kind} {{ name: "{name}" data_type: {dtype} dims: [ {dims} ] {more}}}\n'


def ensemble_config(*steps: str, name: str = "e", batch: int = 8, io: str = "", more: str = "") -> str:
    io = io or tensor("input", "X") + tensor("output", "Y")
    head = f'name: "{name}"\nplatform: "ensemble"\nmax_batch_size: {batch}\n'
    return head + io + more + "ensemble_scheduling {\n" + "".join(steps) + "}\n"


def part(name: str, batch: int = 8, io: str = "", more: str = "") -> dict[str, str | bytes | None]:
    """A model of an ensemble."""
    io = io or tensor("input", "IN") + tensor("output", "OUT")
    batching = BATCHING if batch else ""
    config = f'name: "{name}"\nbackend: "python"\nmax_batch_size: {batch}\n{io}{batching}{more}'
    return {f"{name}/config.pbtxt": config, f"{name}/1/model.py": MODEL_PY}


def ensemble(*steps: str, parts: tuple[Files, ...] = (), **options: Any) -> Files:
    """The ensemble e over its parts; by default over one model a."""
    files: dict[str, str | bytes | None] = {}
    for one in parts or (part("a"),):
        files.update(one)
    files["e/config.pbtxt"] = ensemble_config(*(steps or (step("a"),)), **options)
    files["e/1"] = None
    return files


ENSEMBLE = ensemble()
PAIR = (part("a"), part("b"))
CHAIN = (step("a", "IN=X", "OUT=t"), step("b", "IN=t", "OUT=Y"))
START = "kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ]"


def control(inside: str, name: str = 'name: "START"') -> str:
    return f"sequence_batching {{ control_input [ {{ {name} control [ {{ {inside} }} ] }} ] }}\n"


GOOD_SEQUENCE = control(START)


def state(initial: str, dims: str = "2", count: int = 1) -> str:
    one = f'{{ input_name: "SI" output_name: "SO" data_type: TYPE_FP32 dims: [ {dims} ] {initial} }}'
    return f'sequence_batching {{ control_input [ {{ name: "START" control [ {{ {START} }} ] }} ] state [ {", ".join([one] * count)} ] }}\n'


GOOD_STATE = state('initial_state { name: "i" data_type: TYPE_FP32 dims: [ 2 ] zero_data: true }')


def warmup(inside: str, batch: int = 1, key: str = "IN") -> str:
    return f'model_warmup [ {{ name: "w" batch_size: {batch} inputs {{ key: "{key}" value {{ {inside} }} }} }} ]\n'


GOOD_WARMUP = warmup("data_type: TYPE_FP32 dims: [ 4 ] zero_data: true")


def parameter(key: str, value: str) -> str:
    return f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'


def io(inputs: str = INPUT, outputs: str = OUTPUT, head: str = HEAD) -> str:
    return head + inputs + outputs + BATCHING


def tweaked(inside: str, dims: str = "4") -> str:
    """The input with something more in it."""
    return io(f'input [ {{ name: "IN" data_type: TYPE_FP32 dims: [ {dims} ] {inside} }} ]\n')


READS_PARAMETER = """def initialize(self, args):
    parameters = json.loads(args["model_config"])["parameters"]
    self.path = parameters["PATH"]["string_value"]"""
HEAD_0 = HEAD.replace("max_batch_size: 8", "max_batch_size: 0")
LATE = "needs another release than the server at hand"
OTHER = "needs a backend that the server at hand lacks"
NO_VERDICT = "a warning: the server accepts both"

EXAMPLES: dict[str, Example] = {
    # -- text format
    "TPB1001": text(GOOD_CONFIG.replace('"IN"', '"IN')),
    "TPB1002": text(HEAD + INPUT + OUTPUT + "dynamic_batching {\n"),
    "TPB1003": text(GOOD_CONFIG.replace("[ 4 ]", "[ 4")),
    "TPB1004": added("}\n"),
    "TPB1005": text(GOOD_CONFIG.replace("dynamic_batching { }", "dynamic_batching < }")),
    "TPB1006": text(
        HEAD
        + OUTPUT
        + 'input [ { name: "A" data_type: TYPE_FP32 dims: 4 } { name: "B" data_type: TYPE_FP32 dims: 4 } ]\n',
        HEAD
        + OUTPUT
        + 'input [ { name: "A" data_type: TYPE_FP32 dims: 4 }, { name: "B" data_type: TYPE_FP32 dims: 4 } ]\n',
    ),
    "TPB1007": text(GOOD_CONFIG.replace("} ]", "}, ]", 1)),
    "TPB1008": text(GOOD_CONFIG.replace("[ 4 ]", "[ 4; 4 ]"), GOOD_CONFIG.replace("[ 4 ]", "[ 4, 4 ]")),
    "TPB1009": text(GOOD_CONFIG.replace("name: ", "name = ", 1)),
    "TPB1010": text(GOOD_CONFIG.replace("name: ", "name ", 1)),
    "TPB1011": text(GOOD_CONFIG.replace("dims", "shape")),
    "TPB1012": text(GOOD_CONFIG.replace("TYPE_FP32", "FP32")),
    "TPB1013": text(GOOD_CONFIG.replace("max_batch_size: 8", 'max_batch_size: "8"')),
    "TPB1014": text(GOOD_CONFIG.replace("max_batch_size: 8", "max_batch_size: 2147483648")),
    "TPB1015": added("model_transaction_policy { decoupled: no }\n", "model_transaction_policy { decoupled: false }\n"),
    "TPB1016": text(GOOD_CONFIG.replace("max_batch_size: 8", "max_batch_size: 1_000")),
    "TPB1017": added(parameter("path", r"C:\models"), parameter("path", r"C:\\models")),
    "TPB1018": text(GOOD_CONFIG.replace('backend: "', "backend: \u201c").replace('thon"', "thon\u201d")),
    "TPB1019": text(GOOD_CONFIG.replace("backend: ", "backend:\x01 ")),
    "TPB1020": text("\ufeff" + GOOD_CONFIG),
    "TPB1021": added("max_batch_size: 8\n"),
    "TPB1022": added("sequence_batching { }\n"),
    "TPB1023": text(GOOD_CONFIG.replace("dynamic_batching { }", "dynamic_batching: true")),
    "TPB1024": text(GOOD_CONFIG.replace("dims: [ 4 ]", "dims:")),
    "TPB1025": text(GOOD_CONFIG.replace("max_batch_size: 8", "max_batch_size: ${max_batch_size}")),
    "TPB1026": text(GOOD_CONFIG.replace("max_batch_size: 8", "max_batch_size: 8 // a comment")),
    "TPB1027": text(GOOD_CONFIG.replace("max_batch_size:", '"max_batch_size":')),
    "TPB1028": text('{ "name": "m", "backend": "python" }\n'),
    "TPB1029": text(GOOD_CONFIG.replace("max_batch_size: 8", "max_batch_size: 8 %")),
    # -- tensors and backend
    "TPB1101": text(GOOD_CONFIG.replace('name: "m"', 'name: "another"')),
    "TPB1102": text(GOOD_CONFIG.replace('"python"', '"pyhton"')),
    "TPB1103": Example(
        model(GOOD_CONFIG.replace('backend: "python"\n', ""), None, m__1__readme="x"),
        model(GOOD_CONFIG.replace('backend: "python"\n', "")),
    ),
    "TPB1104": text(GOOD_CONFIG.replace("backend:", "platform:")),
    "TPB1105": Example(
        model(
            GOOD_CONFIG.replace('backend: "python"', 'backend: "onnxruntime"\nplatform: "tensorrt_plan"'),
            None,
            m__1__model_DOT_onnx="x",
        ),
        model(
            GOOD_CONFIG.replace('backend: "python"', 'backend: "onnxruntime"\nplatform: "onnxruntime_onnx"'),
            None,
            m__1__model_DOT_onnx="x",
        ),
        not_asked=OTHER,
    ),
    "TPB1106": Example(ensemble(more='backend: "python"\n'), ENSEMBLE),
    "TPB1107": text(GOOD_CONFIG.replace("max_batch_size: 8", "max_batch_size: -1")),
    "TPB1108": text(GOOD_CONFIG.replace('name: "IN"', "")),
    "TPB1109": text(GOOD_CONFIG.replace('"IN" data_type: TYPE_FP32', '"IN"')),
    "TPB1110": text(GOOD_CONFIG.replace("dims: [ 4 ]", "", 1)),
    "TPB1111": text(GOOD_CONFIG.replace("[ 4 ]", "[ 0 ]", 1)),
    "TPB1112": text(
        io('input [ { name: "IN" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] } } ]\n', head=HEAD_0).replace(
            BATCHING, ""
        ),
        tweaked("reshape { shape: [ ] }", "1"),
    ),
    "TPB1113": text(tweaked("reshape { shape: [ 0 ] }"), tweaked("reshape { shape: [ 2, 2 ] }")),
    "TPB1114": text(tweaked("reshape { shape: [ 2, 3 ] }"), tweaked("reshape { shape: [ 2, 2 ] }")),
    "TPB1115": text(tweaked("format: FORMAT_NCHW"), tweaked("format: FORMAT_NCHW", "3, 8, 8")),
    "TPB1116": text(tweaked("is_non_linear_format_io: true"), tweaked("is_non_linear_format_io: false")),
    "TPB1117": text(tweaked("is_shape_tensor: true"), tweaked("is_shape_tensor: false")),
    "TPB1118": added(
        'batch_input [ { kind: BATCH_ELEMENT_COUNT target_name: "BI" data_type: TYPE_FP32 } ]\n',
        'batch_input [ { kind: BATCH_ELEMENT_COUNT target_name: "BI" data_type: TYPE_FP32 source_input: "IN" } ]\n',
    ),
    "TPB1119": added(
        'batch_input [ { kind: BATCH_ELEMENT_COUNT target_name: "BI" data_type: TYPE_INT64 source_input: "IN" } ]\n',
        'batch_input [ { kind: BATCH_ELEMENT_COUNT target_name: "BI" data_type: TYPE_INT32 source_input: "IN" } ]\n',
    ),
    "TPB1120": added(
        'batch_output [ { kind: BATCH_SCATTER_WITH_INPUT_SHAPE target_name: "OUTT" source_input: "IN" } ]\n',
        'batch_output [ { kind: BATCH_SCATTER_WITH_INPUT_SHAPE target_name: "OUT" source_input: "IN" } ]\n',
    ),
    "TPB1121": added(
        'batch_output [ { kind: BATCH_SCATTER_WITH_INPUT_SHAPE target_name: [ "OUT", "OUT" ] source_input: "IN" } ]\n',
        'batch_output [ { kind: BATCH_SCATTER_WITH_INPUT_SHAPE target_name: [ "OUT" ] source_input: "IN" } ]\n',
    ),
    "TPB1122": Example(
        model(GOOD_CONFIG.replace('"OUT"', '"OUT" label_filename: "labels.txt"')),
        model(GOOD_CONFIG.replace('"OUT"', '"OUT" label_filename: "labels.txt"'), m__labels_DOT_txt="a\nb\n"),
    ),
    "TPB1123": text(
        GOOD_CONFIG.replace("[ 4 ]", "[ -1, 3, 224, 224 ]"), GOOD_CONFIG.replace("[ 4 ]", "[ 3, 224, 224 ]")
    ),
    "TPB1124": Example(model(GOOD_CONFIG + INPUT), model(), not_asked=NO_VERDICT),
    "TPB1125": text(HEAD + OUTPUT + BATCHING),
    "TPB1126": text(GOOD_CONFIG.replace("TYPE_FP32", "99", 1)),
    "TPB1127": text(io(tweaked("allow_ragged_batch: true"), "", head="").replace(HEAD, HEAD_0).replace(BATCHING, "")),
    "TPB1128": added(
        "response_cache { enable: true }\nmodel_transaction_policy { decoupled: true }\n",
        "response_cache { enable: true }\n",
    ),
    "TPB1129": swapped("sequence_batching { }\nresponse_cache { enable: true }\n", "sequence_batching { }\n"),
    "TPB1130": added('model_repository_agents { agents [ { name: "nothere" } ] }\n'),
    "TPB1131": added(parameter("TRITON_BATCH_STRATEGY_PATH", "/nowhere/batch.so")),
    "TPB1132": added('runtime: "model.py"\n'),
    "TPB1133": Example(
        {"m/config.pbtxt": 'backend: "onnxruntime"\n', "m/1": None},
        {"m/config.pbtxt": 'backend: "onnxruntime"\n', "m/1/model.onnx": "x"},
        not_asked=OTHER,
    ),
    "TPB1134": Example(
        model(GOOD_CONFIG + 'model_metrics { metric_control [ { metric_identifier { family: "f" } } ] }\n'),
        model(
            GOOD_CONFIG
            + 'model_metrics { metric_control [ { metric_identifier { family: "f" } histogram_options { buckets: [ 1 ] } } ] }\n'
        ),
        {"release": "25.01"},
        not_asked=LATE,
    ),
    "TPB1135": added(
        'batch_input { kind: 99 target_name: "N" data_type: TYPE_INT32 source_input: "IN" }\n',
        'batch_input { kind: 1 target_name: "N" data_type: TYPE_INT32 source_input: "IN" }\n',
    ),
    "TPB1136": added(
        'batch_output { source_input: "IN" }\n', 'batch_output { target_name: "OUT" source_input: "IN" }\n'
    ),
    "TPB1137": added("model_repository_agents { agents [ ] }\n"),
    # -- scheduler
    "TPB1201": swapped(
        "dynamic_batching { preferred_batch_size: [ 4, 16 ] }\n",
        "dynamic_batching { preferred_batch_size: [ 4, 8 ] }\n",
    ),
    "TPB1202": swapped(
        "dynamic_batching { preferred_batch_size: [ 0 ] }\n", "dynamic_batching { preferred_batch_size: [ 1 ] }\n"
    ),
    "TPB1203": swapped(
        "dynamic_batching { priority_levels: 2 }\n",
        "dynamic_batching { priority_levels: 2 default_priority_level: 1 }\n",
    ),
    "TPB1204": swapped(
        "dynamic_batching { priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 3 value { max_queue_size: 1 } } }\n",
        "dynamic_batching { priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 2 value { max_queue_size: 1 } } }\n",
    ),
    "TPB1205": swapped(
        "dynamic_batching { preserve_ordering: true priority_levels: 2 default_priority_level: 1 }\n",
        "dynamic_batching { preserve_ordering: true priority_levels: 1 default_priority_level: 1 }\n",
    ),
    "TPB1206": swapped(
        "dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 9 } }\n",
        "dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 9 } }\n",
    ),
    "TPB1207": text(HEAD_0 + INPUT + OUTPUT + BATCHING),
    "TPB1208": text(HEAD + INPUT + OUTPUT),
    "TPB1210": added("instance_group [ { kind: KIND_CPU gpus: [ 0 ] } ]\n", "instance_group [ { kind: KIND_CPU } ]\n"),
    "TPB1211": Example(
        model(GOOD_CONFIG + "instance_group [ { kind: KIND_GPU } ]\n"),
        model(GOOD_CONFIG + "instance_group [ { kind: KIND_CPU } ]\n"),
        {"gpus": 0},
    ),
    "TPB1212": Example(
        model(GOOD_CONFIG + "instance_group [ { kind: KIND_GPU gpus: [ 3 ] } ]\n"),
        model(GOOD_CONFIG + "instance_group [ { kind: KIND_CPU } ]\n"),
        {"gpus": 0},
    ),
    "TPB1213": added('instance_group [ { kind: KIND_CPU profile: "0" } ]\n', "instance_group [ { kind: KIND_CPU } ]\n"),
    "TPB1214": added(
        "instance_group [ { kind: KIND_CPU count: -3 } ]\n", "instance_group [ { kind: KIND_CPU count: 3 } ]\n"
    ),
    "TPB1215": added(
        "instance_group [ { kind: KIND_CPU passive: true } ]\n", "instance_group [ { kind: KIND_CPU } ]\n"
    ),
    "TPB1216": Example(
        model(
            GOOD_CONFIG
            + 'instance_group [ { kind: KIND_CPU rate_limiter { resources [ { name: "R" global: true count: 1 }, { name: "R" count: 1 } ] } } ]\n'
        ),
        model(
            GOOD_CONFIG
            + 'instance_group [ { kind: KIND_CPU rate_limiter { resources [ { name: "R" count: 1 } ] } } ]\n'
        ),
        {"rate_limit": True},
        not_asked="needs a server with --rate-limit",
    ),
    "TPB1217": Example(
        model(
            GOOD_CONFIG
            + 'instance_group [ { kind: KIND_CPU rate_limiter { resources [ { name: "R" count: 9 } ] } } ]\n'
        ),
        model(
            GOOD_CONFIG
            + 'instance_group [ { kind: KIND_CPU rate_limiter { resources [ { name: "R" count: 2 } ] } } ]\n'
        ),
        {"rate_limit": True, "resources": {"R": 2}},
        not_asked="needs a server with --rate-limit",
    ),
    "TPB1218": added("instance_group [ { kind: 7 } ]\n", "instance_group [ { kind: 2 } ]\n"),
    "TPB1219": added(
        'instance_group [ { name: "a;b" kind: KIND_CPU } ]\n', 'instance_group [ { name: "a-b" kind: KIND_CPU } ]\n'
    ),
    # -- sequence
    "TPB1301": swapped(control(START, ""), GOOD_SEQUENCE),
    "TPB1302": swapped(
        'sequence_batching { control_input [ { name: "S" control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } ] } ]'
        ' control_input [ { name: "S" control [ { kind: CONTROL_SEQUENCE_END fp32_false_true: [ 0, 1 ] } ] } ] }\n',
        GOOD_SEQUENCE,
    ),
    "TPB1303": swapped(
        f'sequence_batching {{ control_input [ {{ name: "S" control [ {{ {START} }} ] }}, {{ name: "T" control [ {{ {START} }} ] }} ] }}\n',
        GOOD_SEQUENCE,
    ),
    "TPB1304": swapped(control("kind: CONTROL_SEQUENCE_START"), GOOD_SEQUENCE),
    "TPB1305": swapped(control(START + " int32_false_true: [ 0, 1 ]"), GOOD_SEQUENCE),
    "TPB1306": swapped(control("kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1, 2 ]"), GOOD_SEQUENCE),
    "TPB1307": swapped(
        control("kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_FP32"),
        control("kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64"),
    ),
    "TPB1308": swapped(
        control("kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 int32_false_true: [ 0, 1 ]"),
        control("kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64"),
    ),
    "TPB1309": swapped(
        "sequence_batching { oldest { max_candidate_sequences: 4 preferred_batch_size: [ 16 ] } }\n",
        "sequence_batching { oldest { max_candidate_sequences: 4 preferred_batch_size: [ 8 ] } }\n",
    ),
    "TPB1310": swapped(
        "sequence_batching { direct { minimum_slot_utilization: 1.5 } }\n",
        "sequence_batching { direct { minimum_slot_utilization: 0.5 } }\n",
    ),
    "TPB1311": swapped(
        state('initial_state { name: "i" data_type: TYPE_FP32 dims: [ 2 ] zero_data: true } ' * 2), GOOD_STATE
    ),
    "TPB1312": swapped(
        state('initial_state { name: "i" data_type: TYPE_INT32 dims: [ 2 ] zero_data: true }'), GOOD_STATE
    ),
    "TPB1313": swapped(state("initial_state { data_type: TYPE_FP32 dims: [ 2 ] zero_data: true }"), GOOD_STATE),
    "TPB1314": swapped(
        state('initial_state { name: "i" data_type: TYPE_FP32 dims: [ 2 ] zero_data: true }', count=2), GOOD_STATE
    ),
    "TPB1315": swapped(
        state('initial_state { name: "i" data_type: TYPE_FP32 dims: [ 3 ] zero_data: true }'), GOOD_STATE
    ),
    "TPB1316": swapped(state('initial_state { name: "i" data_type: TYPE_FP32 dims: [ 2 ] }'), GOOD_STATE),
    "TPB1317": Example(
        model(
            HEAD + INPUT + OUTPUT + state('initial_state { name: "i" data_type: TYPE_FP32 dims: [ 2 ] data_file: "s" }')
        ),
        model(
            HEAD
            + INPUT
            + OUTPUT
            + state('initial_state { name: "i" data_type: TYPE_FP32 dims: [ 2 ] data_file: "s" }'),
            m__initial_state__s="12345678",
        ),
    ),
    "TPB1318": swapped("sequence_batching { }\n", GOOD_SEQUENCE),
    # -- warmup
    "TPB1401": added(warmup("data_type: TYPE_FP32 dims: [ -1 ] zero_data: true"), GOOD_WARMUP),
    "TPB1402": added(warmup("data_type: TYPE_FP32 dims: [ 4 ]"), GOOD_WARMUP),
    "TPB1403": Example(
        model(GOOD_CONFIG + warmup('data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "d"'), m__warmup__d="short"),
        model(
            GOOD_CONFIG + warmup('data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "d"'),
            m__warmup__d="0123456789abcdef",
        ),
    ),
    "TPB1404": added(warmup("data_type: TYPE_FP32 dims: [ 4 ] zero_data: true", key="INN"), GOOD_WARMUP),
    "TPB1405": added(
        GOOD_WARMUP.replace(
            "inputs {", 'inputs { key: "MORE" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } } inputs {'
        ),
        GOOD_WARMUP,
    ),
    "TPB1406": added(warmup("data_type: TYPE_INT64 dims: [ 4 ] zero_data: true"), GOOD_WARMUP),
    "TPB1407": added(warmup("data_type: TYPE_FP32 dims: [ 7 ] zero_data: true"), GOOD_WARMUP),
    "TPB1408": Example(
        model(GOOD_CONFIG + warmup("data_type: TYPE_FP32 dims: [ 4 ] zero_data: true", batch=99), ECHO_PY),
        model(GOOD_CONFIG + warmup("data_type: TYPE_FP32 dims: [ 4 ] zero_data: true", batch=8), ECHO_PY),
    ),
    # -- layout
    "TPB1501": Example(model(source=None, m__v1__model_DOT_py=MODEL_PY), model()),
    "TPB1502": added("version_policy { latest { } }\n", "version_policy { latest { num_versions: 1 } }\n"),
    "TPB1503": added(
        "version_policy { specific { versions: [ 1, 7 ] } }\n", "version_policy { specific { versions: [ 1 ] } }\n"
    ),
    "TPB1504": Example(model(m__2_old__model_DOT_py=MODEL_PY), model()),
    "TPB1505": Example(model(m__1_old__readme="x"), model()),
    "TPB1506": Example(model(m__99999999999999999999__model_DOT_py=MODEL_PY), model()),
    "TPB1507": Example(
        {"my m/config.pbtxt": GOOD_CONFIG.replace('"m"', '"my m"'), "my m/1/model.py": MODEL_PY}, model()
    ),
    "TPB1508": Example(
        {"mod\u00e9l/config.pbtxt": GOOD_CONFIG.replace('"m"', '"mod\u00e9l"'), "mod\u00e9l/1/model.py": MODEL_PY},
        model(),
        not_asked="depends on the locale of the server",
    ),
    "TPB1510": Example({"m/config.txt": GOOD_CONFIG, "m/1/model.py": MODEL_PY}, model()),
    "TPB1511": Example(model(m___DOT_git__HEAD="x"), model()),
    "TPB1516": Example(model(config=None), model(), {"strict": True}, not_asked="needs a server with the flag"),
    # -- ensembles
    "TPB1601": Example(
        {**ENSEMBLE, "e/config.pbtxt": ensemble_config(step("a")).replace('platform: "ensemble"', 'backend: "python"')},
        ENSEMBLE,
    ),
    "TPB1602": Example(
        {
            **ENSEMBLE,
            "e/config.pbtxt": 'name: "e"\nplatform: "ensemble"\n' + tensor("input", "X") + tensor("output", "Y"),
        },
        ENSEMBLE,
    ),
    "TPB1603": Example(ensemble(more="instance_group [ { kind: KIND_CPU } ]\n"), ENSEMBLE),
    "TPB1604": Example({**ENSEMBLE, "e/config.pbtxt": ensemble_config()}, ENSEMBLE),
    "TPB1605": Example(ensemble(step("a", inputs="")), ENSEMBLE),
    "TPB1606": Example(ensemble(step("a"), step("b"), parts=PAIR), ensemble(*CHAIN, parts=PAIR)),
    "TPB1607": Example(ensemble(io=tensor("input", "X") + tensor("input", "Z") + tensor("output", "Y")), ENSEMBLE),
    "TPB1608": Example(ensemble(io=tensor("input", "X") + tensor("output", "Y") + tensor("output", "Q")), ENSEMBLE),
    "TPB1609": Example(
        ensemble(step("a", "IN=X", "OUT=t"), step("b", "IN=tt", "OUT=Y"), parts=PAIR), ensemble(*CHAIN, parts=PAIR)
    ),
    "TPB1610": Example(
        ensemble(step("a", "IN=X", "OUT=t"), step("b", "IN=X", "OUT=Y"), parts=PAIR), ensemble(*CHAIN, parts=PAIR)
    ),
    "TPB1611": Example(
        ensemble(step("a").replace("output_map", 'input_map { key: "IN" value: "X" } output_map')), ENSEMBLE
    ),
    "TPB1621": Example(ensemble(step("aa")), ENSEMBLE),
    "TPB1622": Example(ensemble(step("a", version="")), ENSEMBLE),
    "TPB1623": Example({**ENSEMBLE, "a/1/model.py": "x = 1\n"}, ENSEMBLE),
    "TPB1624": Example(
        {
            **ensemble(
                step("inner", "X=X", "Y=Y"), io=tensor("input", "X", dtype="TYPE_INT32") + tensor("output", "Y")
            ),
            **part("a"),
            "inner/1": None,
            "inner/config.pbtxt": ensemble_config(
                step("a"), name="inner", io=tensor("input", "X", dtype="TYPE_INT32") + tensor("output", "Y")
            ),
        },
        {
            **ensemble(step("inner", "X=X", "Y=Y")),
            **part("a"),
            "inner/1": None,
            "inner/config.pbtxt": ensemble_config(step("a"), name="inner"),
        },
    ),
    "TPB1625": Example(ensemble(step("a", "INN=X")), ENSEMBLE),
    "TPB1626": Example(ensemble(step("a", outputs="OUTT=Y")), ENSEMBLE),
    "TPB1627": Example(
        ensemble(parts=(part("a", io=tensor("input", "IN") + tensor("input", "IN2") + tensor("output", "OUT")),)),
        ensemble(
            parts=(
                part(
                    "a",
                    io=tensor("input", "IN") + tensor("input", "IN2", more="optional: true ") + tensor("output", "OUT"),
                ),
            )
        ),
    ),
    "TPB1628": Example(
        ensemble(
            *CHAIN, parts=(part("a"), part("b", io=tensor("input", "IN", dtype="TYPE_FP16") + tensor("output", "OUT")))
        ),
        ensemble(*CHAIN, parts=PAIR),
    ),
    "TPB1629": Example(
        ensemble(*CHAIN, parts=(part("a"), part("b", io=tensor("input", "IN", "4, 1") + tensor("output", "OUT")))),
        ensemble(*CHAIN, parts=PAIR),
    ),
    "TPB1630": Example(ensemble(parts=(part("a", batch=4),)), ensemble(parts=(part("a", batch=16),))),
    "TPB1631": Example(
        {
            "e/1": None,
            "e/config.pbtxt": ensemble_config(step("f", "X=X", "Y=Y")),
            "f/1": None,
            "f/config.pbtxt": ensemble_config(step("e", "X=X", "Y=Y"), name="f"),
        },
        {
            **part("a"),
            "e/1": None,
            "e/config.pbtxt": ensemble_config(step("f", "X=X", "Y=Y")),
            "f/1": None,
            "f/config.pbtxt": ensemble_config(step("a"), name="f"),
        },
    ),
    "TPB1632": Example(
        ensemble(
            step("a", "IN=X", "OUT=t"),
            step("b", "IN=t,IN2=X", "OUT=Y"),
            parts=(
                part("a", more="model_transaction_policy { decoupled: true }\n"),
                part("b", io=tensor("input", "IN") + tensor("input", "IN2") + tensor("output", "OUT")),
            ),
        ),
        ensemble(*CHAIN, parts=(part("a", more="model_transaction_policy { decoupled: true }\n"), part("b"))),
    ),
    "TPB1633": Example(
        ensemble(parts=(part("a", batch=0),)),
        ensemble(parts=(part("a", batch=0, io=tensor("input", "IN", "-1, 4") + tensor("output", "OUT", "-1, 4")),)),
    ),
    "TPB1634": Example(
        ensemble(*CHAIN, parts=(part("a", io=tensor("input", "IN") + tensor("output", "OUT", "-1")), part("b"))),
        ensemble(*CHAIN, parts=PAIR),
    ),
    # -- model.py
    "TPB1701": Example(model(source=None, m__1__other_DOT_py=MODEL_PY), model()),
    "TPB1702": Example(model(source=None, m__1__model_DOT_py__x="x"), model()),
    "TPB1703": source(MODEL_PY.replace("requests):", "requests)")),
    "TPB1704": source(MODEL_PY.replace("TritonPythonModel", "TritonModel")),
    "TPB1705": source(method("def initialize(self):\n    pass"), method("def initialize(self, args):\n    pass")),
    "TPB1706": source(
        method('def initialize(self, args):\n    raise ValueError("bad")'),
        method('def initialize(self, args):\n    if not args:\n        raise ValueError("bad")'),
    ),
    "TPB1707": source("import os\n\nos._exit(3)\n" + MODEL_PY),
    "TPB1708": Example(
        model(source="from helper_mod import answer\n" + MODEL_PY),
        model(source="from helper_mod import answer\n" + MODEL_PY, m__1__helper_mod_DOT_py="answer = 42\n"),
    ),
    "TPB1709": source(
        MODEL_PY.replace("requests):", "requests: list[pb_utils.InferenceRequest]):"),
        "from __future__ import annotations\n"
        + MODEL_PY.replace("requests):", "requests: list[pb_utils.InferenceRequest]):"),
    ),
    "TPB1710": source(
        hook('config.add_input({"name": "IN", "data_type": "TYPE_INT32", "dims": [4]})\nreturn config'),
        hook('config.add_input({"name": "IN", "data_type": "TYPE_FP32", "dims": [4]})\nreturn config'),
    ),
    "TPB1711": source(hook("config.set_dynamic_batching()"), hook("config.set_dynamic_batching()\nreturn config")),
    "TPB1712": added(parameter("EXECUTION_ENV_PATH", "env.tar.gz")),
    "TPB1713": Example(
        model(
            GOOD_CONFIG + parameter("EXECUTION_ENV_PATH", "$$TRITON_MODEL_DIRECTORY/env.tar.gz"),
            m__env_DOT_tar_DOT_gz="no tar",
        ),
        model(),
    ),
    "TPB1714": added(
        parameter("FORCE_CPU_ONLY_INPUT_TENSORS", "maybe"), parameter("FORCE_CPU_ONLY_INPUT_TENSORS", "no")
    ),
    "TPB1715": source(
        "class TritonPythonModel:\n    def execute(self, requests):\n        raise RuntimeError('boom')\n",
        config=GOOD_CONFIG + GOOD_WARMUP,
    ),
    "TPB1716": source(
        method("def initialize(self, args):\n    self.config = json.loads(args['model_config'])"),
        "import json\n" + method("def initialize(self, args):\n    self.config = json.loads(args['model_config'])"),
    ),
    "TPB1717": source(
        method("def initialize(self, args):\n    self.folder = args['model_path']"),
        method("def initialize(self, args):\n    self.folder = args['model_repository']"),
    ),
    "TPB1718": source(
        "import json\n"
        + method(
            "def initialize(self, args):\n    config = json.loads(args['model_config'])\n"
            "    self.kind = pb_utils.get_output_config_by_name(config, 'OUTPUT')['data_type']"
        ),
        "import json\n"
        + method(
            "def initialize(self, args):\n    config = json.loads(args['model_config'])\n"
            "    self.kind = pb_utils.get_output_config_by_name(config, 'OUT')['data_type']"
        ),
    ),
    "TPB1719": source(
        method("def initialize(self, args):\n    pb_utils.Loger.log_info('ready')"),
        method("def initialize(self, args):\n    pb_utils.Logger.log_info('ready')"),
    ),
    "TPB1720": Example(
        model(
            GOOD_CONFIG + parameter("EXECUTION_ENV_PATH", "$$TRITON_MODEL_DIRECTORY/env"),
            m__env__bin__activate="",
            m__env__lib__python3_DOT_8__os_DOT_py="",
        ),
        model(
            GOOD_CONFIG + parameter("EXECUTION_ENV_PATH", "$$TRITON_MODEL_DIRECTORY/env"),
            m__env__bin__activate="",
            m__env__lib__python3_DOT_10__os_DOT_py="",
        ),
        not_asked="the environments are only sketched",
    ),
    "TPB1721": source(
        method(
            "def initialize(self, args):\n"
            "    request = pb_utils.InferenceRequest(model_name='x', requested_output_names=['y'], inputs=[])\n"
            "    response = request.exec()\n    self.failed = response.has_error()"
        ),
        method("def initialize(self, args):\n    self.failed = False"),
    ),
    "TPB1722": Example(
        model(source="from ..shared import x\n" + MODEL_PY, m__shared_DOT_py="x = 1\n"),
        model(source="from shared import x\n" + MODEL_PY, m__shared_DOT_py="x = 1\n"),
    ),
    "TPB1723": Example(
        model(source="from .shared import xy\n" + MODEL_PY, m__1__shared_DOT_py="x = 1\n"),
        model(source="from .shared import x\n" + MODEL_PY, m__1__shared_DOT_py="x = 1\n"),
    ),
    "TPB1724": source(MODEL_PY + "\n\nTritonPythonModel = None\n", MODEL_PY + "\n\nModel = TritonPythonModel\n"),
    "TPB1725": source(
        hook('config.add_output({"name": "MORE", "data_type": "TYPE_FP32", "dims": [0]})\nreturn config'),
        hook('config.add_output({"name": "MORE", "data_type": "TYPE_FP32", "dims": [-1]})\nreturn config'),
    ),
    "TPB1726": source(
        method(
            'def initialize(self, args):\n    self.found = pb_utils.get_output_config_by_name(args["model_config"], "OUT")'
        ),
        "import json\n"
        + method(
            "def initialize(self, args):\n"
            '    config = json.loads(args["model_config"])\n'
            '    self.found = pb_utils.get_output_config_by_name(config, "OUT")'
        ),
    ),
    "TPB1727": Example(
        model(GOOD_CONFIG + parameter("PATHS", "x"), "import json\n" + method(READS_PARAMETER)),
        model(GOOD_CONFIG + parameter("PATH", "x"), "import json\n" + method(READS_PARAMETER)),
    ),
    "TPB1728": Example(
        model(GOOD_CONFIG + 'default_model_filename: "my.model.py"\n', None, m__1__my_DOT_model_DOT_py=MODEL_PY),
        model(GOOD_CONFIG + 'default_model_filename: "my-model.py"\n', None, **{"m__1__my-model_DOT_py": MODEL_PY}),
    ),
    "TPB1729": Example(
        model(GOOD_CONFIG + GOOD_WARMUP, MODEL_PY.partition("return [")[0] + "return []\n"),
        model(GOOD_CONFIG + GOOD_WARMUP, ECHO_PY),
    ),
    "TPB1747": source(
        "import json\n" + method('def initialize(self, args):\n    self.config = json.load(args["model_config"])'),
        "import json\n" + method('def initialize(self, args):\n    self.config = json.loads(args["model_config"])'),
    ),
    "TPB1746": source(
        method("def initialize(self, args):\n    self.tokeniser.encode('x')"),
        method("def initialize(self, args):\n    self.tokeniser = args\n    self.tokeniser.keys()"),
    ),
    "TPB1745": source(
        MODEL_PY.replace(
            "rows = np",
            "pb_utils.InferenceRequest(model_name='x', requested_output_names=['y'], inputs=[]).exec()\n        rows = np",
        ),
        MODEL_PY.replace(
            "rows = np",
            "r = pb_utils.InferenceRequest(model_name='x', requested_output_names=['y'], inputs=[]).exec()\n        assert not r.has_error()\n        rows = np",
        ),
    ),
    "TPB1730": source(MODEL_PY.replace("def execute", "def run")),
    "TPB1731": source(
        "class TritonPythonModel:\n    def execute(self, requests):\n        for request in requests:\n            print(request)\n"
    ),
    "TPB1732": Example(
        model(GOOD_CONFIG + "model_transaction_policy { decoupled: true }\n"),
        model(
            GOOD_CONFIG + "model_transaction_policy { decoupled: true }\n",
            "import triton_python_backend_utils as pb_utils\n\n\nclass TritonPythonModel:\n    def execute(self, requests):\n"
            "        for request in requests:\n            request.get_response_sender().send(flags=1)\n        return None\n",
        ),
    ),
    "TPB1733": source(
        MODEL_PY.replace("return [", "return (").replace("requests]", "requests, )").replace(" for _ in requests", "")
    ),
    "TPB1734": source(MODEL_PY.replace('"OUT"', '"OUTPUT"')),
    "TPB1735": Example(
        model(GOOD_CONFIG.replace("output [", 'output [ { name: "SCORE" data_type: TYPE_FP32 dims: [ 1 ] },')), model()
    ),
    "TPB1736": source(
        MODEL_PY.replace("rows = ", 'rows = pb_utils.get_input_tensor_by_name(requests[0], "INPUT").as_numpy()  # '),
        MODEL_PY.replace("rows = ", 'rows = pb_utils.get_input_tensor_by_name(requests[0], "IN").as_numpy()  # '),
    ),
    "TPB1737": source(MODEL_PY.replace('"OUT", rows', '"OUT", rows.astype(np.float64)')),
    "TPB1738": source(MODEL_PY.replace("np.float32", "np.float")),
    "TPB1739": Example(
        model(source=method('def initialize(self, args):\n    self.labels = open("labels.txt").read()')),
        model(source=method('def initialize(self, args):\n    self.labels = open("/labels.txt").read() if 0 else ""')),
        not_asked="depends on where the server was started",
    ),
    "TPB1740": Example(
        model(GOOD_CONFIG + "instance_group [ { kind: KIND_GPU } ]\n"),
        model(
            GOOD_CONFIG + "instance_group [ { kind: KIND_GPU } ]\n",
            method('def initialize(self, args):\n    self.device = "cuda:" + args["model_instance_device_id"]'),
        ),
        not_asked="needs a GPU",
    ),
    "TPB1741": Example(
        model(source="import colorsys\n" + MODEL_PY, m__1__colorsys_DOT_py="x = 1\n"),
        model(source="import mycolors\n" + MODEL_PY, m__1__mycolors_DOT_py="x = 1\n"),
    ),
    "TPB1742": Example(model(m__1__triton_python_backend_utils_DOT_py="x = 1\n"), model()),
    "TPB1743": source(
        hook('config.add_input({"name": "MORE", "data_type": "FP32", "dims": [4]})\nreturn config'),
        hook('config.add_input({"name": "MORE", "data_type": "TYPE_FP32", "dims": [4]})\nreturn config'),
    ),
    "TPB1744": source(
        MODEL_PY.replace(
            "rows = ", 'row = pb_utils.get_input_tensor_by_name(requests[0], "IN").as_numpy()[0]\n        rows = '
        ),
        MODEL_PY.replace(
            "rows = ", 'row = pb_utils.get_input_tensor_by_name(requests[0], "IN").as_numpy()\n        rows = '
        ),
    ),
    "TPB1748": Example(
        model(GOOD_CONFIG + "model_transaction_policy { decoupled: true }\n", SENDS),
        model(GOOD_CONFIG + "model_transaction_policy { decoupled: true }\n", SENDS + ENDS),
    ),
    "TPB1749": source(
        MODEL_PY.replace(
            "rows = ", "if len(requests) > 7:\n            raise pb_utils.TritonError('busy')\n        rows = "
        ),
        MODEL_PY.replace(
            "rows = ", "if len(requests) > 7:\n            raise pb_utils.TritonModelException('busy')\n        rows = "
        ),
    ),
    "TPB1751": source(
        MODEL_PY.replace('"OUT", rows', '"OUT", [1.0, 2.0]'),
        MODEL_PY.replace('"OUT", rows', '"OUT", np.array([[1, 2, 3, 4]], np.float32)'),
    ),
    "TPB1752": source(
        MODEL_PY.replace("rows = ", 'print(f"안녕 {len(requests)}")\n        rows = '),
        MODEL_PY.replace("rows = ", 'pb_utils.Logger.log_info(f"안녕 {len(requests)}")\n        rows = '),
    ),
    "TPB1753": source(
        method(
            "def initialize(self, args):\n    self.path = args['model_repository'] + '/names.txt'\n\ndef names(self):\n    return open(self.path).read()"
        ),
        method(
            "def initialize(self, args):\n    self.path = args['model_repository'] + '/names.txt'\n\ndef names(self):\n    return open(self.path, encoding='utf-8').read()"
        ),
    ),
    "TPB1754": source(
        "import sys\n" + MODEL_PY.replace("rows = ", "if not requests:\n            sys.exit(1)\n        rows = "),
        "import sys\n" + method("def finalize(self):\n    sys.exit(0)"),
    ),
    # -- release
    "TPB1801": Example(model(tweaked("optional: true")), model(), {"release": "21.10"}, not_asked=LATE),
    "TPB1802": Example(
        model(GOOD_CONFIG.replace("TYPE_FP32", "TYPE_BF16", 1)), model(), {"release": "21.10"}, not_asked=LATE
    ),
    "TPB1803": source(
        method('def initialize(self, args):\n    pb_utils.Logger.log_info("ready")'), MODEL_PY, release="21.10"
    ),
    "TPB1804": source(hook("return config"), MODEL_PY, release="21.10"),
    "TPB1805": source(
        MODEL_PY + "\n\ndef kind(x):\n    match x:\n        case 1:\n            return 1\n", MODEL_PY, release="21.10"
    ),
    "TPB1806": Example(
        {"m/config.pbtxt": 'platform: "tensorflow_savedmodel"\n', "m/1/model.savedmodel/saved_model.pb": "x"},
        model(),
        not_asked=OTHER,
    ),
    "TPB1807": Example(
        {"m/config.pbtxt": 'platform: "pytorch_libtorch"\n' + INPUT + OUTPUT, "m/1/model.pt": "x"},
        {
            "m/config.pbtxt": 'platform: "pytorch_libtorch"\n'
            + INPUT.replace("IN", "INPUT__0")
            + OUTPUT.replace("OUT", "OUTPUT__0"),
            "m/1/model.pt": "x",
        },
        not_asked=OTHER,
    ),
}

#: Rules about the file system or the repository as a whole: their tests build them by hand.
BY_HAND = {"TPB1030", "TPB1031", "TPB1032", "TPB1509", "TPB1512", "TPB1513", "TPB1514", "TPB1515", "TPB1750"}
