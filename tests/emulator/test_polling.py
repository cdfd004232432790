"""Poll mode: folders that come, change and go."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.models import ECHO, ensemble, execute, tensors, write
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.targets import EmulatorMisused

IO = tensors(("input", "IN", "FP32", [2]), ("output", "OUT", "FP32", [2]))
NEGATIVE = execute(
    "return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', -r.inputs()[0].as_numpy())]) for r in requests]"
)
SENT = {"IN": np.array([1, 2], np.float32)}


def polling(repository: Path) -> EmulatedTriton:
    return EmulatedTriton(repository, inline=True, model_control_mode="poll")


def rewrite(path: Path, text: str) -> None:
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))  # whatever the clock's grain


def test_models_come_change_and_go(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", IO)
    with polling(tmp_path) as triton:
        assert triton.poll() == []
        write(tmp_path, "b", IO)
        rewrite(folder / "1" / "model.py", NEGATIVE)
        assert triton.infer("a", SENT)["OUT"].tolist() == [1, 2]  # not looked yet
        assert triton.poll() == []
        assert triton.infer("a", SENT)["OUT"].tolist() == [-1, -2]
        assert triton.model_names() == ["a", "b"]
        shutil.rmtree(folder)
        triton.poll()
        assert triton.model_names() == ["b"]


def test_a_new_version_is_loaded(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", IO)
    with polling(tmp_path) as triton:
        (folder / "2").mkdir()
        (folder / "2" / "model.py").write_text(NEGATIVE)
        triton.poll()
        assert triton.infer("a", SENT)["OUT"].tolist() == [-1, -2]
        assert {"name": "a", "version": "1", "state": "UNAVAILABLE", "reason": "unloaded"} in triton.repository_index()


def test_what_does_not_load_keeps_the_old_version(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", IO)
    with polling(tmp_path) as triton:
        rewrite(folder / "1" / "model.py", "raise ValueError('broken')")
        (failure,) = triton.poll()
        assert "ValueError: broken" in failure.message
        assert triton.infer("a", SENT)["OUT"].tolist() == [1, 2]
        rewrite(folder / "1" / "model.py", ECHO + "\n")
        assert triton.poll() == []


def test_caches_are_no_change(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", IO)
    with polling(tmp_path) as triton:
        loads = len(triton.log)
        (folder / "1" / "__pycache__").mkdir()
        (folder / "1" / "__pycache__" / "model.pyc").touch()
        triton.poll()
        assert len(triton.log) == loads


def test_an_ensemble_follows_its_steps(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", IO)
    ends = tensors(("input", "X", "FP32", [2]), ("output", "Y", "FP32", [2]))
    write(tmp_path, "e", ensemble(ends, [("a", {"IN": "X"}, {"OUT": "Y"})], 0), None)
    with polling(tmp_path) as triton:
        rewrite(folder / "1" / "model.py", NEGATIVE)
        triton.poll()
        assert triton.infer("e", {"X": SENT["IN"]})["Y"].tolist() == [-1, -2]


def test_a_server_that_does_not_poll(tmp_path: Path) -> None:
    write(tmp_path, "a", IO)
    with EmulatedTriton(tmp_path, inline=True) as triton, pytest.raises(EmulatorMisused, match="TPB568"):
        triton.poll()
