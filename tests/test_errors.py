"""Every error code has one meaning, a page entry, and a test that asserts its message."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "triton_pyb"
CODE = re.compile(r"TPB\d{3,4}")

#: Folders whose every code must be named in a test; a folder joins when its tests are complete.
TESTED = ["runtime", "config", "repository"]


@pytest.fixture(scope="module")
def generator() -> Iterator[ModuleType]:
    """``scripts/generate_errors.py``, imported by path."""
    spec = importlib.util.spec_from_file_location("generate_errors", ROOT / "scripts/generate_errors.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # NamedTuple looks its module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def raised(generator: ModuleType) -> Any:
    """All that the generator finds in the package."""
    return generator.collect(PACKAGE)


@functools.cache
def codes_in(*folders: Path) -> dict[str, set[str]]:
    """Code -> files in which it stands as a text of its own."""
    found: dict[str, set[str]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                    found.setdefault(node.value, set()).add(path.relative_to(PACKAGE).as_posix())
    return found


@pytest.mark.parametrize("folder", TESTED)
def test_every_code_is_asserted_in_a_test(folder: str) -> None:
    tests = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "tests").rglob("test_*.py")
        if path != Path(__file__) and "probes" not in path.parts
    )
    missing = {code: files for code, files in codes_in(PACKAGE / folder).items() if code not in tests}
    assert missing == {}


def test_a_code_belongs_to_one_floor() -> None:
    """One meaning each: two floors that used one code would mean two things by it."""
    shared = {}
    for code, files in codes_in(PACKAGE).items():
        floors = {file.partition("/")[0] for file in files}
        if len(floors) > 1:
            shared[code] = sorted(files)
    assert shared == {}


def test_every_code_has_an_entry(raised: Any) -> None:
    entries = {item.code for item in raised}
    assert set(codes_in(PACKAGE)) - entries == set()


def test_every_entry_says_what_and_almost_every_one_what_to_do(raised: Any) -> None:
    for item in raised:
        assert item.what.strip(), item
        # What cannot be read has its fix where it is refused: received.py adds it.
        # A rule of the checker may word its fix where it finds something.
        assert item.fix.strip() or item.code in ("TPB221", "TPB222", "TPB223") or len(item.code) == 7, item


def test_the_page_is_up_to_date(generator: ModuleType, raised: Any) -> None:
    page = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    assert page == generator.render(raised), "run python scripts/generate_errors.py"


def test_a_template_shows_what_is_filled_in(generator: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        "def f(name, sizes):\n"
        "    what = f'no {name}' if sizes else 'nothing'\n"
        "    raise E('TPB999', f\"{what}: {', '.join(map(str, sizes))}{did_you_mean(name, sizes)} \"\n"
        "     + 'end', 'where', 'fix it')\n"
        "class Rule:\n    '''Explained.'''\n"
        "    code = 'TPB1999'\n    message = 'the {got!r} is odd'\n    fix = 'even it'\n"
    )
    call, rule = generator.collect(tmp_path)
    assert (call.code, call.what) == ("TPB999", "<no <name | nothing>: <sizes><; did you mean ...?> end")
    assert (call.fix, call.where) == ("fix it", "one.py, f()")
    assert (rule.code, rule.what, rule.fix) == ("TPB1999", "the <got> is odd", "even it")
    assert rule.explanation == "Explained." and "### TPB1999" in generator.render([rule])
