"""Packaged folders on a real Triton: copied to an empty place, republished while it polls."""

from __future__ import annotations

import re
import shutil
import sysconfig
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.repository.applications import pipeline_text, write
from triton_pyb.repository import build
from triton_pyb.repository.rollback import rollback
from triton_pyb.server import RealTriton

pytestmark = pytest.mark.real_triton

DECOY = "raise RuntimeError('this is the decoy')\n"
HELPED = "from utils import twice\n" + pipeline_text().replace("x * 2", "twice(x)")

OPTIONS = """
from pathlib import Path
import numpy as np
from triton_pyb import Annotated, Tensor, model
from triton_pyb.runtime.model_options import *

warm = Warmup("from a file", {"x": WarmupInput("FP32", (2,), input_data_file="warm.bin")})

@model(assets=("data/*.txt",), config=ModelOptions(
    instance_group=[InstanceGroup(2)],
    dynamic_batching=DynamicBatching((4,), 100, priority_levels=2, default_priority_level=1,
        priority_queue_policy={1: QueuePolicy(max_queue_size=7)}),
    model_warmup=[warm], labels={"y": "labels.txt"}, parameters={"owner": "me"},
    version_policy=Latest(1), optimization=Optimization(input_pinned_memory=False),
    config_extra='metric_tags { key: "team" value: "vision" }'))
def classify(
    x: Annotated[np.ndarray, Tensor("FP32", (2,))],
) -> Annotated[np.ndarray, Tensor("FP32", (2,), name="y")]:
    return x + float((Path(__file__).parent / "data/offset.txt").read_text())
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealTriton]:
    """One server for all, on a Python that has another triton_pyb, utils and app."""
    folder = tmp_path_factory.mktemp("real")
    write(folder / "project", {"app.py": HELPED, "utils.py": "def twice(x):\n    return 2 * x\n"})
    build(str(folder / "project/app.py:pipeline"), folder / "built", new_version=True)
    write(folder / "options", {"app.py": OPTIONS, "labels.txt": "cat\ndog\n", "data/offset.txt": "10"})
    (folder / "options/warm.bin").write_bytes(np.array([1, 2], np.float32).tobytes())
    build(str(folder / "options/app.py:classify"), folder / "built")
    shutil.copytree(folder / "built", folder / "empty" / "models")
    shutil.rmtree(folder / "options")
    python = environment_with_decoys(folder)
    arguments = ["--repository-poll-secs=1"]
    with RealTriton(folder / "empty/models", python=python, model_control_mode="poll", extra_args=arguments) as running:
        yield running


def environment_with_decoys(folder: Path) -> Path:
    """A virtual environment with other modules of the names that travel, imported before any model is."""
    decoys = {
        "triton_pyb/__init__.py": "decoy = True\n",
        "triton_pyb/runtime/__init__.py": "",
        "triton_pyb/runtime/adapter.py": DECOY,
        "utils.py": "def twice(x):\n    return -x\n",
        "app.py": DECOY,
    }
    write(folder / "decoys", decoys)
    venv.create(folder / "venv", symlinks=True)
    (packages,) = (folder / "venv/lib").glob("python*/site-packages")
    here = sysconfig.get_paths()["purelib"]
    lines = [f"import sys; sys.path.insert(1, {str(folder / 'decoys')!r})", here, "import triton_pyb.runtime, utils"]
    (packages / "decoys.pth").write_text("\n".join(lines) + "\n")
    return folder / "venv"


def ask(server: RealTriton) -> list[list[float]]:
    answer: list[list[float]] = server.infer("sums", {"x": np.array([[1, 2], [3, 4]], np.float32)})["y"].tolist()
    return answer


def test_the_folders_own_code_wins(server: RealTriton) -> None:
    assert ask(server) == [[3, 5], [7, 9]]


def test_what_the_options_say_is_what_the_server_has(server: RealTriton) -> None:
    config = server.model_config("classify")
    assert config["instance_group"][0]["count"] == 2
    assert config["dynamic_batching"]["priority_queue_policy"]["1"]["max_queue_size"] == 7
    assert config["parameters"]["owner"] == {"string_value": "me"}
    assert config["output"][0]["label_filename"] == "labels.txt"
    assert config["metric_tags"] == {"team": "vision"}
    assert server.infer("classify", {"x": np.array([[1, 2]], np.float32)})["y"].tolist() == [[11, 12]]


def test_a_republish_that_changes_the_tensor_between_two_steps(server: RealTriton) -> None:
    """Every answer is of one publish, nothing fails, every version starts once; then the way back."""
    project = server.repository.parents[1] / "project"
    before = len(server.log)
    write(project, {"app.py": HELPED.replace("mid", "other").replace("+ 1", "+ 100")})
    build(str(project / "app.py:pipeline"), server.repository, new_version=True)
    seen = [ask(server)]
    end = time.monotonic() + 60
    while seen[-1] != [[102, 104], [106, 108]] and time.monotonic() < end:
        seen.append(ask(server))
    assert [answer for index, answer in enumerate(seen) if answer not in seen[:index]] == [
        [[3, 5], [7, 9]],
        [[102, 104], [106, 108]],
    ]
    rollback(server.repository, "sums")
    while ask(server) != [[3, 5], [7, 9]] and time.monotonic() < end:
        time.sleep(0.05)
    assert ask(server) == [[3, 5], [7, 9]]
    log = server.log[before:]
    assert [line for line in log.splitlines() if re.match(r"E\d{4} ", line) and "CUDA" not in line] == []
    assert sorted(re.findall(r"ModelInstanceInitialize: (\w+)_0_0 ", log)) == ["scale_2", "shift_2"]
