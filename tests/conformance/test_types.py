"""Every type that an argument or a result may have, there and back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.runtime.dtypes import NUMPY_DTYPES

from . import type_steps
from .conftest import Server, answered, failure, strings
from .pictures import encoded, noise, picture


def extremes(dtype: str) -> Any:
    """Two items of three numbers: the smallest, the largest, and one."""
    numpy_dtype = NUMPY_DTYPES[dtype]
    if dtype == "BOOL":
        return np.array([[True, False, True], [False, False, True]])
    limits: Any = np.iinfo(numpy_dtype) if numpy_dtype.kind in "iu" else np.finfo(numpy_dtype)
    return np.array([[limits.min, limits.max, 1], [1, 1, limits.max]], numpy_dtype)


def test_every_data_type(side: Server) -> None:
    entry = side.deploy(type_steps.every_dtype)
    inputs = {f"{name.lower()}{'_' if name == 'BOOL' else ''}": extremes(name) for name in type_steps.NUMERIC}
    text = np.empty((2, 3), object)
    text[:] = [[b"a\0\0", b"", "한글".encode()], [b"\xff", b"\0", b"x"]]
    answers = side.infer(entry, {**inputs, "text": text})
    assert len(answers) == 13
    for name, array in inputs.items():
        np.testing.assert_array_equal(answers[f"{name}_out"], array[:, ::-1], strict=True)
    assert answers["text_out"].tolist() == text[:, ::-1].tolist()


def test_plain_values(side: Server) -> None:
    entry = side.deploy(type_steps.plain_values)
    answers = side.infer(
        entry,
        {
            "text": strings("한글", ""),
            "raw": strings(b"\xff\0", b""),
            "count": np.array([[2**40], [-1]]),
            "share": np.array([[0.5], [1e300]]),
            "flag": np.array([[True], [False]]),
            "small": np.array([[0], [254]], np.uint8),
            "document": strings('{"a": [1, "ㅎ"]}', "{}"),
        },
    )
    assert answers["text"].tolist() == [["한글!".encode()], [b"!"]]
    assert answers["raw"].tolist() == [[b"\xff\0\0"], [b"\0"]]
    assert answers["count"].tolist() == [[2**40 + 1], [0]]
    assert answers["share"].tolist() == [[0.25], [5e299]]
    assert answers["flag"].tolist() == [[False], [True]]
    assert (answers["small"].dtype, answers["small"].tolist()) == (np.uint8, [[1], [255]])
    kinds = ["str", "bytes", "int", "float", "bool", "int", "dict"]
    assert json.loads(answers["document"][0, 0]) == {"a": [1, "ㅎ"], "kinds": kinds}


def test_a_number_that_does_not_fit_is_an_error(side: Server) -> None:
    entry = side.deploy(type_steps.plain_values)
    with pytest.raises(InferenceFailed, match=r"item 0 of 1: output 'small': .*256 .*does not fit UINT8 \[TPB202\]"):
        side.infer(
            entry,
            {
                **{"text": strings(""), "raw": strings(b""), "count": np.array([[0]]), "share": np.array([[0.0]])},
                **{"flag": np.array([[True]]), "small": np.array([[255]], np.uint8), "document": strings("{}")},
            },
        )


@pytest.mark.parametrize(
    ("name", "sent", "text"),
    [
        ("text", b"\xff", "no UTF-8 text: byte 0 is b'\\xff'"),
        ("document", b"{", "no JSON"),
    ],
)
def test_what_cannot_be_read_names_item_and_input(side: Server, name: str, sent: bytes, text: str) -> None:
    entry = side.deploy(type_steps.plain_values)
    inputs = {
        **{"text": strings("", ""), "raw": strings(b"", b""), "count": np.zeros((2, 1), np.int64)},
        **{"share": np.zeros((2, 1)), "flag": np.zeros((2, 1), bool), "small": np.zeros((2, 1), np.uint8)},
        "document": strings("{}", "{}"),
    }
    inputs[name][1, 0] = sent
    with pytest.raises(InferenceFailed) as caught:
        side.infer(entry, inputs)
    assert caught.value.code == "INVALID_ARG"
    assert f"item 1 of 2, input '{name}': {text}" in caught.value.message


def test_a_dataclass_and_a_tuple_in_declared_order(side: Server) -> None:
    entry = side.deploy(type_steps.dataclass_out)
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    answers = side.infer(entry, {"x": x})
    np.testing.assert_array_equal(answers["low"], x[..., 0], strict=True)
    np.testing.assert_array_equal(answers["upper"], x[..., 1], strict=True)
    pair = side.infer(side.deploy(type_steps.tuple_out), {"x": np.array([[4], [5]])})
    assert (pair["one"].tolist(), pair["two"].tolist()) == ([[4], [5]], [[b"4"], [b"5"]])


def test_several_pictures_per_item(side: Server) -> None:
    entry = side.deploy(type_steps.several_pictures)
    data = [[picture(5, 6, (1, 2, 3)), picture(7, 8, (0, 0, 0))], [picture(3, 2, (9, 8, 7)), picture(1, 1, (0, 0, 0))]]
    images = np.array(data, object)
    answers = side.infer(entry, {"images": images, "thumbnails": images[:, ::-1]})
    assert answers["sizes"].tolist() == [[[5, 7], [7, 5]], [[3, 1], [1, 3]]]
    assert answers["first"].tolist() == [[1, 2, 3], [9, 8, 7]]
    none = np.empty((1, 0), object)
    assert side.infer(entry, {"images": none, "thumbnails": none})["sizes"].shape == (1, 0, 2)
    images[1, 1] = b"broken"
    with pytest.raises(InferenceFailed, match="item 1 of 2, input 'images': picture 1 of 2"):
        side.infer(entry, {"images": images, "thumbnails": images})


def test_several_pictures_share_their_number(side: Server) -> None:
    entry = side.deploy(type_steps.several_pictures)
    one = strings(picture(1, 1, (0, 0, 0)))
    with pytest.raises(InferenceFailed, match="N cannot be 1 and 2"):
        side.infer(entry, {"images": one, "thumbnails": np.concatenate([one, one], axis=1)})


def test_a_picture_comes_encoded_or_decoded(side: Server) -> None:
    entry = side.deploy_step(type_steps.either_form)
    image = noise(6, 4, 0)
    pixels = np.asarray(image)[None]
    requests = [
        {"image": strings(encoded(image))},
        {"pixels": pixels},
        {"image": strings(encoded(image))},
        {"pixels": pixels},
        {},
        {"image": strings(encoded(image)), "pixels": pixels},
    ]
    requests[4] = {"text": strings("neither")}
    answers = side.together(entry, requests)
    expected = [4, 6, int(pixels[0, 0, 0, 0]), int(pixels[0, 0, 0, 2])]
    for answer in answers[:4]:
        assert not isinstance(answer, InferenceFailed), answer.message
        assert answer["seen"].tolist() == [expected]
    assert "input 'image' (or 'pixels') is missing [TPB224]" in failure(answers[4]).message
    assert "two forms of one input [TPB228]" in failure(answers[5]).message
    assert {failure(answers[4]).code, failure(answers[5]).code} == {"INVALID_ARG"}


def test_pictures_of_any_size_are_padded(side: Server) -> None:
    entry = side.deploy_step(type_steps.padded_pictures)
    sizes = [(3, 20), (17, 2), (16, 16)]
    images = [noise(*size, seed).convert("L") for seed, size in enumerate(sizes)]
    requests: list[dict[str, Any]] = [{"image": strings(encoded(images[0]), encoded(images[1]))}]
    requests.append({"pixels": np.asarray(images[2])[None]})
    requests.append({"image": strings(encoded(images[1]))})
    totals = [int(np.asarray(image, np.int64).sum()) for image in images]
    answers = side.together(entry, requests)
    got = [answer["total"].tolist() for answer in answers if not isinstance(answer, InferenceFailed)]
    assert got == [[[totals[0]], [totals[1]]], [[totals[2]]], [[totals[1]]]]


def test_pil_pictures(side: Server) -> None:
    for step, mode in ((type_steps.pil_mode, "RGB"), (type_steps.pil_gray, "L")):
        entry = side.deploy(step)
        answer = side.infer(entry, {"image": strings(picture(3, 2, (1, 2, 3)), picture(4, 5, (0, 0, 0), "JPEG"))})
        assert answer["about"].tolist() == [[f"{mode} (3, 2)".encode()], [f"{mode} (4, 5)".encode()]]


def test_symbols_agree_within_one_item(side: Server) -> None:
    entry = side.deploy(type_steps.symbols)
    image = np.ones((2, 4, 5, 3), np.float32)
    mask = np.ones((2, 4, 5), bool)
    answers = side.infer(entry, {"image": image, "mask": mask})
    assert (answers["area"].shape, answers["rows"].shape) == ((2, 4, 5), (2, 4))
    with pytest.raises(InferenceFailed, match=r"W cannot be 5 and 6") as caught:
        side.infer(entry, {"image": image, "mask": np.ones((2, 4, 6), bool)})
    assert caught.value.code == "INVALID_ARG"
    with pytest.raises(InferenceFailed, match=r"output 'rows'.*H cannot be 4 and 5 \[TPB204\]"):
        side.infer(entry, {"image": image, "mask": mask, "lie": np.ones((2, 1), bool)})


def test_json_of_a_stacked_call(side: Server) -> None:
    entry = side.deploy_step(type_steps.json_per_row)
    rows = np.array([[1, 3, 2], [9, 0, 0]], np.float32)
    answers = side.together(entry, [{"scores": rows}, {"scores": rows[1:]}])
    found = [json.loads(text) for answer in answers for text in answered(answer)["result"][:, 0]]
    assert [one["best"] for one in found] == [1, 0, 0]
    assert found[0]["scores"] == [1, 3, 2]
