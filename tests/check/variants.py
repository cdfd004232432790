"""Other shapes of one fault: each keeps what is wrong and changes what surrounds it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.check.examples import GOOD_CONFIG, MODEL_PY, Files


def write(files: Files, folder: Path) -> Path:
    """Lay a repository down."""
    for path, content in files.items():
        target = folder / path
        if content is None:
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def renamed(files: Files, names: dict[str, str]) -> dict[str, str | bytes | None]:
    """Models under other names: folders, `name`, `model_name`."""
    out: dict[str, str | bytes | None] = {}
    for path, content in files.items():
        head, _, rest = path.partition("/")
        if isinstance(content, str) and path.endswith(".pbtxt"):
            for old, new in names.items():
                content = re.sub(rf'((?:^|\s)(?:model_)?name\s*[:=]?\s*)"{re.escape(old)}"', rf'\1"{new}"', content)
        out[names.get(head, head) + ("/" + rest if rest else "")] = content
    return out


def models(files: Files) -> list[str]:
    """The model folders of a repository."""
    return sorted({path.split("/")[0] for path in files})


def other_model_names(files: Files) -> Files:
    """``m`` becomes ``detector_m``."""
    return renamed(files, {name: "detector_" + name for name in models(files)})


def other_tensor_names(files: Files) -> Files:
    """``IN`` becomes ``pixels``, in the configuration and in model.py."""
    names = {"IN": "pixels", "OUT": "scores", "INPUT": "pixel_values", "OUTPUT": "score_values"}

    def change(content: str) -> str:
        return re.sub(r"(?<=[\"'])(IN|OUT|INPUT|OUTPUT)(?=\b)", lambda match: names[match.group(1)], content)

    return {path: change(content) if isinstance(content, str) else content for path, content in files.items()}


def beside_good_models(files: Files) -> Files:
    """Healthy models stand before and behind it."""
    more = {
        f"{name}/{file}": text
        for name in ("aaa_good", "zzz_good")
        for file, text in (("config.pbtxt", GOOD_CONFIG.replace('"m"', f'"{name}"')), ("1/model.py", MODEL_PY))
    }
    return {**more, **files}


def windows_lines(files: Files) -> Files:
    """CRLF everywhere."""
    return {p: c.replace("\n", "\r\n") if isinstance(c, str) else c for p, c in files.items()}


def after_comments(files: Files) -> Files:
    """A comment block stands on top of every text, in another alphabet too."""
    comment = "# the configuration of this model\n# \uc124\uc815\n\n"
    out: dict[str, str | bytes | None] = {}
    for path, content in files.items():
        if isinstance(content, str) and path.endswith((".pbtxt", ".py")) and not content.startswith("\ufeff"):
            if not content.startswith("{"):
                content = comment + content
        out[path] = content
    return out


def one_line_each(files: Files) -> Files:
    """Every block of the configuration is spread over lines and indented."""

    def spread(content: str) -> str:
        if any(mark in content for mark in ("//", "#", "${")) or content.count('"') % 2:
            return content
        parts = re.split(r'("(?:[^"\\]|\\.)*")', content)
        return "".join(part if part.startswith('"') else re.sub(r"([{\[]) ?", r"\1\n    ", part) for part in parts)

    return {p: spread(c) if isinstance(c, str) and p.endswith(".pbtxt") else c for p, c in files.items()}


MUTATIONS: tuple[Callable[[Files], Files], ...] = (
    other_model_names,
    other_tensor_names,
    beside_good_models,
    windows_lines,
    after_comments,
    one_line_each,
)


def variants(files: Files) -> Iterator[tuple[str, Files]]:
    """Every mutation that changes something."""
    for mutation in MUTATIONS:
        changed = mutation(files)
        if changed != files:
            yield mutation.__name__, changed
