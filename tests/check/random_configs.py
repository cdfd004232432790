"""Well-formed configurations whose meaning is random, made from a seed: the same on every machine."""

from __future__ import annotations

import random


def config(seed: int) -> str:
    """A model (of a backend that does not exist) or an ensemble, right in most places."""
    rng = random.Random(seed)
    text = f"max_batch_size: {rng.choice([8, 8, 0, 1] if rng.random() < 0.95 else [-1])}\n"
    return text + (_ensemble(rng) if rng.random() < 0.4 else _model(rng))


def _model(rng: random.Random) -> str:
    backends = ['platform: "onnxruntime_onnx"\nbackend: "tensorrt"\n', 'platform: "foo"\n', 'backend: "tensorflow"\n']
    backends += ['backend: "pytorch"\nplatform: "x"\n', 'platform: "pytorch_libtorch"\n', ""]
    text = 'backend: "none"\n' if rng.random() < 0.9 else rng.choice(backends)
    text += "".join(_tensor(rng, "input", f"i{index}") for index in range(rng.randint(0, 2)))
    text += "".join(_tensor(rng, "output", f"o{index}") for index in range(rng.randint(0, 2)))
    kind = rng.random()
    if kind < 0.35:
        text += _dynamic_batching(rng)
    elif kind < 0.7:
        text += _sequence_batching(rng)
    text += _batch_tensors(rng)
    if rng.random() < 0.1:
        text += "response_cache { enable: true }\n"
    if rng.random() < 0.1:
        text += "model_transaction_policy { decoupled: true }\n"
    return text


def _dims(rng: random.Random) -> str:
    sizes = [rng.choice([1, 2, 3, 4, -1, 6] if rng.random() < 0.98 else [0, -2]) for _ in range(rng.randint(1, 4))]
    return "[ " + ", ".join(map(str, sizes if rng.random() < 0.99 else [])) + " ]"


def _tensor(rng: random.Random, kind: str, name: str) -> str:
    parts = [f'name: "{name}"'] if rng.random() < 0.99 else []
    if rng.random() < 0.99:
        parts.append(f"data_type: {rng.choice(['TYPE_FP32', 'TYPE_INT64', 'TYPE_STRING'])}")
    parts.append(f"dims: {_dims(rng)}")
    if rng.random() < 0.1:
        parts.append(f"reshape {{ shape: {_dims(rng)} }}")
    if kind == "input" and rng.random() < 0.05:
        parts.append(f"format: {rng.choice(['FORMAT_NHWC', 'FORMAT_NCHW', 'FORMAT_NONE'])}")
    parts += [flag for flag in ("is_shape_tensor: true", "is_non_linear_format_io: true") if rng.random() < 0.01]
    return f"{kind} {{ {' '.join(parts)} }}\n"


def _dynamic_batching(rng: random.Random) -> str:
    def policy() -> str:
        action, timeout = rng.choice(["DELAY", "REJECT"]), rng.choice([0, 10])
        return f"{{ timeout_action: {action} default_timeout_microseconds: {timeout} }}"

    parts = []
    if rng.random() < 0.5:
        sizes = [rng.choice([1, 2, 4, 8] if rng.random() < 0.9 else [0, -1, 16]) for _ in range(rng.randint(0, 3))]
        parts.append(f"preferred_batch_size: [ {', '.join(map(str, sizes))} ]")
    if rng.random() < 0.4:
        parts += [f"priority_levels: {rng.randint(0, 3)}", f"default_priority_level: {rng.randint(0, 3)}"]
    if rng.random() < 0.3:
        parts.append(f"preserve_ordering: {rng.choice(['true', 'false'])}")
    if rng.random() < 0.3:
        parts.append(f"default_queue_policy {policy()}")
    if rng.random() < 0.3:
        parts.append(f"priority_queue_policy {{ key: {rng.randint(0, 4)} value {policy()} }}")
    return f"dynamic_batching {{ {' '.join(parts)} }}\n"


def _sequence_batching(rng: random.Random) -> str:
    parts = []
    for index in range(rng.randint(0, 3)):
        kind = rng.choice(["START", "END", "READY", "CORRID"])
        values = []
        for field in ("int32_false_true", "fp32_false_true", "bool_false_true"):
            if rng.random() < (0.05 if kind == "CORRID" else 0.45):
                count = rng.choice([2] * 15 + [1, 3])
                both = ["true", "false"] if field.startswith("bool") else ["0", "1"]
                values.append(f"{field}: [ {', '.join(rng.choice(both) for _ in range(count))} ]")
        if rng.random() < 0.6:
            values.append(f"data_type: {rng.choice(['TYPE_UINT64', 'TYPE_STRING', 'TYPE_FP32', 'TYPE_INT32'])}")
        name = f'name: "c{index if rng.random() < 0.9 else 0}"' if rng.random() < 0.97 else ""
        control = f"control {{ kind: CONTROL_SEQUENCE_{kind} {' '.join(values)} }}"
        parts.append(f"control_input {{ {name} {control} }}")
    strategy = rng.random()
    if strategy < 0.3:
        parts.append(f"direct {{ minimum_slot_utilization: {rng.choice(['0.5', '1.5', '-0.1', '1', '0'])} }}")
    elif strategy < 0.6:
        parts.append(f"oldest {{ preferred_batch_size: [ {rng.choice([1, 4, 16, 0])} ] }}")
    return f"sequence_batching {{ {' '.join(parts)} }}\n"


def _batch_tensors(rng: random.Random) -> str:
    text = ""
    if rng.random() < 0.1:
        sources = "".join(
            f'source_input: "{rng.choice(["i0", "i1", "zz"])}" ' for _ in range(rng.choice([1, 1, 1, 0, 2]))
        )
        dtype = rng.choice(["TYPE_FP32", "TYPE_INT32", "TYPE_INT64"])
        kind = rng.choice(["BATCH_ELEMENT_COUNT", "BATCH_ITEM_SHAPE"])
        text += f'batch_input {{ kind: {kind} target_name: "b" data_type: {dtype} {sources}}}\n'
    if rng.random() < 0.1:
        targets = "".join(f'target_name: "{rng.choice(["o0", "o1", "zz"])}" ' for _ in range(rng.randint(1, 2)))
        sources = "".join(f'source_input: "{rng.choice(["i0", "zz"])}" ' for _ in range(rng.choice([1, 1, 0])))
        text += f"batch_output {{ kind: BATCH_SCATTER_WITH_INPUT_SHAPE {targets}{sources}}}\n"
    return text


def _ensemble(rng: random.Random) -> str:
    text = 'platform: "ensemble"\n' if rng.random() < 0.98 else ""
    for kind, names in (("input", ["X", "u"]), ("output", ["Y", "v"])):
        for name in rng.sample(names, rng.choice([1, 1, 1, 1, 2, 0])):
            text += f'{kind} {{ name: "{name}" data_type: TYPE_FP32 dims: [ 4 ] }}\n'
    steps = []
    for index in range(rng.choice([1, 2, 2, 2, 3, 0])):
        name = f'model_name: "a{index}"' if rng.random() < 0.98 else ""
        reads = [
            rng.choice(["X", "t", "X", "u"][: index + 1]) for _ in range(1 if rng.random() < 0.8 else rng.randint(0, 2))
        ]
        writes = [rng.choice(["t", "Y", "Y", "v"]) for _ in range(1 if rng.random() < 0.8 else rng.randint(0, 2))]
        maps = [f'input_map {{ key: "I{key}" value: "{tensor}" }}' for key, tensor in enumerate(reads)]
        maps += [f'output_map {{ key: "O{key}" value: "{tensor}" }}' for key, tensor in enumerate(writes)]
        steps.append(f"step {{ {name} model_version: -1 {' '.join(maps)} }}")
    if rng.random() < 0.97:
        text += f"ensemble_scheduling {{ {' '.join(steps)} }}\n"
    forbidden = ("instance_group { }", "optimization { }", 'default_model_filename: "x"', 'backend: "python"')
    return text + "".join(f"{block}\n" for block in forbidden if rng.random() < 0.03)
