"""Golden cases: requests and answers on disk, recorded from one server and compared with another.

Arrays lie in an ``.npz``, everything else in a ``.yaml`` beside it that a reviewer can read. Neither file is a pickle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from triton_pyb.emulator import byte_tensors
from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.emulator.targets import EmulatorMisused
from triton_pyb.emulator.tensors import tensor_of
from triton_pyb.emulator.values import to_arrays

Arrays = dict[str, NDArray[Any]]


_RECORD = "record it on a real Triton: pytest --triton=real --triton-record (or, without one, --triton-record)"


class Words(NamedTuple):
    """What a failure says on every machine: of its traceback, the files and functions of the model or the library.

    Of a stream's failure the code is left out: gRPC has no place for it.
    """

    code: str
    message: str

    @classmethod
    def of(cls, failure: InferenceFailed, streamed: bool = False) -> Words:
        frame = r"(?m)^(\s+)/\S*?((?:[^/\s]+/){0,2}[^/\s]+\.py)\(\d+\): "
        return cls("" if streamed else failure.code, re.sub(frame, r"\1\2: ", failure.message))


Response = Arrays | Words


def record(
    path: Path,
    server: Any,
    model: str,
    requests: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    origin: str = "emulated",
) -> None:
    """Send `requests` to `server` and write them down with their answers, and `origin`, which server that was."""
    _refuse_other_kinds(requests)
    arrays: Arrays = {}
    cases = []
    config = server.model_config(model)
    for index, inputs in enumerate(requests):
        sent = to_arrays(config, dict(inputs))
        responses = [
            {"error": response._asdict()}
            if isinstance(response, Words)
            else {"outputs": _kept(arrays, f"{index}/out/{number}", response)}
            for number, response in enumerate(_responses(server, model, config, sent, options))
        ]
        cases.append({"inputs": _kept(arrays, f"{index}/in", sent), "responses": responses})
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {"recorded_on": origin, "model": model, "options": dict(options), "cases": cases}
    text = yaml.dump(whole, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=120)
    _beside(path, ".yaml").write_text(text, encoding="utf-8")
    np.savez_compressed(_beside(path, ".npz"), **arrays)


class _Readable(yaml.SafeDumper):
    """Texts of several lines as blocks, as a person would write them."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)


def replay(
    path: Path, server: Any, model: str, requests: Sequence[Mapping[str, Any]], *, rtol: float, atol: float
) -> None:
    """Send what `path` holds to `server`; every answer must be the recorded one.

    Raises
    ------
    EmulatorMisused
        When nothing is recorded, or other requests than `requests`.
    AssertionError
        With the case, the output and numpy's account of the difference.
    """
    _refuse_other_kinds(requests)
    if not _beside(path, ".yaml").is_file():
        raise EmulatorMisused("TPB578", f"there is no '{_beside(path, '.yaml')}'", "triton.golden", _RECORD)
    recorded = yaml.safe_load(_beside(path, ".yaml").read_text(encoding="utf-8"))
    with np.load(_beside(path, ".npz")) as arrays:
        cases = [
            (_read(arrays, f"{index}/in", case["inputs"]), _expected(arrays, index, case["responses"]))
            for index, case in enumerate(recorded["cases"])
        ]
    config = server.model_config(recorded["model"])
    if requests:
        sent = [to_arrays(server.model_config(model), dict(inputs)) for inputs in requests]
        if model != recorded["model"] or not _same(sent, [inputs for inputs, _ in cases]):
            raise EmulatorMisused(
                "TPB579",
                f"'{path}' holds other requests than the test sends",
                "triton.golden",
                f"{_RECORD}; of {len(requests)} requests the first that differs is number {_differing(sent, cases)}"
                if model == recorded["model"]
                else f"{_RECORD}; it holds requests to '{recorded['model']}'",
            )
    for index, (inputs, expected) in enumerate(cases):
        got = _responses(server, recorded["model"], config, inputs, recorded["options"])
        where = f"{path.name}, request {index}"
        assert len(got) == len(expected), f"{where}: got {len(got)} responses, recorded are {len(expected)}"
        for number, (response, wanted) in enumerate(zip(got, expected, strict=True)):
            _compare(f"{where}, response {number}" if len(got) > 1 else where, response, wanted, rtol, atol)


def _responses(
    server: Any, model: str, config: Mapping[str, Any], inputs: Arrays, options: Mapping[str, Any]
) -> list[Response]:
    """All that the server answers: one response, or a decoupled model's whole stream; a failure comes last."""
    decoupled = bool(config.get("model_transaction_policy", {}).get("decoupled"))
    responses: list[Response] = []
    try:
        if not decoupled:
            responses.append(dict(server.infer(model, inputs, **options)))
            return responses
        for response in server.stream_infer(model, inputs, **options):
            responses.append(dict(response))
    except InferenceFailed as failure:
        responses.append(Words.of(failure, decoupled))
    return responses


def _expected(arrays: Mapping[str, Any], index: int, responses: Sequence[Mapping[str, Any]]) -> list[Response]:
    return [
        Words(**response["error"])
        if "error" in response
        else _read(arrays, f"{index}/out/{number}", response["outputs"])
        for number, response in enumerate(responses)
    ]


def _compare(where: str, answer: Response, expected: Response, rtol: float, atol: float) -> None:
    if isinstance(answer, Words) or isinstance(expected, Words):
        told, kept = (each if isinstance(each, Words) else "an answer" for each in (answer, expected))
        assert told == kept, f"{where}: got {told}, recorded is {kept}"
        return
    assert sorted(answer) == sorted(expected), f"{where}: got {sorted(answer)}, recorded are {sorted(expected)}"
    for name, array in expected.items():
        ours = answer[name]
        said = f"{where}, output '{name}' (x is the answer, y what is recorded)"
        got, wanted = (f"{each.dtype} of shape {list(each.shape)}" for each in (ours, array))
        assert got == wanted, f"{said}: got {got}, recorded is {wanted}"
        if array.dtype.kind == "f":
            np.testing.assert_allclose(ours, array, rtol=rtol, atol=atol, err_msg=said)
        else:
            np.testing.assert_array_equal(ours, array, err_msg=said)


def _refuse_other_kinds(requests: Sequence[Any]) -> None:
    for request in requests:
        if not isinstance(request, Mapping):
            raise EmulatorMisused(
                "TPB586",
                f"got a {type(request).__name__} for a request, expected a dict of inputs",
                "triton.golden",
                "give each request for itself: golden(path, server, model, {...}, {...}), or *requests",
            )


def _differing(ours: list[Arrays], cases: list[Any]) -> int:
    pairs = zip(ours, cases, strict=False)
    return next((i for i, (a, case) in enumerate(pairs) if not _same([a], [case[0]])), min(len(ours), len(cases)))


def _same(ours: list[Arrays], recorded: list[Arrays]) -> bool:
    return len(ours) == len(recorded) and all(
        set(a) == set(b)
        and all(
            a[name].dtype == b[name].dtype and a[name].shape == b[name].shape and a[name].tolist() == b[name].tolist()
            for name in a
        )
        for a, b in zip(ours, recorded, strict=True)
    )


def _kept(arrays: Arrays, prefix: str, named: Arrays) -> dict[str, Any]:
    """Put the arrays into the archive; what JSON says of them. BYTES go as Triton's wire form, not as a pickle."""
    described = {}
    for name, array in named.items():
        is_bytes = array.dtype.kind in "OSU"
        arrays[f"{prefix}/{name}"] = _packed(array) if is_bytes else array
        described[name] = {"dtype": "bytes" if is_bytes else str(array.dtype), "shape": list(array.shape)}
    return described


def _packed(array: NDArray[Any]) -> NDArray[Any]:
    return np.frombuffer(byte_tensors.bytes_of(tensor_of("", array)), np.uint8)


def _read(arrays: Mapping[str, Any], prefix: str, described: dict[str, Any]) -> Arrays:
    return {
        name: byte_tensors.array_of(arrays[f"{prefix}/{name}"].tobytes(), "BYTES", tuple(about["shape"]))
        if about["dtype"] == "bytes"
        else arrays[f"{prefix}/{name}"]
        for name, about in described.items()
    }


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
