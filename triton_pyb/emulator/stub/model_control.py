"""`load_model`, `unload_model`, `is_model_ready` and `get_model_dir`."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Tuple

from .casters import BOOL, OBJECT, STR, text_of
from .errors import HostError, TritonModelException
from .signatures import Parameter, Signature
from .tensor import stub_cast_text

_NUMBER = re.compile(r"\s*[+-]?\d+")


def _ask(stub: Any, failure: str, *request: Any) -> Any:
    try:
        return stub.link.control(*request)
    except HostError as error:
        text = f"Failed to process the request for model '{stub.instance_name}', message: {error}"
        raise TritonModelException(f"{failure}: {text}") from None


def _load_model(stub: Any, name: str, config: str, files: Any) -> None:
    contents: Dict[str, bytes] = {}
    if files is not None:
        if not isinstance(files, dict):
            raise TritonModelException(
                f"failed to load model '{text_of(name)}', files should be a dictionary of file paths and file contents"
            )
        for key, value in files.items():
            if not isinstance(key, (str, bytes, bytearray)):
                raise RuntimeError(stub_cast_text())
            if not isinstance(value, bytes):
                raise TypeError(f"Object of type '{_type_name(value)}' is not an instance of 'bytes'")
            contents[STR.load(stub, key)] = value
    _ask(stub, "Failed to load model", "load_model", name, config, contents)


def _type_name(value: Any) -> str:
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name


def _unload_model(stub: Any, name: str, unload_dependents: bool) -> None:
    _ask(stub, "Failed to unload model", "unload_model", name, unload_dependents)


def _is_model_ready(stub: Any, name: str, version: str) -> bool:
    failure = "Failed to check model readiness: Failed to process the request for model "
    wrong = f"{failure}'{stub.instance_name}', message: failed to get model version from specified version string"
    if version:
        number = _NUMBER.match(version)
        if number is None or not -(2**63) <= int(number.group()) < 2**63:
            raise TritonModelException(f"{wrong} '{version}' (details: stol), version should be an integral value > 0")
        if int(number.group()) < 0:
            raise TritonModelException(f"{wrong} '{version}', version should be an integral value > 0")
        version = str(int(number.group()))
    return bool(_ask(stub, "Failed to check model readiness", "is_model_ready", name, version))


def _get_model_dir(stub: Any) -> str:
    folder: str = stub.version_dir
    return folder


FUNCTIONS: List[Tuple[Signature, Callable[..., Any]]] = [
    (
        Signature(
            "load_model",
            "function",
            "",
            [Parameter("model_name", STR), Parameter("config", STR, ""), Parameter("files", OBJECT, None)],
        ),
        _load_model,
    ),
    (
        Signature(
            "unload_model",
            "function",
            "",
            [Parameter("model_name", STR), Parameter("unload_dependents", BOOL, False)],
        ),
        _unload_model,
    ),
    (
        Signature(
            "is_model_ready",
            "function",
            "",
            [Parameter("model_name", STR), Parameter("model_version", STR, "")],
            "bool",
        ),
        _is_model_ready,
    ),
]
GET_MODEL_DIR = (Signature("get_model_dir", "function", "", [], "str"), _get_model_dir)
