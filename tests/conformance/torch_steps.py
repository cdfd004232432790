"""Steps whose functions take or return torch tensors; in a module of their own because torch is slow to import."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import PIL.Image
import torch

from triton_pyb import Annotated, Batch, Tensor, model, preprocess


class Resize:
    """A transform as torchvision writes them: a callable object, configured once."""

    def __init__(self, width: int, height: int) -> None:
        self.size = (width, height)

    def __call__(self, picture: PIL.Image.Image) -> PIL.Image.Image:
        return picture.resize(self.size, PIL.Image.Resampling.BILINEAR)


class ToTensor:
    def __call__(self, picture: PIL.Image.Image) -> torch.Tensor:
        array = np.array(picture, np.uint8, copy=True)
        return torch.from_numpy(array).permute(2, 0, 1).to(torch.float32).div(255)


class Normalize:
    def __init__(self, mean: list[float], std: list[float]) -> None:
        self.mean = torch.tensor(mean)[:, None, None]
        self.std = torch.tensor(std)[:, None, None]

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.sub(self.mean).div(self.std)


class Compose:
    def __init__(self, transforms: list[Any]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img


transform = Compose([Resize(32, 24), ToTensor(), Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
transformed = preprocess.wrap(
    transform, inputs={"img": PIL.Image.Image}, outputs={"pixels": Tensor("FP32", (3, 24, 32))}, name="transformed"
)


class Flip(torch.nn.Module):  # type: ignore[misc]
    """As torchvision's second version has them: a module, called with ``*inputs``."""

    def forward(self, *inputs: Any) -> torch.Tensor:
        return inputs[0].flip(-1)


as_module = preprocess.wrap(
    torch.nn.Sequential(Flip(), torch.nn.ReLU()),
    inputs={"pixels": Annotated[torch.Tensor, Tensor("FP32", (3, "H", "W"))]},
    outputs={"flipped": Tensor("FP32", (3, "H", "W"))},
    name="as_module",
)


@model(name="halve_bf16")
def halve_bf16(
    x: Annotated[torch.Tensor, Tensor("BF16", (2,))],
) -> Annotated[torch.Tensor, Tensor("BF16", (2,), name="y")]:
    assert x.dtype == torch.bfloat16
    return x / 2


@model(batch="stack", name="stacked_bf16")
def stacked_bf16(
    x: Annotated[torch.Tensor, Tensor("BF16", (2,))],
) -> Annotated[torch.Tensor, Tensor("BF16", (2,), name="y")]:
    return x / 2


class TwoRows(NamedTuple):
    turned: Annotated[torch.Tensor, Tensor("FP32", (2, 3))]
    total: Annotated[torch.Tensor, Tensor("INT64", ())]


@model(batch="stack", name="stacked_torch")
def stacked_torch(x: Annotated[torch.Tensor, Tensor("FP32", (3, 2))]) -> TwoRows:
    """Transposed, needs a gradient, not contiguous: all that a tensor can be."""
    x = x.clone().requires_grad_()
    return TwoRows(x.transpose(1, 2) * 1.0, x.detach().sum(dim=(1, 2)).to(torch.int64))


@model(batch="list", name="listed_torch")
def listed_torch(
    x: Batch[Annotated[torch.Tensor, Tensor("FP32", ("N",))]],
) -> Batch[Annotated[torch.Tensor, Tensor("FP32", ("N",), name="y")]]:
    return [item.flip(0) for item in x]
