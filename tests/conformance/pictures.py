"""Small pictures as a client sends them."""

from __future__ import annotations

import io

import numpy as np
import PIL.Image


def picture(width: int, height: int, colour: tuple[int, int, int], kind: str = "PNG") -> bytes:
    """One colour."""
    return encoded(PIL.Image.new("RGB", (width, height), colour), kind)


def noise(width: int, height: int, seed: int) -> PIL.Image.Image:
    """Every pixel another one."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return PIL.Image.fromarray(pixels)


def encoded(image: PIL.Image.Image, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()
