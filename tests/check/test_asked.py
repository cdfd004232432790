"""Further shapes of the faults, each with the verdict that a real Triton 24.10 gave when it was asked."""

# ruff: noqa: E501  (tables of short texts)

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.examples import (
    GOOD_CONFIG,
    GOOD_WARMUP,
    HEAD,
    HEAD_0,
    INPUT,
    MODEL_PY,
    OUTPUT,
    Files,
    hook,
    io,
    method,
    model,
    state,
    tweaked,
    warmup,
)  # fmt: skip
from tests.check.variants import write
from triton_pyb.check import check

CLASS = "class TritonPythonModel:\n    def execute(self, requests):\n        return []\n"
INDENTED = "".join("    " + line + "\n" for line in CLASS.splitlines())
TYPES = "import typing\n\n\nclass TritonPythonModel:\n    def execute(self, requests: List[typing.Any]):\n        return []\n"
STRINGS = 'input [ { name: "IN" data_type: TYPE_STRING dims: [ 2 ] } ]\n'
STRING_FILE = warmup('data_type: TYPE_STRING dims: [ 2 ] input_data_file: "s"')
NO_SAMPLE = 'model_warmup [ { name: "w" batch_size: 1 } ]\n'
OPTIONAL = INPUT.replace("dims: [ 4 ]", "dims: [ 4 ] optional: true")
PASSIVE = "instance_group [ { kind: KIND_CPU passive: true } ]\n"
WRONG_SAMPLE = warmup("data_type: TYPE_FP32 dims: [ 9 ] zero_data: true")
DECOUPLED = "model_transaction_policy { decoupled: true }\n"
INITIAL = 'initial_state { name: "i" data_type: TYPE_FP32 dims: [ %s ] zero_data: true }'


def strings(content: bytes) -> Files:
    return model(io(STRINGS) + STRING_FILE, MODEL_PY, m__warmup__s=content)


def answer(line: str, more: str = "") -> Files:
    return model(GOOD_CONFIG + more + GOOD_WARMUP, MODEL_PY.partition("rows = ")[0] + line + "\n")


def initialize(*lines: str) -> Files:
    return model(source="import json\n" + method("\n    ".join(("def initialize(self, args):", *lines))))


READ = 'config = json.loads(args["model_config"])'


#: What was asked -> the repository, the stage where the server failed ("" when it loads), and the rule.
ASKED: dict[str, tuple[Files, str, str]] = {
    # what only the compiler of Python sees
    "await outside async": (model(source=CLASS.replace("return []", "await x")), "load", "TPB1703"),
    "return outside a function": (model(source="return\n" + MODEL_PY), "load", "TPB1703"),
    "one argument twice": (model(source="def f(a, a):\n    pass\n\n\n" + MODEL_PY), "load", "TPB1703"),
    "a late future import": (
        model(source="import os\nfrom __future__ import annotations\n" + MODEL_PY),
        "load",
        "TPB1703",
    ),
    "null bytes": (model(source=MODEL_PY + "\0"), "load", "TPB1703"),
    # the class
    "deleted": (model(source=MODEL_PY + "del TritonPythonModel\n"), "load", "TPB1704"),
    "below __main__": (model(source='if __name__ == "__main__":\n' + INDENTED), "load", "TPB1704"),
    "below False": (model(source="if False:\n" + INDENTED), "load", "TPB1704"),
    "below True": (model(source="if True:\n" + INDENTED), "", ""),
    "an instance": (
        model(source="class A:\n    pass\n\n\nTritonPythonModel = A()\n"),
        "load",
        "TPB1724",
    ),
    "an alias": (model(source=CLASS.replace("TritonPythonModel", "A") + "\n\nTritonPythonModel = A\n"), "", ""),
    "abstract": (
        model(
            source="from abc import ABC, abstractmethod\n\n\n"
            + CLASS.replace("Model:", "Model(ABC):")
            + "\n    @abstractmethod\n    def go(self):\n        pass\n"
        ),
        "load",
        "TPB1724",
    ),
    "initialize is None": (model(source=CLASS + "\n    initialize = None\n"), "load", "TPB1724"),
    "initialize is a lambda": (model(source=CLASS + "\n    initialize = lambda self: None\n"), "load", "TPB1705"),
    "__new__ wants more": (
        model(source=CLASS + "\n    def __new__(cls, a):\n        return object.__new__(cls)\n"),
        "load",
        "TPB1705",
    ),
    "raises below try and finally": (
        model(
            source=method(
                "def initialize(self, args):\n    try:\n        raise ValueError('x')\n    finally:\n        pass"
            )
        ),
        "load",
        "TPB1706",
    ),
    # names that are needed at import
    "an annotation": (model(source=TYPES), "load", "TPB1716"),
    "a lazy annotation": (model(source="from __future__ import annotations\n" + TYPES), "", ""),
    "a base class": (model(source=CLASS.replace("Model:", "Model(Base):")), "load", "TPB1716"),
    "a decorator": (model(source=CLASS.replace("    def", "    @nope\n    def")), "load", "TPB1716"),
    "from pb_utils": (
        model(source="from triton_python_backend_utils import nope\n" + MODEL_PY),
        "load",
        "TPB1719",
    ),
    # auto_complete_config
    "a method that is none": (model(source=hook("config.add_inputs([])\nreturn config")), "load", "TPB1710"),
    "an import in the hook": (model(source=hook("import no_such_module_xyz\nreturn config")), "load", "TPB1708"),
    "another output completed": (
        model(
            io(outputs='output [ { name: "OUT" } ]\n'),
            hook('config.add_output({"name": "X", "data_type": "TYPE_FP32", "dims": [2]})\nreturn config'),
        ),
        "load",
        "TPB1109",
    ),
    "the same output completed": (
        model(
            io(outputs='output [ { name: "OUT" } ]\n'),
            hook('config.add_output({"name": "OUT", "data_type": "TYPE_FP32", "dims": [2]})\nreturn config'),
        ),
        "",
        "",
    ),
    # files
    "labels are a folder": (
        model(io(outputs=OUTPUT.replace("] }", '] label_filename: "l" }')), m__l__x="x"),
        "crash",
        "TPB1122",
    ),
    "labels by an absolute path": (
        model(io(outputs=OUTPUT.replace("] }", '] label_filename: "/etc/hostname" }'))),
        "load",
        "TPB1122",
    ),
    "warm-up data is a folder": (
        model(GOOD_CONFIG + warmup('data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "d"'), m__warmup__d__x="x"),
        "crash",
        "TPB1403",
    ),
    "default_model_filename without .py": (
        model(GOOD_CONFIG + 'default_model_filename: "infer"\n', None, m__1__infer=MODEL_PY),
        "load",
        "TPB1728",
    ),
    "default_model_filename with a space": (
        model(GOOD_CONFIG + 'default_model_filename: "a b.py"\n', None, **{"m__1__a b_DOT_py": MODEL_PY}),
        "hang",
        "TPB1728",
    ),
    # numbers
    "a reshape beyond 64 bits": (
        model(tweaked("reshape { shape: [ 4294967296, 8589934592 ] }", "4294967296, 4294967296")),
        "",
        "",
    ),
    "two negative sizes": (model(HEAD + INPUT + OUTPUT + state(INITIAL % "-2, -2", "-1, -1")), "", ""),
    "one negative size": (model(HEAD + INPUT + OUTPUT + state(INITIAL % "-2", "-1")), "crash", "TPB1315"),
    "more than memory": (model(HEAD + INPUT + OUTPUT + state(INITIAL % "1000000000000000", "-1")), "crash", "TPB1315"),
    "a group of unknown kind beside another": (
        model(GOOD_CONFIG + "instance_group [ { kind: KIND_CPU }, { kind: -1 } ]\n"),
        "load",
        "TPB1218",
    ),
    "a passive group with a space in its name": (
        model(GOOD_CONFIG + 'instance_group [ { kind: KIND_CPU }, { name: "a b" kind: KIND_CPU passive: true } ]\n'),
        "load",
        "TPB1219",
    ),
    "a group that bash makes good": (
        model(GOOD_CONFIG + 'instance_group [ { name: " g$(x)" kind: KIND_CPU } ]\n'),
        "",
        "",
    ),
    "a group with a slash and a dollar": (
        model(GOOD_CONFIG + 'instance_group [ { name: "a/$HOME" kind: KIND_CPU } ]\n'),
        "",
        "",
    ),
    "backend ensemble": (model(GOOD_CONFIG.replace('"python"', '"ensemble"')), "load", "TPB1102"),
    "a batching library that is none": (
        model(
            GOOD_CONFIG + 'parameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "/etc/hostname" } }\n'
        ),
        "load",
        "TPB1131",
    ),
    # warm-up
    "a passive model is not warmed up": (model(GOOD_CONFIG + PASSIVE + WRONG_SAMPLE), "", ""),
    "one of two groups is passive": (
        model(GOOD_CONFIG + "instance_group [ { kind: KIND_CPU }, { passive: true kind: KIND_CPU } ]\n" + WRONG_SAMPLE),
        "load",
        "TPB1407",
    ),
    "an input without value": (
        model(GOOD_CONFIG + 'model_warmup [ { name: "w" batch_size: 1 inputs { key: "IN" } } ]\n'),
        "load",
        "TPB1402",
    ),
    "no input at all": (model(io(OPTIONAL) + NO_SAMPLE), "load", "TPB1404"),
    "no input at all without batching": (model(HEAD_0 + OPTIONAL + OUTPUT + NO_SAMPLE), "", ""),
    "two strings": (strings(b"\1\0\0\0a\0\0\0\0"), "", ""),
    "one string": (strings(b"\1\0\0\0a"), "load", "TPB1403"),
    "three strings": (strings(b"\1\0\0\0a" * 3), "load", "TPB1403"),
    "text": (strings(b"hello world, this is me\n"), "load", "TPB1403"),
    "half a length": (strings(b"\1\0\0\0a\1\0"), "load", "TPB1403"),
    "half a string": (strings(b"\1\0\0\0a\5\0\0\0ab"), "load", "TPB1403"),
    "answers None": (answer("return None"), "hang", "TPB1729"),
    "answers [None]": (answer("return [None]"), "hang", "TPB1729"),
    "answers a dict": (answer("return {}"), "load", "TPB1729"),
    "answers numbers": (answer("return [1]"), "load", "TPB1729"),
    "decoupled, answers a list": (answer("return [1]", DECOUPLED), "load", "TPB1729"),
    "decoupled, never sends": (answer("return None", DECOUPLED), "hang", "TPB1729"),
    "no execute": (model(GOOD_CONFIG + GOOD_WARMUP, "class TritonPythonModel:\n    pass\n"), "load", "TPB1729"),
    "execute without requests": (model(GOOD_CONFIG + GOOD_WARMUP, CLASS.replace(", requests", "")), "load", "TPB1705"),
    # initialize
    "a field that is none": (initialize(READ, 'config["inputs"]'), "load", "TPB1747"),
    "a field that is set first": (initialize(READ, 'config["inputs"] = 1', 'config["inputs"]'), "", ""),
    "a field after an update": (initialize(READ, 'config.update({"q": 1})', 'config["q"]'), "", ""),
    "a field after a default": (initialize(READ, 'config.setdefault("q", 1)', 'config["q"]'), "", ""),
    "a parameter after an update": (
        initialize('found = json.loads(args["model_config"])["parameters"]', 'found.update({"q": 1})', 'found["q"]'),
        "",
        "",
    ),
    "objects in place of dicts": (
        initialize('config = json.loads(args["model_config"], object_hook=lambda d: self)', "config.execute"),
        "",
        "",
    ),
    "text that is read when it is text": (
        initialize('config = args["model_config"]', "config = json.loads(config)", 'config["input"]'),
        "",
        "",
    ),
    "args for text": (initialize("json.loads(args)"), "load", "TPB1747"),
    "an attribute of args": (initialize("args.model_config"), "load", "TPB1747"),
    "a data type of the wire": (initialize('pb_utils.triton_string_to_numpy("FP32")'), "load", "TPB1747"),
    "an attribute set by setattr": (initialize('setattr(self, "x", 1)', "print(self.x)"), "", ""),
    "an attribute bound by with": (initialize('with open("/dev/null") as self.f:', "    print(self.f)"), "", ""),
    "an attribute that is annotated": (initialize("self.x: int = 3", "print(self.x)"), "", ""),
    "a local annotation": (initialize("x: Undefined = 3", "print(x)"), "", ""),
    # tensors
    "one output twice": (model(GOOD_CONFIG + OUTPUT), "", ""),
}


@pytest.mark.parametrize("name", ASKED)
def test_the_verdict_is_that_of_the_server(name: str, tmp_path: Path) -> None:
    files, stage, code = ASKED[name]
    errors = [finding for finding in check(write(files, tmp_path)) if finding.severity == "error"]
    if code:
        assert (code, stage) in {(finding.code, finding.stage) for finding in errors}, [str(f) for f in errors]
    else:
        assert errors == []
