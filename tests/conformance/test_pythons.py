"""The same model folders, written with modern annotations, in an old Python and in a new one."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.interpreters import environment
from triton_pyb.repository import build

from . import modern_steps
from .conftest import Deployments, Emulated, Real, answered, strings
from .pictures import encoded, noise

IMAGES = [noise(30, 20, 0), noise(9, 40, 1)]
WORDS: list[dict[str, list[int | str]]] = [{"a": [1, "b"], "c": []}, {}]
ENTRIES = [modern_steps.modern, modern_steps.upper, modern_steps.last]


@pytest.fixture(scope="module")
def python_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A Python of a version; made once."""

    @functools.cache
    def made(version: str) -> Path:
        return environment(version, tmp_path_factory.mktemp("python"), ["numpy<2", "Pillow"])

    return made


@pytest.fixture(
    scope="module",
    params=[
        ("3.8", Emulated),
        pytest.param(("3.8", Real), marks=pytest.mark.real_triton),
        pytest.param(("3.12", Real), marks=pytest.mark.real_triton),
    ],
    ids=["3.8 emulated", "3.8 real", "3.12 real"],
)
def old_or_new(
    request: pytest.FixtureRequest, python_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployments]:
    version, kind = request.param
    python = python_of(version)
    side = kind(tmp_path_factory.mktemp("pythons") / "repository", python=str(python))
    for target in ENTRIES:
        for model in build(target, side.repository, overwrite=True).models:
            side.server.load_model(model)
    yield side
    side.server.stop()


def test_a_pipeline_with_modern_annotations(old_or_new: Any) -> None:
    inputs = {
        "image": strings(*(encoded(image) for image in IMAGES)),
        "words": strings(*(json.dumps(words) for words in WORDS)),
    }
    for mean in (None, np.array([[0.25], [0.75]], np.float32)):
        answer = old_or_new.infer("modern", inputs if mean is None else {**inputs, "mean": mean})
        rows = [
            modern_steps.corner(image, None if mean is None else float(mean[index, 0]))
            for index, image in enumerate(IMAGES)
        ]
        spread, counts = modern_steps.spread(np.stack([row.pixels for row in rows]), WORDS)
        np.testing.assert_array_equal(answer["spread"], spread, strict=True)
        assert [json.loads(text) for text in answer["counts"][:, 0]] == counts
        assert [json.loads(text) for text in answer["size"][:, 0]] == [[30, 20], [9, 40]]


def test_a_list_of_text_with_a_masked_item(old_or_new: Any) -> None:
    first, second = old_or_new.server.infer_many("upper", [{"text": strings("한글 a", "")}, {"text": strings("b")}])
    assert answered(first)["loud"].tolist() == [["한글 A".encode()], [b""]]
    assert answered(first)["status"].tolist() == [[0], [3]]
    assert answered(second)["loud"].tolist() == [[b"B"]]


def test_padding(old_or_new: Any) -> None:
    answer = old_or_new.infer("last", {"tokens": np.array([[1, 2, 3, 4, 5], [9, 8, 7, 6, 5]])})
    assert answer["last"].tolist() == [[5], [5]]


def test_the_python_is_the_one_asked_for(old_or_new: Any, request: pytest.FixtureRequest) -> None:
    version = request.node.callspec.id.split()[0]
    answer = old_or_new.infer("upper", {"text": strings("x")}, parameters={})
    assert answer["loud"].tolist() == [[b"X"]]
    if isinstance(old_or_new, Real):
        assert f"Python {version}" in old_or_new.server.description
