from __future__ import annotations

import pickle

import pytest

from triton_pyb import NotFound, Reject, TritonPybError, Unavailable, Unsupported
from triton_pyb.runtime import errors
from triton_pyb.runtime.errors import DeclarationError, InputError, OutputError

ONE = DeclarationError("TPB103", "the output has no name", "f() (app.py:3)", "say it")
OTHER = DeclarationError("TPB101", "argument 'x' has no annotation", "f() (app.py:3)", "annotate it")


def test_an_error_renders_in_three_lines_and_keeps_its_parts() -> None:
    assert str(ONE) == "TPB103 the output has no name\n  where: f() (app.py:3)\n  fix:   say it"
    assert (ONE.code, ONE.what, ONE.where, ONE.fix) == (
        "TPB103",
        "the output has no name",
        "f() (app.py:3)",
        "say it",
    )


@pytest.mark.parametrize("kind", [TritonPybError, DeclarationError, InputError, OutputError])
def test_an_error_pickles(kind: type[TritonPybError]) -> None:
    error = kind("TPB203", "what", "where", "fix")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind and str(copy) == str(error) and vars(copy) == vars(error)


def test_several_errors_list_all_pickle_and_are_caught_as_one_kind() -> None:
    with pytest.raises(DeclarationError) as caught:
        errors.raise_all([ONE, OTHER])
    error = caught.value
    assert isinstance(error, errors.SeveralErrors) and error.errors == (ONE, OTHER)
    assert str(error) == f"2 errors\n{ONE}\n{OTHER}"
    assert (error.code, error.what) == (ONE.code, ONE.what)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error)


def test_one_error_is_raised_as_it_is_and_none_is_no_error() -> None:
    with pytest.raises(DeclarationError) as caught:
        errors.raise_all([ONE])
    assert caught.value is ONE
    errors.raise_all([])


@pytest.mark.parametrize(
    "name, known, expected",
    [
        ("porbs", ["probs", "image"], "probs"),
        ("PROBS", ["probs"], "probs"),
        ("probs", ["PROBS", "Probs"], "PROBS"),
        ("xyz", ["probs"], None),
        ("probs", [], None),
        ("", ["probs"], None),
    ],
)
def test_the_nearest_name(name: str, known: list[str], expected: str | None) -> None:
    assert errors.nearest(name, known) == expected
    assert errors.did_you_mean(name, known) == (f"; did you mean '{expected}'?" if expected else "")


@pytest.mark.parametrize(
    "kind, code",
    [
        (Reject, "INVALID_ARG"),
        (NotFound, "NOT_FOUND"),
        (Unavailable, "UNAVAILABLE"),
        (Unsupported, "UNSUPPORTED"),
    ],
)
def test_an_authors_error_knows_its_status_and_pickles(kind: type[errors.RequestError], code: str) -> None:
    error = kind("the image is too small")
    assert error.triton_code == code and str(error) == error.message == "the image is too small"
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind and copy.message == error.message
    assert not isinstance(error, TritonPybError)
