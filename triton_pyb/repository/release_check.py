"""Would this run in the container of that release?  Its Python, its pb_utils, its config.pbtxt, its shared memory."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from triton_pyb.config.release_features import FIELDS, PB_UTILS_NAMES, VALUES
from triton_pyb.config.releases import Release
from triton_pyb.config.schema import model_config_pb2
from triton_pyb.runtime.errors import SeveralErrors, TritonPybError

from .model_folder import ModelFolder
from .target import BuildError

#: Modules of the standard library that a later Python does not have any more.
REMOVED = {
    (3, 12): ("asynchat", "asyncore", "distutils", "imp", "smtpd"),
    (3, 13): ("cgi", "crypt", "imghdr", "pipes", "sndhdr", "telnetlib"),
}
#: ``L7: pattern matching requires !2, 3.10``, and with a column.
_VERMIN_LINE = re.compile(r"L(\d+)(?: C\d+)?: (.+) requires? .*?(?:, )?~?(3\.\d+|!3)$")


class SeveralBuildErrors(SeveralErrors, BuildError):
    """Several things that the release does not have."""


def check_release(folders: Sequence[ModelFolder], release: Release) -> None:
    """Look at everything that would travel.

    Raises
    ------
    BuildError
        For syntax or a module that the release's Python does not have, a name that its pb_utils does not have, and
        a field that its config.pbtxt does not have; several at once come as ``SeveralBuildErrors``.
    """
    errors: list[TritonPybError] = []
    seen: set[Path] = set()
    for folder in folders:
        errors += list(_config_errors(folder, release))
        for inside, content in folder.files.items():
            path = content if isinstance(content, Path) else None
            ours = inside.partition("/")[2].startswith("triton_pyb/")
            if path is None or path.suffix != ".py" or ours or path in seen:
                continue
            seen.add(path)
            errors += list(_source_errors(path, inside, release))
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise SeveralBuildErrors(errors)


def _source_errors(path: Path, inside: str, release: Release) -> Iterator[BuildError]:
    source = path.read_text(encoding="utf-8")
    for line, what, needs in sorted(python_needs(source)):
        if needs > release.python:
            yield BuildError(
                "TPB431",
                f"{what} needs Python {needs[0]}.{needs[1]}; release {release.name} has {release.python_text}",
                f"{path}:{line}",
                f"write it the older way, or build for {_first_with(needs)}",
            )
    for line, module in _imported(source):
        gone = next((python for python, names in REMOVED.items() if module in names), None)
        if gone is not None and release.python >= gone:
            yield BuildError(
                "TPB431",
                f"module '{module}' is gone since Python {gone[0]}.{gone[1]}; release {release.name} has "
                f"{release.python_text}",
                f"{path}:{line}",
                "do without it",
            )
    for line, name in _pb_utils_names(source):
        since = PB_UTILS_NAMES.get(name)
        if since is not None and not release.at_least(since):
            yield BuildError(
                "TPB433",
                f"pb_utils.{name} needs release {since}; the target is {release.name}",
                f"{path}:{line}",
                f"do without it, or build for {since} or later",
            )


class Need(NamedTuple):
    """What a line needs."""

    line: int
    what: str
    python: tuple[int, int]


def python_needs(source: str) -> set[Need]:
    """Syntax and library use with the Python that it needs, as vermin finds them.

    Annotations count where Python evaluates them: not below ``from __future__ import annotations``.

    Raises
    ------
    BuildError
        When vermin is not installed.
    """
    try:
        import vermin
    except ImportError:
        raise BuildError(
            "TPB434",
            "the syntax cannot be compared with a release: the package vermin is not installed",
            "--release",
            "install it: pip install vermin",
        ) from None
    config = vermin.Config()
    config.set_eval_annotations(True)
    config.set_verbose(3)
    tree = ast.parse(source)
    found = set()
    for text in vermin.visit(_without_quiet(source, tree), config=config).output_text().splitlines():
        match = _VERMIN_LINE.match(text)
        if match is not None and match[3] != "!3":
            found.add(Need(int(match[1]), match[2], (3, int(match[3][2:]))))
    for node in _evaluated_annotations(tree):
        for inner in ast.walk(node):
            if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.BitOr):
                found.add(Need(inner.lineno, f"the annotation `{ast.unparse(inner)}`", (3, 10)))
    return found


def _annotations(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            yield node.returns
        elif isinstance(node, ast.AnnAssign):
            yield node.annotation


def _is_lazy(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    )


def _evaluated_annotations(tree: ast.Module) -> Iterator[ast.expr]:
    if not _is_lazy(tree):
        yield from _annotations(tree)


def _without_quiet(source: str, tree: ast.Module) -> str:
    """The text with annotations blanked that Python never evaluates; every line keeps its number."""
    lines = [bytearray(line) for line in source.encode().split(b"\n")]
    for node in _annotations(tree) if _is_lazy(tree) else []:
        last = (node.end_lineno or node.lineno) - 1
        for number in range(node.lineno - 1, last + 1):
            start = node.col_offset if number == node.lineno - 1 else 0
            end = (node.end_col_offset or 0) if number == last else len(lines[number])
            lines[number][start:end] = b" " * (end - start)
        lines[node.lineno - 1][node.col_offset : node.col_offset + 1] = b"0"
        if last > node.lineno - 1:  # brackets keep several lines one expression
            lines[node.lineno - 1][node.col_offset : node.col_offset + 2] = b"(0"
            lines[last][(node.end_col_offset or 1) - 1 : node.end_col_offset] = b")"
    return b"\n".join(lines).decode()


def _imported(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.lineno, node.module.partition(".")[0]


def _pb_utils_names(source: str) -> Iterator[tuple[int, str]]:
    """Attributes of triton_python_backend_utils, under whatever name it is imported."""
    tree = ast.parse(source)
    aliases = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "triton_python_backend_utils"
    }
    if "hasattr" in source:
        return  # the author looks before he leaps
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            yield node.lineno, node.attr


def _first_with(python: tuple[int, int]) -> str:
    for first, has in (("23.05", (3, 10)), ("24.11", (3, 12))):
        if has >= python:
            return f"{first} or later"
    return "a later release than any so far"


# ---- config.pbtxt


def _config_errors(folder: ModelFolder, release: Release) -> Iterator[BuildError]:
    config = folder.config()
    for path, since in later_fields(config):
        if not release.at_least(since):
            yield BuildError(
                "TPB432",
                f"'{path}' in config.pbtxt needs release {since}; {release.name} would refuse the whole file",
                f"model '{folder.name}' ({folder.source})",
                f"do without it, or build for {since} or later",
            )
    for used, since, what in (
        (config.model_transaction_policy.decoupled, "22.05", "a generator (a decoupled model)"),
        (config.HasField("sequence_batching") and not folder.as_it_is, "22.02", "SequenceState"),
        (_has_bf16(config), "24.08", "BF16 (which a function takes and gives through DLPack)"),
    ):
        if used and f"{folder.version}/model.py" in folder.files and not release.at_least(since):
            yield BuildError(
                "TPB432",
                f"{what} needs release {since}; the target is {release.name}",
                f"model '{folder.name}' ({folder.source})",
                f"do without it, or build for {since} or later",
            )


def _has_bf16(config: Any) -> bool:
    bf16 = model_config_pb2().DataType.Value("TYPE_BF16")
    return any(tensor.data_type == bf16 for tensor in [*config.input, *config.output])


def later_fields(message: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Fields and enumeration values of a configuration that came after the first release, with their release."""
    owner = message.DESCRIPTOR.full_name.removeprefix("inference.")
    for descriptor, value in message.ListFields():
        place = f"{path}.{descriptor.name}" if path else descriptor.name
        since = FIELDS.get((owner, descriptor.name))
        if since is not None:
            yield place, since
        repeated = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
        for index, item in enumerate(value.values() if isinstance(value, Mapping) else value if repeated else [value]):
            inner = f"{place}[{index}]" if repeated else place
            if hasattr(item, "DESCRIPTOR"):
                yield from later_fields(item, inner)
            elif descriptor.enum_type is not None:
                name = descriptor.enum_type.values_by_number[item].name
                if name in VALUES:
                    yield f"{inner}: {name}", VALUES[name]


# ---- shared memory


def shm_need_bytes(folders: Sequence[ModelFolder], release: Release) -> int:
    """Shared memory that the Python models take: each instance's start, and one full batch of tensors of known size."""
    total = 0
    for folder in folders:
        config = folder.config()
        if config.backend != "python":
            continue
        instances = sum(max(1, group.count) for group in config.instance_group) or 1
        batch = max(1, config.max_batch_size)
        tensors = sum(_tensor_bytes(tensor) for tensor in [*config.input, *config.output])
        total += instances * max(release.stub_shm_bytes, (1 << 20) + batch * tensors)
    return total


_SIZES = {"BOOL": 1, "INT8": 1, "UINT8": 1, "INT16": 2, "UINT16": 2, "FP16": 2, "BF16": 2, "INT32": 4, "UINT32": 4}


def _tensor_bytes(tensor: Any) -> int:
    """Bytes of one item; 0 where only a request tells."""
    kinds = tensor.DESCRIPTOR.fields_by_name["data_type"].enum_type.values_by_number
    name = kinds[tensor.data_type].name.removeprefix("TYPE_")
    if name == "STRING" or not tensor.dims or min(tensor.dims) < 0:
        return 0
    size = _SIZES.get(name, 4 if name == "FP32" else 8)
    for dim in tensor.dims:
        size *= dim
    return size
