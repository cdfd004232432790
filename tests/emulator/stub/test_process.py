"""The child process: its end, its output, its surroundings."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.emulator.stub.kit import Answers, FakeHost, execute, executing, launch, model_folder, request
from triton_pyb.emulator.instance import LoadError, ModelInstance, auto_complete

Start = Callable[..., ModelInstance]
_DEAD = "Stub process 'm_0_0' is not healthy."


@pytest.mark.parametrize("death", ["os._exit(3)", "import ctypes; ctypes.string_at(0)"])
def test_a_model_that_dies_is_reported_and_stays_dead(start: Start, tmp_path: Path, death: str) -> None:
    instance = start(launch(executing(tmp_path, death)))
    assert execute(instance, request(), request()).error(1).message == _DEAD
    assert execute(instance, request()).error().message == _DEAD
    assert instance.is_ready() == (True, "")


def test_since_25_12_a_dead_stub_is_not_ready(start: Start, tmp_path: Path) -> None:
    instance = start(launch(executing(tmp_path, "os._exit(3)"), release="25.12"))
    execute(instance, request())
    assert instance.is_ready() == (False, _DEAD)


def test_a_death_while_loading(start: Start, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=_DEAD):
        start(launch(model_folder(tmp_path, "os._exit(1)")))


def test_a_hang_with_a_limit(start: Start, tmp_path: Path) -> None:
    instance, answers = start(launch(executing(tmp_path, "time.sleep(60)"), execute_timeout_s=0.5)), Answers(1)
    fault = instance.execute([request()], answers)
    assert fault is not None
    assert fault[:2] == ("TPB509", "execute of 'm_0_0' did not return within 0.5 s: its clients wait as long")
    assert answers.of == [[]]


def test_a_hang_that_is_given_up(start: Start, tmp_path: Path) -> None:
    instance, answers = start(launch(executing(tmp_path, "time.sleep(60)"))), Answers(1)
    timer = threading.Timer(0.3, instance.give_up, [0.3])
    timer.start()
    fault = instance.execute([request()], answers)
    timer.join()
    assert fault is not None
    assert fault.code == "TPB509"
    instance.give_up(1.0)  # nothing runs: nothing happens


def test_what_it_prints_goes_to_the_host(start: Start, tmp_path: Path) -> None:
    host = FakeHost()
    instance = start(launch(executing(tmp_path, "print('out'); print('err', file=sys.stderr); return [ok()]")), host)
    execute(instance, request())
    instance.finalize()
    assert sorted(host.printed) == [("stderr", "err"), ("stdout", "out")]


def test_its_modules_are_the_models_own(start: Start, tmp_path: Path) -> None:
    body = """
    import helper
    ours = [name for name in sys.modules if name.startswith("triton_pyb")]
    tail = [os.path.basename(path) for path in sys.path[-3:]]
    shown = json.dumps([helper.WHO, ours, tail, sys.argv, os.environ["SAID"], os.getcwd(), threading.active_count()])
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([shown], dtype=object))])]
    """
    folder = executing(tmp_path, body)
    (folder / "1" / "helper.py").write_text("WHO = 'beside model.py'")
    instance = start(launch(folder, environment={"SAID": "so"}, cwd=str(tmp_path)))
    shown = execute(instance, request()).only().outputs[0].array[0].decode()
    assert shown == f'["beside model.py", [], ["1", "m", "python"], [""], "so", "{tmp_path}", 1]'
    assert not list(folder.rglob("__pycache__"))


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    folder = executing(tmp_path, "return [ok()]")
    program = (
        "import os\n"
        "from tests.emulator.stub.kit import FakeHost, launch\n"
        "from triton_pyb.emulator.instance import ModelInstance\n"
        "from pathlib import Path\n"
        f"instance = ModelInstance(launch(Path({str(folder)!r})), FakeHost())\n"
        "instance.start()\n"
        "print(instance._runner._process.pid, flush=True)\n"
        "os._exit(0)\n"
    )
    root = Path(__file__).resolve().parents[3]
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True, timeout=60
    )
    pid = int(done.stdout)
    deadline = time.monotonic() + 5
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_another_interpreter(start: Start, tmp_path: Path) -> None:
    body = "return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.array([sys.executable], dtype=object))])]"
    link = tmp_path / "python3"
    os.symlink(sys.executable, link)
    instance = start(launch(executing(tmp_path, body), python=sys.executable))
    assert Path(execute(instance, request()).only().outputs[0].array[0].decode()).name in ("python3", link.name)


def test_it_ends_as_an_interpreter_does(start: Start, tmp_path: Path) -> None:
    """Own threads first, idle ones of an executor too, then what atexit has: in each process of the model."""
    said = tmp_path / "said"
    body = f"""
    import atexit, concurrent.futures
    def say(text):
        with open({str(said)!r}, "a") as out:
            out.write(text + " ")
    atexit.register(say, "exit")
    class TritonPythonModel:
        @staticmethod
        def auto_complete_config(config):
            return config
        def initialize(self, args):
            self.pool = concurrent.futures.ThreadPoolExecutor(2)
            self.pool.submit(say, "worked").result()
            threading.Thread(target=lambda: (time.sleep(0.2), say("thread"))).start()
        def finalize(self):
            say("finalize")
    """
    folder = model_folder(tmp_path, body)
    began = time.monotonic()
    auto_complete(launch(folder), FakeHost())
    assert said.read_text() == "exit "
    start(launch(folder)).finalize()
    assert said.read_text() == "exit worked finalize thread exit "
    assert time.monotonic() - began < 4.0


def test_the_limit_of_the_recursion_counts_from_execute(start: Start, tmp_path: Path) -> None:
    body = """
    if requests[0].inputs()[0].as_numpy()[0]:
        assert sys.getrecursionlimit() == 1000
        sys.setrecursionlimit(500)
    def deeper():
        return deeper()
    deeper()
    """
    instance = start(launch(executing(tmp_path, body)))
    for value, frames in ((0.0, 1000), (1.0, 500)):
        message = execute(instance, request(value)).error().message
        assert "RecursionError: maximum recursion depth exceeded" in message
        assert message.count("model.py(") == frames
