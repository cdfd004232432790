"""Golden cases: requests and answers on disk, recorded from one server and compared with another.

Arrays lie in an ``.npz``, everything else in a ``.json`` beside it that a reviewer can read: the standard library
writes it, and one dependency less is worth more than the comments that YAML would allow. Neither file is a pickle.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_pyb.emulator import byte_tensors
from triton_pyb.emulator.errors import InferenceFailed
from triton_pyb.emulator.targets import EmulatorMisused
from triton_pyb.emulator.tensors import tensor_of
from triton_pyb.emulator.values import to_arrays

Arrays = dict[str, NDArray[Any]]


def record(
    path: Path, server: Any, model: str, requests: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> None:
    """Send `requests` to `server` and write them down with their answers."""
    arrays: Arrays = {}
    cases = []
    config = server.model_config(model)
    for index, inputs in enumerate(requests):
        sent = to_arrays(config, dict(inputs))
        answer = _answer(server, model, sent, options)
        case: dict[str, Any] = {"inputs": _kept(arrays, f"{index}/in", sent)}
        if isinstance(answer, InferenceFailed):
            case["error"] = {"code": answer.code, "message": answer.message}
        else:
            case["outputs"] = _kept(arrays, f"{index}/out", answer)
        cases.append(case)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"model": model, "options": dict(options), "cases": cases}, indent=1, ensure_ascii=False)
    _beside(path, ".json").write_text(text + "\n", encoding="utf-8")
    np.savez_compressed(_beside(path, ".npz"), **arrays)


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
    if not _beside(path, ".json").is_file():
        raise EmulatorMisused(
            "TPB578", f"there is no '{_beside(path, '.json')}'", "triton.golden", "record it: pytest --triton-record"
        )
    recorded = json.loads(_beside(path, ".json").read_text(encoding="utf-8"))
    with np.load(_beside(path, ".npz")) as arrays:
        cases = [
            (_read(arrays, f"{index}/in", case["inputs"]), case, _read(arrays, f"{index}/out", case.get("outputs", {})))
            for index, case in enumerate(recorded["cases"])
        ]
    if requests:
        config = server.model_config(model)
        sent = [to_arrays(config, dict(inputs)) for inputs in requests]
        if model != recorded["model"] or not _same(sent, [inputs for inputs, _, _ in cases]):
            raise EmulatorMisused(
                "TPB579",
                f"'{path}' holds other requests than the test sends",
                "triton.golden",
                "record it again: pytest --triton-record",
            )
    for index, (inputs, case, expected) in enumerate(cases):
        answer = _answer(server, recorded["model"], inputs, recorded["options"])
        _compare(f"{path.name}, request {index}", answer, case, expected, rtol, atol)


def _answer(server: Any, model: str, inputs: Arrays, options: Mapping[str, Any]) -> Arrays | InferenceFailed:
    try:
        return dict(server.infer(model, inputs, **options))
    except InferenceFailed as failure:
        return failure


def _compare(
    where: str, answer: Arrays | InferenceFailed, case: dict[str, Any], expected: Arrays, rtol: float, atol: float
) -> None:
    if isinstance(answer, InferenceFailed) or "error" in case:
        got = {"code": answer.code, "message": answer.message} if isinstance(answer, InferenceFailed) else "an answer"
        assert got == case.get("error", "an answer"), (
            f"{where}: got {got}, recorded is {case.get('error', 'an answer')}"
        )
        return
    assert sorted(answer) == sorted(expected), f"{where}: got {sorted(answer)}, recorded are {sorted(expected)}"
    for name, array in expected.items():
        ours = answer[name]
        said = f"{where}, output '{name}'"
        got, wanted = (f"{each.dtype} of shape {list(each.shape)}" for each in (ours, array))
        assert got == wanted, f"{said}: got {got}, recorded is {wanted}"
        if array.dtype.kind == "f":
            np.testing.assert_allclose(ours, array, rtol=rtol, atol=atol, err_msg=said)
        else:
            np.testing.assert_array_equal(ours, array, err_msg=said)


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
