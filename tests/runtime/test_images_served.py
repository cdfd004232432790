"""The whole corpus through a real Triton: what is served is what the plain function gets, what is broken is refused."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.pictures.make_corpus import WHOLE_WHEN_CUT, make_corpus, truncated
from tests.pictures.wrong_bytes import WRONG
from triton_pyb.emulator import InferenceFailed
from triton_pyb.repository import build
from triton_pyb.runtime.images import NoPicture, decode_image
from triton_pyb.server import RealTriton

from .picture_steps import shown

pytestmark = pytest.mark.real_triton
CORPUS = make_corpus()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealTriton]:
    repository = tmp_path_factory.mktemp("pictures")
    build(shown, repository)
    with RealTriton(repository) as running:
        yield running


def test_every_picture_is_served_as_the_plain_function_gets_it(server: RealTriton) -> None:
    answers = server.infer_many("shown", [{"image": sample.data} for sample in CORPUS])
    for sample, answer in zip(CORPUS, answers, strict=True):
        assert not isinstance(answer, InferenceFailed), f"{sample.name}: {answer}"
        np.testing.assert_array_equal(answer["pixels"][0], shown(decode_image(sample.data)), err_msg=sample.name)


def test_every_broken_one_is_an_invalid_argument(server: RealTriton) -> None:
    """Each says by itself what it looks like, although they meet in one batch."""
    cut = [sample for sample in truncated(CORPUS, 0.5) if sample.name not in WHOLE_WHEN_CUT]
    broken = {**{f"half of {sample.name}": sample.data for sample in cut}, **{k: v[0] for k, v in WRONG.items()}}
    answers = server.infer_many("shown", [{"image": data} for data in broken.values()])
    for (name, data), answer in zip(broken.items(), answers, strict=True):
        assert isinstance(answer, InferenceFailed), name
        assert answer.code == "INVALID_ARG", f"{name}: {answer}"
        with pytest.raises(NoPicture) as raised:
            decode_image(data)
        assert str(raised.value) in answer.message, name


def test_a_broken_one_beside_a_whole_one_in_a_batch(server: RealTriton) -> None:
    whole, broken = CORPUS[0].data, WRONG["html"][0]
    answers = server.infer_many("shown", [{"image": data} for data in (whole, broken) * 8])
    assert [isinstance(answer, InferenceFailed) for answer in answers] == [False, True] * 8
