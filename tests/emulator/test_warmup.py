"""Requests the server makes itself before a model is ready."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulator.models import execute, tensors, write
from triton_pyb.emulator import EmulatedTriton, LoadFailed

COUNTING = execute(
    """
with open(__file__ + ".log", "a") as log:
    log.write(f"{[r.inputs()[0].as_numpy().tolist() for r in requests]}\\n")
return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy())]) for r in requests]
"""
)


def config(dtype: str = "FP32") -> str:
    return "max_batch_size: 4\n" + tensors(("input", "IN", dtype, [2]), ("output", "OUT", dtype, [2])) + "\n"


def sample(data: str, dtype: str = "FP32", options: str = "batch_size: 2 count: 2") -> str:
    value = f"data_type: TYPE_{dtype} dims: [2] {data}"
    return f'model_warmup [ {{ name: "w" {options} inputs {{ key: "IN" value {{ {value} }} }} }} ]'


def log(repository: Path) -> list[str]:
    return (repository / "m" / "1" / "model.py.log").read_text().splitlines()


def test_each_count_is_one_execute_of_as_many_requests_as_rows(tmp_path: Path) -> None:
    write(tmp_path, "m", config() + sample("zero_data: true"), COUNTING)
    with EmulatedTriton(tmp_path, inline=True) as triton:
        assert log(tmp_path) == ["[[[0.0, 0.0]], [[0.0, 0.0]]]"] * 2
        assert triton.statistics("m")["execution_count"] == 2  # counted. Source: measured on 24.10


def test_random_data_is_the_same_every_time(tmp_path: Path) -> None:
    write(tmp_path, "m", config() + sample("random_data: true", options="batch_size: 1"), COUNTING)
    with EmulatedTriton(tmp_path, inline=True):
        assert log(tmp_path) == ["[[[1.0, 1.0]]]"]


def test_text_comes_from_a_file_of_length_prefixed_strings(tmp_path: Path) -> None:
    text = config("STRING") + sample('input_data_file: "words"', "STRING", "batch_size: 1")
    folder = write(tmp_path, "m", text, COUNTING)
    (folder / "warmup").mkdir()
    (folder / "warmup" / "words").write_bytes(b"\x01\0\0\0a\x03\0\0\0\xea\xb0\x80")
    with EmulatedTriton(tmp_path, inline=True):
        assert log(tmp_path) == [repr([[[b"a", b"\xea\xb0\x80"]]])]


def test_a_warm_up_that_kills_a_real_server_is_named(tmp_path: Path) -> None:
    write(tmp_path, "m", config() + sample("zero_data: true", options="batch_size: 9"))
    with pytest.raises(LoadFailed, match="warm-up sample 'w' has batch_size 9.* dies here"), EmulatedTriton(tmp_path):
        pass
