"""config.pbtxt as the server sees it: parsed, completed with every default, and as JSON.

Source: AutoCompleteBackendFields, NormalizeModelConfig and ModelConfigToJson of Triton's core; the
defaults were compared with the configurations that a 24.10 server reports.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import descriptor, json_format
from google.protobuf.message import Message

from triton_pyb.config import pbtxt
from triton_pyb.config.release_features import FIELDS
from triton_pyb.config.releases import ordered
from triton_pyb.config.schema import model_config_pb2

#: What decides the backend when config.pbtxt does not name one, in the server's order.
#: (backend, platforms, default file names, platform filled in)
_BACKENDS = (
    ("tensorrt", ("tensorrt_plan",), ("model.plan",), "tensorrt_plan"),
    ("onnxruntime", ("onnxruntime_onnx",), ("model.onnx",), "onnxruntime_onnx"),
    ("openvino", (), ("model.xml",), ""),
    ("pytorch", ("pytorch_libtorch",), ("model.pt",), "pytorch_libtorch"),
    ("python", (), ("model.py",), ""),
)
_TENSORFLOW = {"model.savedmodel": "tensorflow_savedmodel", "model.graphdef": "tensorflow_graphdef"}
_PAIRS = {backend: platform for backend, _, _, platform in _BACKENDS if platform}


class ConfigRefused(Exception):
    """The server refuses this configuration; the text is the server's."""


def parse(text: str | bytes, release: str) -> Any:
    """The ``ModelConfig`` message that `text` spells.

    Raises
    ------
    ConfigRefused
        When it is no valid text, or uses a field that `release` does not know.
    """
    document = pbtxt.parse(text)
    for problem in document.problems:
        line, column = document.position(problem.start)
        raise ConfigRefused(f"{line}:{column}: {problem.said}")
    config = document.to_protobuf()
    unknown = _first_unknown_field(config, release)
    if unknown:
        raise ConfigRefused(f"{unknown} (release {release})")
    return config


def known_since(field: descriptor.FieldDescriptor, release: str) -> bool:
    """Whether `release` (``"24.10"``) has this field of the schema."""
    message = field.containing_type.full_name.partition(".")[2]
    since = FIELDS.get((message, field.name))
    return since is None or ordered(since) <= ordered(release)


def _first_unknown_field(message: Message, release: str) -> str:
    for field, value in message.ListFields():
        if not known_since(field, release):
            return f'Message type "{field.containing_type.full_name}" has no field named "{field.name}".'
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            children = [v for v in value.values() if isinstance(v, Message)]
        else:
            children = list(value) if field.is_repeated else [value]
        for child in children:
            found = _first_unknown_field(child, release)
            if found:
                return found
    return ""


def complete(config: Any, folder: Path) -> None:
    """Fill in, in place, what the server derives from the folder and from its defaults."""
    config.name = config.name or folder.name
    _complete_backend(config, folder)
    normalize(config)


def _complete_backend(config: Any, folder: Path) -> None:
    if not (config.backend or config.platform or config.default_model_filename):
        _backend_from_files(config, folder)
    for backend, platforms, files, _ in _BACKENDS:
        if config.backend:
            break
        by_file = config.default_model_filename in files and (not config.platform or backend == "python")
        if config.platform in platforms or by_file:
            config.backend = backend
    for backend, _, files, platform in _BACKENDS:
        if config.backend == backend:
            config.platform = config.platform or platform
            if not config.default_model_filename and config.runtime != "model.py":
                config.default_model_filename = files[0]
    if config.platform in _TENSORFLOW.values() and not config.backend:
        config.backend = "tensorflow"
    if config.platform == "ensemble":
        return
    if config.platform and not config.backend:
        raise ConfigRefused(f"unexpected platform type '{config.platform}' for {config.name}")
    if not config.backend:
        if "." not in config.name:
            raise ConfigRefused(
                f"Invalid model name: Could not determine backend for model '{config.name}' with no backend in"
                " model configuration. Expected model name of the form 'model.<backend_name>'."
            )
        config.backend = config.name.rsplit(".", 1)[1]
        config.default_model_filename = config.default_model_filename or f"model.{config.backend}"
    if config.backend == "tensorflow":
        matches = config.platform in _TENSORFLOW.values()
    else:
        matches = config.platform == _PAIRS.get(config.backend, config.platform)
    if not matches:
        raise ConfigRefused(f"unexpected 'platform' and 'backend' pair, got:{config.platform}, {config.backend}")


def _backend_from_files(config: Any, folder: Path) -> None:
    # The server looks only at the first folder in string order, whatever its name: '10' before '2'.
    folders = sorted(entry for entry in folder.iterdir() if entry.is_dir())
    if not folders:
        return
    for file, platform in _TENSORFLOW.items():
        if (folders[0] / file).exists():
            config.backend, config.platform = "tensorflow", platform
            config.default_model_filename = file
            return
    for backend, _, files, _platform in _BACKENDS:
        if any((folders[0] / file).exists() for file in files):
            config.backend = backend
            return


def normalize(config: Any) -> None:
    """The defaults that depend on nothing but the configuration itself, in place."""
    if config.version_policy.WhichOneof("policy_choice") is None:
        config.version_policy.latest.num_versions = 1
    batcher = config.dynamic_batching
    if config.HasField("dynamic_batching") and not batcher.preferred_batch_size and config.max_batch_size > 0:
        batcher.preferred_batch_size.append(config.max_batch_size)
    if config.HasField("sequence_batching"):
        sequence = config.sequence_batching
        if not sequence.max_sequence_idle_microseconds:
            sequence.max_sequence_idle_microseconds = 1_000_000
        if sequence.HasField("oldest") and not sequence.oldest.preferred_batch_size and config.max_batch_size > 0:
            sequence.oldest.preferred_batch_size.append(config.max_batch_size)
    if config.HasField("ensemble_scheduling"):
        return
    for buffer in ("input_pinned_memory", "output_pinned_memory"):
        if not config.optimization.HasField(buffer):
            getattr(config.optimization, buffer).enable = True


def complete_instance_groups(config: Any, gpus: int) -> None:
    """Name and count the instance groups, in place; the server does it when the model loads."""
    if config.HasField("ensemble_scheduling"):
        return
    if not config.instance_group:
        config.instance_group.add(name=config.name)
    for index, group in enumerate(config.instance_group):
        group.name = group.name or f"{config.name}_{index}"
        if group.kind == group.KIND_AUTO:
            group.kind = group.KIND_GPU if group.gpus and gpus else group.KIND_CPU
        if group.count < 1:
            group.count = 1


def as_dict(config: Message, release: str) -> dict[str, Any]:
    """The configuration with every default spelled out: ints as ints, enums as names.

    Source: GET /v2/models/m/config and ``args["model_config"]`` of 24.10; both are this JSON.
    """
    result: dict[str, Any] = {}
    for field in config.DESCRIPTOR.fields:
        if not known_since(field, release):
            continue
        value = getattr(config, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            inner = field.message_type.fields_by_name["value"]
            result[field.name] = {str(key): _plain(inner, value[key], release) for key in value}
        elif field.is_repeated:
            result[field.name] = [_plain(field, item, release) for item in value]
        elif not field.has_presence or config.HasField(field.name):
            result[field.name] = _plain(field, value, release)
    return result


def _plain(field: descriptor.FieldDescriptor, value: Any, release: str) -> Any:
    if field.message_type is not None:
        return as_dict(value, release)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known else value
    if field.type in _DIGITS:
        return _number(value, *_DIGITS[field.type])
    if field.full_name in _LEFT_AS_TEXT:
        return str(value)
    return value


#: How many digits C++ tries, and how many it prints when those do not mean the same number.
_DIGITS: dict[int, tuple[int, int, Any]] = {
    descriptor.FieldDescriptor.TYPE_FLOAT: (6, 9, np.float32),
    descriptor.FieldDescriptor.TYPE_DOUBLE: (15, 17, np.float64),
}


def _number(value: float, few: int, many: int, kind: Any) -> int | float:
    """A float as it comes out of two printers and a parser: an int where the first prints neither point nor exponent.

    Source: SimpleFtoa and SimpleDtoa of protobuf; measured on 24.10 (1000000 is "1e+06", and then 1000000.0).
    """
    text = f"{value:.{few}g}"
    if kind(text) != kind(value):
        text = f"{value:.{many}g}"
    return float(text) if set(text) & set(".en") else int(text)


#: Protobuf writes 64 bits as strings; ModelConfigToJson makes numbers of all but these.
_LEFT_AS_TEXT = frozenset(
    f"inference.{name}"
    for name in (
        "ModelInstanceGroup.SecondaryDevice.device_id",
        "ModelOptimizationPolicy.Cuda.GraphSpec.Shape.dim",
        "ModelSequenceBatching.InitialState.dims",
    )
)


def descriptor_of_config() -> Any:
    """The protobuf descriptor of ``ModelConfig``."""
    return model_config_pb2().ModelConfig.DESCRIPTOR


def from_dict(config: dict[str, Any]) -> Any:
    """The message that a configuration in JSON form spells."""
    return json_format.ParseDict(config, model_config_pb2().ModelConfig())


def from_json(text: str) -> Any:
    """The message that a configuration in JSON text spells.

    Raises
    ------
    ConfigRefused
    """
    try:
        return json_format.Parse(text, model_config_pb2().ModelConfig())
    except json_format.ParseError as error:
        raise ConfigRefused(f"failed to read JSON configuration: {error}") from None


def as_json(config: Message, release: str) -> str:
    """`as_dict` as compact JSON text."""
    return json.dumps(as_dict(config, release), separators=(",", ":"), ensure_ascii=False)
