"""Functions that take or return torch tensors, and a transform in torchvision's style that nobody touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .conftest import Emulated, Server, answered, strings
from .pictures import encoded, noise

torch = pytest.importorskip("torch")
torch_steps: Any = pytest.importorskip("tests.conformance.torch_steps")


def test_an_untouched_transform_answers_like_the_plain_call(side: Server) -> None:
    entry = side.deploy_step(torch_steps.transformed)
    images = [noise(50, 40, 0), noise(20, 90, 1), noise(32, 24, 2)]
    requests = [{"img": strings(encoded(images[0]), encoded(images[1]))}, {"img": strings(encoded(images[2]))}]
    first, second = (answered(answer) for answer in side.together(entry, requests))
    expected = np.stack([torch_steps.transform(image).numpy() for image in images])
    np.testing.assert_array_equal(np.concatenate([first["pixels"], second["pixels"]]), expected, strict=True)


def test_an_untouched_module(emulated: Emulated) -> None:
    entry = emulated.deploy_step(torch_steps.as_module)
    pixels = np.arange(-9, 9, dtype=np.float32).reshape(1, 3, 2, 3)
    got = emulated.infer(entry, {"pixels": pixels})["flipped"]
    np.testing.assert_array_equal(got, np.maximum(pixels[..., ::-1], 0), strict=True)


def bf16(side: Server, name: str) -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    entry = side.deploy_step(getattr(torch_steps, name))
    requests = [{"x": np.array([[1, 3], [5, -7]], bfloat16)}, {"x": np.array([[0.5, 2.25]], bfloat16)}]
    for request, answer in zip(requests, side.together(entry, requests), strict=True):
        assert answered(answer)["y"].tolist() == (request["x"].astype(np.float32) / 2).tolist()


def test_bf16(side: Server) -> None:
    bf16(side, "halve_bf16")


def test_joined_bf16(emulated: Emulated) -> None:
    bf16(emulated, "stacked_bf16")


def test_tensors_with_a_gradient_or_a_stride(side: Server) -> None:
    entry = side.deploy_step(torch_steps.stacked_torch)
    requests = [{"x": np.arange(6 * n, dtype=np.float32).reshape(n, 3, 2) + n} for n in (1, 2, 3)]
    for request, answer in zip(requests, side.together(entry, requests), strict=True):
        outputs = answered(answer)
        np.testing.assert_array_equal(outputs["turned"], request["x"].transpose(0, 2, 1), strict=True)
        np.testing.assert_array_equal(outputs["total"][:, 0], request["x"].sum(axis=(1, 2)).astype(np.int64))


def test_a_list_of_tensors(emulated: Emulated) -> None:
    entry = emulated.deploy_step(torch_steps.listed_torch)
    requests = [{"x": np.arange(2 * n, dtype=np.float32).reshape(2, n)} for n in (1, 4, 2)]
    for request, answer in zip(requests, emulated.together(entry, requests), strict=True):
        np.testing.assert_array_equal(answered(answer)["y"], request["x"][:, ::-1], strict=True)
