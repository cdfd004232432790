"""Models in a child process and inline: loading, execute's return values, errors, the end."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.stub.kit import Answers, FakeHost, execute, executing, launch, model_folder, request
from triton_pyb.emulator.instance import LoadError, ModelInstance, auto_complete
from triton_pyb.emulator.messages import FINAL, RESCHEDULE, WireRequest, WireResponse, wire_tensor

Start = Callable[..., ModelInstance]
_PREFIX = "Failed to process the request(s) for model 'm_0_0', message: "


@pytest.fixture(params=[False, True], ids=["process", "inline"])
def inline(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def _run(start: Start, folder: Path, inline: bool, *requests: WireRequest, **settings: Any) -> Answers:
    instance = start(launch(folder, inline=inline, **settings))
    return execute(instance, *(requests or (request(),)))


def test_responses_by_position(start: Start, tmp_path: Path, inline: bool) -> None:
    folder = executing(tmp_path, "return [ok(r.inputs()[0].as_numpy()[0] + 1) for r in requests]")
    answers = _run(start, folder, inline, request(1.0), request(5.0))
    assert [answers.only(index).outputs[0].array.tolist() for index in (0, 1)] == [[2.0], [6.0]]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return (ok(),)", "Expected a list in the execute return, found type '<class 'tuple'>'."),
        ("return {}", "Expected a list in the execute return, found type '<class 'dict'>'."),
        (
            "return [ok(), 'x']",
            "Expected an 'InferenceResponse' object in the execute function return list, found type '<class 'str'>'.",
        ),
        (
            "return [ok()]",
            "Number of InferenceResponse objects do not match the number of InferenceRequest objects. "
            "InferenceRequest(s) size is:2, and InferenceResponse(s) size is:1\n",
        ),
    ],
)
def test_a_wrong_return_value_fails_the_whole_batch(
    start: Start, tmp_path: Path, inline: bool, body: str, message: str
) -> None:
    answers = _run(start, executing(tmp_path, body), inline, request(), request())
    assert [answers.error(index).message for index in (0, 1)] == [_PREFIX + message] * 2


@pytest.mark.parametrize("raised", ["ValueError('boom')", "SystemExit('boom')", "KeyboardInterrupt('boom')"])
def test_any_exception_fails_the_batch_and_the_model_lives(
    start: Start, tmp_path: Path, inline: bool, raised: str
) -> None:
    folder = executing(tmp_path, f"if len(requests) == 2: raise {raised}\nreturn [ok()]")
    host = FakeHost()
    instance = start(launch(folder, inline=inline), host)
    error = execute(instance, request(), request()).error(1)
    kind = raised.split("(")[0]
    assert error.message == f"{_PREFIX}{kind}: boom\n\nAt:\n  {folder}/1/model.py(8): execute\n"
    assert error.code == "INTERNAL"
    assert host.logged == [("ERROR", "pb_stub.cc", 714, error.message)]
    assert execute(instance, request()).only().error is None


def test_coroutines_are_awaited(start: Start, tmp_path: Path, inline: bool) -> None:
    source = """
    import asyncio
    class TritonPythonModel:
        async def execute(self, requests):
            await asyncio.sleep(0)
            return [pb_utils.InferenceResponse([]) for _ in requests]
    """
    assert _run(start, model_folder(tmp_path, source), inline).only().error is None


def test_an_unanswered_request_is_a_fault(start: Start, tmp_path: Path, inline: bool) -> None:
    answers = _run(start, executing(tmp_path, "return [None, ok()]"), inline, request(), request())
    assert answers.fault(0).code == "TPB503"
    why = "was never answered (None stands for it in the list that execute returned)"
    assert answers.fault(0).what == f"a request to 'm_0_0' {why}: its client waits for ever"
    assert answers.only(1).error is None


def test_a_sender_may_answer_later(start: Start, tmp_path: Path, inline: bool) -> None:
    body = """
    sender = requests[0].get_response_sender()
    threading.Thread(target=lambda: (time.sleep(0.1), sender.send(ok(7), 1))).start()
    """
    answers = _run(start, executing(tmp_path, body), inline)
    deadline = time.monotonic() + 5
    while not answers.of[0] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert answers.only().outputs[0].array.tolist() == [7.0]


def test_decoupled_streams(start: Start, tmp_path: Path, inline: bool) -> None:
    body = """
    sender = requests[0].get_response_sender()
    for value in range(2):
        sender.send(ok(value))
    sender.send(flags=1)
    """
    instance = start(launch(executing(tmp_path, body), inline=inline, decoupled=True))
    answers = execute(instance, request())
    got = [(response and response.outputs[0].array[0], flags) for response, flags in answers.of[0]]
    assert got == [(0.0, 0), (1.0, 0), (None, FINAL)]


def test_decoupled_must_return_none(start: Start, tmp_path: Path, inline: bool) -> None:
    instance = start(launch(executing(tmp_path, "return []"), inline=inline, decoupled=True))
    assert execute(instance, request()).error().message == (
        _PREFIX + "Python model 'm_0_0' is using the decoupled mode and the execute function must return None."
    )


def test_a_failure_after_a_final_response_kills_the_server(start: Start, tmp_path: Path, inline: bool) -> None:
    folder = executing(tmp_path, "requests[0].get_response_sender().send(ok(), 1)\nraise ValueError('late')")
    instance, answers = start(launch(folder, inline=inline)), Answers(1)
    fault = instance.execute([request()], answers)
    assert fault is not None
    assert fault[:2] == ("TPB508", "execute failed after a final response: the server dies of it")
    assert answers.only().error is None
    assert instance.execute([request()], Answers(1)) == fault  # nobody was told of it
    assert execute(instance, request()).error().message == "Stub process 'm_0_0' is not healthy."


@pytest.mark.parametrize(
    ("ending", "what"),
    [
        ("raise ValueError('late')", "execute failed after a response: the client gets two bodies"),
        (
            "return [ok()]",
            "execute sent a response without the final flag and returned another: the client gets two bodies",
        ),
    ],
)
def test_two_bodies_for_one_request(start: Start, tmp_path: Path, inline: bool, ending: str, what: str) -> None:
    folder = executing(tmp_path, f"requests[0].get_response_sender().send(ok())\n{ending}")
    fault = start(launch(folder, inline=inline)).execute([request()], Answers(1))
    assert fault is not None
    assert fault[:2] == ("TPB507", what)


def test_a_swallowed_emulator_error_is_still_reported(start: Start, tmp_path: Path, inline: bool) -> None:
    body = """
    try:
        pb_utils.Tensor.from_dlpack("n", np.ones(2))
    except Exception:
        pass
    return [ok()]
    """
    fault = start(launch(executing(tmp_path, body), inline=inline)).execute([request()], Answers(1))
    assert fault is not None
    assert fault.code == "TPB502"


def test_system_exit_in_a_coroutine_never_returns(start: Start, tmp_path: Path, inline: bool) -> None:
    source = "class TritonPythonModel:\n    async def execute(self, requests):\n        raise SystemExit(2)\n"
    fault = start(launch(model_folder(tmp_path, source), inline=inline)).execute([request()], Answers(1))
    assert fault is not None
    assert fault[:2] == ("TPB510", "SystemExit in a coroutine ends the stub's event loop: execute never returns")


def test_a_lone_surrogate_in_a_message_kills_the_stub(start: Start, tmp_path: Path, inline: bool) -> None:
    folder = executing(tmp_path, "raise ValueError('a\\udc80')")
    fault = start(launch(folder, inline=inline)).execute([request()], Answers(1))
    assert fault is not None
    assert fault.code == "TPB511"
    assert fault.what.startswith("an exception whose message has a lone surrogate, 'a\\udc80', kills")


def test_rescheduling(start: Start, tmp_path: Path, inline: bool) -> None:
    body = "requests[0].set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)\nreturn [None]"
    answers = _run(start, executing(tmp_path, body), inline)
    assert answers.of[0] == [(None, RESCHEDULE)]


def test_bls_from_execute(start: Start, tmp_path: Path, inline: bool) -> None:
    body = """
    inner = pb_utils.InferenceRequest(model_name="other", inputs=requests[0].inputs(), requested_output_names=["OUT"])
    return [pb_utils.InferenceResponse(inner.exec().output_tensors())]
    """

    def answer(inner: WireRequest, decoupled: bool) -> Iterator[WireResponse]:
        yield WireResponse([wire_tensor("OUT", "FP32", inner.inputs[0].array * 10)])

    instance = start(launch(executing(tmp_path, body), inline=inline), FakeHost(answer))
    assert execute(instance, request(4.0)).only().outputs[0].array.tolist() == [40.0]


@pytest.mark.parametrize(
    ("release", "body", "message"),
    [
        ("24.05", "return None", "Expected a list in the execute return, found type '<class 'NoneType'>'."),
        (
            "24.05",
            "return [None]",
            "Expected an 'InferenceResponse' object in the execute function return list, found type "
            "'<class 'NoneType'>'.",
        ),
        ("21.12", "return (ok(),)", None),
    ],
)
def test_return_values_of_older_releases(
    start: Start, tmp_path: Path, inline: bool, release: str, body: str, message: str | None
) -> None:
    answers = _run(start, executing(tmp_path, body), inline, release=release)
    if message is None:
        assert answers.only().error is None
    else:
        assert answers.error().message == _PREFIX + message


def test_up_to_22_06_the_response_keeps_what_nobody_asked_for(start: Start, tmp_path: Path, inline: bool) -> None:
    body = """
    response = pb_utils.InferenceResponse([pb_utils.Tensor(n, np.zeros(1, "f4")) for n in ("OUT", "OTHER")])
    self.kept = getattr(self, "kept", response)
    return [response] if response is self.kept else [ok(len(self.kept.output_tensors()))]
    """
    for release, left in (("22.06", 2.0), ("22.07", 1.0)):
        instance = start(launch(executing(tmp_path / release, body), inline=inline, release=release))
        assert [output.name for output in execute(instance, request()).only().outputs] == ["OUT"]
        assert execute(instance, request()).only().outputs[0].array.tolist() == [left]


def test_what_initialize_gets(start: Start, tmp_path: Path, inline: bool) -> None:
    source = """
    class TritonPythonModel:
        def initialize(self, args):
            self.args = args
        def execute(self, requests):
            shown = json.dumps([self.args, __name__, __package__, pb_utils.get_model_dir()])
            return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([shown], dtype=object))])]
    """
    folder = model_folder(tmp_path, source)
    answers = _run(start, folder, inline, kind="GPU", device_id=1)
    shown = answers.only().outputs[0].array[0].decode()
    config = '{\\"name\\":\\"m\\",\\"max_batch_size\\":0,\\"input\\":[],\\"output\\":[]}'
    assert shown == (
        f'[{{"model_config": "{config}", "model_instance_kind": "GPU", "model_instance_name": "m_0_0", '
        f'"model_instance_device_id": "1", "model_repository": "{folder}", "model_version": "1", '
        f'"model_name": "m"}}, "1.model", "1", "{folder}/1"]'
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1", "AttributeError: module '1.model' has no attribute 'TritonPythonModel'"),
        (
            "from triton_python_backend_utils import Tensor",
            "ImportError: cannot import name 'Tensor' from 'triton_python_backend_utils'",
        ),
        ("pb_utils.Tensor", "AttributeError: module 'triton_python_backend_utils' has no attribute 'Tensor'"),
        ("import no_such_module_xyz", "ModuleNotFoundError: No module named 'no_such_module_xyz'\n\nAt:\n"),
        (
            "class TritonPythonModel:\n    def initialize(self): pass",
            "TypeError: TritonPythonModel.initialize() takes 1 positional argument but 2 were given",
        ),
    ],
)
def test_what_does_not_load(start: Start, tmp_path: Path, inline: bool, source: str, message: str) -> None:
    with pytest.raises(LoadError) as caught:
        start(launch(model_folder(tmp_path, source), inline=inline))
    assert str(caught.value).startswith(message)


def test_no_model_file(start: Start, tmp_path: Path, inline: bool) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    with pytest.raises(LoadError, match=r"Python model file not found in '.*/m/1/model\.py'"):
        start(launch(tmp_path / "m", inline=inline))


_COMPLETES = """
class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        {}
"""


def test_auto_complete(tmp_path: Path, inline: bool) -> None:
    body = 'config.add_input({"name": "IN", "data_type": "TYPE_FP32", "dims": [1]})\n        return config'
    completed = auto_complete(launch(model_folder(tmp_path, _COMPLETES.format(body)), inline=inline), FakeHost())
    assert completed["input"] == [{"name": "IN", "data_type": "TYPE_FP32", "dims": [1]}]


def test_auto_complete_must_return_its_config(tmp_path: Path, inline: bool) -> None:
    folder = model_folder(tmp_path, _COMPLETES.format("return config.as_dict()"))
    with pytest.raises(LoadError, match="function in model 'm_0_0' must return a valid pb.ModelConfig object"):
        auto_complete(launch(folder, inline=inline), FakeHost())


def test_auto_complete_shows_the_frame_of_pb_utils(tmp_path: Path, inline: bool) -> None:
    folder = model_folder(tmp_path, _COMPLETES.format("return config.add_input({})"))
    with pytest.raises(LoadError) as caught:
        auto_complete(launch(folder, inline=inline), FakeHost())
    what, _, frames = str(caught.value).partition("\n\nAt:\n")
    assert what == "ValueError: input in auto-complete-config function for model 'm' is missing 'name' property."
    assert [frame.rsplit(" ", 1)[1] for frame in frames.splitlines()] == ["add_input", "auto_complete_config"]


def test_finalize_runs_once_and_its_exception_is_only_logged(start: Start, tmp_path: Path, inline: bool) -> None:
    source = """
    class TritonPythonModel:
        def execute(self, requests): pass
        def finalize(self): raise ValueError("fin")
    """
    host = FakeHost()
    instance = start(launch(model_folder(tmp_path, source), inline=inline), host)
    instance.finalize()
    instance.finalize()
    ((level, file, line, message),) = host.logged
    assert (level, file, line) == ("INFO", "pb_stub.cc", 978)
    assert message.startswith("ValueError: fin\n\nAt:\n")


def test_open_requests_are_reported_at_the_end(start: Start, tmp_path: Path, inline: bool) -> None:
    instance = start(launch(executing(tmp_path, "self.kept = requests"), inline=inline, decoupled=True))
    answers = execute(instance, request())
    instance.finalize()
    assert answers.fault().code == "TPB503"


@pytest.mark.parametrize(("answer", "ready"), [("True", True), ("False", False), ("'yes'", False), ("1 / 0", False)])
def test_is_ready_since_26_03(start: Start, tmp_path: Path, inline: bool, answer: str, ready: bool) -> None:
    source = textwrap.dedent(
        f"""
        class TritonPythonModel:
            def is_ready(self): return {answer}
            def execute(self, requests): pass
        """
    )
    folder = model_folder(tmp_path, source)
    told = "" if ready else "Model 'm_0_0' is not ready (user-defined check failed)."
    assert start(launch(folder, inline=inline, release="26.03")).is_ready() == (ready, told)
    assert start(launch(folder, inline=inline, release="26.02")).is_ready() == (True, "")


def test_cancelling(start: Start, tmp_path: Path, inline: bool) -> None:
    body = """
    r, s = requests[0], requests[0].get_response_sender()
    def work():
        while not s.is_cancelled():
            time.sleep(0.01)
        s.send(ok(r.is_cancelled()), 1)
    threading.Thread(target=work).start()
    """
    instance = start(launch(executing(tmp_path, body), inline=inline, decoupled=True))
    asked = request()
    answers = execute(instance, asked)
    instance.cancel(asked)
    deadline = time.monotonic() + 5
    while not answers.of[0] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert answers.only().outputs[0].array.tolist() == [1.0]


@pytest.mark.parametrize("change", ["requests.reverse()", "requests.sort(key=lambda r: -r.inputs()[0].as_numpy()[0])"])
def test_a_list_of_requests_in_another_order_swaps_the_answers(
    start: Start, tmp_path: Path, inline: bool, change: str
) -> None:
    """And each is pruned by the names that the other was asked for."""
    body = f"""
    {change}
    def one(r):
        value = r.inputs()[0].as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", value), pb_utils.Tensor("TOO", value)])
    return [one(r) for r in requests]
    """
    both = request(1.0, outputs=("OUT", "TOO"))
    answers = _run(start, executing(tmp_path, body), inline, both, request(5.0))
    assert [[o.array.tolist() for o in answers.only(index).outputs] for index in (0, 1)] == [[[5.0]], [[1.0], [1.0]]]


@pytest.mark.parametrize("body", ["requests.clear()\nreturn [ok()]", "requests.pop()\nraise ValueError('x')"])
def test_a_failure_after_requests_left_the_list(start: Start, tmp_path: Path, inline: bool, body: str) -> None:
    instance, answers = start(launch(executing(tmp_path, body), inline=inline)), Answers(2)
    fault = instance.execute([request(), request()], answers)
    assert fault is not None
    gone = 2 if "clear" in body else 1
    assert fault[:2] == (
        "TPB512",
        f"execute failed after it took {gone} of 2 requests out of its list: the server frees memory twice, and sooner"
        " or later dies of it",
    )
    assert "not healthy" in execute(instance, request()).error().message


def test_a_fault_that_no_client_was_told_meets_the_next_one(start: Start, tmp_path: Path, inline: bool) -> None:
    body = """
    sender = requests[0].get_response_sender()
    assert not sender.is_cancelled()
    sender.send(ok(), flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    requests[0].is_cancelled()
    """
    instance, answers = start(launch(executing(tmp_path, body), inline=inline)), Answers(1)
    fault = instance.execute([request()], answers)
    assert answers.only().error is None
    assert fault is not None and fault[:2] == (
        "TPB513",
        "is_cancelled after the final response: the server looks in memory that it has freed, and may die",
    )
    assert instance.execute([request()], Answers(1)) == fault
    assert "not healthy" in execute(instance, request()).error().message
