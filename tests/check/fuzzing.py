"""Malformed repositories of every kind, made from a seed."""

# ruff: noqa: E501  (tables of short texts)

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.check.examples import EXAMPLES
from tests.check.variants import write
from triton_pyb.check import report
from triton_pyb.check.command import Options, run_command

_PIECES = [
    b"{", b"}", b"[", b"]", b"<", b">", b'"', b"'", b",", b";", b":", b"#", b"\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"\\",
    b"input", b"output", b"dims", b"name", b"step", b"TYPE_FP32", b"ensemble_scheduling", b"input_map", b"key", b"value",
    b"-1", b"0x", b"1e", b"9" * 40, b"${x}", b"{{ x }}", b"[ " * 50, b"{ " * 50, b"model_warmup", b"sequence_batching",
    b"version_policy { specific { versions: ", b"- ", b"inf", b"nan", b"true", b"class", b"def ", b"(", b")", b"import ",
    b"import a.b.c\n", b"from . import x\n", b"from ... import x\n", b"pb_utils.Tensor(", b"@", b"lambda: ", b"\t", b"    ",
]  # fmt: skip
_NAMES = [
    "1",
    "01",
    "-1",
    "+1",
    " 1",
    "1.5",
    "9" * 30,
    "v1",
    "1\n2",
    "\udcff",
    ".git",
    "warmup",
    "$x",
    "a b",
    "\u00e9",
    "-",
]


def bytes_mutated(data: bytes, rng: random.Random) -> bytes:
    """A few edits: flipped, inserted, removed, repeated, cut, or nothing but noise."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(7)
        if kind == 0 and out:
            out[min(at, len(out) - 1)] = rng.randrange(256)
        elif kind == 1:
            out[at:at] = rng.choice(_PIECES)
        elif kind == 2:
            del out[at : at + rng.randrange(1, 12)]
        elif kind == 3:
            out[at:at] = out[at : at + rng.randrange(1, 60)] * rng.randrange(1, 4)
        elif kind == 4:
            del out[at:]
        elif kind == 5:
            out[at:at] = rng.randbytes(rng.randrange(1, 20))
        else:
            other = rng.randrange(len(out) + 1)
            out[at:at] = out[min(at, other) : max(at, other)][:200]
    return rng.randbytes(rng.randrange(0, 300)) if rng.random() < 0.03 else bytes(out)


def tree_mutated(folder: Path, rng: random.Random) -> None:
    """Something else than expected stands in the place of a file or beside it."""
    places = [folder, *(path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink())]
    place = rng.choice(places)
    target = place / rng.choice([*_NAMES, "config.pbtxt", "model.py"])
    actions: list[Callable[[], object]] = [
        lambda: target.mkdir(),
        lambda: target.write_bytes(rng.randbytes(20)),
        lambda: target.symlink_to(rng.choice(["..", ".", target.name, "/nowhere", "config.pbtxt"])),
        lambda: os.mkfifo(target),
        lambda: shutil.rmtree(place) if place != folder else None,
        lambda: place.rename(place.with_name(rng.choice(_NAMES))) if place != folder else None,
    ]
    try:
        rng.choice(actions)()
    except OSError:
        pass


def one_input(seed: int, folder: Path) -> int:
    """Check one malformed repository in every way; the number of findings.

    Raises
    ------
    Exception
        Whatever the checker let through: that is the fault looked for.
    """
    rng = random.Random(seed)
    example = EXAMPLES[rng.choice(sorted(EXAMPLES))]
    files = dict(rng.choice((example.broken, example.good)))
    if rng.random() < 0.9:
        path = rng.choice([path for path, content in files.items() if content is not None])
        content = files[path]
        assert content is not None
        files[path] = bytes_mutated(content if isinstance(content, bytes) else content.encode(), rng)
    write(files, folder)
    if rng.random() < 0.3:
        tree_mutated(folder, rng)
    options = Options(
        release=rng.choice((None, None, "21.10", "25.11")),
        strict=rng.random() < 0.1,
        gpus=rng.choice((None, 0, 2)),
        rate_limit=rng.random() < 0.1,
    )
    outcome = run_command([str(folder)], options, repair=rng.random() < 0.2)
    for style in report.FORMATS:
        report.render(outcome.findings, style, models=outcome.models).encode("utf-8")
    return len(outcome.findings)
