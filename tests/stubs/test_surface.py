"""The stubs against what a live stub process of Triton 24.10 showed, and against the table of releases."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.stubs.stub_files import Parameter, Scope, documents, read
from triton_pyb.emulator.stub.releases import SINCE, Release

PROBES = json.loads((Path(__file__).parents[1] / "probes" / "real_results.json").read_text())["probes"]
RECORDED = Release("24.10")
PB_UTILS = read("triton_python_backend_utils")
C_MODULE = read("c_python_backend_utils")
SIGNATURES: dict[str, Any] = PROBES["surface_signatures"]["result"]
C_SURFACE: dict[str, Any] = PROBES["surface_c_module"]["result"]
#: What the Python file imports for itself can be seen on the real module, and should not be used.
IMPORTED_THERE = {"json", "np", "struct"}
#: The docstring of ``__init__`` where a class has no constructor.
NO_CONSTRUCTOR = "Initialize self."
ATTRIBUTES: dict[str, list[str]] = PROBES["surface_class_attrs"]["result"]
CLASSES = {
    **{name: texts for name, texts in SIGNATURES.items() if name in C_MODULE.classes},
    **{name: texts for name, texts in C_SURFACE.items() if name != "names"},
}
SPECIAL = {"__dlpack__", "__dlpack_device__", "__ErrorCode"}


def known(names: set[str], owner: str = "") -> set[str]:
    """Public names, without those that came after the recorded release."""
    public = {name for name in names if not name.startswith("_") or name in SPECIAL}
    return {name for name in public if RECORDED.has(f"{owner}{name}")}


def recorded_parameters(text: str) -> list[Parameter]:
    """Parameters of a signature as pybind11 writes it, without the object itself."""
    match = re.match(r"\w+\((.*)\) -> ", text)
    assert match, text
    listed = []
    for part in filter(None, match.group(1).split(", ")):
        name, _, kind = part.partition(": ")
        if name == "self" and kind.startswith("c_python_backend_utils."):
            continue
        nameless = name == "self" or re.fullmatch(r"arg\d", name)  # a nameless first one is "self" to pybind11
        listed.append(Parameter("" if nameless else name, " = " in kind))
    return listed


def stub_parameters(owner: Scope, prefix: str, name: str) -> list[Parameter]:
    return [own for own in owner.parameters(name) if not own.name or RECORDED.has(f"{prefix}{name}.{own.name}")]


def test_pb_utils_has_the_recorded_names() -> None:
    assert known(PB_UTILS.names) == set(PROBES["surface_public_names"]["result"]) - IMPORTED_THERE


def test_the_c_module_has_the_recorded_names() -> None:
    assert known(C_MODULE.names) == set(C_SURFACE["names"])


@pytest.mark.parametrize("name", sorted((ATTRIBUTES.keys() & C_MODULE.classes.keys()) - {"TritonModelException"}))
def test_a_class_has_the_recorded_attributes(name: str) -> None:
    recorded = set(ATTRIBUTES[name]) - {"__module__"}
    assert known(C_MODULE.classes[name].names, f"{name}.") == recorded


def test_model_config_has_the_recorded_attributes() -> None:
    recorded = {each for each in ATTRIBUTES["ModelConfig"] if not each.startswith("_")}
    assert known(PB_UTILS.classes["ModelConfig"].names) == recorded


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_class_has_the_recorded_methods_and_parameters(name: str) -> None:
    stub = C_MODULE.classes[name]
    functions = {method: text for method, text in CLASSES[name].items() if not text.startswith("Members:")}
    assert {each for each in stub.functions if RECORDED.has(f"{name}.{each}")} == set(functions)
    for method, text in functions.items():
        parameters = stub_parameters(stub, f"{name}.", method)
        if text.startswith(NO_CONSTRUCTOR):
            assert parameters == [Parameter("no_constructor_defined", optional=False)]
        else:
            assert parameters == recorded_parameters(text), method


@pytest.mark.parametrize("name", ["load_model", "unload_model", "is_model_ready", "get_model_dir"])
def test_a_function_has_the_recorded_parameters(name: str) -> None:
    owner = PB_UTILS if name == "get_model_dir" else C_MODULE
    assert owner.parameters(name) == recorded_parameters(SIGNATURES[name]["ok"])


@pytest.mark.parametrize(("owner", "name"), [("TritonError", "__ErrorCode"), ("Logger", "LogLevel")])
def test_an_enum_has_the_recorded_members(owner: str, name: str) -> None:
    recorded = set(SIGNATURES[owner][name].split()[1:])
    assert C_MODULE.classes[owner].classes[name].others == recorded


def test_required_parameters_after_optional_ones_are_required() -> None:
    """The rule for overloads is not blind: `inputs` may not be left out, `request_id` may."""
    parameters = {each.name: each.optional for each in C_MODULE.classes["InferenceRequest"].parameters("__init__")}
    assert (parameters["request_id"], parameters["inputs"], parameters["model_version"]) == (True, False, True)


DOCUMENTS = {**dict(documents(PB_UTILS)), **dict(documents(C_MODULE))}
LATER = {name: release for name, release in SINCE.items() if name.split(".")[0] in DOCUMENTS}


@pytest.mark.parametrize("name", sorted(LATER))
def test_what_came_after_21_10_says_since_when(name: str) -> None:
    text = DOCUMENTS[name if name in DOCUMENTS else name.rpartition(".")[0]]  # a parameter: its function says it
    assert re.search(rf"[Ss]ince {re.escape(LATER[name])}\b", text), text


def test_no_release_is_named_that_brought_nothing() -> None:
    said = {release for text in DOCUMENTS.values() for release in re.findall(r"ince (\d\d\.\d\d)", text)}
    assert said and said <= set(SINCE.values())
