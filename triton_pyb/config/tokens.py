"""Cut text-format text into tokens exactly as the tokenizer inside Triton does.

Source: protobuf ``io/tokenizer.cc`` with the options that ``TextFormat::Parser`` sets (``#`` comments, a
letter straight after a number is an error, no string over a line end); messages measured on 24.10.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

#: kind, start offset, end offset, text exactly as written.
IDENTIFIER, INTEGER, FLOAT, STRING, SYMBOL, END = "identifier", "integer", "float", "string", "symbol", "end"

_SKIP = re.compile(r"[ \t\r\n\v\f]*(?:#[^\n\0]*\n?[ \t\r\n\v\f]*)*")
_FAST = re.compile(
    r"""([A-Za-z_][A-Za-z0-9_]*)"""
    r"""|((?:0|[1-9][0-9]*)(?![A-Za-z0-9_.]))"""
    r"""|("[^"\\\n\0]*"|'[^'\\\n\0]*')"""
    r"""|([{}\[\]<>:;,\-])"""
)
_KINDS = (END, IDENTIFIER, INTEGER, STRING, SYMBOL)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DIGITS = re.compile(r"[0-9]*")
_OCTAL = re.compile(r"[0-7]*")
_HEX = re.compile(r"[0-9a-fA-F]*")
_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "?": 63, "'": 39, '"': 34}
#: Where a forgotten quote most likely belongs: before the first of these.
_QUOTE_BELONGS_BEFORE = re.compile(r"[\s,;{}\[\]#]")


@dataclass(slots=True)
class Token:
    kind: str
    start: int
    end: int
    text: str


#: Called with a kind of problem, the offsets it spans, the server's own words and a repair.
Report = Callable[[str, int, int, str, str], None]


class Tokenizer:
    """Tokens one by one; faults go to `report` and never stop it.

    A string that is not closed on its line is closed where its quote most likely belongs, so that one
    forgotten quote gives one problem and not ten.
    """

    def __init__(self, text: str, report: Report) -> None:
        self._text = text
        self._at = 0
        self._report = report
        self._previous = Token(END, 0, 0, "")

    def next(self) -> Token:
        text = self._text
        while True:
            skipped = _SKIP.match(text, self._at)
            start = skipped.end() if skipped else self._at
            fast = _FAST.match(text, start)
            if fast is not None and fast.lastindex is not None:
                token = Token(_KINDS[fast.lastindex], start, fast.end(), fast.group())
                break
            if start >= len(text):
                token = Token(END, len(text), len(text), "")
                break
            character = text[start]
            if character < " ":
                end = start + 1
                while end < len(text) and text[end] < " " and text[end] not in " \t\r\n\v\f":
                    end += 1
                self._report("control-character", start, end, "Invalid control characters encountered in text.", "")
                self._at = end
                continue
            if character in "\"'":
                token = self._string(start)
            elif character.isdigit() and character.isascii():
                token = self._number(start)
            elif character == "." and text[start + 1 : start + 2].isdigit() and text[start + 1].isascii():
                token = self._number(start)
            else:
                if ord(character) > 0x7F:
                    byte = character.encode("utf-8", "surrogateescape")[0]
                    said = f"Interpreting non ascii codepoint {byte}."
                    self._report("non-ascii", start, start + 1, said, character)
                token = Token(SYMBOL, start, start + 1, character)
            break
        self._at = token.end
        self._previous = token
        return token

    def _number(self, start: int) -> Token:
        text = self._text
        kind, at = INTEGER, start
        if text[start] == "0" and text[start + 1 : start + 2] in ("x", "X"):
            at = _end(_HEX, text, start + 2)
            if at == start + 2:
                self._bad_number(start, at, '"0x" must be followed by hex digits.')
        elif text[start] == "0" and text[start + 1 : start + 2].isdigit():
            at = _end(_OCTAL, text, start + 1)
            if _end(_DIGITS, text, at) != at:
                at = _end(_DIGITS, text, at)
                self._bad_number(start, at, "Numbers starting with leading zero must be in octal.")
        else:
            at = _end(_DIGITS, text, start)
            if text[at : at + 1] == ".":
                before = self._previous
                if at == start and before.kind == IDENTIFIER and before.end == start:
                    self._bad_number(start, at + 1, "Need space between identifier and decimal point.")
                kind, at = FLOAT, _end(_DIGITS, text, at + 1)
            if text[at : at + 1] in ("e", "E"):
                kind, at = FLOAT, at + 1
                at += text[at : at + 1] in ("-", "+") and at < len(text)
                digits = _end(_DIGITS, text, at)
                if digits == at:
                    self._bad_number(start, at, '"e" must be followed by exponent.')
                at = digits
            if text[at : at + 1] in ("f", "F"):
                kind, at = FLOAT, at + 1
        following = text[at : at + 1]
        if _WORD.match(text, at):
            self._bad_number(start, _end(_WORD, text, at), "Need space between number and identifier.")
        elif following == ".":
            said = (
                "Already saw decimal point or exponent; can't have another one."
                if kind == FLOAT
                else "Hex and octal numbers must be integers."
            )
            self._bad_number(start, at + 1, said)
        return Token(kind, start, at, text[start:at])

    def _bad_number(self, start: int, end: int, said: str) -> None:
        self._report("number", start, end, said, self._text[start:end])

    def _string(self, start: int) -> Token:
        text, quote, at = self._text, self._text[start], start + 1
        while True:
            character = text[at : at + 1]
            if character == quote:
                return Token(STRING, start, at + 1, text[start : at + 1])
            if character in ("", "\n", "\0"):
                return self._unclosed(start, at, character)
            at += 1
            if character == "\\":
                at = self._escape(at)

    def _escape(self, at: int) -> int:
        """Offset behind the escape whose letter stands at `at`."""
        text = self._text
        letter = text[at : at + 1]
        if letter in _ESCAPES and letter or letter in set("01234567"):
            return at + 1
        wanted = {"x": (1, "Expected hex digits for escape sequence.")}.get(letter)
        if letter == "u":
            wanted = (4, "Expected four hex digits for \\u escape sequence.")
        elif letter == "U":
            wanted = (8, "Expected eight hex digits up to 10ffff for \\U escape sequence")
        if wanted is None:
            self._report("escape", at - 1, at + 1, "Invalid escape sequence in string literal.", letter)
            return at
        digits = text[at + 1 : at + 1 + wanted[0]]
        valid = _end(_HEX, digits, 0) == wanted[0] and (letter != "U" or digits[:2] == "00" and digits[2] in "01")
        if not valid:
            self._report("escape", at - 1, at + 1, wanted[1], letter)
            return at + 1
        return at + 1 + wanted[0]

    def _unclosed(self, start: int, end: int, stopped_by: str) -> Token:
        text = self._text
        said = "Unexpected end of string."
        if stopped_by == "\n":
            said = "String literals cannot cross line boundaries."
        elif stopped_by == "\0":
            self._report("control-character", end, end + 1, said, "")
            return Token(STRING, start, end + 1, text[start:end] + text[start])
        found = _QUOTE_BELONGS_BEFORE.search(text, start + 1, end)
        cut = found.start() if found else end
        if text[start + 1 : end].strip() == "" or cut == start + 1:
            cut = end
        self._report("unclosed-string", start, end, said, text[start:cut] + text[start])
        return Token(STRING, start, cut, text[start:cut] + text[start])


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def string_value(literal: str) -> str:
    """The value of one quoted literal; bytes that are no UTF-8 become surrogates.

    Examples
    --------
    >>> string_value(r'"\\x70\\171thon"')
    'python'
    """
    inside = literal[1:-1]
    if "\\" not in inside:
        return inside
    out = bytearray()
    at = 0
    while at < len(inside):
        character = inside[at]
        at += 1
        if character != "\\" or at >= len(inside):
            out += character.encode("utf-8", "surrogateescape")
            continue
        letter = inside[at]
        at += 1
        if letter in _ESCAPES:
            out.append(_ESCAPES[letter])
        elif letter in "01234567":
            digits = _OCTAL.match(inside[at - 1 : at + 2])
            octal = digits.group() if digits else letter
            out.append(int(octal, 8) & 0xFF)
            at += len(octal) - 1
        elif letter in "xuU":
            longest = {"x": 2, "u": 4, "U": 8}[letter]
            end = min(_end(_HEX, inside, at), at + longest)
            code = int(inside[at:end] or "0", 16)
            at = end
            if letter == "x":
                out.append(code)
            elif code <= 0x10FFFF:
                out += chr(code).encode("utf-8", "surrogatepass")
    return out.decode("utf-8", "surrogateescape")
