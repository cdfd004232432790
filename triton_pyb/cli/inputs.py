"""``--input name=value`` and ``--input name=@file`` to the values that `infer` takes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from triton_pyb.cli.errors import UsageError
from triton_pyb.runtime.errors import did_you_mean

_IMAGES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".gif", ".tif", ".tiff")


def read_inputs(given: Sequence[str], config: dict[str, Any]) -> dict[str, Any]:
    """Values by input name; an input given several times becomes one request of several rows.

    Raises
    ------
    UsageError
        If a name is unknown, a required input is missing, or a value or file is not what its input takes.
    """
    declared = {tensor["name"]: tensor for tensor in config.get("input", [])}
    values: dict[str, list[Any]] = {}
    for argument in given:
        name, equals, text = argument.partition("=")
        if not equals:
            raise UsageError(
                "TPB701", f"got '{argument}', expected name=value", "--input", "write name=value or name=@file"
            )
        if name not in declared:
            raise UsageError(
                "TPB702",
                f"model '{config['name']}' has no input '{name}'{did_you_mean(name, declared)}",
                "--input",
                f"use one of: {', '.join(declared)}",
            )
        values.setdefault(name, []).append(_read_value(text, declared[name]))
    missing = [name for name, tensor in declared.items() if name not in values and not tensor.get("optional")]
    if missing:
        raise UsageError(
            "TPB703",
            f"model '{config['name']}' needs {', '.join(repr(name) for name in missing)} too",
            "--input",
            "add " + " ".join(f"--input {name}={_example(declared[name])}" for name in missing),
        )
    batching = int(config.get("max_batch_size", 0)) > 0
    return {name: _one_request(rows, declared[name], batching) for name, rows in values.items()}


def _example(tensor: dict[str, Any]) -> str:
    return "@FILE" if tensor["data_type"] == "TYPE_STRING" else "NUMBER|@FILE.npy"


def _read_value(text: str, tensor: dict[str, Any]) -> Any:
    is_text = tensor["data_type"] == "TYPE_STRING"
    if not text.startswith("@"):
        return text if is_text else _numbers(text, tensor, f"--input {tensor['name']}={text}")
    path = text[1:]
    where = f"--input {tensor['name']}=@{path}"
    content = _read_file(path, where)
    if path.endswith(".npy"):
        return _array(content, where)
    if is_text:
        if Path(path).suffix.lower() in _IMAGES:
            _check_image(content, where)
        return content
    try:
        return _numbers(content.decode(), tensor, where)
    except UnicodeDecodeError:
        raise UsageError(
            "TPB704",
            f"got {len(content)} bytes that are no text, expected {tensor['data_type']} values",
            where,
            "save the array with numpy.save as .npy, or write the numbers as .json",
        ) from None


def _read_file(path: str, where: str) -> bytes:
    if path == "-":
        if sys.stdin is None:
            raise UsageError("TPB705", "standard input is closed", where, "pipe something in, or name a file after '@'")
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(
            "TPB705", f"'{path}' cannot be read: {error.strerror or error}", where, "correct the path after '@'"
        ) from error


def _numbers(text: str, tensor: dict[str, Any], where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError(
            "TPB704",
            f"got {text[:40]!r}, expected {tensor['data_type']} values",
            where,
            "write a number, true or false, or a JSON list of them",
        ) from None


def _array(content: bytes, where: str) -> np.ndarray[Any, Any]:
    try:
        array: np.ndarray[Any, Any] = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise UsageError(
            "TPB706", f"this is no .npy file without pickles: {error}", where, "write it with numpy.save"
        ) from error
    return array


def _check_image(content: bytes, where: str) -> None:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as image:
            image.load()
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise UsageError(
            "TPB707",
            f"got {len(content)} bytes that are no readable image: {error}",
            where,
            "use an intact image, or rename the file when it is meant to be broken",
        ) from error


def _one_request(rows: list[Any], tensor: dict[str, Any], batching: bool) -> Any:
    """One value as it is; several as the rows of one request; an item's array gets its batch axis."""
    per_item = len(tensor["dims"])
    if not isinstance(rows[0], np.ndarray):
        return rows[0] if len(rows) == 1 else rows
    if len(rows) > 1:
        return np.stack(rows)
    return rows[0][np.newaxis] if batching and rows[0].ndim == per_item else rows[0]
