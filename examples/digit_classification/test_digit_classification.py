"""Functions and training, then the pipeline three ways: by hand, on the emulator, on a real Triton."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from train import main as train_main
from train import split

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
    from triton_pyb import Reject

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
