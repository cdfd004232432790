"""Configurations with one slip each, made from a seed: the same on every machine."""

# ruff: noqa: E501  (a table of short texts)

from __future__ import annotations

import random
import re

BASE = rb"""# comment "x
backend: "none"
max_batch_size: 8
input [
  { name: "IN" data_type: TYPE_FP32 dims: [ 4, -1 ] reshape { shape: [ 2, 2, -1 ] } },
  { name: 'IN2' data_type: TYPE_STRING dims: [ 1 ] optional: true }
]
output [ { name: "OUT" data_type: TYPE_INT64 dims: 4 dims: 0x10 label_filename: "l\ttxt" } ]
version_policy: { latest { num_versions: 2 } }
dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 preserve_ordering: true; }
instance_group [ { count: 2 kind: KIND_CPU gpus: [ ] }, { kind: KIND_CPU } ]
parameters { key: "a" value: { string_value: "b\x41\101\u0041c" } }
parameters [ { key: "c" value { string_value: "" } } ]
optimization < priority: PRIORITY_MAX cuda { graphs: 1 } >
model_warmup [ { name: "w" batch_size: 1 inputs { key: "IN" value: { data_type: TYPE_FP32 dims: [ 4 ] zero_data: t } } } ]
"""

HARMLESS = [b" ", b"\n", b" # c\n", b"\r\n", b"\t", b"\x0b", b"\x0c", b",", b";", b" \n\n"]
TOKENS = [
    b'"', b"'", b"{", b"}", b"[", b"]", b"<", b">", b":", b",", b";", b"-", b".", b"#", b"\\", b"\x01", b"\x00", b"\xc2\xa0",
    b"\xff", b"1", b"08", b"0x", b"0x1g", b"1e5", b"1.5", b"1f", b".5", b"true", b"inf", b"nan", b'"a" "b"', b"TYPE_FP32", b"FP32",
    b"99", b"-1", b"- 1", b"+1", b"name", b"input", b"dims", b"9999999999999999999", b"4294967296", b"\\x", b"\\8", b"\\q",
    b"\\U0010ffff", b"\\U00110000", b"\\u12", b"8a", b"a.5", b"5.", b"1.5.5", b"0.0.1", b"1e", b"01", b"--1", b"[a.b]", b"True", b"TRUE",
    b"latest", b"all { }", b"ensemble_scheduling { }", b"max_batch_size: 3", b"max_batch_size: 0",
]  # fmt: skip


def mutant(seed: int) -> bytes:
    """The base with one thing inserted, removed, repeated or replaced."""
    rng = random.Random(seed)
    text = bytearray(BASE)
    at = rng.randrange(len(text) + 1)
    kind = rng.randrange(7)
    if kind <= 1:
        text[at:at] = rng.choice(TOKENS)
    elif kind == 2:
        text[at:at] = rng.choice(HARMLESS)
    elif kind == 3:
        spaces = [match.span() for match in re.finditer(rb"[ \n]+", BASE)]
        start, end = rng.choice(spaces)
        text[start:end] = rng.choice([*HARMLESS, b""])
    elif kind == 4:
        del text[at : at + rng.randrange(1, 6)]
    elif kind == 5:
        words = [match.span() for match in re.finditer(rb'[A-Za-z_0-9"\[\]{}.:-]+', BASE)]
        start, end = rng.choice(words)
        text[start:end] = rng.choice(TOKENS)
    else:
        text[at:at] = text[at : at + rng.randrange(1, 30)]
    return bytes(text)
