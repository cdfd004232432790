"""Train the digit classifier of this example and write it as TorchScript.

The data is scikit-learn's copy of the UCI "Optical Recognition of Handwritten Digits": 1797 real digits of
8 by 8 pixels, values 0...16.  Seeds are fixed and one thread computes: a second run gives the same weights.
Run: python train.py [CORE_PT]
"""

from __future__ import annotations

import io
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

EPOCHS = 80
BATCH = 64


def split() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Training pixels and labels, test pixels and labels: 1437 and 360 digits, pixels scaled to 0...1."""
    digits = load_digits()
    order = np.random.default_rng(7).permutation(len(digits.target))
    pixels = torch.from_numpy((digits.images[order] / 16).astype(np.float32)[:, None])
    labels = torch.from_numpy(digits.target[order].astype(np.int64))
    return pixels[:1437], labels[:1437], pixels[1437:], labels[1437:]


def network() -> nn.Sequential:
    """Pixels of shape (n, 1, 8, 8) to logits of shape (n, 10)."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(64, 10),
    )


def train() -> tuple[nn.Sequential, float]:
    """The trained network and its accuracy on the test digits, in 0...1."""
    torch.manual_seed(7)
    pixels, labels, test_pixels, test_labels = split()
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(labels)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(pixels[rows]), labels[rows]).backward()
            optimizer.step()
        schedule.step()
    model.eval()
    with torch.no_grad():
        right = (model(test_pixels).argmax(dim=1) == test_labels).float().mean()
    return model, float(right)


def main(path: Path) -> float:
    """Train, write the TorchScript file and return the accuracy."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the order of additions, and so the last bits, depends on it
    try:
        model, accuracy = train()
    finally:
        torch.set_num_threads(threads)
    archive = io.BytesIO()  # saved to a path, the archive would carry the file's name inside
    with warnings.catch_warnings():
        # Triton's pytorch backend loads TorchScript; torch 2.13 announces the end of it.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.script(model), archive)
    path.write_bytes(archive.getvalue())
    print(f"test accuracy {accuracy:.4f}, {path.stat().st_size / 1000:.0f} kB in {path}")
    return accuracy


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("core.pt"))
