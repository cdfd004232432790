"""``app.py:pipeline``: found, or said why not; and nothing stays behind in this process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from triton_pyb import DeclarationError, Pipeline
from triton_pyb.repository import BuildError, load_target
from triton_pyb.runtime.steps import mark_of

from .conftest import STEP, Write

APP = STEP + "\n    from triton_pyb import Pipeline\n    pipeline = Pipeline('whole', [shout])\n    number = 3\n"


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    assert sys.path == path
    assert not (set(sys.modules) - modules) & {"app", "helper", "words"}


def mistake(target: str, code: str) -> BuildError:
    with pytest.raises(BuildError) as caught:
        load_target(target)
    assert caught.value.code == code and f"target {target!r}" in caught.value.where
    return caught.value


def test_a_file_and_a_name(write: Write) -> None:
    folder = write(**{"app.py": APP})
    pipeline = load_target(f"{folder}/app.py:pipeline")
    assert isinstance(pipeline, Pipeline) and pipeline.name == "whole"
    step = load_target(f"{folder}/app.py:shout")
    assert mark_of(step) is not None and step("a") == "A"


def test_without_a_name_the_only_pipeline_or_the_only_step(write: Write) -> None:
    assert isinstance(load_target(f"{write(**{'app.py': APP})}/app.py"), Pipeline)
    assert load_target(f"{write(**{'app.py': STEP})}/app.py")("a") == "A"


def test_a_relative_path(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(**{"app.py": APP}))
    assert isinstance(load_target("app.py:pipeline"), Pipeline)


def test_a_module_leaves_nothing_behind(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(**{"wares/__init__.py": "", "wares/app.py": STEP}))
    before = set(sys.modules)
    assert load_target("wares.app:shout")("a") == "A"
    left = [name for name in set(sys.modules) - before if name.startswith("wares")]
    for name in left:
        del sys.modules[name]
    assert left == []


def test_two_applications_of_one_name_do_not_meet(write: Write) -> None:
    """Both are called app, and both import a module called words."""
    first = write("first", **{"app.py": _importing_words(), "words.py": "LOUD = '!'"})
    second = write("second", **{"app.py": _importing_words(), "words.py": "LOUD = '?'"})
    assert load_target(f"{first}/app.py:shout")("a") == "A!"
    assert load_target(f"{second}/app.py:shout")("a") == "A?"
    assert load_target(f"{first}/app.py:shout")("a") == "A!"


def _importing_words() -> str:
    return STEP.replace("text.upper()", "text.upper() + words.LOUD").replace(
        "    from triton_pyb", "    import words\n    from triton_pyb", 1
    )


def test_what_stood_under_the_name_before_comes_back(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    mine = types.ModuleType("words")
    monkeypatch.setitem(sys.modules, "words", mine)
    folder = write(**{"app.py": _importing_words(), "words.py": "LOUD = '!'"})
    assert load_target(f"{folder}/app.py:shout")("a") == "A!"
    assert sys.modules["words"] is mine


def test_no_such_file(tmp_path: Path) -> None:
    error = mistake(f"{tmp_path}/app.py:pipeline", "TPB401")
    assert error.what == f"no such file: '{tmp_path}/app.py'" and error.fix == "correct the path"


@pytest.mark.parametrize(
    "text, said, line",
    [
        ("import no_such_module_here\n", "ModuleNotFoundError: No module named 'no_such_module_here'", 1),
        ("x = 1\n\nraise RuntimeError('at line 3')\n", "RuntimeError: at line 3", 3),
        ("x = 1\ndef f(:\n", "SyntaxError: ", 2),
    ],
)
def test_a_module_that_cannot_be_imported(write: Write, text: str, said: str, line: int) -> None:
    folder = write(**{"app.py": text})
    error = mistake(f"{folder}/app.py:pipeline", "TPB402")
    assert f"'{folder}/app.py' cannot be imported: {said}" in error.what
    assert error.where.endswith(f", {folder}/app.py:{line}")
    assert error.fix == "correct the module; it must import on this machine"


def test_the_place_of_an_error_is_in_the_authors_file(write: Write) -> None:
    folder = write(**{"app.py": "import helper\n", "helper.py": "\n\nimport json\njson.loads('{')\n"})
    error = mistake(f"{folder}/app.py", "TPB402")
    assert f"{folder}/helper.py:4" in error.where


def test_a_module_that_does_not_exist() -> None:
    assert "No module named 'no_such_module_here'" in mistake("no_such_module_here:x", "TPB402").what


def test_a_mistake_in_a_declaration_comes_as_it_is(write: Write) -> None:
    folder = write(**{"app.py": STEP.replace("text: str", "text: dict")})
    with pytest.raises(DeclarationError) as caught:
        load_target(f"{folder}/app.py")
    assert caught.value.code == "TPB104"


def test_a_name_that_the_module_does_not_have(write: Write) -> None:
    folder = write(**{"app.py": APP})
    error = mistake(f"{folder}/app.py:pipelin", "TPB403")
    assert error.what == "the module has no 'pipelin'; did you mean 'pipeline'?"
    assert error.fix == "it has 'shout', 'pipeline'"


def test_a_name_that_is_neither(write: Write) -> None:
    folder = write(**{"app.py": APP})
    error = mistake(f"{folder}/app.py:number", "TPB403")
    assert error.what == "'number' is int, neither a pipeline nor a step"
    assert error.fix == "the module has 'shout', 'pipeline'"


@pytest.mark.parametrize("text, count", [("x = 1\n", "no"), (APP + "    another = Pipeline('b', [shout])\n", "2")])
def test_no_choice_or_too_many(write: Write, text: str, count: str) -> None:
    folder = write(**{"app.py": text})
    error = mistake(f"{folder}/app.py", "TPB403")
    assert error.what == f"the module has {count} pipelines or steps to choose from"
    assert error.fix.startswith("name one: ")


def test_a_module_that_exits(write: Write) -> None:
    folder = write(**{"app.py": "import sys\nsys.exit(3)\n"})
    mistake(f"{folder}/app.py", "TPB402")


def test_an_exception_of_any_kind(write: Write) -> None:
    folder = write(**{"app.py": "class Odd(BaseException):\n    pass\n\n\nraise Odd('no')\n"})
    error = mistake(f"{folder}/app.py", "TPB402")
    assert error.what == f"'{folder}/app.py' cannot be imported: Odd: no"
    assert f"{folder}/app.py:5" in error.where


def test_the_traceback_of_a_mistake_shows_the_author_alone(write: Write) -> None:
    folder = write(**{"app.py": STEP.replace("text: str", "text: dict")})
    with pytest.raises(DeclarationError) as caught:
        load_target(f"{folder}/app.py")
    files = [str(entry.path) for entry in caught.traceback]
    assert [file for file in files if "importlib" in file or "/runtime/" in file] == []
    assert files[-1] == f"{folder}/app.py"
