"""Group 10: the text of config.pbtxt.  One unreadable file is one model that does not exist for the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triton_pyb.check.finding import Finding, printable
from triton_pyb.check.model import Model
from triton_pyb.check.rule import ModelRule
from triton_pyb.config.pbtxt import Problem, type_named
from triton_pyb.runtime.errors import nearest

#: Names that people write for a field, and the field.
FIELD_NAMES = {
    "shape": "dims",
    "dim": "dims",
    "inputs": "input",
    "outputs": "output",
    "dtype": "data_type",
    "datatype": "data_type",
    "type": "data_type",
    "batch_size": "max_batch_size",
    "max_batchsize": "max_batch_size",
    "instance_groups": "instance_group",
    "steps": "step",
    "batching": "dynamic_batching",
    "int_value": "string_value",
    "float_value": "string_value",
    "bool_value": "string_value",
    "model_name": "name",
}


class TextRule(ModelRule):
    """Base: turns one kind of the reader's problems into findings."""

    kind = ""
    stage = "poll"

    def check(self, model: Model) -> Iterator[Finding]:
        if model.document is None:
            return
        for problem in model.document.problems:
            if problem.kind == self.kind:
                place = model.span(problem.start, problem.end)
                yield self.found(model, place, said=_braced(problem.said), **self.values(model, problem))

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        return {"got": problem.got, "expected": problem.expected[0] if problem.expected else ""}


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _opened(model: Model, problem: Problem) -> str:
    """``"line 4"`` where the bracket was opened, if the reader knows."""
    if model.document is None or not problem.expected or not problem.expected[0].isdigit():
        return "above"
    line, column = model.document.position(int(problem.expected[0]))
    return f"in line {line}, column {column}"


class UnclosedString(TextRule):
    """A string is not closed on its line.

    The rest of the line becomes part of the string and the file cannot be read: the model does not load.
    Add the missing quote.

    Source: protobuf io/tokenizer.cc, "String literals cannot cross line boundaries." (measured on 24.10).
    """

    code = "TPB1001"
    kind = "unclosed-string"
    message = "the string that begins {begins} is not closed on its line: the quote {quote} is missing"
    fix = "write {repaired}"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        repaired = problem.got
        if not repaired[1:-1].strip():
            return {
                "begins": "here",
                "quote": repaired[:1],
                "repaired": "a complete string, or remove this quote",
            }
        return {"begins": repaired[:-1], "quote": repaired[-1:], "repaired": repaired}


class UnclosedBracket(TextRule):
    """A `{` is never closed.

    The parser runs into the end of the file or into a foreign bracket.  Add the missing `}`.

    Source: protobuf text_format.cc ConsumeMessage, "Expected identifier, got: " (measured on 24.10).
    """

    code = "TPB1002"
    kind = "unclosed-bracket"
    message = "the bracket opened {opened} is not closed before {got}"
    fix = "add the missing closing bracket before this place"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        return {
            "opened": _opened(model, problem),
            "got": f"'{problem.got}'" if problem.got else "the end of the file",
        }


class UnclosedList(TextRule):
    """A list is never closed with `]`.

    Source: protobuf text_format.cc ConsumeField, 'Expected ",", found ...' (measured on 24.10).
    """

    code = "TPB1003"
    kind = "unclosed-list"
    message = "the list opened {opened} is not closed before {got}"
    fix = "add ']' before {got}"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        return {
            "opened": _opened(model, problem),
            "got": f"'{problem.got}'" if problem.got else "the end of the file",
        }


class ExtraBracket(TextRule):
    """A closing bracket closes nothing.

    Source: protobuf text_format.cc, "Expected identifier, got: }" (measured on 24.10).
    """

    code = "TPB1004"
    kind = "extra-bracket"
    message = "'{got}' closes nothing"
    fix = "remove it, or add the bracket it should close"


class MismatchedBracket(TextRule):
    """A bracket of one kind is closed by another, or a value is missing before it.

    Source: protobuf text_format.cc ConsumeMessage, 'Expected ">", found "}}".' (measured on 24.10).
    """

    code = "TPB1005"
    kind = "mismatched-bracket"
    message = "'{got}' stands where {expected} is expected"
    fix = "write {expected} here"


class MissingComma(TextRule):
    """Two elements of a list have no comma between them.

    Source: protobuf text_format.cc ConsumeField, 'Expected ",", found "{".' (measured on 24.10).
    """

    code = "TPB1006"
    kind = "missing-comma"
    message = "a comma is missing between two elements of the list, before '{got}'"
    fix = "write ',' before '{got}'"


class TrailingComma(TextRule):
    """A list ends with a comma.

    Source: protobuf text_format.cc ConsumeField, 'Expected "{", found "]".' (measured on 24.10).
    """

    code = "TPB1007"
    kind = "trailing-comma"
    message = "a comma stands after the last element of a list"
    fix = "remove the comma before ']'"


class ListSeparator(TextRule):
    """List elements are separated by something else than a comma.

    Source: protobuf text_format.cc, 'Expected ",", found ";".' (measured on 24.10).
    """

    code = "TPB1008"
    kind = "list-separator"
    message = "'{got}' separates elements of a list"
    fix = "write ',' instead"


class EqualsSign(TextRule):
    """A value is assigned with `=`.

    Source: protobuf text_format.cc, 'Expected ":", found "=".' (measured on 24.10).
    """

    code = "TPB1009"
    kind = "equals-sign"
    message = "'=' stands between a field and its value"
    fix = "write ':' instead"


class MissingColon(TextRule):
    """A scalar field has no colon before its value.

    Only messages (`dynamic_batching { }`) may leave it out.

    Source: protobuf text_format.cc, 'Expected ":", found ...' (measured on 24.10).
    """

    code = "TPB1010"
    kind = "missing-colon"
    message = "a colon is missing before {got}"
    fix = "write ':' before {got}"


class UnknownField(TextRule):
    """A field does not exist in the model configuration.

    One unknown field makes the whole file unreadable.  Write the field that exists.

    Source: common/protobuf/model_config.proto; 'has no field named' (measured on 24.10).
    """

    code = "TPB1011"
    kind = "unknown-field"
    message = "{owner} has no field '{got}'{hint}"
    fix = "{repair}"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        owner = problem.said.split('"')[1].removeprefix("inference.") if '"' in problem.said else "this message"
        usual = FIELD_NAMES.get(problem.got.lower(), "")
        snake = "".join("_" + c.lower() if c.isupper() else c for c in problem.got).lstrip("_").replace("__", "_")
        match = next(
            (name for name in (usual, problem.got.lower(), snake) if name in problem.expected),
            nearest(problem.got, problem.expected) or "",
        )
        hint = f"; did you mean '{match}'?" if match else ""
        if match:
            repair = f"write '{match}'"
        else:
            repair = f"remove it; the fields here are {', '.join(problem.expected)}"
        return {"owner": owner, "got": printable(problem.got), "hint": hint, "repair": repair}


class UnknownEnum(TextRule):
    """A name is no value of its enumeration.

    The configuration spells data types `TYPE_FP32`, `TYPE_STRING`; `FP32`, `BYTES` and `float32` belong to
    the wire protocol and to numpy.

    Source: common/protobuf/model_config.proto; "Unknown enumeration value of" (measured on 24.10).
    """

    code = "TPB1012"
    kind = "unknown-enum"
    message = "'{got}' is no value of {field}{hint}"
    fix = "{repair}"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        field, known = problem.expected[0], problem.expected[1:]
        match = enum_repair(problem.got, known, self._line_after(model, problem))
        hint = f"; did you mean '{match}'?" if match else ""
        repair = f"write {match}" if match else f"write one of {', '.join(known)}"
        return {"got": printable(problem.got), "field": field, "hint": hint, "repair": repair}

    @staticmethod
    def _line_after(model: Model, problem: Problem) -> str:
        text = model.document.text if model.document is not None else ""
        return text[problem.end : problem.end + 12]


def enum_repair(got: str, known: tuple[str, ...], following: str = "") -> str:
    """The value that was meant by a wire name, a numpy name, another case or a slip; or an empty string."""
    if got in ("np", "numpy", "torch") and following.startswith("."):
        got = following[1:].split()[0] if following[1:].split() else got
    if "TYPE_FP32" in known:
        named = type_named(got)
        if named in known:
            return named
    prefix = known[0].split("_")[0] + "_" if known else ""
    for candidate in (got.upper(), prefix + got.upper()):
        if candidate in known:
            return candidate
    return nearest(got, known) or ""


class WrongType(TextRule):
    """A value has another type than its field.

    Integers are written bare (`8`, not `"8"` or `8.0`), strings in quotes, enumeration values without.

    Source: protobuf text_format.cc, "Expected integer, got: ..." (measured on 24.10).
    """

    code = "TPB1013"
    kind = "wrong-type"
    message = "{field} takes {wanted}, not {got}"
    fix = "{repair}"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        kind, field, *known = (*problem.expected, "", "")
        wanted = {"int": "an integer", "float": "a number", "string": "a string", "enum": "a bare name"}
        bare = problem.got.strip("\"'")
        repair = {
            "string": f'write "{bare}"' if bare not in ("[", "{", "-") else "write one string in quotes",
            "enum": f"write {enum_repair(bare, tuple(k for k in known if k)) or bare} without quotes",
            "bool": "write true or false without quotes",
        }.get(kind, f"write {bare} without quotes" if _is_integer(bare) else "write an integer")
        if kind == "int" and bare.replace(".", "", 1).isdigit() and bare.endswith(".0"):
            repair = f"write {bare[:-2]}"
        return {
            "field": field,
            "wanted": wanted.get(kind, "true or false"),
            "got": problem.got,
            "repair": repair,
        }


def _is_integer(text: str) -> bool:
    return text.lstrip("-").isdigit()


class OutOfRange(TextRule):
    """An integer does not fit its field.

    Source: protobuf text_format.cc, "Integer out of range" (measured on 24.10).
    """

    code = "TPB1014"
    kind = "out-of-range"
    message = "{got} does not fit: the field holds {low} to {high}"
    fix = "write an integer from {low} to {high}"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        low, high = (*problem.expected, "", "")[:2]
        return {"got": problem.got, "low": low, "high": high}


class Boolean(TextRule):
    """A boolean is spelled another way than true or false.

    `true`, `True`, `t`, `1` and their opposites are read; `yes`, `no`, `TRUE`, `2` are not.

    Source: protobuf text_format.cc, "Invalid value for boolean field" (measured on 24.10).
    """

    code = "TPB1015"
    kind = "boolean"
    message = "'{got}' is no boolean"
    fix = "write true or false"


class BadNumber(TextRule):
    """A number is written in a way that only Python reads, or runs into the next word.

    `1_000`, `0b100`, `0o10`, `08`, `8backend`, `0_0.5`.

    Source: protobuf io/tokenizer.cc ConsumeNumber (measured on 24.10).
    """

    code = "TPB1016"
    kind = "number"
    message = "'{got}' is no number that the server reads"
    fix = "write a decimal number, with a space behind it"


class BadEscape(TextRule):
    r"""A backslash in a string starts no escape.

    Python's own parser accepts `"C:\models"`; the server refuses the file.

    Source: protobuf io/tokenizer.cc, "Invalid escape sequence in string literal." (measured on 24.10).
    """

    code = "TPB1017"
    kind = "escape"
    message = "'\\{got}' is no escape sequence"
    fix = "write '\\\\{got}' for a backslash, or '/' in a path"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        return {"got": printable(problem.got)}


class NonAscii(TextRule):
    """A character outside ASCII stands outside strings and comments.

    Mostly a typographic quote or a no-break space copied from a web page; an editor shows it like the plain one.

    Source: protobuf io/tokenizer.cc, "Interpreting non ascii codepoint" (measured on 24.10).
    """

    code = "TPB1018"
    kind = "non-ascii"
    message = "{name} stands outside a string"
    fix = "replace it by {plain}"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        import unicodedata

        character = problem.got
        code = ord(character)
        if 0xDC80 <= code <= 0xDCFF:
            return {"name": f"the byte 0x{code - 0xDC00:02X}", "plain": "ASCII text"}
        name = f"U+{code:04X} {unicodedata.name(character, '').lower()}".strip()
        plain = "a plain quote" if "quotation" in name else "a plain space" if "space" in name else "ASCII text"
        return {"name": name, "plain": plain}


class ControlCharacter(TextRule):
    """A control character stands in the file.

    Source: protobuf io/tokenizer.cc, "Invalid control characters encountered in text." (measured on 24.10).
    """

    code = "TPB1019"
    kind = "control-character"
    message = "a control character stands in the text"
    fix = "remove it"


class ByteOrderMark(TextRule):
    """The file begins with a UTF-8 byte order mark.

    Windows editors write it; the server stops at it.  `--fix` removes it.

    Source: protobuf io/tokenizer.cc, "Interpreting non ascii codepoint 239." (measured on 24.10).
    """

    code = "TPB1020"
    kind = "bom"
    message = "the file begins with a byte order mark (BOM)"
    fix = "save it as UTF-8 without BOM"


class RepeatedField(TextRule):
    """A field that holds one value is given twice.

    Source: protobuf text_format.cc, "Non-repeated field ... is specified multiple times." (measured on 24.10).
    """

    code = "TPB1021"
    kind = "repeated-field"
    message = "'{got}' is given again; it first stands {opened}"
    fix = "keep one of the two"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        return {"got": problem.got, "opened": _opened(model, problem)}


class Oneof(TextRule):
    """Two fields exclude each other.

    `dynamic_batching`, `sequence_batching` and `ensemble_scheduling`; `latest`, `all` and `specific`; `direct` and
    `oldest`.

    Source: protobuf text_format.cc, "is specified along with field" (measured on 24.10).
    """

    code = "TPB1022"
    kind = "oneof"
    message = "'{got}' cannot stand beside '{other}' {opened}"
    fix = "keep one of '{other}' and '{got}'"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        other, at = problem.expected
        moved = Problem(problem.kind, problem.start, problem.end, problem.said, problem.got, (at,))
        return {"got": problem.got, "other": other, "opened": _opened(model, moved)}


class NotAMessage(TextRule):
    """A field that holds a block `{ }` has a bare value, or none.

    `dynamic_batching: true` is written `dynamic_batching { }`, a parameter `value: { string_value: "x" }`.

    Source: protobuf text_format.cc, 'Expected "{", found ...' (measured on 24.10).
    """

    code = "TPB1023"
    kind = "not-a-message"
    message = "a block {{ }} is expected here, not {got}"
    fix = "{repair}"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        repair = "write { }"
        if problem.expected[-1].endswith("ModelParameter"):
            bare = problem.got.strip("\"'")
            repair = f'write {{ string_value: "{bare}" }}'
        return {"got": problem.got or "the end of the file", "repair": repair}


class MissingValue(TextRule):
    """A field has no value.

    Source: protobuf text_format.cc (measured on 24.10).
    """

    code = "TPB1024"
    kind = "missing-value"
    message = "{field} has no value"
    fix = "write the value of {field}, or remove it"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        return {"field": problem.expected[-1]}


class UnfilledTemplate(TextRule):
    """A placeholder of a template was never filled in.

    `${max_batch_size}` and `{{ name }}` come from templates such as those of the TensorRT-LLM backend.

    Source: the server reports a plain parse error (measured on 24.10).
    """

    code = "TPB1025"
    kind = "template"
    message = "an unfilled placeholder stands here: {text}"
    fix = "fill in the template before the server reads it"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        text = model.document.text[problem.start : problem.start + 40] if model.document is not None else ""
        return {"text": printable(text.split("\n")[0])}


class CommentStyle(TextRule):
    """A comment begins with `//` or `/*`.

    Source: protobuf text_format.cc: comments begin with # (measured on 24.10).
    """

    code = "TPB1026"
    kind = "comment"
    message = "'/' begins no comment"
    fix = "begin the comment with '#'"


class QuotedName(TextRule):
    """A field name stands in quotes.

    Source: protobuf text_format.cc, "Expected identifier, got: ..." (measured on 24.10).
    """

    code = "TPB1027"
    kind = "quoted-name"
    message = "{got} stands in quotes where a field name is expected"
    fix = 'write the name without quotes; a map entry is written {{ key: "A" value: ... }}'


class JsonConfig(TextRule):
    """The file is JSON, not protobuf text.

    Source: protobuf text_format.cc, "Expected identifier, got: {" (measured on 24.10).
    """

    code = "TPB1028"
    kind = "json"
    message = "the file begins with '{got}': JSON is not read"
    fix = 'write protobuf text: name: "m" instead of {{"name": "m"}}'


class Unexpected(TextRule):
    """Something stands where it cannot be understood.

    Source: protobuf text_format.cc (measured on 24.10).
    """

    code = "TPB1029"
    kind = "unexpected"
    message = "'{got}' cannot stand here: {expected} is expected"
    fix = "write {expected}, or remove '{got}'"

    def values(self, model: Model, problem: Problem) -> dict[str, Any]:
        names = {"identifier": "a field name", "int": "an integer", "float": "a number", "enum": "a name"}
        expected = problem.expected[0] if problem.expected else "a field name"
        return {"got": printable(problem.got), "expected": names.get(expected, f"'{expected}'")}


class UnreadableConfig(ModelRule):
    """config.pbtxt cannot be opened.

    No permission, a dangling or circular link, or no regular file (a FIFO would block the server).

    Source: core/src/filesystem/implementations/local.h, "failed to open text file for read".
    """

    code = "TPB1030"
    stage = "poll"
    message = "config.pbtxt cannot be read: {reason}"
    fix = "make it a regular, readable file"
    said = "failed to open text file for read <REPO>/{model}/config.pbtxt"

    def check(self, model: Model) -> Iterator[Finding]:
        _ = model.document  # opening it may change the state
        if model.config_state in ("unreadable", "special"):
            yield self.found(model, reason=model.config_reason or "it is no regular file")


class ConfigIsFolder(ModelRule):
    """config.pbtxt is a folder: the server process dies.

    Source: measured on 24.10 ("terminate called after throwing an instance of 'std::length_error'").
    """

    code = "TPB1031"
    stage = "crash"
    message = "config.pbtxt is a folder: the whole server dies"
    fix = "make it a file"
    said = "basic_string::_M_replace_aux"

    def check(self, model: Model) -> Iterator[Finding]:
        if model.config_state == "folder":
            yield self.found(model)


class HugeConfig(ModelRule):
    """config.pbtxt is too large to be one; only its beginning was read.

    Source: our own limit (4 MiB); the server has none.
    """

    code = "TPB1032"
    severity = "warning"
    message = "config.pbtxt has more than 4 MiB: only the first 4 MiB were checked"
    fix = "look whether this is the right file"

    def check(self, model: Model) -> Iterator[Finding]:
        if model.document is not None and model.document.truncated:
            yield self.found(model)
