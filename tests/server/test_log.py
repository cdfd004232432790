from __future__ import annotations

from triton_pyb.server import log

NOISY = """\
W1130 01:47:45.9 9732 pinned_memory_manager.cc:273] "Unable to allocate pinned system memory, no device"
E1130 01:47:45.9 9732 server.cc:241] "CudaDriverHelper has not been initialized."
I1130 01:47:45.947629 9732 cuda_memory_manager.cc:117] "CUDA memory pool disabled"
"""
NO_STUB = (
    "I1130 01:47:33.8 9650 pb_stub.cc:2105]  Failed to preinitialize Python stub: not found in '/r/m/1/model.py'\n"
)
INIT = r"""E1130 01:47:36.1 1 stub.cc:402] "Failed to initialize Python stub: ValueError: bad\n\nAt:\n  model.py(4)\n"
E1130 01:47:36.2 1 backend.cc:69] "ERROR: Failed to create instance: ValueError: bad\n\nAt:\n  model.py(4)\n"
E1130 01:47:36.3 1 life.cc:654] "failed to load 'm' version 1: Internal: ValueError: bad\n\nAt:\n  model.py(4)\n"
I1130 01:47:36.3 9650 model_lifecycle.cc:789] "failed to load 'm'"
"""
POLL = """\
[libprotobuf ERROR /a/b/text_format.cc:337] Error parsing text-format inference.ModelConfig: 1:2: no field named "x".
E1130 01:47:36.3 9650 model_repository_manager.cc:1460] "Poll failed for model directory 'p': failed to read text proto"
"""
ENSEMBLE = 'E1130 01:47:36.3 9650 x.cc:1] "Invalid argument: in ensemble e, ensemble tensor X: inconsistent shape"\n'
LOADING = """\
I1130 01:47:45.9 9732 model_lifecycle.cc:472] "loading: g:1"
I1130 01:47:45.9 9732 model_lifecycle.cc:472] "loading: m:1"
I1130 01:47:45.9 9732 model_lifecycle.cc:472] "loading: bad:1"
I1130 01:47:47.2 9732 model_lifecycle.cc:839] "successfully loaded 'g'"
E1130 01:47:47.3 9732 model_lifecycle.cc:654] "failed to load 'bad' version 1: Internal: no"
"""


def test_noise_of_a_machine_without_gpu_is_no_failure() -> None:
    assert log.failures(NOISY) == ""
    assert log.without_noise(NOISY).splitlines() == NOISY.splitlines()[2:]


def test_one_cause_is_told_once_and_keeps_its_traceback() -> None:
    expected = "failed to load 'm' version 1: Internal: ValueError: bad\n\nAt:\n  model.py(4)"
    assert log.failures(NOISY + INIT) == expected
    assert log.causes(INIT) == {"m": "Internal: ValueError: bad"}


def test_the_parser_s_line_goes_with_the_model_it_cannot_name() -> None:
    assert log.failures(POLL).splitlines() == [
        'libprotobuf: Error parsing text-format inference.ModelConfig: 1:2: no field named "x".',
        "Poll failed for model directory 'p': failed to read text proto",
    ]
    assert log.causes(POLL) == {"p": "failed to read text proto"}


def test_an_ensemble_s_cause_has_its_name() -> None:
    assert log.causes(ENSEMBLE) == {"e": "ensemble tensor X: inconsistent shape"}


def test_only_the_lines_of_the_wanted_model() -> None:
    told = log.failures(INIT + ENSEMBLE + POLL, "p")
    assert "Poll failed" in told and "ValueError" not in told
    assert "ValueError: bad" in log.failures(INIT + POLL, "m") and "'p'" not in log.failures(INIT + POLL, "m")


def test_what_is_still_loading() -> None:
    assert log.still_loading(LOADING) == ["m"]


def test_a_stub_that_never_starts_is_a_failure() -> None:
    assert log.failures(NO_STUB) == "Failed to preinitialize Python stub: not found in '/r/m/1/model.py'"


def test_the_tail_has_no_noise_and_no_tables() -> None:
    assert log.tail(NOISY + '| a | b |\n+---+---+\n\nI1130 01:47:45.9 9732 x.cc:1] "last"\n', 1).endswith('"last"')
    assert len(log.tail(NOISY + "| a |\n").splitlines()) == 1


REQUESTS = r"""I1130 01:47:46.1 1 grpc_server.cc:2558] "Started GRPCInferenceService at 127.0.0.1:1"
+-------+---------+
| Model | Version |
a print
E1130 01:47:47.1 1 refusals.py:78] "model 'm', f() (a.py:1):\nTraceback (most recent call last):\n  \"x\"\nKeyError: 1"
W1130 01:47:47.2 1 model.py:3] "one line, \"quoted\""
I1130 01:47:47.3 1 model.py:4] "two\nlines"

Signal (15) received.
"""
ERROR = "model 'm', f() (a.py:1):\nTraceback (most recent call last):\n  \"x\"\nKeyError: 1"


def test_errors_have_their_line_breaks() -> None:
    assert log.errors(NOISY + REQUESTS) == ERROR


def test_what_people_want_to_see_of_a_running_server() -> None:
    assert list(log.notable(NOISY + REQUESTS)) == [
        "a print",
        f"E1130 01:47:47.1 1 refusals.py:78] {ERROR}",
        'W1130 01:47:47.2 1 model.py:3] "one line, \\"quoted\\""',
    ]
    assert log.printed(NOISY + REQUESTS) == "a print"


def test_every_line_with_its_line_breaks() -> None:
    shown = list(log.readable(REQUESTS))
    assert len(shown) == 9 and shown[6] == "I1130 01:47:47.3 1 model.py:4] two\nlines"
    assert shown[0] == REQUESTS.splitlines()[0]
