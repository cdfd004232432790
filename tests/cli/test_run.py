"""``triton-pyb run`` on something that takes the place of a Triton, and on a real one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tests.server.model_folders import config, write_echo, write_model
from triton_pyb.cli import main, run
from triton_pyb.server import RealTriton

APP = """
import numpy as np

from triton_pyb import Annotated, Tensor, preprocess

Pair = Annotated[np.ndarray, Tensor("FP32", (2,), name="doubled")]


@preprocess
def double(x: Annotated[np.ndarray, Tensor("FP32", (2,))]) -> Pair:
    return x * 2
"""


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["run", *map(str, arguments)])


class Recorder:
    """Answers like the echo model and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any], Any]] = []

    def model_config(self, model: str) -> dict[str, Any]:
        inputs = [{"name": "X", "data_type": "TYPE_STRING", "dims": [1]}]
        return {"name": model, "max_batch_size": 8, "input": inputs}

    def infer(self, model: str, inputs: dict[str, Any], outputs: Any = None) -> dict[str, Any]:
        self.asked.append((model, inputs, outputs))
        return {"Y": np.array([[b"answer"]], np.object_)}


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()

    @contextmanager
    def running(repository: Path, place: str, python: str | None) -> Iterator[Recorder]:
        yield recorder

    monkeypatch.setattr(run, "_running", running)
    return recorder


def ensemble(repository: Path) -> None:
    write_echo(repository, "first")
    write_echo(repository, "second")
    step = (
        '{{ model_name: "{}" model_version: -1 '
        'input_map {{ key: "X" value: "{}" }} output_map {{ key: "Y" value: "{}" }} }}'
    )
    steps = ", ".join([step.format("first", "X", "between"), step.format("second", "between", "Y")])
    text = config(
        "X STRING 1", "Y STRING 1", 'platform: "ensemble"', tail=f"ensemble_scheduling {{ step [ {steps} ] }}"
    )
    write_model(repository, "both", text)


def test_the_model_is_the_one_that_no_other_uses(tmp_path: Path, recorder: Recorder) -> None:
    ensemble(tmp_path)
    answer = invoke(tmp_path, "-i", "X=a", "-i", "X=b", "--output", "Y")
    assert answer.exit_code == 0, answer.output
    assert recorder.asked == [("both", {"X": ["a", "b"]}, ("Y",))]
    assert "Y  BYTES [1, 1]" in answer.output and "answer" in answer.output


def test_a_step_may_be_chosen(tmp_path: Path, recorder: Recorder) -> None:
    ensemble(tmp_path)
    answer = invoke(tmp_path, "--model", "second", "-i", "X=a", "--json")
    assert recorder.asked == [("second", {"X": "a"}, None)]
    assert json.loads(answer.output)["outputs"]["Y"]["data"] == ["answer"]


def test_bad_input_is_a_usage_error(tmp_path: Path, recorder: Recorder) -> None:
    write_echo(tmp_path)
    answer = invoke(tmp_path, "-i", "Z=a")
    assert answer.exit_code == 2 and recorder.asked == []
    assert answer.stderr.splitlines()[0] == "TPB702 model 'echo' has no input 'Z'"


def test_a_target_that_is_neither_folder_nor_pipeline() -> None:
    answer = invoke("nowhere")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("TPB708 'nowhere' is no folder, and not app.py:pipeline\n")


def test_an_unknown_model_offers_the_nearest(tmp_path: Path) -> None:
    write_echo(tmp_path)
    answer = invoke(tmp_path, "-m", "ecko")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("TPB709 there is no model 'ecko'; did you mean 'echo'?\n")


def test_several_models_that_may_be_meant(tmp_path: Path) -> None:
    write_echo(tmp_path, "a")
    write_echo(tmp_path, "b")
    answer = invoke(tmp_path)
    assert answer.exit_code == 2
    assert answer.stderr.startswith("TPB712 got 2 models that may be meant: a, b\n")
    assert "--model NAME" in answer.stderr


def test_an_empty_repository(tmp_path: Path) -> None:
    assert invoke(tmp_path).stderr.startswith("TPB712 got 0 models that may be meant: none\n")


def test_an_unknown_place_offers_the_nearest(tmp_path: Path) -> None:
    write_echo(tmp_path)
    answer = invoke(tmp_path, "--on", "tritn")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("TPB713 got --on tritn; did you mean 'triton'?\n")


def test_on_the_emulator(tmp_path: Path) -> None:
    ensemble(tmp_path)
    answer = invoke(tmp_path, "-i", "X=안녕", "-i", "X=b", "--json")
    assert answer.exit_code == 0, answer.stderr
    outputs = json.loads(answer.stdout)["outputs"]
    assert outputs == {"Y": {"datatype": "BYTES", "shape": [2, 1], "data": ["안녕", "b"]}}


def test_a_pipeline_is_built_first(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(APP)
    answer = invoke(f"{app}:double", "-i", "x=[1, 2.5]", "--json")
    assert answer.exit_code == 0, answer.stderr
    assert json.loads(answer.stdout)["outputs"]["doubled"]["data"] == [2.0, 5.0]


def test_a_value_that_does_not_fit_is_exit_status_1(tmp_path: Path) -> None:
    write_echo(tmp_path, "n", "INT32")
    answer = invoke(tmp_path, "-i", "X=1.5")
    assert answer.exit_code == 1
    assert answer.stderr.startswith("TPB552 got 1.5 (float), expected values that INT32 can hold\n")


STREAM = """
from typing import Iterator

from triton_pyb import Annotated, Context, Name, Reject, model


@model
def count(n: int, ctx: Context) -> Iterator[Annotated[str, Name("text")]]:
    for number in range(n):
        yield f"{number} {ctx.request_id} {dict(ctx.parameters)}"
    if n == 3:
        raise Reject("three is too many")
"""


def test_every_response_of_a_stream_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(STREAM)
    answer = invoke(f"{tmp_path}/app.py", "-i", "n=2", "--json", "--request-id", "r", "-p", "k=1")
    assert answer.exit_code == 0, answer.stderr
    texts = [json.loads(line)["outputs"]["text"]["data"] for line in answer.stdout.splitlines()]
    assert texts == [["0 r {'k': 1}"], ["1 r {'k': 1}"]]


def test_an_error_for_programs_is_json_too(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(STREAM)
    answer = invoke(f"{tmp_path}/app.py", "-i", "n=3", "--json")
    assert answer.exit_code == 1
    *responses, last = answer.stdout.splitlines()
    assert len(responses) == 3 and "three is too many" in json.loads(last)["error"]["what"]
    assert "three is too many" in answer.stderr


@pytest.mark.real_triton
class TestOnARealTriton:
    def test_a_stream(self, tmp_path: Path) -> None:
        (tmp_path / "app.py").write_text(STREAM)
        answer = invoke(f"{tmp_path}/app.py", "-i", "n=2", "--json", "--on", "triton", "--request-id", "r", "-p", "k=1")
        assert answer.exit_code == 0, answer.stderr
        texts = [json.loads(line)["outputs"]["text"]["data"] for line in answer.stdout.splitlines()]
        assert texts == [["0 r {'k': 1}"], ["1 r {'k': 1}"]]

    def test_started_for_this_request(self, tmp_path: Path) -> None:
        ensemble(tmp_path)
        answer = invoke(tmp_path, "--on", "triton", "-i", "X=안녕", "--json")
        assert answer.exit_code == 0, answer.stderr
        shown = json.loads(answer.stdout)
        assert shown == {"model": "both", "outputs": {"Y": {"datatype": "BYTES", "shape": [1, 1], "data": ["안녕"]}}}

    def test_at_an_address_and_its_errors(self, tmp_path: Path) -> None:
        write_echo(tmp_path)
        with RealTriton(tmp_path) as server:
            for url in (server.http_url, server.grpc_url):
                answer = invoke(tmp_path, "--on", url, "-i", "X=x", "--json")
                assert json.loads(answer.stdout)["outputs"]["Y"]["data"] == ["x"]
            answer = invoke(tmp_path, "--on", server.http_url, "-i", "X=x", "--output", "nope")
        assert answer.exit_code == 1
        assert "unexpected inference output 'nope' for model 'echo'" in answer.stderr.splitlines()[0]


DEEP = """
from triton_pyb import Annotated, Name, model


@model
def deep(x: str) -> Annotated[str, Name("y")]:
    print("looking for", x)
    return {"good": "found"}[x]
"""


@pytest.mark.parametrize("place", ["emulator", pytest.param("triton", marks=pytest.mark.real_triton)])
def test_prints_and_the_traceback_go_to_standard_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "app.py").write_text(DEEP)
    good = invoke(f"{tmp_path}/app.py", "-i", "x=good", "--json", "--on", place)
    assert good.exit_code == 0 and good.stderr == "looking for good\n"
    assert json.loads(good.stdout)["outputs"]["y"]["data"] == ["found"]
    bad = invoke(f"{tmp_path}/app.py", "-i", "x=hi", "--json", "--on", place)
    assert bad.exit_code == 1
    lines = bad.stderr.splitlines()
    assert lines[0] == "looking for hi"
    assert lines[1] == "INTERNAL model 'deep', deep() (app.py:5), item 0 of 1: KeyError: 'hi'"
    assert f'  log:     File "{tmp_path}/app.py", line 8, in deep' in lines
    assert lines[-1] == "  log:   KeyError: 'hi'"
    assert json.loads(bad.stdout)["error"]["log"].endswith("KeyError: 'hi'")
