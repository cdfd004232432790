"""Container releases, by name."""

from __future__ import annotations

import pytest

from triton_pyb.config.releases import ReleaseError, find_release, ordered, table


def test_every_release_of_the_table_is_found() -> None:
    for name in table():
        assert find_release(name)


def test_releases_are_ordered_by_year_and_month() -> None:
    assert sorted(["24.10", "21.10", "24.9"], key=ordered) == ["21.10", "24.9", "24.10"]


def test_a_release_that_never_was() -> None:
    with pytest.raises(ReleaseError) as caught:
        find_release("24.13")
    error = caught.value
    assert error.code == "TPB430" and error.where == "--release"
    assert error.what.startswith("there is no Triton release '24.13'; did you mean '24.1")
    assert error.fix.startswith("name a container release from ") and error.fix.endswith(", or 'latest'")
