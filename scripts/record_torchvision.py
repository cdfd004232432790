#!/usr/bin/env python
"""Record what torchvision makes of one picture and of some boxes, for tests that run without it.

Needs torch and torchvision; ``python scripts/record_torchvision.py tests/data/torchvision.npz``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image
from torchvision import transforms
from torchvision.ops import batched_nms, nms
from torchvision.transforms import v2

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIZES: dict[str, Any] = {"shorter side 31": 31, "shorter side 64": 64, "20x60": (20, 60), "70x30": (70, 30)}
MODES = ("nearest", "bilinear", "bicubic")


def picture() -> np.ndarray[Any, Any]:
    """Noise upon a ramp, uint8 of shape (56, 75, 3)."""
    rng = np.random.default_rng(20)
    ramp = np.add.outer(np.arange(56) * 2, np.arange(75))[:, :, np.newaxis]
    return np.clip(ramp + rng.normal(0, 40, (56, 75, 3)), 0, 255).astype(np.uint8)


def resized(image: Image.Image) -> dict[str, Any]:
    tensor = torch.from_numpy(np.array(image)).permute(2, 0, 1)
    found: dict[str, Any] = {}
    for name, size in SIZES.items():
        for mode in MODES:
            how = transforms.InterpolationMode(mode)
            found[f"picture, {mode}, {name}"] = np.asarray(transforms.Resize(size, how)(image))
            for antialias in (True, False) if mode != "nearest" else ():
                result = v2.Resize(size, how, antialias=antialias)(tensor)
                found[f"tensor, {mode}, {name}, antialias={antialias}"] = result.permute(1, 2, 0).numpy()
    return found


def whole(image: Image.Image) -> dict[str, Any]:
    """Crops, and the transforms of most ImageNet models, in torchvision's first and second form."""
    first: Any = transforms.Compose(
        [transforms.Resize(48), transforms.CenterCrop(40), transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    )
    second: Any = v2.Compose(
        [
            v2.Resize(48),
            v2.CenterCrop(40),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(list(MEAN), list(STD)),
        ]
    )
    return {
        "crop 40": np.asarray(transforms.CenterCrop(40)(image)),
        "crop 41x30": np.asarray(transforms.CenterCrop((41, 30))(image)),
        "crop 71x90": np.asarray(transforms.CenterCrop((71, 90))(image)),
        "classic": first(image).numpy(),
        "v2": second(image).numpy(),
    }


def boxes() -> dict[str, Any]:
    rng = np.random.default_rng(21)
    corners = rng.uniform(0, 80, (300, 2)).astype(np.float32)
    found = np.concatenate([corners, corners + rng.uniform(5, 40, (300, 2)).astype(np.float32)], axis=1)
    scores, classes = rng.uniform(0, 1, 300).astype(np.float32), rng.integers(0, 4, 300)
    given = torch.from_numpy(found), torch.from_numpy(scores)
    kept = {f"nms {threshold}": nms(*given, threshold).numpy() for threshold in (0.1, 0.45, 0.7)}
    kept["batched nms 0.3"] = batched_nms(*given, torch.from_numpy(classes), 0.3).numpy()
    return {"boxes": found, "scores": scores, "classes": classes, **kept}


def main() -> None:
    array = picture()
    image = Image.fromarray(array)
    made_by = f"torch {torch.__version__}, torchvision {torchvision.__version__}, Pillow {PIL.__version__}"
    np.savez_compressed(
        sys.argv[1], made_by=np.array(made_by), image=array, **resized(image), **whole(image), **boxes()
    )
    print(made_by)


if __name__ == "__main__":
    main()
