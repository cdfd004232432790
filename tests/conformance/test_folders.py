"""Model folders in the manner of the Python backend's examples: none knows triton_pyb, both servers agree on all.

What a scenario gives is the whole observation; it is asserted on the emulator and compared with a real Triton's.
"""

from __future__ import annotations

import io
import re
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.errors import InferenceFailed

from .conftest import Emulated, Real, strings

FOLDERS = Path(__file__).parents[1] / "folders"
NAMES = sorted(path.name for path in FOLDERS.iterdir() if path.is_dir())
LAST = ["dark_or_bright"]  # an ensemble, after its steps

A, B = np.array([1, 2, 3, 4], "f4"), np.array([4, 3, 2, 0.5], "f4")
Observation = dict[str, Any]


def plain(answer: dict[str, Any]) -> Observation:
    """Data type, shape and values of every output."""
    return {name: (str(array.dtype), array.shape, array.tolist()) for name, array in sorted(answer.items())}


def asked(server: Any, model: str, inputs: dict[str, Any], **options: Any) -> Observation:
    try:
        return plain(server.infer(model, inputs, **options))
    except InferenceFailed as failure:
        message = re.sub(r"  \S+/([\w.]+/1/model\.py)", r"  \1", failure.message)
        message = re.sub(r"at 0x[0-9a-f]+>", "at ADDRESS>", message)
        protocol = re.sub(r"^(HTTP end point|ModelInfer RPC) doesn't", "PROTOCOL doesn't", message)
        return {"status": failure.status, "message": protocol}  # HTTP has a status, and no word for CANCELLED


def streamed(server: Any, model: str, inputs: dict[str, Any]) -> list[Observation]:
    got = []
    try:
        for part in server.stream_infer(model, inputs):
            got.append(plain(part))
    except InferenceFailed as failure:
        got.append({"message": failure.message})
    return got


def add_sub(server: Any) -> Observation:
    seen = {"good": asked(server, "add_sub", {"A": A, "B": B}), "bad": asked(server, "add_sub", {"A": A})}
    assert seen["good"]["DIFFERENCE"] == ("float32", (4,), [-3, -1, 1, 3.5])
    return seen


def completes_itself(server: Any) -> Observation:
    config = server.model_config("completes_itself")
    keys = ("name", "backend", "max_batch_size", "input", "output", "dynamic_batching", "default_model_filename")
    seen = {key: config[key] for key in keys}
    seen["answer"] = asked(server, "completes_itself", {"X": np.ones((2, 3), "i4")})
    assert seen["answer"]["LENGTH"] == ("int32", (2, 1), [[3], [3]]) and seen["max_batch_size"] == 4
    return seen


def calls_in_turn(server: Any) -> Observation:
    def ask(name: str) -> Observation:
        return asked(server, "calls_in_turn", {"MODEL": np.array([name.encode()], object), "A": A, "B": B})

    seen = {"found": ask("add_sub"), "lost": ask("nowhere"), "other": ask("greets")}
    assert seen["found"] == asked(server, "add_sub", {"A": A, "B": B})
    assert "nowhere" in seen["lost"]["message"]
    return seen


def calls_at_once(server: Any) -> Observation:
    seen = {"answer": asked(server, "calls_at_once", {"A": A, "B": B})}
    assert seen["answer"]["SUM_OF_ALL"] == ("float32", (4,), (6 * A + 3 * B).tolist())
    return seen


def calls_a_stream(server: Any) -> Observation:
    seen = {str(n): asked(server, "calls_a_stream", {"N": np.array([n], "i4")}) for n in (3, 0, -1)}
    assert seen["3"]["SUM"] == ("int32", (1,), [9])
    return seen


def squares(server: Any) -> Observation:
    seen: Observation = {str(n): streamed(server, "squares", {"IN": np.array([n], "i4")}) for n in (2, 0, -1)}
    seen["unary"] = asked(server, "squares", {"IN": np.array([2], "i4")})
    assert seen["2"] == [{"OUT": ("int32", (1,), [2])}] * 2 and seen["0"] == []
    return seen


def repeats(server: Any) -> Observation:
    seen = {"parts": streamed(server, "repeats", {"IN": np.array([5, 6, 7], "i4"), "DELAY_MS": np.array([5], "u4")})}
    assert [part["OUT"][2] for part in seen["parts"]] == [[5], [6], [7]]
    return seen


def counts_itself(server: Any) -> Observation:
    seen: Observation = {"first": asked(server, "counts_itself", {"X": np.array([[1], [9]], "f4")})}
    seen["second"] = asked(server, "counts_itself", {"X": np.array([[4]], "f4")})
    if isinstance(server, EmulatedTriton):
        page = server.metrics_page()
    else:
        page = urllib.request.urlopen(server.metrics_url).read().decode()
    seen["metrics"] = sorted(line for line in page.splitlines() if "folder_" in line)
    assert 'folder_rows_total{model="counts_itself",version="1"} 3' in seen["metrics"]
    return seen


def picture(brightness: int, form: str = "PNG") -> bytes:
    pixels = np.arange(12 * 10 * 3).reshape(12, 10, 3) % 16 + brightness
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(buffer, form)
    return buffer.getvalue()


def pictures(server: Any) -> Observation:
    seen = {
        "good": asked(server, "pictures", {"PICTURE": strings(picture(10), picture(200, "JPEG"))}),
        "bad": asked(server, "pictures", {"PICTURE": strings(b"no picture")}),
    }
    assert seen["good"]["PIXELS"][1] == (2, 3, 8, 8) and seen["bad"]["status"] == 400
    return seen


def instances(server: Any) -> Observation:
    seen = {"about": asked(server, "instances", {"X": np.zeros(1, "f4")})}
    assert seen["about"]["ABOUT"][2] == [b"CPU", b"0", b"instances_0_"]
    groups = server.model_config("instances")["instance_group"]
    return {**seen, "groups": [(group["name"], group["kind"], group["count"]) for group in groups]}


def answers_with_parameters(server: Any) -> Observation:
    seen = {"answer": asked(server, "answers_with_parameters", {"X": np.array([[2]], "i4")})}
    assert "incompatible constructor arguments" in seen["answer"]["message"]
    return seen


def dark_or_bright(server: Any) -> Observation:
    both = asked(server, "dark_or_bright", {"image": strings(picture(10), picture(200))})
    # An output that is a step's input too, and not asked for: the server takes the step away that makes it.
    one = asked(server, "dark_or_bright", {"image": strings(picture(200))}, outputs=["class"], request_id="r1")
    bad = asked(server, "dark_or_bright", {"image": strings(b"?")})
    assert both["class"][2] == [[b"dark"], [b"bright"]] and "[request id: r1] unexpected deadlock" in one["message"]
    return {"both": both, "one": one, "bad": bad}


def running_total(server: Any) -> Observation:
    def send(sequence: int, x: int, **flags: bool) -> Observation:
        return asked(server, "running_total", {"X": np.array([[x]], "i4")}, correlation_id=sequence, **flags)

    seen = [
        send(11, 1, sequence_start=True),
        send(12, 10, sequence_start=True),
        send(11, 2),
        send(12, 20, sequence_end=True),
        send(11, 3, sequence_end=True),
        send(11, 4, sequence_start=True, sequence_end=True),
        send(13, 5),
        send(0, 5),
    ]
    assert [part["TOTAL"][2] for part in seen[:6]] == [[[1]], [[10]], [[3]], [[30]], [[6]], [[4]]]
    return {"answers": seen}


def greets(server: Any) -> Observation:
    seen = {
        "default": asked(server, "greets", {"NAME": strings("a", "나")}),
        "given": asked(server, "greets", {"NAME": strings("a"), "GREETING": strings("bye")}),
        "parameters": asked(server, "greets", {"NAME": strings("a")}, parameters={"n": 1, "b": True, "s": "x"}),
        **{
            name: asked(server, "greets", {"NAME": strings(name)})
            for name in ("nobody", "busy", "cancelled", "strange", "raise")
        },
    }
    assert seen["default"]["TEXT"][2] == [[b"hello a"], ["hello 나".encode()]]
    assert seen["nobody"] == {"status": 404, "message": "no nobody"}
    return seen


SCENARIOS: list[Callable[[Any], Observation]] = [
    add_sub,
    completes_itself,
    calls_in_turn,
    calls_at_once,
    calls_a_stream,
    squares,
    repeats,
    counts_itself,
    pictures,
    instances,
    answers_with_parameters,
    dark_or_bright,
    running_total,
    greets,
]


def place_folders(repository: Path, server: Any) -> None:
    for name in NAMES:
        shutil.copytree(FOLDERS / name, repository / name)
    for name in [name for name in NAMES if name not in LAST] + LAST:
        server.load_model(name)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The emulator with every folder, strict: an example must not need a real server's leniency."""
    emulated = Emulated(tmp_path_factory.mktemp("folders") / "repository")
    place_folders(emulated.repository, emulated.server)
    yield emulated.server
    emulated.stop()


@pytest.fixture(scope="module")
def theirs(real_server: Real) -> Iterator[Any]:
    """The real server of the session with every folder."""
    place_folders(real_server.repository, real_server.server)
    yield real_server.server
    real_server.forget()
    for name in NAMES:
        shutil.rmtree(real_server.repository / name)


_seen: dict[str, Observation] = {}


def _ours(scenario: Callable[[Any], Observation], server: Any) -> Observation:
    """Once a session: counters and metrics would go on counting."""
    if scenario.__name__ not in _seen:
        _seen[scenario.__name__] = scenario(server)
    return _seen[scenario.__name__]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_in_the_emulator(scenario: Callable[[Any], Observation], ours: Any) -> None:
    assert _ours(scenario, ours)


@pytest.mark.real_triton
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_a_real_triton_agrees(scenario: Callable[[Any], Observation], ours: Any, theirs: Any) -> None:
    assert _ours(scenario, ours) == scenario(theirs)


def test_response_parameters_of_25_02(tmp_path: Path) -> None:
    from triton_pyb.emulator import inference
    from triton_pyb.emulator.messages import WireRequest, wire_tensor

    folder = shutil.copytree(FOLDERS / "answers_with_parameters", tmp_path / "answers_with_parameters")
    with EmulatedTriton(folder, release="25.02") as server:
        model = inference.find_model(server.store, folder.name)
        request = WireRequest([wire_tensor("X", "INT32", [2], [1, 1])], model_name=folder.name)
        response = inference.one_response(inference.submit(model, request).result(), folder.name)
    assert response.parameters == {"rows": 1, "largest": "2", "even": True}


def test_every_folder_is_plain() -> None:
    assert len(NAMES) >= 12
    sources = [path.read_text() for path in FOLDERS.rglob("*") if path.suffix in (".py", ".pbtxt")]
    assert sources and not [text for text in sources if "triton_pyb" in text]
    covered = " ".join(scenario.__name__ for scenario in SCENARIOS)
    steps = {"brightness", "names_of_classes"}  # of the ensemble
    assert {name for name in NAMES if name not in covered.split()} == steps
