"""Functions and training, then the pipeline three ways: by hand, on the emulator, on a real Triton."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from train import main as train_main
from train import split

from triton_pyb import Reject
from triton_pyb.emulator import EmulatedTriton, InferenceFailed
from triton_pyb.repository import build
from triton_pyb.server import RealTriton

HERE = Path(__file__).parent
PICTURES = sorted(path for path in (HERE / "pictures").iterdir() if path.suffix in (".jpg", ".png"))
BYTES = [path.read_bytes() for path in PICTURES]


def load(path: Path) -> torch.jit.ScriptModule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch 2.13 announces the end of torch.jit
        return torch.jit.load(str(path))


@pytest.fixture(scope="module")
def core() -> torch.jit.ScriptModule:
    return load(HERE / "core.pt")


# --- the functions


def test_preprocessing_measures_ink(app: Any) -> None:
    image = np.full((80, 40), 255, np.uint8)
    image[40:] = 0
    ink = app.preprocessing(image)
    assert ink.shape == (1, 8, 8) and ink.dtype == np.float32
    assert ink[0, :4].tolist() == np.zeros((4, 8)).tolist()
    assert ink[0, 4:].tolist() == np.ones((4, 8)).tolist()


def test_a_picture_below_8x8_is_rejected(app: Any) -> None:
    with pytest.raises(Reject, match="20x7 pixels"):
        app.preprocessing(np.zeros((7, 20), np.uint8))


def test_postprocessing_does_not_overflow(app: Any) -> None:
    result = app.postprocessing(np.array([0, 0, 0, 1e4, 0, 0, 0, 0, 0, 0], np.float32))
    assert result == {"label": 3, "probabilities": [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]}


# --- the model


def test_the_committed_weights_read_unseen_digits(core: torch.jit.ScriptModule) -> None:
    _, _, pixels, labels = split()
    right = (core(pixels).argmax(dim=1) == labels).float().mean()
    assert right >= 0.97
    assert (HERE / "core.pt").stat().st_size <= 200_000


def test_train_py_gives_the_committed_weights_again(tmp_path: Path, core: torch.jit.ScriptModule) -> None:
    """The weights, not the bytes: torch writes a serialization id, and constants in the order of a hash."""
    accuracy = train_main(tmp_path / "again.pt")
    again = load(tmp_path / "again.pt")
    assert accuracy >= 0.97
    for (name, kept), (_, trained) in zip(core.state_dict().items(), again.state_dict().items(), strict=True):
        # Bit for bit on one machine and torch; another CPU adds in another order.
        torch.testing.assert_close(trained, kept, rtol=1e-2, atol=1e-3, msg=name)
    _, _, pixels, _ = split()
    torch.testing.assert_close(again(pixels), core(pixels), rtol=1e-2, atol=5e-2)


# --- the whole pipeline


@pytest.fixture(scope="module")
def by_hand(app: Any, core: torch.jit.ScriptModule) -> list[dict[str, Any]]:
    """The answers for all pictures, without triton_pyb: plain calls and torch, one picture at a time."""
    answers = []
    for data in BYTES:
        ink = app.preprocessing(np.array(Image.open(io.BytesIO(data)).convert("L")))
        with torch.no_grad():
            logits = core(torch.from_numpy(ink[np.newaxis])).numpy()
        answers.append(app.postprocessing(logits[0]))
    return answers


@pytest.fixture(scope="module", params=["explicit", "batched"])
def form(request: pytest.FixtureRequest) -> str:
    """The same steps without max_batch_size ("explicit"), and with it."""
    return str(request.param)


@pytest.fixture(scope="module")
def repository(form: str, app: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(form) / "models"
    build(app.pipeline if form == "explicit" else app.batched_pipeline, folder)
    return folder


@pytest.fixture(scope="module", params=["inline", "emulated", pytest.param("real", marks=pytest.mark.real_triton)])
def server(request: pytest.FixtureRequest, app: Any, repository: Path, form: str) -> Iterator[Any]:
    """The same requests to the emulator in this process, to the emulator, and to a real Triton."""
    chosen: Any
    if request.param == "inline":
        chosen = EmulatedTriton(app.pipeline if form == "explicit" else app.batched_pipeline, inline=True)
    elif request.param == "emulated":
        chosen = EmulatedTriton(repository)
    else:
        chosen = RealTriton(repository)
    with chosen:
        yield chosen


def test_by_hand_every_digit_is_read(by_hand: list[dict[str, Any]]) -> None:
    assert [answer["label"] for answer in by_hand] == [0, 1, 2, 3, 4, 5, 6]


def test_the_readme_shows_the_true_answer(by_hand: list[dict[str, Any]]) -> None:
    shown = json.loads((HERE / "README.md").read_text().split("```json\n")[1].split("```")[0])
    assert shown["label"] == by_hand[3]["label"]
    np.testing.assert_allclose(shown["probabilities"], by_hand[3]["probabilities"], atol=2e-3)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_digits_of_different_sizes_in_one_request(
    server: Any, form: str, by_hand: list[dict[str, Any]], count: int
) -> None:
    result = server.infer("ensemble", {"image": BYTES[:count]})["result"]
    assert result.shape == ((count,) if form == "explicit" else (count, 1))
    for text, expected in zip(result.reshape(-1), by_hand[:count], strict=True):
        answer = json.loads(text)
        assert answer["label"] == expected["label"]
        np.testing.assert_allclose(answer["probabilities"], expected["probabilities"], atol=2e-4)


def test_what_is_no_picture_is_refused(server: Any) -> None:
    with pytest.raises(InferenceFailed, match="looks like the text 'seven'"):
        server.infer("ensemble", {"image": b"seven"})


def test_the_folders_are_those_of_the_tutorials(form: str, repository: Path) -> None:
    assert {path.name for path in repository.iterdir()} == {
        "preprocessing",
        "core",
        "postprocessing",
        "ensemble",
    }
    config = (repository / "core" / "config.pbtxt").read_text()
    assert re.search(r'^platform: "pytorch_libtorch"$', config, re.MULTILINE)
    assert {name for name in ("INPUT__0", "OUTPUT__0") if f'name: "{name}"' in config} == {
        "INPUT__0",
        "OUTPUT__0",
    }
    assert ("max_batch_size" in config) == (form == "batched")
    dims = [re.sub(r"\s", "", found) for found in re.findall(r"dims: \[(.*?)\]", config, re.DOTALL)]
    assert dims == (["-1,1,8,8", "-1,10"] if form == "explicit" else ["1,8,8", "10"])
