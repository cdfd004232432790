"""Memory that a function uses again, and optional inputs of an ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from . import buffer_steps
from .conftest import Server, answered, failure, strings


def requests(*sizes: int, bad: int = -1) -> list[dict[str, np.ndarray[Any, Any]]]:
    values = iter(range(100))
    made = [{"x": np.array([[next(values)] * 2 for _ in range(size)], np.float32)} for size in sizes]
    if bad >= 0:
        made[bad]["x"][0] = 13
    return made


@pytest.mark.parametrize("name", ["buffer_each", "buffer_limit", "buffer_request", "buffer_list", "in_place_each"])
def test_one_buffer_for_all_answers(side: Server, name: str) -> None:
    entry = side.deploy_step(getattr(buffer_steps, name))
    sent = requests(1, 2, 3, 1)
    for request, answer in zip(sent, side.together(entry, sent), strict=True):
        np.testing.assert_array_equal(answered(answer)["y"], request["x"] * 2, strict=True)


@pytest.mark.parametrize("name", ["buffer_split", "in_place_split"])
def test_the_search_for_a_bad_item_spoils_nothing(side: Server, name: str) -> None:
    entry = side.deploy_step(getattr(buffer_steps, name))
    sent = requests(2, 3, 1, bad=1)
    for index, (request, answer) in enumerate(zip(sent, side.together(entry, sent), strict=True)):
        expected = request["x"] * 2
        if index == 1:
            expected[0] = 0
        assert answered(answer)["status"][:, 0].tolist() == ([1, 0, 0] if index == 1 else [0] * len(expected))
        np.testing.assert_array_equal(answered(answer)["y"], expected, strict=True)


def test_one_array_as_two_outputs(side: Server) -> None:
    entry = side.deploy_step(buffer_steps.twice_the_same)
    sent = requests(1, 2)
    for request, answer in zip(sent, side.together(entry, sent), strict=True):
        np.testing.assert_array_equal(answered(answer)["a"], request["x"])
        np.testing.assert_array_equal(answered(answer)["b"], request["x"])


def test_a_request_without_any_input_says_nothing_of_its_items(side: Server) -> None:
    """With a batch axis the server refuses it, alone or as a step of an ensemble; its company is served."""
    entry = side.deploy(buffer_steps.all_optional)
    answers = side.together("three", [{"x": np.array([[4]])}, {}])
    assert answered(answers[0])["text"].tolist() == [[b"4a"]]
    for error in (failure(answers[1]), failure(side.together(entry, [{}])[0])):
        assert error.code == "INVALID_ARG"
        assert "out of bounds index 0: request has 0 inputs" in error.message
    assert answered(side.together(entry, [{"x": np.array([[5]])}])[0])["text"].tolist() == [[b"5a"]]


def test_optional_inputs_reach_every_step_of_an_ensemble(side: Server) -> None:
    entry = side.deploy(buffer_steps.optional)
    a, b, c = strings("A"), strings("B"), strings("C")
    sent = [{"a": a}, {"a": a, "b": b}, {"a": a, "c": c}, {"a": a, "b": b, "c": c}]
    expected = ["A|no b|no c|5", "A|B|no c|5", "A|no b|C|5", "A|B|C|5"]
    assert [side.infer(entry, inputs)["all"][0, 0].decode() for inputs in sent] == expected
    assert [answered(answer)["all"][0, 0].decode() for answer in side.together(entry, sent)] == expected
