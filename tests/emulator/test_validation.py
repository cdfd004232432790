"""What is checked of a request, beside what the recorded cases show; the texts are a real server's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from triton_pyb.emulator.messages import WireRequest, WireTensor, wire_tensor
from triton_pyb.emulator.validation import RequestRefused, RequestRules, restored


def declared(name: str, dtype: str, dims: list[int], **more: Any) -> dict[str, Any]:
    return {"name": name, "data_type": f"TYPE_{dtype}", "dims": dims, "optional": False, **more}


def config(*inputs: dict[str, Any], max_batch_size: int = 8) -> dict[str, Any]:
    outputs = [declared("Y", "FP32", [1]), declared("Z", "FP32", [1])]
    return {"name": "m", "max_batch_size": max_batch_size, "input": list(inputs), "output": outputs}


def tensor(name: str, *shape: int, dtype: str = "FP32") -> WireTensor:
    return wire_tensor(name, dtype, np.zeros(shape))


def raw(name: str, dtype: str, shape: tuple[int, ...], data: bytes) -> WireTensor:
    return WireTensor(name, dtype, shape, np.frombuffer(data, np.uint8))


A, B, C = declared("A", "FP32", [2]), declared("B", "INT32", [1]), declared("C", "STRING", [-1])
TEXT = declared("C", "STRING", [2])


def refused(request: WireRequest, model: dict[str, Any]) -> str:
    with pytest.raises(RequestRefused) as error:
        RequestRules(model).normalize(request)
    return error.value.message


def test_outputs_not_asked_for_are_all_outputs() -> None:
    request = WireRequest([tensor("A", 3, 2)])
    rows = RequestRules(config(A)).normalize(request)
    assert (request.requested_outputs, rows) == (["Y", "Z"], 3)
    request = WireRequest([tensor("A", 3, 2)], ["Z", "Z"])
    RequestRules(config(A)).normalize(request)
    assert request.requested_outputs == ["Z"]


def test_inputs_come_in_the_servers_order() -> None:
    model = config(A, B, C)
    inputs = [tensor("A", 1, 2), tensor("B", 1, 1, dtype="INT32"), wire_tensor("C", "BYTES", [[b"x"]])]
    request = WireRequest(inputs)
    RequestRules(model).normalize(request)
    assert [each.name for each in request.inputs] == ["A", "C", "B"]


def test_the_request_id_is_named() -> None:
    message = refused(WireRequest([], request_id="r1"), config(A))
    assert message.startswith("[request id: r1] expected 1 inputs but got 0 inputs for model 'm'")


def test_missing_outputs_are_noticed_before_inputs() -> None:
    assert refused(WireRequest([], ["NOPE"]), config(A)) == "unexpected inference output 'NOPE' for model 'm'"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"\1\0\0\0a",
            "[request id: <id_unknown>] expected 2 string elements for inference input 'C' for model 'm', got 1",
        ),
        (b"", "[request id: <id_unknown>] expected 2 string elements for inference input 'C' for model 'm', got 0"),
        (
            b"\1\0\0\0a\1\0\0\0b\1\0\0\0c",
            "[request id: <id_unknown>] unexpected number of string elements 3 for inference input 'C' for model 'm',"
            " expecting 2",
        ),
        (
            b"\1\0\0",
            "[request id: <id_unknown>] incomplete string length indicator for inference input 'C' for model 'm',"
            " expecting 4 bytes but only 3 bytes available. Please make sure the string length indicator is in one"
            " buffer.",
        ),
        (
            b"\1\0\0\0a\xff\0\0\0",
            "incomplete string data for inference input 'C', expecting string of length 255 but only 0 bytes available",
        ),
    ],
)
def test_bytes_that_do_not_add_up(data: bytes, message: str) -> None:
    assert refused(WireRequest([raw("C", "BYTES", (1, 2), data)]), config(TEXT)) == message


@pytest.mark.parametrize(("data", "got"), [(b"123456", 6), (b"123456789012", 12)])
def test_numbers_of_another_size(data: bytes, got: int) -> None:
    assert refused(WireRequest([raw("A", "FP32", (1, 2), data)]), config(A)) == (
        f"[request id: <id_unknown>] input byte size mismatch for input 'A' for model 'm'. Expected 8, got {got}"
    )


def test_no_rows_at_all() -> None:
    inputs = [tensor("A", 0, 2), tensor("B", 0, 1, dtype="INT32")]
    assert refused(WireRequest(inputs), config(A, B)) == (
        "[request id: <id_unknown>] input byte size mismatch for input 'B' for model 'm'. Expected 4, got 0"
    )


@pytest.mark.parametrize(
    ("dims", "reshape", "shape", "model_sees"),
    [
        ([4], [2, 2], (3, 4), (3, 2, 2)),
        ([1], [], (3, 1), (3,)),
        ([-1, 2], [1, -1, 2], (3, 5, 2), (3, 1, 5, 2)),
    ],
)
def test_reshape_there_and_back(
    dims: list[int], reshape: list[int], shape: tuple[int, ...], model_sees: tuple[int, ...]
) -> None:
    shaped = declared("A", "FP32", dims, reshape={"shape": reshape})
    request = WireRequest([tensor("A", *shape)])
    RequestRules(config(shaped)).normalize(request)
    assert request.inputs[0].shape == request.inputs[0].array.shape == model_sees
    assert restored(request.inputs[0], shaped, batching=True).shape == shape


def test_unknown_names_are_noticed_before_anything_of_a_tensor() -> None:
    inputs = [tensor("NOPE", 1, 2), tensor("C", 0, dtype="INT64")]
    assert refused(WireRequest(inputs), config(A, C, max_batch_size=0)) == (
        "unexpected inference input 'NOPE' for model 'm'"
    )


def test_where_requests_are_batched_names_and_rows_are_checked_together() -> None:
    inputs = [tensor("x", 1, 1), WireTensor("IN", "FP32", (), np.zeros(1, np.float32))]
    both = declared("IN", "FP32", [2]), declared("X", "FP32", [1])
    assert "input 'IN' has no shape but model requires batch dimension" in refused(WireRequest(inputs), config(*both))


def test_the_batch_counts_the_rows_of_every_tensor() -> None:
    # The first input walked has no rows; the batch size is then the other one's, and its own bytes are too few.
    x, y = declared("IN", "FP32", [2]), declared("X", "FP32", [1], optional=True)
    assert refused(WireRequest([tensor("IN", 1), tensor("X", 0, 1)]), config(x, y)) == (
        "[request id: <id_unknown>] input byte size mismatch for input 'X' for model 'm'. Expected 4, got 0"
    )
