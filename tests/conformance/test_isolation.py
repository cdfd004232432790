"""A bad item fails what it must and nothing else, in every mode, on the emulator and on the real server."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from triton_pyb.emulator.errors import InferenceFailed

from . import steps
from .conftest import Server, failure, strings
from .pictures import picture


def test_one_request_of_five_holds_no_picture(side: Server) -> None:
    entry = side.deploy(steps.measuring)
    good = [picture(10 + n, 20 + n, (n, 0, 0)) for n in range(4)]
    requests = [{"image": strings(data)} for data in good]
    requests.insert(2, {"image": strings(b"\x00\x01 not a picture")})
    answers = side.together(entry, requests)
    bad = failure(answers.pop(2))
    assert bad.code == "INVALID_ARG"
    for word in ("'measure'", "'image'", "item 0 of 1"):
        assert word in bad.message
    for n, answer in enumerate(answers):
        assert not isinstance(answer, InferenceFailed)
        assert f'"size": [{10 + n}, {20 + n}], "mean": [{n}.0'.encode() in answer["result"][0, 0]


def test_the_bad_item_is_named(side: Server) -> None:
    entry = side.deploy(steps.measuring)
    with pytest.raises(InferenceFailed) as caught:
        side.infer(entry, {"image": strings(picture(9, 9, (0, 0, 0)), picture(3, 9, (0, 0, 0)))})
    assert caught.value.code == "INVALID_ARG"
    assert "model 'measure', item 1 of 2: smaller than 4 pixels" in caught.value.message


def rows(*values: float) -> dict[str, Any]:
    return {"x": np.array([[value, value, value] for value in values], np.float32)}


def test_stack_fails_the_call_and_names_the_way_out(side: Server) -> None:
    entry = side.deploy_step(steps.double)
    answers = side.together(entry, [rows(1), rows(np.nan, 2), rows(3)])
    for answer in answers:
        error = failure(answer)
        assert error.code == "INTERNAL"
        assert "ValueError: not a number" in error.message
        assert 'joined 4 items of 3 requests (fallback="split" fails only the bad)' in error.message


def test_split_fails_the_bad_request_only(side: Server) -> None:
    entry = side.deploy_step(steps.double_split)
    answers = side.together(entry, [rows(1), rows(5, np.nan), rows(3), rows(4)])
    error = failure(answers[1])
    assert error.code == "INTERNAL"
    assert "item 1 of 2: ValueError: not a number" in error.message
    for position, value in ((0, 2), (2, 6), (3, 8)):
        answer = answers[position]
        assert not isinstance(answer, InferenceFailed)
        assert (answer["y"] == value).all()


def test_list_fails_the_request_of_an_item_error(side: Server) -> None:
    entry = side.deploy_step(steps.shout)
    answers = side.together(entry, [{"text": strings("a")}, {"text": strings("b", "")}, {"text": strings("한글 c")}])
    error = failure(answers[1])
    assert (error.code, "item 1 of 2: nothing to shout" in error.message) == ("INVALID_ARG", True)
    assert [answer["loud"].tolist() for answer in (answers[0], answers[2])] == [  # type: ignore[index]
        [[b"A"]],
        [["한글 C".encode()]],
    ]


def test_pad_gives_every_request_its_own_length(side: Server) -> None:
    entry = side.deploy_step(steps.padded)
    sizes = [1, 5, 3]
    requests = [{"tokens": np.arange(2 * size, dtype=np.int32).reshape(2, size)} for size in sizes]
    for request, answer in zip(requests, side.together(entry, requests), strict=True):
        assert not isinstance(answer, InferenceFailed), answer
        np.testing.assert_array_equal(answer["doubled"], request["tokens"] * 2)


def test_request_mode_never_joins(side: Server) -> None:
    entry = side.deploy_step(steps.whole)
    requests = [{"x": np.array([[n], [10]])} for n in range(3)]
    for n, answer in enumerate(side.together(entry, requests)):
        assert not isinstance(answer, InferenceFailed)
        assert answer["sum"].tolist() == [[n + 10], [n + 10]]


def test_masked_items_leave_the_others_of_their_request(side: Server) -> None:
    entry = side.deploy_step(steps.masked)
    answers = side.together(
        entry,
        [{"x": np.array([[1, 2], [-1, 0], [3, 4]], np.float32)}, {"x": np.array([[5, 6]], np.float32)}],
    )
    first, second = answers
    assert not isinstance(first, InferenceFailed)
    assert not isinstance(second, InferenceFailed)
    assert first["y"].tolist() == [[2, 3], [0, 0], [4, 5]]
    assert first["status"].tolist() == [[0], [2], [0]]
    assert second["status"].tolist() == [[0]]


@pytest.mark.parametrize(
    ("code", "status", "text"),
    [
        ("reject", "INVALID_ARG", "item 0 of 1: said reject"),
        ("missing", "NOT_FOUND", "said missing"),
        ("busy", "UNAVAILABLE", "said busy"),
        ("odd", "UNSUPPORTED", "said odd"),
        ("exit", "INTERNAL", "item 0 of 1: SystemExit: 3"),
        ("bug", "INTERNAL", "KeyError: 'b'"),
    ],
)
def test_statuses(side: Server, code: str, status: str, text: str) -> None:
    entry = side.deploy(steps.refuse)
    with pytest.raises(InferenceFailed) as caught:
        side.infer(entry, {"code": strings(code)})
    assert caught.value.code == status
    assert text in caught.value.message
    assert side.infer(entry, {"code": strings("fine")})["answer"].tolist() == [[b"fine"]]
