"""Shapes of what fails requests in model.py, and what only looks like it."""

# ruff: noqa: E501  (tables of short texts)

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.examples import ENDS, GOOD_CONFIG, GOOD_WARMUP, MODEL_PY, SENDS, Files, hook, method, model
from tests.check.variants import write
from triton_pyb.check import check

DECOUPLED = GOOD_CONFIG + "model_transaction_policy { decoupled: true }\n"
BYTES = GOOD_CONFIG.replace(
    'output [ { name: "OUT" data_type: TYPE_FP32', 'output [ { name: "OUT" data_type: TYPE_STRING'
)


def before(line: str, head: str = "") -> Files:
    """A good execute() with a statement in front."""
    return model(source=head + MODEL_PY.replace("rows = ", line + "\n        rows = "))


def value(text: str, config: str = GOOD_CONFIG) -> Files:
    return model(config, MODEL_PY.replace('"OUT", rows', f'"OUT", {text}'))


def sends(more: str, config: str = DECOUPLED, head: str = "", **files: str) -> Files:
    return model(config, head + SENDS + more, **files)


IN_LOOP = " " * 12
ENTITLED = "import sys\n"

#: What is written -> the files, and the codes that are found.
SHAPES: dict[str, tuple[Files, set[str]]] = {
    # TPB1748: the final flag
    "a flag by position": (sends(IN_LOOP + "sender.send(None, 1)\n"), set()),
    "a number for a flag": (sends(IN_LOOP + "sender.send(flags=1)\n"), set()),
    "flags in a dict": (sends(IN_LOOP + "sender.send(**{'flags': 1})\n"), set()),
    "send is handed on": (sends(IN_LOOP + "self.finish(sender.send)\n"), set()),
    "the sender is handed to a library": (sends(IN_LOOP + "self.engine.finish(sender)\n"), set()),
    "the sender is kept": (sends(IN_LOOP + "self.senders.append(sender)\n"), {"TPB1748"}),
    "a comment is no flag": (sends(IN_LOOP + "# " + ENDS.strip() + "\n"), {"TPB1748"}),
    "a helper ends it": (
        sends(IN_LOOP + "ending(request)\n", head="from ends import ending\n", m__1__ends_DOT_py="def ending(request):\n    request.get_response_sender().send(flags=1)\n"),
        set(),
    ),
    "a helper that sends nothing": (
        sends(IN_LOOP + "words(request)\n", head="from words import words\n", m__1__words_DOT_py="def words(x):\n    return x\n"),
        {"TPB1748"},
    ),
    "not decoupled": (sends("", GOOD_CONFIG), set()),
    "decoupled by the hook": (
        model(source=hook("config.set_model_transaction_policy({'decoupled': True})\nreturn config").replace(MODEL_PY, SENDS)),
        {"TPB1748"},
    ),
    # TPB1749: TritonError
    "the class is raised": (before("if not requests: raise pb_utils.TritonError"), {"TPB1749"}),
    "the error is answered": (before("pb_utils.InferenceResponse(error=pb_utils.TritonError('x'))"), set()),
    "another's TritonError": (before("if not requests: raise other.TritonError('x')", "import argparse as other\n"), set()),
    "in a helper": (
        model(source="import checks\n" + MODEL_PY, m__1__checks_DOT_py="import triton_python_backend_utils as pb\n\n\ndef no():\n    raise pb.TritonError('x')\n"),
        {"TPB1749"},
    ),
    # TPB1751: no array
    "a tuple": (value("(1, 2)"), {"TPB1751"}),
    "a number": (value("-1.5"), {"TPB1751"}),
    "text": (value("'x'"), {"TPB1751"}),
    "formatted text": (value("f'{rows}'"), {"TPB1751"}),
    "a comprehension": (value("[x for x in rows]"), {"TPB1751"}),
    "a scalar of NumPy": (value("np.float32(1)"), {"TPB1751"}),
    "tolist": (value("rows.tolist()"), {"TPB1751"}),
    "a cast of an array": (value("np.float32(rows)"), set()),
    "a product": (value("2 * rows"), set()),
    # TPB1752: printing
    "joined text": (before("print('a' + 'é')"), {"TPB1752"}),
    "a format": (before("print('→ %d' % 3)"), {"TPB1752"}),
    "the separator": (before("print(1, 2, sep=' · ')"), {"TPB1752"}),
    "stdout.write": (before("sys.stdout.write('é')", ENTITLED), {"TPB1752"}),
    "bytes are printed": (before("print('é'.encode())"), set()),
    "its length is printed": (before("print(len('é'))"), set()),
    "to the standard error": (before("print('é', file=sys.stderr)", ENTITLED), set()),
    "logged": (before("pb_utils.Logger.log_info('é')"), set()),
    "stdout takes UTF-8": (before("print('é')", ENTITLED + "sys.stdout.reconfigure(encoding='utf-8')\n"), set()),
    "as a script only": (model(source=MODEL_PY + "\nif __name__ == '__main__':\n    print('é')\n"), set()),
    "the error is expected": (before("try: print('é')\n        except UnicodeError: pass"), set()),
    "another error is expected": (before("try: print('é')\n        except KeyError: pass"), {"TPB1752"}),
    # TPB1753: opening
    "read_text": (before("(self.folder / 'x.txt').read_text()"), {"TPB1753"}),
    "read_text with an encoding": (before("(self.folder / 'x.txt').read_text('utf-8')"), set()),
    "write_text": (before("self.path.write_text(str(requests))"), {"TPB1753"}),
    "io.open": (before("io.open(self.path)", "import io\n"), {"TPB1753"}),
    "binary": (before("open(self.path, 'rb')"), set()),
    "binary by name": (before("open(self.path, mode='wb')"), set()),
    "an unknown mode": (before("open(self.path, self.mode)"), set()),
    "what does not fit is replaced": (before("open(self.path, errors='replace')"), set()),
    "another open": (before("open(self.path)", "from gzip import open\n"), set()),
    "of the kernel": (before("open('/proc/meminfo')"), set()),
    "JSON is written": (before("with open(self.path, 'w') as f: json.dump({}, f)", "import json\n"), set()),
    "JSON as it is": (before("with open(self.path, 'w') as f: json.dump({}, f, ensure_ascii=False)", "import json\n"), {"TPB1753"}),
    "ASCII is written": (before("with open(self.path, 'w') as f: f.write('done')"), set()),
    "text is written": (before("with open(self.path, 'w') as f: f.write(str(requests))"), {"TPB1753"}),
    "a mark": (before("with open(self.path, 'x') as f: pass"), set()),
    "a file of ASCII": (
        {**before("open(os.path.join(os.path.dirname(__file__), 'labels.txt'))", "import os\n"), "m/1/labels.txt": "cat\n"},
        set(),
    ),
    "a file of more": (
        {**before("open(os.path.join(os.path.dirname(__file__), 'labels.txt'))", "import os\n"), "m/1/labels.txt": "고양이\n"},
        {"TPB1753"},
    ),
    # TPB1754: leaving
    "os._exit": (before("if not requests: os._exit(1)", "import os\n"), {"TPB1754"}),
    "quit": (before("if not requests: quit()"), {"TPB1754"}),
    "a function called quit": (model(source="def quit():\n    pass\n\n\n" + MODEL_PY.replace("rows = ", "quit()\n        rows = ")), set()),
    "SystemExit is expected": (before("try: sys.exit(1)\n        except SystemExit: pass", ENTITLED), set()),
    "a child leaves": (before("if os.fork() == 0: os._exit(0)", "import os\n"), set()),
    "a warm-up sample meets it first": (
        model(GOOD_CONFIG + GOOD_WARMUP, "import sys\n" + MODEL_PY.replace("rows = ", "sys.exit(1)\n        rows = ")),
        {"TPB1715"},
    ),
    # TPB1737: what NumPy chooses
    "floats": (value("np.array([[1.0, -2]])"), {"TPB1737"}),
    "integers": (value("np.array([[1, 2]])"), {"TPB1737"}),
    "zeros": (value("np.zeros((1, 4))"), {"TPB1737"}),
    "floats with a type": (value("np.array([[1.0]], np.float32)"), set()),
    "a list of unknown numbers": (value("np.array([len(requests), 1.0])"), set()),
    "a copy": (value("np.array(rows)"), set()),
    "objects for text": (value("np.array([b'x'], dtype=object)", BYTES), set()),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str, tmp_path: Path) -> None:
    files, expected = SHAPES[name]
    found = check(write(files, tmp_path))
    assert {finding.code for finding in found if finding.code not in ("TPB1746", "TPB1739")} == expected, found


@pytest.mark.parametrize("code", ["TPB1752", "TPB1753"])
def test_later_releases_speak_utf8(code: str, tmp_path: Path) -> None:
    files = {"TPB1752": before("print('é')"), "TPB1753": before("open(self.path)")}[code]
    write(files, tmp_path)
    assert [f.code for f in check(tmp_path, release="24.10", select=[code])] == [code]
    assert check(tmp_path, release="24.11", select=[code]) == []


def test_the_messages_say_what_to_do(tmp_path: Path) -> None:
    wrong = method(
        "def f(self, path):\n    print('안녕')\n    path.write_text('x')\n    raise pb_utils.TritonError('x')"
    )
    write(model(source=wrong.replace('"OUT", rows', '"OUT", [1.0]')), tmp_path)
    assert [(f.code, f.message, f.fix) for f in check(tmp_path)] == [
        (
            "TPB1751",
            "Tensor takes a NumPy array, and a list is none: the requests that get here fail with a TypeError",
            "write np.array([1.0], dtype=...) with the type that config.pbtxt declares",
        ),
        (
            "TPB1752",
            "prints '안', and Python inside Triton prints ASCII up to 24.10: UnicodeEncodeError",
            "write pb_utils.Logger.log_info(...), or once before sys.stdout.reconfigure(encoding='utf-8')",
        ),
        (
            "TPB1753",
            "write_text() without encoding writes ASCII in Triton up to 24.10: text beyond it is a UnicodeError",
            "name the encoding, e.g. write_text(..., encoding='utf-8')",
        ),
        (
            "TPB1749",
            "TritonError is no exception: the requests that get here fail with a TypeError instead of this text",
            "raise pb_utils.TritonModelException(...), or answer with InferenceResponse(error=pb_utils.TritonError(...))",
        ),
    ]
