"""What ``import triton_pyb`` gives, and what it costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import triton_pyb

ROOT = Path(__file__).parents[1]

PUBLIC = [
    "Annotated",
    "Batch",
    "Context",
    "DeclarationError",
    "ExistingModel",
    "Fatal",
    "Image",
    "ItemError",
    "Json",
    "Lengths",
    "Name",
    "NotFound",
    "OnnxModel",
    "Pipeline",
    "Reject",
    "SequenceState",
    "State",
    "Step",
    "Tensor",
    "TorchScriptModel",
    "TritonPybError",
    "Unavailable",
    "Unsupported",
    "model",
    "postprocess",
    "preprocess",
    "triton_python_model",
    "vision",
]


def test_the_list_is_this_one() -> None:
    assert triton_pyb.__all__ == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_each_name_explains_itself(name: str) -> None:
    assert (getattr(triton_pyb, name).__doc__ or "").strip()


def test_nothing_else_is_public() -> None:
    floors = {path.name for path in (ROOT / "triton_pyb").iterdir() if path.is_dir()}
    others = (
        {name for name in vars(triton_pyb) if name.isidentifier() and not name.startswith("_")} - set(PUBLIC) - floors
    )
    assert others == set()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)


def test_an_import_prints_nothing_and_loads_only_numpy() -> None:
    program = (
        "import sys, numpy; before = set(sys.modules); import triton_pyb; "
        "sys.stderr.write(' '.join(sorted({name.partition('.')[0] for name in set(sys.modules) - before})))"
    )
    done = run("-c", program)
    assert done.stdout == ""
    strangers = set(done.stderr.split()) - sys.stdlib_module_names - {"triton_pyb", "numpy"}
    assert strangers == set()


def test_an_import_costs_well_under_a_fifth_of_a_second_beside_numpy() -> None:
    seconds = []
    for _ in range(3):
        report = run("-X", "importtime", "-c", "import numpy, triton_pyb").stderr
        (cumulative,) = re.findall(r"\|\s+(\d+) \| triton_pyb$", report, re.MULTILINE)
        seconds.append(int(cumulative) / 1e6)
    assert min(seconds) < 0.2


def test_an_import_touches_no_file_and_no_environment() -> None:
    """No statement at module level of floor 0 calls anything that reads or writes outside the process."""
    reading = {"open", "getenv", "basicConfig", "print", "urlopen", "system", "makedirs"}
    for path in [ROOT / "triton_pyb/__init__.py", *(ROOT / "triton_pyb/runtime").glob("*.py")]:
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                continue
            called = {
                node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                for node in ast.walk(statement)
                if isinstance(node, ast.Call)
            }
            assert not called & reading, f"{path.name}:{statement.lineno}"


def test_plugins_that_nobody_uses_cost_a_session_nothing() -> None:
    """Both are imported by every pytest session; neither may bring numpy, a client or the rules with it."""
    code = (
        "import pytest, sys, time; before = set(sys.modules); begun = time.perf_counter()\n"
        "import triton_pyb.emulator.pytest_plugin, triton_pyb.check.pytest_plugin\n"
        "took = time.perf_counter() - begun\n"
        "print(took, *sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    words = [run.stdout.split() for run in runs]
    assert all(not {"numpy", "google", "tritonclient", "click"} & set(modules) for _, *modules in words)
    assert min(float(took) for took, *_ in words) < 0.05
