"""A configuration that Triton would not read is refused with the place of its first fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_pyb.config.pbtxt import ConfigSyntaxError, load


def test_the_first_fault_is_in_the_message(tmp_path: Path) -> None:
    path = tmp_path / "config.pbtxt"
    path.write_text('name: "m"\nmax_batchsize: 8\n')
    with pytest.raises(ConfigSyntaxError) as caught:
        load(path)
    error = caught.value
    assert error.code == "TPB190" and error.where == f"{path}:2:1"
    assert error.what.startswith("config.pbtxt is no model configuration: ") and "max_batchsize" in error.what
    assert error.fix.startswith("run `triton-pyb check` on the repository")


def test_a_good_one_is_a_message(tmp_path: Path) -> None:
    path = tmp_path / "config.pbtxt"
    path.write_text('name: "m"\nmax_batch_size: 8\n')
    assert load(path).max_batch_size == 8
