"""Write a few of the real digits as pictures of different sizes: dark ink on light paper.

The digits are scikit-learn's copy of a UCI data set; see pictures/LICENCES.md.
They are taken from the part of the data that train.py keeps for testing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image
from train import split

PICTURES = Path(__file__).parent / "pictures"
SIZES = [(8, 8), (28, 28), (64, 64), (200, 200), (96, 128), (640, 480), (33, 47)]  # width, height, per digit


def main() -> None:
    _, _, pixels, labels = split()
    for label, size in enumerate(SIZES):
        first = pixels[labels == label][0, 0].numpy()
        grey = np.round(255 * (1 - first)).astype(np.uint8)
        digit = Image.fromarray(grey).resize(size, Image.Resampling.BICUBIC)
        if size == (200, 200):
            digit.save(PICTURES / f"digit_{label}.jpg", quality=90)
        else:
            digit.save(PICTURES / f"digit_{label}.png", optimize=True)


if __name__ == "__main__":
    main()
