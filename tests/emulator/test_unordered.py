"""The server's order of inputs; the expected orders are a real server's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triton_pyb.emulator.unordered import unordered


def test_orders_seen_in_the_messages_of_a_real_server() -> None:
    assert unordered(["A", "B", "C", "D"]) == ["B", "D", "C", "A"]
    assert unordered(["IN", "IN2", "X"]) == ["X", "IN2", "IN"]
    assert unordered(["IN", "START", "END", "READY", "CORRID"]) == ["READY", "CORRID", "END", "START", "IN"]


def test_order_that_a_model_sees() -> None:
    # Filled twice: requests[0].inputs() of a 24.10 server for inputs A, B, C.
    assert unordered(unordered(["A", "B", "C"])) == ["A", "C", "B"]


def test_a_rehash_keeps_its_rule() -> None:
    # std::unordered_map<std::string, int> of libstdc++ 12, filled with v00 .. v15.
    names = [f"v{number:02}" for number in range(16)]
    order = "v15 v13 v14 v08 v01 v03 v02 v12 v05 v06 v07 v00 v04 v09 v10 v11"
    assert unordered(names) == order.split()


@given(st.lists(st.text(min_size=1), unique=True, max_size=40))
def test_nothing_is_lost(names: list[str]) -> None:
    assert sorted(unordered(names)) == sorted(names)
