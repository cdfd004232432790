"""How the Python of a model starts: what of the environment counts, which encodings it has, its search path."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.stub.kit import FakeHost, execute, executing, launch, request
from tests.interpreters import environment as python_environment
from triton_pyb.emulator import embedding
from triton_pyb.emulator.instance import ModelInstance

Start = Callable[..., ModelInstance]
_FACTS = """
import locale, site
def tried(function):
    try:
        return function()
    except UnicodeError as error:
        return str(error)
text = os.path.join(os.path.dirname(__file__), "text")
facts = [sys.getfilesystemencoding(), locale.getpreferredencoding(False), sys.stdout.encoding, locale.setlocale(0),
    sys.flags.isolated, sys.flags.ignore_environment, sys.path[0], "/packages" in sys.path, sys.argv, sys._xoptions,
    getattr(sys, "orig_argv", []), tried(lambda: open(text).read()),
    {name: value for name, value in os.environ.items() if name.startswith(("LC_", "LANG")) or "COERCE" in name}]
return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([json.dumps(facts)], dtype=object))])]
"""
_ASCII = "'ascii' codec can't decode byte 0xc3 in position 3: ordinal not in range(128)"
_ISOLATED = pytest.mark.skipif(sys.version_info < (3, 11), reason="from Python 3.11 on")


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONCOERCECLOCALE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")


def _facts(start: Start, folder: Path, **settings: Any) -> list[Any]:
    model = executing(folder, _FACTS)
    (model / "1" / "text").write_bytes(b"caf\xc3\xa9")
    answer = execute(start(launch(model, **settings)), request()).only().outputs[0].array[0]
    facts: list[Any] = json.loads(answer)
    return facts


@_ISOLATED
@pytest.mark.parametrize("said", [{}, {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}])
def test_isolated_up_to_24_10(start: Start, tmp_path: Path, said: dict[str, str]) -> None:
    """Whatever the environment says; and the model finds the environment as it was."""
    facts = _facts(start, tmp_path, environment={"PYTHONPATH": "/packages", **said})
    assert facts[:6] == ["ascii", "ANSI_X3.4-1968", "ascii", "C", 1, 1]
    assert facts[6:12] == ["", False, [""], {}, [], _ASCII]
    assert facts[12] == {"LANG": "C.UTF-8", **{name: said[name] for name in said if name == "LC_ALL"}}


def test_as_the_command_since_24_11(start: Start, tmp_path: Path) -> None:
    facts = _facts(start, tmp_path, release="24.11", environment={"PYTHONPATH": "/packages"})
    assert facts[:6] == ["utf-8", "UTF-8", "utf-8", "C.UTF-8", 0, 0]
    assert facts[6:] == ["", True, [""], {}, [], "café", {"LANG": "C.UTF-8"}]


@pytest.mark.parametrize("language", ["C.UTF-8", "C"])
def test_the_environment_counts_before_3_11(start: Start, tmp_path: Path, language: str) -> None:
    """But neither UTF-8 mode nor the coercion of the C locale."""
    python = str(python_environment("3.8", tmp_path, ["numpy"]))
    said = {"LANG": language, "PYTHONPATH": "/packages", "PYTHONUTF8": "1", "PYTHONCOERCECLOCALE": "1"}
    facts = _facts(start, tmp_path, python=python, environment=said)
    utf8 = ["utf-8", "UTF-8", "utf-8", "C.UTF-8"]
    assert facts[:6] == [*(utf8 if language != "C" else ["ascii", "ANSI_X3.4-1968", "ascii", "C"]), 0, 0]
    assert facts[6:11] == ["", True, [""], {}, []]
    assert facts[11] == ("café" if language != "C" else _ASCII)
    assert facts[12] == {"LANG": language, "PYTHONCOERCECLOCALE": "1"}


@_ISOLATED
def test_printing_what_is_not_ascii(start: Start, tmp_path: Path) -> None:
    host = FakeHost()
    body = (
        "try:\n    print('é')\nexcept UnicodeEncodeError as error:\n    print(error)\n"
        "sys.stdout.reconfigure(encoding='utf-8')\nprint('é')\nreturn [ok()]"
    )
    instance = start(launch(executing(tmp_path, body)), host)
    execute(instance, request())
    instance.finalize()
    refused = "'ascii' codec can't encode character '\\xe9' in position 0: ordinal not in range(128)"
    assert host.printed == [("stdout", refused), ("stdout", "é")]


def test_the_surroundings_of_another_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was made for this Python is not for another one, unless it was said for the models."""
    monkeypatch.setenv("PYTHONPATH", "/packages")
    _, variables = embedding.command("/no/python", "24.11", {}, [3, 4])
    assert "PYTHONPATH" not in variables
    _, variables = embedding.command("/no/python", "24.11", {"PYTHONPATH": "/theirs"}, [3, 4])
    assert variables["PYTHONPATH"] == "/theirs"
    arguments, variables = embedding.command(None, "24.11", {}, [3, 4])
    assert (arguments[0], arguments[-2:], variables["PYTHONPATH"]) == (sys.executable, ["3", "4"], "/packages")


def test_the_version_of_a_python(tmp_path: Path) -> None:
    assert embedding.version_of(sys.executable) == sys.version_info[:2]
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    assert embedding.version_of(str(link)) == sys.version_info[:2]
    assert embedding.version_of("/no/python") == sys.version_info[:2]
