"""What bash does to the name of an instance group."""

from __future__ import annotations

import pytest

from triton_pyb.config.group_names import breaking


@pytest.mark.parametrize("name", ["m", "a-b", "a/b", "a.b_c", " a ", "a$(x)b", "{a}", "a#b", "é"])
def test_names_that_arrive(name: str) -> None:
    assert breaking(name) is None


@pytest.mark.parametrize(("name", "text"), [("a b", " "), ("a\tb", "\t"), ("{a,b}", "{a,b}"), ("x{1..3}", "{1..3}")])
def test_names_that_are_split(name: str, text: str) -> None:
    assert breaking(name) == (text, False)


@pytest.mark.parametrize(("name", "text"), [("a;b", ";"), ("it's", "'"), ("a`b", "`"), ("a>b c", ">"), ("a #b", " #")])
def test_names_that_end_the_command(name: str, text: str) -> None:
    assert breaking(name) == (text, True)
