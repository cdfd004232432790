"""The Python of a model: what it takes from the environment, its encodings, how it ends, its list of requests."""

from __future__ import annotations

import json
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from triton_pyb.emulator.errors import InferenceFailed

_CONFIG = """
backend: "python"
max_batch_size: 8
input [{ name: "IN" data_type: TYPE_FP32 dims: [1] }]
output [{ name: "OUT" data_type: TYPE_STRING dims: [1] }]
dynamic_batching { max_queue_delay_microseconds: 300000 }
instance_group [{ kind: KIND_CPU }]
"""
_HEAD = """
import atexit, json, os, sys
import numpy as np
import triton_python_backend_utils as pb_utils

def answers(requests, values):
    rows = [np.array([[str(value)]], dtype=object) for value in values]
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", row)]) for row in rows]

"""
_ONE = {"IN": np.ones((1, 1), "f4")}


def _load(side: Any, name: str, body: str) -> Path:
    folder: Path = side.repository / name
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "labels.txt").write_bytes(b"caf\xc3\xa9")
    (folder / "1" / "model.py").write_text(_HEAD + textwrap.dedent(body))
    (folder / "config.pbtxt").write_text(_CONFIG)
    side.server.load_model(name)
    return folder


def _said(answer: Any) -> str:
    text: str = answer["OUT"][0, 0].decode()
    return text


@pytest.mark.skipif(sys.version_info < (3, 11), reason="an older Python is not isolated")
def test_isolated_and_in_ascii(side: Any) -> None:
    body = """
    class TritonPythonModel:
        def execute(self, requests):
            try:
                print("é")
            except UnicodeEncodeError as error:
                printing = str(error)
            flags = [sys.flags.isolated, sys.flags.ignore_environment, sys.flags.no_user_site, sys.flags.utf8_mode]
            facts = [flags, sys.path[0], sys.argv, sys.orig_argv, sys.getrecursionlimit(), sys.getfilesystemencoding()]
            facts += [sys.stdout.encoding, sys.stdout.errors, printing]
            return answers(requests, [json.dumps(facts)] * len(requests))
    """
    _load(side, "isolated", body)
    facts = json.loads(_said(side.infer("isolated", _ONE)))
    refused = "'ascii' codec can't encode character '\\xe9' in position 0: ordinal not in range(128)"
    assert facts == [[1, 1, 1, 0], "", [""], [], 1000, "ascii", "ascii", "surrogateescape", refused]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="an older Python takes its encoding from LANG")
def test_reading_a_file_without_an_encoding(side: Any) -> None:
    body = """
    class TritonPythonModel:
        def execute(self, requests):
            return answers(requests, [open(os.path.join(os.path.dirname(__file__), "labels.txt")).read()])
    """
    _load(side, "reads", body)
    with pytest.raises(InferenceFailed, match="UnicodeDecodeError: 'ascii' codec can't decode byte 0xc3") as failed:
        side.infer("reads", _ONE)
    assert "open(path, encoding='utf-8')" in failed.value.fix


def test_exit_functions_run(side: Any) -> None:
    body = """
    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "said")
    def say(text):
        with open(path, "a") as out:
            out.write(text + " ")
    atexit.register(say, "exit")
    class TritonPythonModel:
        def initialize(self, args):
            say("initialize")
        def execute(self, requests):
            return answers(requests, requests)
        def finalize(self):
            say("finalize")
    """
    folder = _load(side, "leaves", body)
    side.server.unload_model("leaves")
    deadline = time.monotonic() + 10
    while not (folder / "said").read_text().endswith("finalize exit ") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (folder / "said").read_text().endswith("initialize finalize exit ")


def test_a_list_of_requests_that_is_turned_round(side: Any) -> None:
    """Answers go by position: each client gets the other's."""
    body = """
    class TritonPythonModel:
        def execute(self, requests):
            requests.reverse()
            return answers(requests, [request.inputs()[0].as_numpy()[0, 0] for request in requests])
    """
    _load(side, "turns", body)
    both = side.together("turns", [{"IN": np.full((1, 1), value, "f4")} for value in (1, 2)])
    assert [_said(answer) for answer in both] == ["2.0", "1.0"]
