"""The grammar of protobuf's text format as Triton's parser reads it, going on after a fault.

Source: protobuf ``text_format.cc``; verdicts and messages measured on Triton 24.10.
"""

from __future__ import annotations

from typing import Any

from triton_pyb.config.document import Document, Entry, Message, Problem
from triton_pyb.config.schema import FieldType, model_config_type
from triton_pyb.config.tokens import END, FLOAT, IDENTIFIER, INTEGER, STRING, SYMBOL, Token, Tokenizer, string_value
from triton_pyb.runtime.dtypes import canonical, config_name

#: After so many faults the rest is noise.
MOST_PROBLEMS = 40

_TRUE, _FALSE = {"true", "True", "t"}, {"false", "False", "f"}


class _Stop(Exception):
    """The rest of the text cannot be understood."""


class TextParser:
    def __init__(self, text: str, problems: list[Problem]) -> None:
        self._problems = problems
        self._text = text
        self._tokens = Tokenizer(text, self._tokenizer_problem)
        self._root = Message(model_config_type(), 0, len(text))
        self._last_end = 0
        self._before = Token(END, 0, 0, "")

    def document(self) -> Document:
        try:
            self._token = self._tokens.next()
            while self._token.kind != END:
                if self._token.text in ("}", "]", ">") and self._token.kind == SYMBOL:
                    self._add("extra-bracket", self._token, f"Expected identifier, got: {self._token.text}")
                    self._advance()
                    continue
                self._field(self._root)
        except (_Stop, RecursionError):
            pass
        return Document(self._text, self._root, self._problems)

    # -- what is wrong ------------------------------------------------------------------------------------

    def _tokenizer_problem(self, kind: str, start: int, end: int, said: str, got: str) -> None:
        self._record(Problem(kind, start, end, said, got))

    def _add(self, kind: str, token: Token, said: str, *expected: str) -> None:
        got = token.text[:-1] if token.kind == STRING else token.text
        self._record(Problem(kind, token.start, max(token.end, token.start), said, got, expected))

    def _record(self, problem: Problem) -> None:
        self._problems.append(problem)
        if len(self._problems) >= MOST_PROBLEMS:
            raise _Stop

    def _unexpected(self, wanted: str, said: str) -> None:
        """A token that cannot stand here: name the kind of mistake, and give up on the rest."""
        token = self._token
        kind = "unexpected"
        if token.kind == END:
            kind = "unclosed-bracket"
        elif self._text.startswith(("${", "{{", "<%"), token.start) or token.text == "$":
            kind = "template"
        elif token.text == "/":
            kind = "comment"
        elif token.kind == STRING and wanted == "identifier":
            kind = "quoted-name"
        elif token.text == ":" and self._before.kind == STRING and self._before.text[1:-1].isidentifier():
            # `backend: "python" "max_batch_size": 8`: adjacent strings are one, so the fault shows only here
            kind, token = "quoted-name", self._before
        elif token.text in ("}", "]", ">"):
            kind = "mismatched-bracket"
        elif token.start == 0 and token.text in ("{", "["):
            kind = "json"
        if not (kind == "unexpected" and self._just_reported(token)):
            self._add(kind, token, said, wanted)
        raise _Stop

    def _just_reported(self, token: Token) -> bool:
        return bool(self._problems) and self._problems[-1].start == token.start

    # -- the grammar, one function for each Consume... of text_format.cc ----------------------------------

    def _advance(self) -> Token:
        self._before = self._token
        self._token = self._tokens.next()
        return self._before

    def _looking_at(self, symbol: str) -> bool:
        return self._token.text == symbol and self._token.kind == SYMBOL

    def _try(self, symbol: str) -> bool:
        if self._looking_at(symbol):
            self._advance()
            return True
        return False

    def _field(self, message: Message) -> None:
        token = self._token
        if token.kind != IDENTIFIER:
            if token.text == "[":
                name = self._text[token.end : max(self._text.find("]", token.end), token.end)]
                said = f'Extension "{name}" is not defined or is not an extension of "{message.type.name}".'
                self._unexpected("identifier", said)
            self._unexpected("identifier", f"Expected identifier, got: {self._shown(token)}")
        self._advance()
        declared = message.type.fields.get(token.text)
        if declared is None:
            said = f'Message type "{message.type.name}" has no field named "{token.text}".'
            if not self._just_reported_at_line_of(token):
                self._add("unknown-field", token, said, *message.type.fields)
            self._skip_field()
            return
        self._check_repetition(message, declared, token)
        if not self._try(":") and declared.kind != "message":
            self._missing_colon()
        if declared.repeated and self._try("["):
            self._list(message, declared, token)
        else:
            self._value(message, declared, token)
        if not self._try(";"):
            self._try(",")

    def _check_repetition(self, message: Message, declared: FieldType, token: Token) -> None:
        if declared.repeated:
            return
        earlier = message.entries.get(declared.name)
        if earlier and (declared.has_presence or earlier[-1].value != declared.default):
            said = f'Non-repeated field "{declared.name}" is specified multiple times.'
            first = earlier[0].name_start
            self._record(Problem("repeated-field", token.start, token.end, said, token.text, (str(first),)))
            return
        if declared.oneof:
            for other, entries in message.entries.items():
                if other != declared.name and entries and message.type.fields[other].oneof == declared.oneof:
                    said = (
                        f'Field "{declared.name}" is specified along with field "{other}", another member of '
                        f'oneof "{declared.oneof}".'
                    )
                    first = entries[0].name_start
                    self._record(Problem("oneof", token.start, token.end, said, declared.name, (other, str(first))))

    def _missing_colon(self) -> None:
        token = self._token
        if token.kind == SYMBOL and token.text == "=":
            self._add("equals-sign", token, 'Expected ":", found "=".', ":")
            self._advance()
        elif token.kind in (STRING, INTEGER, FLOAT, IDENTIFIER) or token.text in ("[", "-"):
            self._add("missing-colon", token, f'Expected ":", found "{self._shown(token)}".', ":")
        else:
            self._unexpected(":", f'Expected ":", found "{self._shown(token)}".')

    def _list(self, message: Message, declared: FieldType, name: Token) -> None:
        opened = name.start
        if self._try("]"):
            message.entries.setdefault(declared.name, [])
            return
        while True:
            self._value(message, declared, name)
            if self._try("]"):
                return
            token = self._token
            if self._try(","):
                if self._looking_at("]"):
                    said = 'Expected "{", found "]".'
                    said = said if declared.kind == "message" else self._wanted(declared, self._token)
                    self._add("trailing-comma", token, said)
                    self._advance()
                    return
                continue
            said = f'Expected ",", found "{self._shown(token)}".'
            if token.text == ";" and token.kind == SYMBOL:
                self._add("list-separator", token, said, ",")
                self._advance()
            elif self._starts_value(declared):
                self._add("missing-comma", token, said, ",")
            elif token.kind == END or token.text in ("}", ">") or token.kind == IDENTIFIER:
                # the list was not closed: go on behind it, as its author meant
                self._record(Problem("unclosed-list", token.start, token.end, said, self._shown(token), (str(opened),)))
                return
            else:
                self._unexpected(",", said)

    def _starts_value(self, declared: FieldType) -> bool:
        token = self._token
        if declared.kind == "message":
            return token.kind == SYMBOL and token.text in ("{", "<")
        if declared.kind == "string":
            return token.kind == STRING
        if declared.kind == "enum":
            return token.kind == INTEGER or token.text in declared.enum
        return token.kind in (INTEGER, FLOAT) or token.text == "-"

    def _value(self, message: Message, declared: FieldType, name: Token) -> None:
        start = self._token.start
        if declared.kind == "message":
            value: Any = self._message(declared)
        else:
            value = self._scalar(declared)
            if value is None:
                return
        message.entries.setdefault(declared.name, []).append(Entry(name.start, start, self._last_end, value))

    def _message(self, declared: FieldType) -> Message:
        assert declared.message is not None
        token = self._token
        if not (self._looking_at("{") or self._looking_at("<")):
            said = f'Expected "{{", found "{self._shown(token)}".'
            if token.kind in (STRING, INTEGER, FLOAT, IDENTIFIER):
                self._add("not-a-message", token, said, "{", declared.message.name)
                follows_own_field = token.kind == IDENTIFIER and token.text in model_config_type().fields
                if not follows_own_field:
                    self._last_end = token.end
                    self._advance()
                return Message(declared.message, token.start, token.end)
            if token.kind == END:
                self._add("not-a-message", token, said, "{", declared.message.name)
                raise _Stop
            self._unexpected("{", said)
        self._advance()
        closing = "}" if token.text == "{" else ">"
        inner = Message(declared.message, token.start)
        while not self._looking_at("}") and not self._looking_at(">"):
            if self._token.kind == END:
                said = "Expected identifier, got: "
                self._record(
                    Problem("unclosed-bracket", self._token.start, self._token.end, said, "", (str(token.start),))
                )
                raise _Stop
            if self._token.text == "]" and self._token.kind == SYMBOL:
                # `input [ { name: "X" ]`: the brace was forgotten
                said = "Expected identifier, got: ]"
                self._record(
                    Problem("unclosed-bracket", self._token.start, self._token.end, said, "]", (str(token.start),))
                )
                inner.end = self._last_end = self._token.start
                return inner
            self._field(inner)
        if self._token.text != closing:
            said = f'Expected "{closing}", found "{self._token.text}".'
            self._add("mismatched-bracket", self._token, said, closing)
        inner.end = self._last_end = self._token.end
        self._advance()
        return inner

    def _scalar(self, declared: FieldType) -> Any:
        """The value, or None when there is none that fits (it is reported and skipped)."""
        token = self._token
        if token.kind == SYMBOL and self._text.startswith(("${", "{{", "<%"), token.start):
            self._unexpected(declared.kind, self._wanted(declared, token))
        if declared.kind == "string":
            return self._string(declared)
        if declared.kind == "enum":
            return self._enum(declared)
        if declared.kind == "bool":
            return self._bool(declared)
        return self._signed(declared)

    def _take(self) -> Token:
        self._last_end = self._token.end
        return self._advance()

    def _string(self, declared: FieldType) -> str | None:
        if self._token.kind != STRING:
            self._wrong_type(declared)
            return None
        value = string_value(self._take().text)
        while self._token.kind == STRING:
            value += string_value(self._take().text)
        return value

    def _signed(self, declared: FieldType) -> Any:
        negative = self._looking_at("-") and (declared.kind == "float" or declared.low < 0)
        if negative:
            self._advance()
        token = self._token
        if declared.kind == "float":
            value = self._float(token)
        else:
            value = self._integer(token, declared, negative)
        if value is None:
            if token.kind == INTEGER and not self._just_reported(token):
                self._take()
                return None
            if self._just_reported(token):
                self._skip_value()
                return None
            self._wrong_type(declared)
            return _meant(declared, token)
        self._take()
        return -value if negative else value

    def _integer(self, token: Token, declared: FieldType, negative: bool) -> int | None:
        if token.kind != INTEGER:
            return None
        value = _integer(token.text)
        limit = -declared.low if negative else declared.high
        if value is None or value > limit:
            said = f"Integer out of range ({token.text})"
            self._add("out-of-range", token, said, str(declared.low), str(declared.high))
            return None
        return value

    def _float(self, token: Token) -> float | None:
        if token.kind == INTEGER:
            if token.text[:1] == "0" and len(token.text) > 1:
                self._add("number", token, f"Expect a decimal number, got: {token.text}")
                return None
            return float(token.text)
        if token.kind == FLOAT:
            try:
                return float(token.text.rstrip("fF"))
            except ValueError:
                return 0.0  # the tokenizer has reported it
        if token.kind == IDENTIFIER and token.text.lower() in ("inf", "infinity", "nan"):
            return float(token.text.lower())
        return None

    def _bool(self, declared: FieldType) -> bool | None:
        token = self._token
        if token.kind == INTEGER:
            value = _integer(token.text)
            if value is None or value > 1:
                self._add("boolean", token, f"Integer out of range ({token.text})", "true", "false")
            self._take()
            return bool(value)
        if token.kind != IDENTIFIER:
            self._wrong_type(declared)
            return None
        self._take()
        if token.text in _TRUE or token.text in _FALSE:
            return token.text in _TRUE
        said = f'Invalid value for boolean field "{declared.name}". Value: "{token.text}".'
        self._add("boolean", token, said, "true", "false")
        return None

    def _enum(self, declared: FieldType) -> Any:
        token = self._token
        if token.kind == IDENTIFIER:
            self._take()
            if token.text in declared.enum:
                return token.text
            said = f'Unknown enumeration value of "{token.text}" for field "{declared.name}".'
            self._add("unknown-enum", token, said, declared.name, *declared.enum)
            if self._looking_at("."):  # np.float32
                self._advance()
                token = self._take()
            return _meant(declared, token)
        if token.kind == INTEGER or self._looking_at("-"):
            number = self._signed(FieldType(declared.name, "int", False, "", False, -(2**31), 2**31 - 1))
            return declared.enum_names.get(number, number) if number is not None else None
        self._wrong_type(declared)
        return _meant(declared, token)

    def _wanted(self, declared: FieldType, token: Token) -> str:
        wanted = {
            "string": "Expected string",
            "float": "Expected double",
            "enum": "Expected integer or identifier",
            "bool": "Expected identifier",
        }.get(declared.kind, "Expected integer")
        return f"{wanted}, got: {self._shown(token)}"

    def _wrong_type(self, declared: FieldType) -> None:
        token = self._token
        said = self._wanted(declared, token)
        if token.kind == END or token.text in ("}", "]", ">"):
            self._add("missing-value", token, said, declared.kind, declared.name)
            if token.kind == END:
                raise _Stop
            return
        if token.kind == SYMBOL and token.text not in ("[", "-", "{") and not self._just_reported(token):
            self._unexpected(declared.kind, said)
        if not self._just_reported(token):
            expected = (declared.kind, declared.name, *declared.enum)
            self._add("wrong-type", token, said, *expected)
        self._skip_value()
        glued = self._token
        if declared.kind == "string" and glued.kind == STRING and glued.start == token.end:
            self._problems[:] = [problem for problem in self._problems if problem.start != glued.start]
            self._take()  # `backend: python"`: the closing quote is right, the opening one is missing

    # -- going on after a fault ---------------------------------------------------------------------------

    def _skip_field(self) -> None:
        self._try(":")
        self._skip_value()
        if not self._try(";"):
            self._try(",")

    def _skip_value(self) -> None:
        """Pass over one value, whatever it is; stop where the brackets do not fit."""
        token = self._token
        if token.kind == SYMBOL and token.text in ("{", "[", "<"):
            depth = 0
            while True:
                token = self._token
                if token.kind == END:
                    said = "Expected identifier, got: "
                    self._record(Problem("unclosed-bracket", token.start, token.end, said))
                    raise _Stop
                if token.kind == SYMBOL:
                    depth += (token.text in ("{", "[", "<")) - (token.text in ("}", "]", ">"))
                self._take()
                if depth <= 0:
                    return
        if token.kind == SYMBOL and token.text in ("}", "]", ">"):
            return
        if token.kind == END:
            raise _Stop
        if token.text == "-" and token.kind == SYMBOL:
            self._take()
        first = self._take()
        while first.kind == STRING and self._token.kind == STRING:
            self._take()
        if first.kind == SYMBOL and first.text not in ("-",):
            raise _Stop

    def _just_reported_at_line_of(self, token: Token) -> bool:
        """True when the tokenizer has just complained about the number in front (``8backend``)."""
        return bool(self._problems) and self._problems[-1].kind == "number" and self._problems[-1].end == token.end

    def _shown(self, token: Token) -> str:
        """The token as libprotobuf prints it: a string that is not closed without the quote we added."""
        if token.kind == STRING:
            return self._text[token.start : token.end]
        return token.text


def _meant(declared: FieldType, token: Token) -> Any:
    """The value that a wrong one was certainly meant to be, so that one slip is one finding; else None."""
    bare = token.text.strip("\"'")
    if declared.kind == "int":
        bare = bare.removesuffix(".0")
        value = int(bare) if bare.isascii() and bare.lstrip("-").isdigit() and len(bare) < 19 else None
        return value if value is not None and declared.low <= value <= declared.high else None
    if declared.kind == "enum" and "TYPE_FP32" in declared.enum:
        return type_named(bare) or None
    return bare.upper() if declared.kind == "enum" and bare.upper() in declared.enum else None


def type_named(spelling: str) -> str:
    """``TYPE_FP32`` for any usual spelling of it (``FP32``, ``float32``, ``type_fp32``), else an empty string."""
    if not spelling.isidentifier() or not spelling.isascii():
        return ""
    dtype = canonical(spelling.upper().removeprefix("TYPE_")) or canonical(spelling)
    return config_name(dtype) if dtype else ""


def _integer(text: str) -> int | None:
    try:
        if text[:2] in ("0x", "0X"):
            return int(text[2:], 16)
        if len(text) > 1 and text[0] == "0":
            return int(text, 8)
        return int(text) if len(text) < 40 else None
    except ValueError:
        return None
