"""Bodies that are no JSON, or other JSON than the protocol wants; the messages are a real server's."""

from __future__ import annotations

from typing import Any

import pytest

from triton_pyb.emulator import rapid_json
from triton_pyb.emulator.validation import RequestRefused


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("{", "Missing a name for object member. at 1"),
        ("nonsense", "Invalid value. at 1"),
        ('{"inputs":[],}', "Missing a name for object member. at 13"),
        ("{'a':1}", "Missing a name for object member. at 1"),
        ('{"inputs":[{"name":"A","shape":[1,2],"data":[1e400,1]}]}', "Number too big to be stored in double. at 45"),
        ('{"inputs":[{"data":[1,2]}', "Missing a comma or ']' after an array element. at 25"),
        ("\xff\xfe", "Invalid value. at 0"),
        ('{"a":tru}', "Invalid value. at 8"),
        ('{"a" 1}', "Missing a colon after a name of object member. at 5"),
        ('{"a":1 "b":2}', "Missing a comma or '}' after an object member. at 7"),
        ("[1 2]", "Missing a comma or ']' after an array element. at 3"),
        ('{"a":01}', "Missing a comma or '}' after an object member. at 6"),
        ('{"a":1.}', "Miss fraction part in number. at 7"),
        ('{"a":"\\x"}', "Invalid escape character in string. at 6"),
        ('{"a":"abc', "Missing a closing quotation mark in string. at 9"),
        ('{"a":"\\u12"}', "Incorrect hex digit after \\u escape in string. at 6"),
        ('{"a":-}', "Invalid value. at 6"),
        ("\0\0", "The document is empty. at 0"),
        ('{"inputs":[]} x', "The document root must not be followed by other values. at 14"),
    ],
)
def test_complaints(body: str, complaint: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        rapid_json.parse(body.encode("latin-1"))
    assert refused.value.message == f"failed to parse the request JSON buffer: {complaint}"
    assert refused.value.code == "INTERNAL"


@pytest.mark.parametrize(
    ("read", "value", "complaint"),
    [
        (rapid_json.as_text, 5, "attempt to access JSON non-string as string"),
        (rapid_json.as_bool, 1, "attempt to access JSON non-boolean as boolean"),
        (rapid_json.as_unsigned, -1, "attempt to access JSON non-unsigned-integer as unsigned-integer"),
        (rapid_json.as_unsigned, True, "attempt to access JSON non-unsigned-integer as unsigned-integer"),
        (rapid_json.as_signed, 2**63, "attempt to access JSON non-signed-integer as signed-integer"),
        (rapid_json.as_signed, 1.0, "attempt to access JSON non-signed-integer as signed-integer"),
        (rapid_json.as_number, "1", "attempt to access JSON non-number as double"),
    ],
)
def test_other_kinds_than_asked_for(read: Any, value: Any, complaint: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        read(value)
    assert refused.value.message == complaint


def test_bytes_that_are_no_text_pass_through() -> None:
    assert rapid_json.dumps({"a": b"\xff".decode("utf-8", "surrogateescape")}) == b'{"a":"\xff"}'
