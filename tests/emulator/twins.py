"""The same models on the emulator and on a real Triton, for tests that ask both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.emulator.models import ensemble, execute, tensors, write
from triton_pyb.emulator import EmulatedTriton
from triton_pyb.emulator.endpoints import Endpoints
from triton_pyb.server import RealTriton

OUT = ("output", "OUT", "STRING", [1])
#: Counts its inputs, whatever they are.
COUNT = execute(
    """
answers = []
for r in requests:
    rows = r.inputs()[0].shape()[0] if r.inputs() and r.inputs()[0].shape() else 1
    text = np.array([[b"ok"]] * rows, dtype=object)
    answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", text)]))
return answers
"""
)
#: Model to its inputs and further configuration.
MODELS: dict[str, tuple[list[tuple[str, str, list[int]]], str]] = {
    "plain": ([("IN", "FP32", [2])], "max_batch_size: 8"),
    "several": ([("A", "FP32", [2]), ("B", "INT32", [1]), ("C", "STRING", [-1])], "max_batch_size: 8"),
    "text": ([("IN", "STRING", [2])], "max_batch_size: 4"),
    "unbatched": ([("IN", "FP32", [2]), ("S", "STRING", [-1])], "max_batch_size: 0"),
    "batched": ([("IN", "BOOL", [-1, 2])], "max_batch_size: 4 dynamic_batching { }"),
    "sequence": ([("IN", "FP32", [2])], "max_batch_size: 4 sequence_batching { direct { } }"),
}

#: The asked outputs of every data type, `N` elements each, so many that some are equal.
KINDS = {"H": "FP16", "B": "BOOL", "I8": "INT8", "I": "INT64", "U": "UINT8", "F": "FP32", "D": "FP64", "S": "STRING"}
MADE = execute(
    """
dtypes = dict(H="f2", B="?", I8="i1", I="i8", U="u1", F="f4", D="f8", S=object)
answers = []
for r in requests:
    n = int(r.inputs()[0].as_numpy().ravel()[0])
    values = np.arange(n) * 37 % 11
    made = {k: values.astype("S").astype(object) if k == "S" else (values / 7 if k in "HFD" else values).astype(d)
            for k, d in dtypes.items()}
    names = sorted(r.requested_output_names())
    answers.append(pb_utils.InferenceResponse([pb_utils.Tensor(k, made[k]) for k in names]))
return answers
"""
)
#: Gives numbers back, and the parameters of the request.
NUMBERS = execute(
    """
np.seterr(all="ignore")
return [pb_utils.InferenceResponse([
    pb_utils.Tensor("D", r.inputs()[0].as_numpy()),
    pb_utils.Tensor("F", r.inputs()[0].as_numpy().astype("f4")),
    pb_utils.Tensor("P", np.array([r.parameters()], object)),
][: 2 if r.parameters() == "{}" else 3]) for r in requests]
"""
)
#: Sends its input's characters one after the other: a number is a response, a capital letter an error, "." the end.
SENDS = execute(
    """
codes = dict(N="NOT_FOUND", I="INVALID_ARG", U="UNAVAILABLE", X="UNSUPPORTED", Z="INTERNAL", C="CANCELLED")
for r in requests:
    sender = r.get_response_sender()
    script = r.inputs()[0].as_numpy().ravel()[0].decode()
    for step in script:
        if step in codes:
            error = pb_utils.TritonError("no " + step, getattr(pb_utils.TritonError, codes[step]))
            sender.send(pb_utils.InferenceResponse(error=error))
        elif step == "h":
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("H", np.array([1], "f2"))]))
        elif step != ".":
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([step], object))]))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
)
#: Answers, or fails in one of several ways.
FAILS = execute(
    """
answers = []
for r in requests:
    word = r.inputs()[0].as_numpy().ravel()[0].decode()
    if word == "raise":
        raise ValueError("x")
    if word.isupper():
        error = pb_utils.TritonError("no", getattr(pb_utils.TritonError, word))
        answers.append(pb_utils.InferenceResponse(error=error))
    elif word == "twice":
        answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([x], object)) for x in "ab"]))
    elif word == "empty":
        answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([], object))]))
    elif word == "nothing":
        answers.append(pb_utils.InferenceResponse([]))
    elif word == "half":
        answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("H", np.array([1], "f2"))]))
    else:
        text = "".join(map(chr, range(1, 40))) + chr(92)
        answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([text], object))]))
return answers
"""
)


def write_repository(repository: Path) -> None:
    for name, (inputs, config) in MODELS.items():
        declared = tensors(*(("input", *each) for each in inputs), OUT)
        write(repository, name, f"{config}\n{declared}", COUNT)
    shaped = 'input [ { name: "IN" data_type: TYPE_INT64 dims: [2, 2] reshape { shape: [4] } } ]\n'
    write(repository, "shaped", "max_batch_size: 4\n" + shaped + tensors(OUT), COUNT)
    optional = 'input [ { name: "X" data_type: TYPE_FP32 dims: [1] optional: true } ]\n'
    needed = tensors(("input", "IN", "FP32", [2]), OUT)
    write(repository, "optional", "max_batch_size: 8\n" + optional + needed, COUNT)
    made = [("output", name, kind, [-1]) for name, kind in KINDS.items()]
    write(repository, "made", tensors(("input", "N", "INT32", [1]), *made), MADE)
    rows = "max_batch_size: 8\n" + tensors(("input", "N", "INT32", [-1]), ("output", "N2", "INT32", [-1]))
    write(repository, "rows", rows)
    doubles = [("input", "D", "FP64", [-1]), ("output", "D", "FP64", [-1]), ("output", "F", "FP32", [-1])]
    write(repository, "numbers", tensors(*doubles, ("output", "P", "STRING", [1])), NUMBERS)
    word = [("input", "IN", "STRING", [1]), ("output", "OUT", "STRING", [-1]), ("output", "H", "FP16", [-1])]
    write(repository, "fails", tensors(*word), FAILS)
    write(repository, "sends", "model_transaction_policy { decoupled: true }\n" + tensors(*word), SENDS)
    ends = tensors(("input", "X", "FP64", [-1]), ("output", "Y", "FP64", [-1]), ("output", "Z", "FP32", [-1]))
    write(repository, "pair", ensemble(ends, [("numbers", {"D": "X"}, {"D": "Y", "F": "Z"})], 0), None)
    ends = tensors(("input", "X", "STRING", [1]), ("output", "Y", "STRING", [-1]))
    write(repository, "sent", ensemble(ends, [("sends", {"IN": "X"}, {"OUT": "Y"})], 0), None)
    ends = tensors(("input", "X", "FP32", [2]), ("output", "Y", "STRING", [1]))
    write(repository, "whole", ensemble(ends, [("plain", {"IN": "X"}, {"OUT": "Y"})], 8), None)


INPUTS = {name: inputs for name, (inputs, _) in MODELS.items()} | {
    "shaped": [("IN", "INT64", [2, 2])],
    "optional": [("X", "FP32", [1]), ("IN", "FP32", [2])],
    "whole": [("X", "FP32", [2])],
}


@contextmanager
def twin_ports(folder: Path) -> Iterator[dict[str, tuple[int, int]]]:
    """``"http"`` and ``"grpc"`` to the ports of the emulator and of a real Triton."""
    repository = folder / "repository"
    repository.mkdir()
    write_repository(repository)
    with (
        EmulatedTriton(repository, mode="faithful", inline=True) as triton,
        RealTriton(repository, extra_args=["--strict-readiness=false"]) as real,
    ):
        endpoints = Endpoints(triton.store, grpc_port=0)
        endpoints.start()
        urls = {"http": real.http_url, "grpc": real.grpc_url}
        yield {kind: (endpoints.ports[kind], int(url.rpartition(":")[2])) for kind, url in urls.items()}
        endpoints.stop()
