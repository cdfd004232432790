"""Signature -> ModelConfig -> the text of config.pbtxt, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.grpc import model_config_pb2

from triton_pyb import Annotated, Image, Name, Tensor, preprocess
from triton_pyb.config.model_config import (
    ModelConfig,
    TensorConfig,
    core_config,
    ensemble_config,
    step_config,
    tensors_of,
    to_pbtxt,
)
from triton_pyb.runtime.dtypes import NAMES
from triton_pyb.runtime.steps import mark_of

Array = np.ndarray[Any, Any]


@preprocess
def step(
    picture: Annotated[Array, Image()], box: Annotated[Array, Tensor("INT32", ("N", 4))], note: str = ""
) -> tuple[Annotated[Array, Tensor("FP32", (3, 8, 8), name="x")], Annotated[str, Name("label")]]:
    return np.zeros((3, 8, 8), np.float32), note


def sides(batching: bool) -> tuple[list[TensorConfig], list[TensorConfig]]:
    mark = mark_of(step)
    assert mark is not None
    return (
        [TensorConfig.of(field, batching) for field in mark.signature.inputs],
        [TensorConfig.of(field, batching) for field in mark.signature.outputs],
    )


def parsed(text: str) -> Any:
    return text_format.Parse(text, ModelConfig())


BATCHING = """\
# Written by hand.
name: "pre"
backend: "python"
max_batch_size: 8
input {
  name: "picture"
  data_type: TYPE_STRING
  dims: [1]
}
input {
  name: "box"
  data_type: TYPE_INT32
  dims: [-1, 4]
}
input {
  name: "note"
  data_type: TYPE_STRING
  dims: [1]
  optional: true
}
output {
  name: "x"
  data_type: TYPE_FP32
  dims: [3, 8, 8]
}
output {
  name: "label"
  data_type: TYPE_STRING
  dims: [1]
}
instance_group {
  kind: KIND_CPU
  count: 2
}
dynamic_batching {
  max_queue_delay_microseconds: 500
}
"""


def test_the_whole_text_of_a_step_with_batching() -> None:
    config = step_config("pre", *sides(True), max_batch_size=8, instances=2, max_queue_delay_microseconds=500)
    text = to_pbtxt(config, "Written by hand.")
    assert parsed(text) == parsed(BATCHING)
    assert text.startswith("# Written by hand.\n")
    assert "dims: [3, 8, 8]" in text and "dims: [-1, 4]" in text


def test_the_explicit_form_counts_the_items_itself_and_never_joins() -> None:
    config = step_config("pre", *sides(False), max_batch_size=0)
    assert [list(entry.dims) for entry in config.input] == [[-1], [-1, -1, 4], [-1]]
    assert [list(entry.dims) for entry in config.output] == [[-1, 3, 8, 8], [-1]]
    assert config.max_batch_size == 0 and not config.HasField("dynamic_batching")


def test_without_a_delay_the_block_still_stands() -> None:
    """An absent block means that the server never joins requests."""
    config = step_config("pre", *sides(True), max_batch_size=8)
    assert config.HasField("dynamic_batching") and config.dynamic_batching.max_queue_delay_microseconds == 0
    assert "dynamic_batching {" in to_pbtxt(config)


def test_a_step_runs_on_the_cpu_and_a_core_model_where_triton_puts_it() -> None:
    config = step_config("pre", [], [], max_batch_size=8)
    (group,) = config.instance_group
    assert (group.kind, group.count) == (model_config_pb2.ModelInstanceGroup.KIND_CPU, 1)
    config = core_config("core", [], [], max_batch_size=8, backend="onnxruntime", max_queue_delay_microseconds=3)
    assert (config.backend, config.platform, list(config.instance_group)) == ("onnxruntime", "", [])
    assert config.dynamic_batching.max_queue_delay_microseconds == 3
    config = core_config("core", [], [], max_batch_size=0, platform="pytorch_libtorch")
    assert config.platform == "pytorch_libtorch" and not config.HasField("dynamic_batching")


def test_an_ensemble_maps_by_name_and_has_no_batcher_of_its_own() -> None:
    x, y = TensorConfig("x", "FP32", (2,)), TensorConfig("y", "BYTES", (1,))
    steps = [("pre", {"text": "x"}, {"out": "mid"}), ("post", {"in": "mid"}, {"res": "y"})]
    config = ensemble_config("whole", [x], [y], steps, max_batch_size=8)
    assert config.platform == "ensemble" and not config.HasField("dynamic_batching")
    assert [
        (part.model_name, part.model_version, dict(part.input_map), dict(part.output_map))
        for part in config.ensemble_scheduling.step
    ] == [("pre", -1, {"text": "x"}, {"out": "mid"}), ("post", -1, {"in": "mid"}, {"res": "y"})]


@pytest.mark.parametrize("dtype", NAMES)
def test_every_dtype_goes_there_and_back(dtype: str) -> None:
    tensor = TensorConfig("x", dtype, (2, -1), optional=True)
    config = step_config("m", [tensor], [], max_batch_size=8)
    assert tensors_of(parsed(to_pbtxt(config)), "input") == (tensor,)
    assert tensors_of(config, "output") == ()


def test_a_tensor_shows_itself_in_one_word_and_compares_by_value() -> None:
    assert str(TensorConfig("x", "FP32", (3, -1))) == "'x' FP32[3, -1]"
    assert TensorConfig("x", "FP32", [3]) == TensorConfig("x", "FP32", (3,))
    assert TensorConfig("x", "FP32", (3,)) != TensorConfig("x", "FP32", (3,), optional=True)
    assert TensorConfig("x", "FP32", (3,)) != "x"


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "한글", "a'b", "tab\t", "\x7f", "a: b # c"])
def test_an_odd_name_is_escaped(name: str) -> None:
    config = step_config(name, [TensorConfig(name, "FP32", (1,))], [], max_batch_size=8)
    text = to_pbtxt(config)
    assert parsed(text) == config
    assert name not in text or name.isprintable()


def test_korean_stays_readable() -> None:
    assert '"한글"' in to_pbtxt(step_config("한글", [], [], max_batch_size=8))


def test_the_header_is_a_comment_whatever_it_says() -> None:
    config = step_config("m", [], [], max_batch_size=8)
    text = to_pbtxt(config, 'first\n\nname: "other"')
    assert text.startswith('# first\n#\n# name: "other"\nname: "m"\n')
    assert parsed(text) == config
    assert to_pbtxt(config).startswith("name:")


@pytest.mark.parametrize("header", ['a\rname: "other"', "a\x0cb", "a\u2028b", "a\x85b"])
def test_no_odd_line_end_gets_out_of_the_comment(header: str) -> None:
    config = step_config("m", [], [], max_batch_size=8)
    assert parsed(to_pbtxt(config, header)) == config


def test_a_map_of_many_entries_has_one_order() -> None:
    names = [f"t{index}" for index in range(20)]
    texts = {
        to_pbtxt(ensemble_config("e", [], [], [("m", {name: name for name in order}, {})], max_batch_size=0))
        for order in (names, names[::-1])
    }
    assert len(texts) == 1


inputs = st.builds(
    TensorConfig,
    name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    dtype=st.sampled_from(NAMES),
    dims=st.lists(st.integers(-1, 9).filter(bool), min_size=1, max_size=3),
    optional=st.booleans(),
)
outputs = st.builds(lambda tensor: TensorConfig(tensor.name, tensor.dtype, tensor.dims), inputs)


@given(st.lists(inputs, max_size=3), st.lists(outputs, max_size=3), st.integers(0, 9), st.integers(0, 10**6))
def test_the_text_says_all_that_the_message_says(
    inputs: list[TensorConfig], outputs: list[TensorConfig], max_batch_size: int, delay: int
) -> None:
    config = step_config("m", inputs, outputs, max_batch_size=max_batch_size, max_queue_delay_microseconds=delay)
    read = parsed(to_pbtxt(config, "header"))
    assert read == config
    assert tensors_of(read, "input") == tuple(inputs) and tensors_of(read, "output") == tuple(outputs)
