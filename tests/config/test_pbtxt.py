"""The reader of config.pbtxt: the server's verdict, positions, and where protobuf's own Python parser differs."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from tests.check.recorded import cases
from tests.check.text_mutants import mutant
from triton_pyb.config import pbtxt

GOOD = 'name: "m"\nbackend: "python"\nmax_batch_size: 8\ninput [ { name: "IN" data_type: TYPE_FP32 dims: [ 4 ] } ]\n'

#: What Python's parser accepts and the server refuses.
PYTHON_ACCEPTS = {
    r"escape \q": GOOD + r'parameters { key: "k" value { string_value: "\q" } }',
    r"escape \d": GOOD + r'parameters { key: "k" value { string_value: "\d" } }',
    r"escape \e": GOOD + r'parameters { key: "k" value { string_value: "\e" } }',
    r"escape \8": GOOD + r'parameters { key: "k" value { string_value: "\8" } }',
    "windows path": GOOD + r'parameters { key: "k" value { string_value: "C:\models" } }',
    "leading plus": GOOD.replace("[ 4 ]", "[ +1 ]"),
    "underscore": GOOD.replace("max_batch_size: 8", "max_batch_size: 1_000"),
    "binary": GOOD.replace("max_batch_size: 8", "max_batch_size: 0b100"),
    "octal 0o": GOOD.replace("max_batch_size: 8", "max_batch_size: 0o10"),
    "full-width digit": GOOD.replace("max_batch_size: 8", "max_batch_size: \uff18"),
    "minus zero, unsigned": GOOD + "version_policy { latest { num_versions: -0 } }",
    "float underscore": GOOD + "sequence_batching { direct { minimum_slot_utilization: 0_0.5 } }",
    "no-break space": GOOD.replace("backend: ", "backend:\u00a0"),
    "ideographic space": GOOD.replace("backend: ", "backend:\u3000"),
    "next line": GOOD.replace("backend: ", "backend:\u0085"),
    "file separator": GOOD.replace("backend: ", "backend:\x1c"),
    "group separator": GOOD.replace("backend: ", "backend:\x1d"),
    "record separator": GOOD.replace("backend: ", "backend:\x1e"),
    "unit separator": GOOD.replace("backend: ", "backend:\x1f"),
}

#: What Python's parser refuses and the server accepts.
PYTHON_REFUSES: dict[str, str | bytes] = {
    "minus space": GOOD.replace("[ 4 ]", "[ - 1 ]"),
    "minus space, float": GOOD + "sequence_batching { direct { minimum_slot_utilization: - 0.0 } }",
    "boolean 01": GOOD + "model_transaction_policy { decoupled: 01 }",
    "byte in a comment": b"# \xff\n" + GOOD.encode(),
    "byte in a string": GOOD.encode() + b'parameters { key: "k" value { string_value: "\xff" } }',
}


def python_accepts(data: str | bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text_format.Parse(data, model_config_pb2.ModelConfig())
    except (text_format.ParseError, UnicodeDecodeError):
        return False
    return True


@pytest.mark.parametrize("name", PYTHON_ACCEPTS)
def test_refused_like_the_server_although_python_accepts(name: str) -> None:
    assert pbtxt.parse(PYTHON_ACCEPTS[name]).problems
    assert python_accepts(PYTHON_ACCEPTS[name])


@pytest.mark.parametrize("name", PYTHON_REFUSES)
def test_accepted_like_the_server_although_python_refuses(name: str) -> None:
    assert pbtxt.parse(PYTHON_REFUSES[name]).problems == []
    assert not python_accepts(PYTHON_REFUSES[name])


def test_message_is_what_protobuf_makes_of_it() -> None:
    """On every recorded configuration that both accept, the resulting message is the same."""
    compared = 0
    for case in cases():
        for path, content in case["files"].items():
            if not path.endswith("config.pbtxt") or isinstance(content, dict):
                continue
            document = pbtxt.parse(content)
            if not document.problems and python_accepts(content):
                expected = text_format.Parse(content, model_config_pb2.ModelConfig())
                assert document.to_protobuf() == expected, case["name"]
                compared += 1
    assert compared > 400


def _random_message(message: Any, rng: random.Random, depth: int = 0) -> Any:
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.55 or depth > 4:
            continue
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        if is_map:
            continue
        repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == 3
        for _ in range(rng.randint(1, 2) if repeated else 1):
            if field.message_type is not None:
                target = getattr(message, field.name)
                _random_message(target.add() if repeated else target, rng, depth + 1)
                if not repeated:
                    getattr(message, field.name).SetInParent()
                continue
            value: Any = {
                9: rng.choice(["a", 'quote " and \\', "\uac00", ""]),
                8: rng.random() < 0.5,
                14: rng.choice([v.number for v in field.enum_type.values]) if field.enum_type else 0,
                1: 0.5,
                2: 0.25,
            }.get(field.type, rng.randint(0, 9))
            if repeated:
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)
    return message


@pytest.mark.parametrize("seed", range(60))
def test_reads_whatever_protobuf_writes(seed: int) -> None:
    rng = random.Random(seed)
    message = _random_message(model_config_pb2.ModelConfig(), rng)
    text = text_format.MessageToString(message, as_utf8=rng.random() < 0.5, as_one_line=rng.random() < 0.3)
    document = pbtxt.parse(text)
    assert document.problems == []
    assert document.to_protobuf() == message


def test_positions_count_characters_and_lines() -> None:
    document = pbtxt.parse('# \uc124\uc815 "\nname: "m" input { name: "\uc785\ub825" dims: [ 4, -1 ] }\n')
    tensor = document.root["input"][0]
    assert document.position(tensor.entry("name").start) == (2, 25)
    assert [document.position(entry.start) for entry in tensor.entries["dims"]] == [(2, 38), (2, 41)]
    assert document.line(2).startswith("name:")
    assert tensor["dims"] == [4, -1]


@pytest.mark.parametrize(
    ("text", "line", "column", "kind"),
    [
        ('name: "m\n', 1, 7, "unclosed-string"),
        ('name: "m"\nmax_batchsize: 8\n', 2, 1, "unknown-field"),
        ("input [\n  { dims: [ 4, ] }\n]\n", 2, 14, "trailing-comma"),
        ("input [\n  { data_type: FP32 }\n]\n", 2, 16, "unknown-enum"),
        ('name: "a"\nname: "b"\n', 2, 1, "repeated-field"),
        ("input {\n  dims: 4\n", 3, 1, "unclosed-bracket"),
    ],
)
def test_problems_point_at_the_spot(text: str, line: int, column: int, kind: str) -> None:
    document = pbtxt.parse(text)
    first = document.problems[0]
    assert (document.position(first.start), first.kind) == ((line, column), kind)


def test_goes_on_after_a_fault() -> None:
    document = pbtxt.parse('nme: "m"\nbackend: python\ninput [ { dtype: TYPE_FP32 dims: "4" }, ]\nmax_batch_size: 8\n')
    kinds = [problem.kind for problem in document.problems]
    assert kinds == ["unknown-field", "wrong-type", "unknown-field", "wrong-type", "trailing-comma"]
    assert document.root["max_batch_size"] == 8


def test_zero_may_be_written_twice_as_in_the_server() -> None:
    """A proto3 scalar without presence counts as given only when it is not the default."""
    assert pbtxt.parse("max_batch_size: 0 max_batch_size: 8").problems == []
    assert pbtxt.parse("max_batch_size: 8 max_batch_size: 8").problems != []


def test_map_with_one_key_twice_keeps_the_last() -> None:
    text = 'parameters { key: "a" value { string_value: "1" } } parameters { key: "a" value { string_value: "2" } }'
    document = pbtxt.parse(text)
    assert document.root.map("parameters")["a"].value["string_value"] == "2"
    assert document.to_protobuf().parameters["a"].string_value == "2"


def test_load_gives_the_message_or_the_first_fault(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.pbtxt", tmp_path / "config.pbtxt"
    good.write_text(GOOD)
    bad.write_text('name: "m"\nbogus: 1\n')
    assert pbtxt.load(good).max_batch_size == 8
    with pytest.raises(pbtxt.ConfigSyntaxError) as caught:
        pbtxt.load(bad)
    assert caught.value.code == "TPB190"
    assert caught.value.where.endswith("config.pbtxt:2:1")
    assert 'no field named "bogus"' in caught.value.what


def test_reads_no_more_than_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "config.pbtxt"
    file.write_bytes(b"# comment\n" * 500_000 + b'"')
    document = pbtxt.read(file)
    assert document.truncated and document.problems == []


def test_verdict_on_texts_with_one_slip_is_the_servers() -> None:
    """``scripts/check_text_format.py --record`` asked a real Triton 24.10 about each of these texts."""
    recorded = (Path(__file__).parents[1] / "cases" / "text_format_read.txt").read_text(encoding="ascii").split()
    count, read = int(recorded[0]), {int(seed) for seed in recorded[1:]}
    assert count >= 1500 and 300 < len(read) < count
    ours = {seed for seed in range(count) if not pbtxt.parse(mutant(seed)).problems}
    assert ours == read
