"""What strict mode refuses and a real server does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulator.models import execute, tensors, write
from triton_pyb.emulator import ContractBroken, EmulatedTriton
from triton_pyb.emulator.contract import CHECKS
from triton_pyb.emulator.targets import EmulatorMisused

CONFIG = "max_batch_size: 4\n" + tensors(("input", "IN", "FP32", [2]), ("output", "OUT", "FP32", [2]))


def answering(*outputs: str) -> str:
    listed = ", ".join(f"pb_utils.Tensor({output})" for output in outputs)
    return execute(f"return [pb_utils.InferenceResponse([{listed}]) for _ in requests]")


BROKEN = {
    "dtype": ("TPB572", "got data type FP64, config.pbtxt declares FP32", ["'OUT', np.zeros((1, 2))"]),
    "shape": (
        "TPB573",
        "got shape [1,3], config.pbtxt declares [-1,2] (-1 first is the batch axis)",
        ["'OUT', np.zeros((1, 3), 'f4')"],
    ),
    "rows": ("TPB574", "got 3 rows for a request of 1", ["'OUT', np.zeros((3, 2), 'f4')"]),
    "missing_output": ("TPB570", "output 'OUT' is missing, got no outputs", []),
    "duplicate_output": (
        "TPB571",
        "output 'OUT' stands 2 times in one response",
        ["'OUT', np.zeros((1, 2), 'f4')"] * 2,
    ),
    "undeclared_output": (
        "TPB575",
        "output 'OUTT' is not declared, config.pbtxt has ['OUT']; did you mean 'OUT'?",
        ["'OUT', np.zeros((1, 2), 'f4')", "'OUTT', np.zeros(1)"],
    ),
}


def test_every_check_is_tested() -> None:
    assert {*BROKEN, "unanswered", "leaked"} == CHECKS  # the last two: test_services, test_pytest_plugin


@pytest.mark.parametrize("rule", sorted(BROKEN))
def test_a_broken_rule_fails_the_request_unless_it_is_switched_off(rule: str, tmp_path: Path) -> None:
    code, what, outputs = BROKEN[rule]
    write(tmp_path, "m", CONFIG, answering(*outputs))
    with EmulatedTriton(tmp_path, inline=True) as triton:
        with pytest.raises(ContractBroken) as broken:
            triton.infer("m", {"IN": [0, 0]})
        assert (broken.value.rule, broken.value.finding.code, broken.value.finding.what) == (rule, code, what)
        assert broken.value.status == 500
        assert [record.level for record in triton.log if f"{code} {what}; where: " in record.message] == ["ERROR"]
    for options in ({"strict_off": {rule}}, {"mode": "faithful"}):
        with EmulatedTriton(tmp_path, inline=True, **options) as triton:
            triton.infer("m", {"IN": [0, 0]})


def test_an_error_is_no_broken_contract(tmp_path: Path) -> None:
    body = "return [pb_utils.InferenceResponse(error=pb_utils.TritonError('no')) for _ in requests]"
    write(tmp_path, "m", CONFIG, execute(body))
    with EmulatedTriton(tmp_path, inline=True) as triton, pytest.raises(Exception, match="^INTERNAL no"):
        triton.infer("m", {"IN": [0, 0]})


def test_a_misspelled_switch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmulatorMisused, match="strict_off got 'dtypes'.*did you mean 'dtype'"):
        EmulatedTriton(tmp_path, strict_off={"dtypes"})
