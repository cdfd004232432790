"""The options of the batch modes, what a Context says, Fatal, threads, and the explicit form."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from triton_pyb.emulator.errors import InferenceFailed

from . import option_steps
from .conftest import Server, answered, failure, strings
from .pictures import encoded, noise
from .test_bad_items import numbers, values


def test_group_by_an_input_with_several_values_in_one_request(side: Server) -> None:
    entry = side.deploy_step(option_steps.grouped)
    requests: list[dict[str, Any]] = [
        {**numbers(1, 2, 3), "lang": strings("ko", "en", "ko")},
        {**numbers(10), "lang": strings("en")},
        {**numbers(100), "lang": strings("ko")},
        {**numbers(1000), "lang": strings("")},
    ]
    answers = side.together(entry, requests)
    assert [values(answer, "sum") for answer in answers] == [[104, 12, 104], [12], [104], [1000]]
    assert [values(answer, "rows") for answer in answers] == [[3, 2, 3], [2], [3], [1]]


@pytest.mark.parametrize("tenant", ["a", 1, True, None])
def test_group_by_a_parameter(side: Server, tenant: Any) -> None:
    entry = side.deploy_step(option_steps.grouped_by_parameter)
    parameters = {} if tenant is None else {"tenant": tenant}
    answers = side.together(entry, [numbers(1, 2), numbers(3)], request_id="id7", parameters=parameters)
    assert [answered(answer)["seen"].tolist() for answer in answers] == [
        [[f"{tenant!r} id7 0".encode()], [f"{tenant!r} id7 1".encode()]],
        [[f"{tenant!r} id7 0".encode()]],
    ]


def test_different_parameters_do_not_meet(side: Server) -> None:
    entry = side.deploy_step(option_steps.grouped_by_parameter)
    with ThreadPoolExecutor(4) as pool:
        futures = [
            pool.submit(side.infer, entry, numbers(1), parameters={"tenant": tenant}, request_id=f"r{tenant}")
            for tenant in (1, 2, 1, 2)
        ]
    seen = [future.result()["seen"][0, 0].decode() for future in futures]
    assert seen == ["1 r1 0", "2 r2 0", "1 r1 0", "2 r2 0"]


def test_pictures_of_several_sizes_in_one_request_meet_their_like(side: Server) -> None:
    entry = side.deploy_step(option_steps.bucketed)
    images = [noise(5, 4, 0), noise(2, 3, 1), noise(5, 4, 2), noise(2, 3, 3)]
    data = [encoded(image) for image in images]
    sums = [int(np.asarray(image.convert("L"), np.int64).sum()) for image in images]
    answers = side.together(entry, [{"image": strings(*data[:3])}, {"image": strings(data[3])}])
    about = np.concatenate([answered(answer)["about"] for answer in answers])
    assert about[:, :3].tolist() == [[2, 4, 5], [2, 3, 2], [2, 4, 5], [2, 3, 2]]
    assert np.abs(about[:, 3] - sums).max() <= 20  # Pillow and OpenCV round grey in their own ways


def test_pictures_of_several_sizes_without_buckets(side: Server) -> None:
    entry = side.deploy_step(option_steps.unbucketed)
    small, large = encoded(noise(2, 3, 0)), encoded(noise(5, 4, 1))
    answers = side.together(entry, [{"image": strings(small)}, {"image": strings(large)}, {"image": strings(small)}])
    assert [answered(answer)["about"].tolist() for answer in answers] == [[[2, 3, 2]], [[1, 4, 5]], [[2, 3, 2]]]
    with pytest.raises(InferenceFailed, match=r"pictures of several sizes in one request: 2 x 3, 5 x 4 \[TPB227\]"):
        side.infer(entry, {"image": strings(small, large)})


@pytest.mark.parametrize("step", ["dying", "dying_stacked"])
def test_after_fatal_every_request_is_unavailable(side: Server, step: str) -> None:
    entry = side.deploy_step(getattr(option_steps, step))
    assert values(side.infer(entry, numbers(1))) == [1]
    answers = side.together(entry, [numbers(2), numbers(-1), numbers(3, 4)])
    assert failure(answers[1]).code == "UNAVAILABLE"
    for answer in (*side.together(entry, [numbers(5), numbers(6, 7)]), answers[1]):
        assert failure(answer).code == "UNAVAILABLE"
        assert "the licence is gone" in failure(answer).message


def test_workers_run_at_the_same_time_and_their_exceptions_stay_apart(side: Server) -> None:
    entry = side.deploy_step(option_steps.crowd)
    answers = side.together(entry, [numbers(1, 2, 3), numbers(4, -5, 6), numbers(-7), numbers(8)])
    assert [failure(answers[index]).code for index in (1, 2)] == ["INVALID_ARG", "INVALID_ARG"]
    assert "item 1 of 3" in failure(answers[1]).message
    most = max([*values(answers[0], "most"), *values(answers[3], "most")])
    assert 2 <= most <= 3


def test_what_a_request_says_reaches_the_context(side: Server) -> None:
    entry = side.deploy_step(option_steps.about_request)
    answer = side.infer(
        entry,
        numbers(1, 2),
        request_id="r-1",
        parameters={"text": "한글", "count": 3, "flag": True},
        timeout_us=60_000_000,
    )
    for item in range(2):
        about = json.loads(answer["about"][item, 0])
        assert about == {
            "id": "r-1",
            "parameters": {"text": "한글", "count": 3, "flag": True},
            "rows": [[0, item]],
            "model": "about_request",
            "device": "cpu",
            "remaining": True,
        }
    about = json.loads(side.infer(entry, numbers(1))["about"][0, 0])
    assert (about["id"], about["parameters"], about["remaining"]) == ("", {}, False)


@pytest.mark.parametrize(
    ("kind", "code", "text"),
    [
        ("generator", "TPB205", "generator"),
        ("ragged", "TPB205", "no array"),
        ("text", "TPB205", "str"),
        ("complex", "TPB205", "complex128"),
        ("scalar", "TPB204", "shape []"),
        ("overflow", "TPB202", "does not fit FP32"),
        ("tuple", "TPB204", "shape [2, 2]"),
        ("object", "TPB205", "object"),
    ],
)
def test_odd_results_are_refused(side: Server, kind: str, code: str, text: str) -> None:
    entry = side.deploy_step(option_steps.odd_results)
    with pytest.raises(InferenceFailed) as caught:
        side.infer(entry, {"kind": strings(kind)})
    assert caught.value.code == "INTERNAL"
    assert f"[{code}]" in caught.value.message
    assert text in caught.value.message
    assert "odd_results() (option_steps.py:" in caught.value.message


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("nan", [np.nan, np.inf]),
        ("int", [1, 2]),
        ("float64", [0.1, 2.5]),
        ("fortran", [1, 1]),
        ("scalars", [1, 2]),
    ],
)
def test_odd_results_that_are_right(side: Server, kind: str, value: list[float]) -> None:
    entry = side.deploy_step(option_steps.odd_results)
    got = side.infer(entry, {"kind": strings(kind)})["y"]
    np.testing.assert_array_equal(got, np.array([value], np.float32), strict=True)


@pytest.mark.parametrize(
    ("kind", "code", "text"),
    [
        (1, "TPB204", "shape [4, 5] per item"),
        (2, "TPB203", "2 rows, expected 3"),
        (3, "TPB203", "1 rows, expected 3"),
        (4, "TPB203", "no axis 0"),
        (5, "TPB210", "returned None"),
    ],
)
def test_results_of_a_stacked_call(side: Server, kind: int, code: str, text: str) -> None:
    entry = side.deploy_step(option_steps.stacked_results)
    image = np.arange(3 * 4 * 5 * 3, dtype=np.float32).reshape(3, 4, 5, 3)
    right = side.infer(entry, {**numbers(0, 0, 0), "image": image})["y"]
    np.testing.assert_array_equal(right, image.transpose(0, 3, 1, 2), strict=True)
    with pytest.raises(InferenceFailed) as caught:
        side.infer(entry, {**numbers(kind, 0, 0), "image": image})
    assert f"[{code}]" in caught.value.message
    assert text in caught.value.message


def test_a_request_without_its_batch_axis_is_refused(side: Server) -> None:
    entry = side.deploy_step(option_steps.stacked_results)
    with pytest.raises(InferenceFailed) as caught:
        side.infer(entry, {**numbers(0, 0, 0), "image": np.zeros((3, 4, 5), np.float32)})
    assert caught.value.code == "INVALID_ARG"


def test_casts_that_were_asked_for(side: Server) -> None:
    entry = side.deploy(option_steps.unsafe_cast)
    answer = side.infer(entry, {"x": np.array([[1.9, 3.0]])})
    assert answer["any"].tolist() == [[1, 3]]
    assert answer["kind"].dtype == np.float32


def test_a_readonly_input_cannot_be_written(side: Server) -> None:
    entry = side.deploy_step(option_steps.strict_reader)
    assert side.infer(entry, {"x": np.array([[2, 3]], np.float32)})["y"].tolist() == [[3, 4]]
    with pytest.raises(InferenceFailed, match="read-only"):
        side.infer(entry, {"x": np.array([[1, 3]], np.float32)})


def test_the_explicit_form(side: Server) -> None:
    entry = side.deploy_step(option_steps.explicit_sum, max_batch_size=0)
    text = np.array([b"a", b"b\0"], object)
    answer = side.infer(entry, {"x": np.array([[1, 2], [3, 4]]), "text": text})
    assert (answer["total"].tolist(), answer["shout"].tolist()) == ([3, 7], [b"A", b"B\0"])
    nothing = side.infer(entry, {"x": np.zeros((0, 2), np.int64), "text": text[:0]})
    assert (nothing["total"].shape, nothing["shout"].shape) == ((0,), (0,))
    with pytest.raises(InferenceFailed, match=r"disagree in their number of items: 'x' 2, 'text' 1 \[TPB225\]"):
        side.infer(entry, {"x": np.array([[1, 2], [3, 4]]), "text": text[:1]})


def test_the_explicit_form_item_by_item(side: Server) -> None:
    entry = side.deploy_step(option_steps.explicit_each, max_batch_size=0)
    answer = side.infer(entry, {"x": np.array([1, 2]), "text": np.array([b"a", b""], object)})
    assert (answer["double"].tolist(), answer["same"].tolist()) == ([2, 4], [b"a", b""])
    nothing = side.infer(entry, {"x": np.zeros(0, np.int64)})
    assert (nothing["double"].shape, nothing["same"].shape) == ((0,), (0,))
    with pytest.raises(InferenceFailed, match="item 1 of 2: below zero"):
        side.infer(entry, {"x": np.array([1, -1])})


def test_a_huge_batch(side: Server) -> None:
    entry = side.deploy_step(option_steps.big, max_batch_size=0)
    x = np.arange(20_000_000, dtype=np.uint8)
    np.testing.assert_array_equal(side.infer(entry, {"x": x})["y"], x[::-1], strict=True)
