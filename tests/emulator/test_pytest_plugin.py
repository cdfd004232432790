"""The fixtures of the pytest plugin, in sessions of their own as an author's tests are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.emulator.models import ensemble, execute, tensors, write
from triton_pyb.emulator import InferenceFailed
from triton_pyb.emulator.pytest_plugin import TritonFixture
from triton_pyb.server import RealTriton

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
PYPROJECT = ROOT / "pyproject.toml"
IO = tensors(("input", "IN", "FP32", [2]), ("output", "OUT", "FP32", [2]))
APP = """
from __future__ import annotations

import numpy as np
from triton_pyb import Annotated, Pipeline, Reject, Tensor, postprocess, preprocess


@preprocess
def lengths(text: str) -> Annotated[np.ndarray, Tensor("FP32", (2,), name="x")]:
    if not text:
        raise Reject("empty")
    return np.full(2, len(text), np.float32)


@postprocess
def total(x: Annotated[np.ndarray, Tensor("FP32", (2,))]) -> Annotated[float, Tensor("FP32", (), name="sum")]:
    return float(x.sum())


pipeline = Pipeline("both", [lengths, total], max_batch_size=4)
"""
#: Calls "scorer" with its input and gives the answer, or the error, on.
CALLER = execute(
    """
answers = []
for r in requests:
    x = pb_utils.get_input_tensor_by_name(r, "IN").as_numpy()
    called = pb_utils.InferenceRequest(
        model_name="scorer", requested_output_names=["SCORE"], inputs=[pb_utils.Tensor("X", x)]
    ).exec()
    if called.has_error():
        answers.append(pb_utils.InferenceResponse(error=called.error()))
    else:
        score = pb_utils.get_output_tensor_by_name(called, "SCORE").as_numpy()
        answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", score)]))
return answers
"""
)


@pytest.fixture
def installed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder for a session's files, where the package is found as pip would have installed it."""
    points = re.findall(r'^\[project\.entry-points\.(?:"(.*)"|(\w+))\]\n((?:.+\n)+)', PYPROJECT.read_text(), re.M)
    info = pytester.path / "site" / "triton_pyb-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: triton_pyb\nVersion: 0.1.0\n")
    text = "".join(f"[{quoted or plain}]\n{lines}" for quoted, plain, lines in points)
    (info / "entry_points.txt").write_text(text.replace('"', ""))
    monkeypatch.setenv("PYTHONPATH", f"{info.parent}:{ROOT}")
    return pytester


def outcome(session: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """One session of its own, as a shell starts it."""
    return session.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers", *arguments)


def test_a_repository_and_a_model_folder(triton: TritonFixture, tmp_path: Path) -> None:
    folder = write(tmp_path, "echo", "max_batch_size: 4\n" + IO)
    write(tmp_path, "other", "max_batch_size: 4\n" + IO)
    whole = triton.load(tmp_path)
    assert whole.model_names() == ["echo", "other"] and whole.entry == ""
    one = triton.load(folder)
    assert one.model_names() == ["echo"] and one.entry == "echo"
    assert one.infer("echo", {"IN": [1, 2]})["OUT"].tolist() == [[1, 2]]


def test_servers_stop_with_the_test(pytester: pytest.Pytester) -> None:
    write(pytester.path, "echo", IO)
    pytester.makepyfile(
        """
        servers = []

        def test_one(triton, request):
            servers.append(triton.load(request.path.parent / "echo"))
            assert servers[0].model_names() == ["echo"]

        def test_two():
            assert servers[0].model_names() == []
        """
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


@pytest.mark.parametrize("inline", [None, False])
def test_a_pipeline_and_a_function(
    inline: bool | None, triton: TritonFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triton_pyb.emulator import targets
    from triton_pyb.repository import build

    name = "app_inline" if inline is None else "app_child"
    (tmp_path / f"{name}.py").write_text(APP)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(targets, "_registered", [build])
    app = __import__(name)
    server = triton.load(app.pipeline, inline=inline)
    assert server.entry == "both"
    good, bad = server.infer_many("both", [{"text": "abc"}, {"text": ""}])
    assert good["sum"].ravel().tolist() == [6.0]
    assert isinstance(bad, InferenceFailed) and bad.code == "INVALID_ARG" and "empty" in bad.message
    assert server.batches("lengths") == [(1, 1)]
    assert triton.load(app.lengths, inline=inline).infer("lengths", {"text": "ab"})["x"].tolist() == [[2, 2]]


SAME_TESTS = """
import numpy as np
import pytest
from triton_pyb.emulator import InferenceFailed, LoadFailed

@pytest.mark.parametrize("target", ["repository", "repository/echo"])
def test_folders(triton, target):
    server = triton.load(target)
    assert server.infer("echo", {"IN": [1, 2]})["OUT"].tolist() == [[1, 2]]
    assert server.async_infer("echo", {"IN": [1, 3]}).result()["OUT"].tolist() == [[1, 3]]
    assert "echo" in server.model_names()
    assert ("whole" in server.model_names()) == (target == "repository")

def test_a_pipeline(triton):
    server = triton.load("app.py:pipeline")
    assert server.entry == "both"
    assert server.infer("both", {"text": "abc"})["sum"].ravel().tolist() == [6.0]
    with pytest.raises(InferenceFailed, match="empty") as failed:
        server.infer(server.entry, {"text": ""})
    assert failed.value.code == "INVALID_ARG"

def test_a_function(triton):
    from app import lengths
    assert triton.load(lengths).infer("lengths", {"text": "ab"})["x"].tolist() == [[2, 2]]

def test_an_ensemble(triton):
    server = triton.load("repository")
    assert server.infer("whole", {"X": [4, 5]})["Y"].tolist() == [[4, 5]]
    assert server.client().is_model_ready("whole")

def test_a_model_that_does_not_load(triton):
    with pytest.raises(LoadFailed, match="no such tokenizer"):
        triton.load("broken")

def test_golden(triton):
    triton.golden("cases/echo", triton.load("repository"), "echo", {"IN": [1, 2]}, {"IN": np.ones((1, 3), "f4")})

def test_golden_text(triton):
    triton.golden("cases/text", triton.load("texts"), "text", {"IN": ["a", "\\u00e9"]})

def test_batches(triton):
    server = triton.load("repository")
    server.infer("echo", {"IN": [1, 2]})
    assert server.batches("echo") == [(1,)]

@pytest.mark.triton(release="21.10")
def test_an_old_release(triton):
    assert triton.load("repository/echo").client().get_server_metadata()["version"] == "2.15.0"

@pytest.mark.triton(mode="faithful")
def test_faithful(triton):
    assert triton.load("wrong").infer("wrong", {"IN": [1, 2]})["OUT"].tolist() == [[1, 2, 3]]

@pytest.mark.triton(strict_off=["shape"])
def test_one_check_off(triton):
    assert triton.load("wrong").infer("wrong", {"IN": [1, 2]})["OUT"].tolist() == [[1, 2, 3]]

def test_strict(triton):
    triton.load("wrong").infer("wrong", {"IN": [1, 2]})
"""


def write_same_tests(session: pytest.Pytester) -> None:
    repository = session.path / "repository"
    write(repository, "echo", "max_batch_size: 4\n" + IO)
    ends = tensors(("input", "X", "FP32", [2]), ("output", "Y", "FP32", [2]))
    write(repository, "whole", ensemble(ends, [("echo", {"IN": "X"}, {"OUT": "Y"})]), None)
    write(session.path, "broken", IO, "raise ImportError('no such tokenizer')\n")
    three = 'OUT = np.array([[1, 2, 3]], "f4")\nreturn [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", OUT)])]'
    write(session.path, "wrong", "max_batch_size: 4\n" + IO, execute(three))
    write(
        session.path / "texts",
        "text",
        "max_batch_size: 4\n" + tensors(("input", "IN", "STRING", [2]), ("output", "OUT", "STRING", [2])),
    )
    session.makepyfile(app=APP, test_same=SAME_TESTS)


@pytest.mark.real_triton
def test_the_same_tests_on_the_emulator_and_on_a_real_triton(installed: pytest.Pytester) -> None:
    """Recorded on the real one, replayed on the emulator; what only an emulator can be is skipped, and says so."""
    write_same_tests(installed)
    real = outcome(installed, "--triton=real", "--triton-record", "-rs")
    real.assert_outcomes(passed=11, skipped=2)
    real.stdout.fnmatch_lines(["*only the emulator has `batches`*", "*the server that is here is not release 21.10*"])
    recorded = yaml.safe_load((installed.path / "cases" / "echo.yaml").read_text())
    assert recorded["recorded_on"] == "real"
    assert [[*case["responses"][0]] for case in recorded["cases"]] == [["outputs"], ["error"]]
    emulated = outcome(installed)
    emulated.assert_outcomes(passed=12, failed=1)
    emulated.stdout.fnmatch_lines(
        ["*TPB573 got shape [[]1,3[]], config.pbtxt declares [[]-1,2[]]*", "FAILED test_same.py::test_strict*"]
    )
    with np.load(installed.path / "cases" / "echo.npz") as kept:
        changed = {name: array + ("out" in name) for name, array in kept.items()}
    np.savez(installed.path / "cases" / "echo.npz", **changed)
    differing = outcome(installed, "-k", "test_golden")
    differing.assert_outcomes(passed=1, failed=1, deselected=11)
    differing.stdout.fnmatch_lines(["E*echo, request 0, output 'OUT' (x is the answer, y what is recorded)"])


@pytest.mark.real_triton
def test_on_a_running_server(installed: pytest.Pytester, tmp_path: Path) -> None:
    repository = installed.path / "repository"
    write(repository, "echo", "max_batch_size: 4\n" + IO)
    write(installed.path, "elsewhere", IO)
    installed.makepyfile(
        """
        def test_there(triton):
            assert triton.load("repository/echo").infer("echo", {"IN": [1, 2]})["OUT"].tolist() == [[1, 2]]

        def test_elsewhere(triton):
            triton.load("elsewhere")
        """
    )
    with RealTriton(repository, model_control_mode="explicit") as server:
        result = outcome(installed, f"--triton={server.http_url}")
        assert not server.is_model_ready("echo")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*TPB625 this server sees no model 'elsewhere', its repository has echo",
            "E*put the model's folder into the server's repository, or use --triton=real",
        ]
    )


@pytest.mark.real_triton
def test_two_models_of_one_name(installed: pytest.Pytester) -> None:
    write(installed.path, "echo", IO)
    installed.makepyfile("def test_twice(triton):\n    triton.load('echo')\n    triton.load('echo')\n")
    outcome(installed).assert_outcomes(passed=1)
    result = outcome(installed, "--triton=real")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*TPB624 another model 'echo' is loaded by this test"])


def test_golden_cases_that_are_missing_or_of_other_requests(triton: TritonFixture, tmp_path: Path) -> None:
    from triton_pyb.emulator import golden

    server = triton.load(write(tmp_path, "echo", IO))
    with pytest.raises(Exception, match="TPB578 there is no '.*cases/none.yaml'"):
        golden.replay(tmp_path / "cases" / "none", server, "", (), rtol=0, atol=0)
    golden.record(tmp_path / "cases" / "one", server, "echo", [{"IN": [1, 2]}], {})
    golden.replay(tmp_path / "cases" / "one", server, "", (), rtol=0, atol=0)
    with pytest.raises(Exception, match="TPB579 '.*cases/one' holds other requests than the test sends"):
        golden.replay(tmp_path / "cases" / "one", server, "echo", [{"IN": [1, 3]}], rtol=0, atol=0)


def test_golden_cases_of_errors_and_streams_are_the_same_in_another_folder(
    triton: TritonFixture, tmp_path: Path
) -> None:
    from triton_pyb.emulator import golden

    def failing(folder: Path) -> Any:
        return triton.load(write(folder, "echo", IO, execute("import json\njson.loads('{')")))

    golden.record(tmp_path / "failing", failing(tmp_path / "here"), "echo", [{"IN": [1, 2]}], {})
    kept = (tmp_path / "failing.yaml").read_text()
    assert kept.startswith("recorded_on: emulated") and "message: |" in kept
    assert "  echo/1/model.py: execute" in kept and str(tmp_path) not in kept
    with pytest.raises(Exception, match="TPB586 got a list for a request, expected a dict of inputs"):
        golden.record(tmp_path / "no", triton, "echo", [[{"IN": [1, 2]}]], {})  # type: ignore[list-item]
    golden.replay(tmp_path / "failing", failing(tmp_path / "there"), "", (), rtol=0, atol=0)

    stream = """
sender = requests[0].get_response_sender()
for number in range(3):
    sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", requests[0].inputs()[0].as_numpy() + number)]))
sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("enough")))
sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
    decoupled = "model_transaction_policy { decoupled: true }\n" + IO

    def streaming(folder: Path, body: str) -> Any:
        return triton.load(write(folder, "stream", decoupled, execute(body)))

    golden.record(tmp_path / "stream", streaming(tmp_path / "1", stream), "stream", [{"IN": [1, 2]}], {})
    golden.replay(tmp_path / "stream", streaming(tmp_path / "2", stream), "", (), rtol=0, atol=0)
    with pytest.raises(AssertionError, match="stream, request 0: got 3 responses, recorded are 4"):
        fewer = stream.replace("range(3)", "range(2)")
        golden.replay(tmp_path / "stream", streaming(tmp_path / "3", fewer), "", (), rtol=0, atol=0)
    with pytest.raises(AssertionError, match="stream, request 0, response 0, output 'OUT'"):
        other = stream.replace("+ number", "- 1")
        golden.replay(tmp_path / "stream", streaming(tmp_path / "4", other), "", (), rtol=0, atol=0)


@pytest.mark.triton(relaese="21.10")
def test_an_option_that_nobody_knows(triton: TritonFixture, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="TPB584 'relaese' is no option of EmulatedTriton; did you mean 'release'"):
        triton.load(write(tmp_path, "echo", IO))


def test_options_of_a_marker_have_names(installed: pytest.Pytester) -> None:
    installed.makepyfile(
        """
        import pytest

        @pytest.mark.triton("faithful")
        def test_it(triton):
            pass
        """
    )
    outcome(installed).stdout.fnmatch_lines(["*@pytest.mark.triton('faithful',): its options have names, e.g. mode=*"])


def test_the_options_are_told(installed: pytest.Pytester) -> None:
    installed.makepyfile("def test_nothing():\n    pass\n")
    outcome(installed, "--markers").stdout.fnmatch_lines(
        ['@pytest.mark.triton(mode="strict" | "faithful", release="24.10", strict_off=[[]"rows", ...[]]): what every *']
    )
    wrong = outcome(installed, "--triton=reel")
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR
    wrong.stderr.fnmatch_lines(["ERROR: --triton=reel: write emulated, real, http://host:port or grpc://host:port"])


def test_nothing_knows_real_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    from triton_pyb.emulator import places

    monkeypatch.setattr(places, "entry_points", lambda group, name: [])
    with pytest.raises(Exception, match="TPB577 nothing here can run models on 'real'"):
        places.find_place("real", pytest.skip)


def test_fake_models(triton: TritonFixture, tmp_path: Path) -> None:
    seen = []

    def scorer(X: np.ndarray[object, np.dtype[np.float32]]) -> dict[str, object]:
        seen.append(X.tolist())
        if X[0] < 0:
            raise InferenceFailed("no score below zero", "INVALID_ARG")
        return {"SCORE": X / X.sum(), "OTHER": X}

    folder = write(tmp_path, "caller", IO, CALLER)
    server = triton.load(folder, fake_models={"scorer": scorer})
    assert server.infer("caller", {"IN": [1, 3]})["OUT"].tolist() == [0.25, 0.75]
    with pytest.raises(InferenceFailed, match="no score below zero") as failed:
        server.infer("caller", {"IN": [-1, 3]})
    assert failed.value.code == "INTERNAL"  # what a BLS caller passes on without a code of its own
    assert seen == [[1, 3], [-1, 3]]
    absent = triton.load(folder, fake_models={"scorer": lambda X: {"OTHER": X}})
    with pytest.raises(InferenceFailed, match="unexpected inference output 'SCORE' for model 'scorer'"):
        absent.infer("caller", {"IN": [1, 3]})
    broken = triton.load(folder, fake_models={"scorer": lambda Y: {}})
    with pytest.raises(TypeError, match="unexpected keyword argument 'X'"):  # a fault of the test, not of the model
        broken.infer("caller", {"IN": [1, 3]})


def test_a_fake_model_that_streams(triton: TritonFixture, tmp_path: Path) -> None:
    body = """
x = pb_utils.get_input_tensor_by_name(requests[0], "IN")
called = pb_utils.InferenceRequest(
    model_name="counter", requested_output_names=["N"], inputs=[pb_utils.Tensor("X", x.as_numpy())]
).exec(decoupled=True)
n = [each.output_tensors()[0].as_numpy()[0] for each in called if each.output_tensors()]
assert pb_utils.is_model_ready("counter")
return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array(n, "f4"))])]
"""

    def counter(X: object) -> object:
        yield {"N": np.array([1], "f4")}
        yield {"N": np.array([2], "f4")}

    folder = write(tmp_path, "caller", IO, execute(body))
    server = triton.load(folder, fake_models={"counter": counter})
    assert server.infer("caller", {"IN": [0, 0]})["OUT"].tolist() == [1, 2]
    folder = write(tmp_path, "plain", IO, CALLER)
    server = triton.load(folder, fake_models={"scorer": counter})
    with pytest.raises(InferenceFailed, match="Model scorer is using the decoupled"):
        server.infer("plain", {"IN": [0, 0]})


def test_pb_utils_comes_and_goes(installed: pytest.Pytester) -> None:
    installed.makepyfile(
        """
        import sys
        import pytest

        def test_there(pb_utils):
            import triton_python_backend_utils
            import numpy as np
            assert triton_python_backend_utils is pb_utils
            tensor = triton_python_backend_utils.Tensor("X", np.zeros(2, "f4"))
            assert (tensor.name(), tensor.as_numpy().tolist()) == ("X", [0, 0])

        def test_gone():
            assert not [name for name in sys.modules if name.endswith("python_backend_utils")]
            with pytest.raises(ModuleNotFoundError):
                import triton_python_backend_utils

        def test_beside_an_inline_model(pb_utils, triton):
            import triton_python_backend_utils
            server = triton.load("echo", inline=True)
            assert server.infer("echo", {"IN": [1, 2]})["OUT"].tolist() == [1, 2]

        def test_gone_again():
            assert not [name for name in sys.modules if name.endswith("python_backend_utils")]
        """
    )
    write(installed.path, "echo", IO)
    outcome(installed).assert_outcomes(passed=4)


def test_importing_the_plugin_is_cheap() -> None:
    code = (
        "import sys, time, triton_pyb, pytest; start = time.perf_counter();"
        "import triton_pyb.emulator.pytest_plugin; print(time.perf_counter() - start);"
        "print([name for name in ('tritonclient', 'google.protobuf', 'grpc', 'aiohttp') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")
    assert float(out[0]) < 0.05
    assert out[1] == "[]"


FAILING = """
from triton_pyb.emulator import InferenceFailed

def test_fails(triton):
    server = triton.load("app_log.py:deep", inline=False)
    try:
        server.infer("deep", {"x": "hi"})
    except InferenceFailed:
        pass
    assert False, "another reason"

def test_passes(triton):
    triton.load("app_log.py:deep", inline=False).infer("deep", {"x": "good"})

def test_without_a_server():
    assert False
"""
APP_LOG = """
import logging

from triton_pyb import Annotated, Name, model


@model
def deep(x: str) -> Annotated[str, Name("y")]:
    print("looking for", x)
    logging.warning("of two\\nlines")
    return {"good": "found"}[x]
"""


@pytest.mark.parametrize("where", ["emulated", pytest.param("real", marks=pytest.mark.real_triton)])
def test_a_failing_test_shows_prints_and_log(installed: pytest.Pytester, where: str) -> None:
    installed.makepyfile(app_log=APP_LOG, test_log=FAILING)
    result = outcome(installed, f"--triton={where}")
    result.assert_outcomes(passed=1, failed=2)
    text = result.stdout.str()
    assert text.count("Captured Triton log") == 1  # of three tests only one failed and had a server
    log = text.partition("Captured Triton log")[2]
    for line in (
        "of two",
        "lines",
        "Traceback (most recent call last):",
        f'  File "{installed.path}/app_log.py", line 10, in deep',
        "KeyError: 'hi'",
    ):
        assert any(shown.endswith(line) for shown in log.splitlines()), (line, text)
    printed = text.partition("Captured stdout call" if where == "emulated" else "Captured Triton log")[2]
    assert printed and "looking for hi" in printed and "looking for good" not in text
    seen = outcome(installed, f"--triton={where}", "-s", "-k", "test_passes").stdout.str()
    assert ("looking for good" in seen) == (where == "emulated")


def test_what_no_client_hears_of_fails_the_test(installed: pytest.Pytester) -> None:
    decoupled = "model_transaction_policy { decoupled: true }\n" + IO
    body = """
for r in requests:
    sender = r.get_response_sender()
    answer = pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy())])
    sender.send(answer{flags})
    {more}
return None
"""
    final = ", flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL"
    write(installed.path, "late", decoupled, execute(body.format(flags=final, more="sender.send(answer)")))
    write(installed.path, "open", decoupled, execute(body.format(flags="", more="")))
    write(installed.path, "none", IO, execute("return [None for r in requests]"))
    installed.makepyfile(
        """
        import pytest

        def test_late(triton):
            assert len(list(triton.load("late").stream_infer("late", {"IN": [1, 2]}))) == 1

        @pytest.mark.triton(strict_off=["leaked"])
        def test_late_allowed(triton):
            assert len(list(triton.load("late").stream_infer("late", {"IN": [1, 2]}))) == 1

        def test_open(triton):
            list(triton.load("open").stream_infer("open", {"IN": [1, 2]}))

        def test_none(triton):
            triton.load("none").infer("none", {"IN": [1, 2]})
        """
    )
    result = outcome(installed)
    result.assert_outcomes(passed=2, failed=2, errors=1)
    result.stdout.fnmatch_lines_random(
        [
            "E*TPB569 a response came after the final flag: *",
            "E*TPB503 a request to 'open_0*' sent a response without the final flag: its client waits for ever",
            "E*TPB503 a request to 'none_0*' was never answered (None stands for it*): its client waits for ever",
        ]
    )
