"""``ModelOptions`` -> fields of a ``ModelConfig``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import text_format

from triton_pyb.runtime import model_options as options
from triton_pyb.runtime.dtypes import canonical, config_name
from triton_pyb.runtime.errors import TritonPybError, did_you_mean


class OptionsError(TritonPybError):
    """``config=`` holds something that no model configuration can hold."""


def apply_options(config: Any, given: object, where: str) -> None:
    """Write `given` into `config`; what it does not say stays.

    Parameters
    ----------
    given : ModelOptions or None
    where : str
        The declaration, for messages.

    Raises
    ------
    OptionsError
        When a value has the wrong type or is none of an enumeration, two choices exclude each other, or
        ``config_extra`` does not parse.
    """
    if given is None:
        return
    if not isinstance(given, options.ModelOptions):
        raise OptionsError("TPB440", f"config={given!r} is no ModelOptions", where, "write config=ModelOptions(...)")
    writer = _Writer(where)
    if given.dynamic_batching is not None and given.sequence_batching is not None:
        raise writer.error("dynamic_batching and sequence_batching exclude each other", "say one of them")
    for field in dataclasses.fields(given):
        value = getattr(given, field.name)
        if _is_said(value):
            special = _SPECIAL.get(field.name)
            if special is not None:
                special(writer, config, value)
            else:
                writer.write(config, field.name, value)


def _is_said(value: Any) -> bool:
    return value is not None and value != "" and value != () and value != {} and value != []


class _Writer:
    """Attributes to fields of the same name."""

    def __init__(self, where: str) -> None:
        self.where = where

    def message(self, message: Any, value: Any) -> None:
        """Fill a message from a dataclass."""
        message.SetInParent()
        for field in dataclasses.fields(value):
            item = getattr(value, field.name)
            if _is_said(item):
                self.write(message, _RENAMED.get(field.name, field.name), item)

    def write(self, message: Any, name: str, value: Any) -> None:
        """Set one field; a list or map that the message has already is replaced."""
        descriptor = message.DESCRIPTOR.fields_by_name.get(name)
        if descriptor is None:
            raise self.error(
                f"{message.DESCRIPTOR.name} has no field '{name}' in this protobuf schema", "update tritonclient"
            )
        if descriptor.containing_oneof is not None:
            held = message.WhichOneof(descriptor.containing_oneof.name)
            if held not in (None, name) and message.DESCRIPTOR.name != "ModelConfig":
                raise self.error(f"{held} and {name} exclude each other", "say one of them")
        is_map = descriptor.message_type is not None and descriptor.message_type.GetOptions().map_entry
        if is_map or isinstance(value, Sequence) and not isinstance(value, str):
            message.ClearField(name)
        if is_map:
            self.map(message, name, value)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for item in value:
                self.append(message, name, descriptor, item)
        elif dataclasses.is_dataclass(value):
            self.message(getattr(message, name), value)
        elif descriptor.message_type is not None and isinstance(value, bool):
            getattr(message, name).enable = value  # PinnedMemoryBuffer
        else:
            self.scalar(message, name, descriptor, value)

    def append(self, message: Any, name: str, descriptor: Any, item: Any) -> None:
        entries = getattr(message, name)
        if dataclasses.is_dataclass(item):
            self.message(entries.add(), item)
            return
        try:
            entries.append(item)
        except (TypeError, ValueError) as error:
            raise self.error(
                f"{name}={item!r}: {error}", f"write what {descriptor.containing_type.name} holds"
            ) from None

    def map(self, message: Any, name: str, value: Mapping[Any, Any]) -> None:
        entries = getattr(message, name)
        for key, item in value.items():
            if dataclasses.is_dataclass(item):
                self.message(entries[key], item)
            elif not isinstance(key, str) or not isinstance(item, str):
                raise self.error(f"{name}={{{key!r}: {item!r}}} is no mapping of text to text", f"write {str(item)!r}")
            else:
                entries[key] = item

    def scalar(self, message: Any, name: str, descriptor: Any, value: Any) -> None:
        if descriptor.enum_type is not None:
            value = self.enum(name, descriptor.enum_type, value)
        try:
            setattr(message, name, value)
        except (TypeError, ValueError) as error:
            raise self.error(f"{name}={value!r}: {error}", f"write what {message.DESCRIPTOR.name} holds") from None

    def enum(self, name: str, kinds: Any, value: Any) -> int:
        if kinds.name == "DataType" and canonical(value):
            value = config_name(canonical(value) or "")
        found = kinds.values_by_name.get(str(value))
        if found is None:
            known = list(kinds.values_by_name)
            raise self.error(
                f"{name}={value!r} is none of {', '.join(known)}{did_you_mean(str(value), known)}", "write one"
            )
        return int(found.number)

    def error(self, what: str, fix: str) -> OptionsError:
        return OptionsError("TPB441", f"config=: {what}", self.where, fix)


#: Attributes that cannot have the name of their field, which is a Python keyword.
_RENAMED = {"is_global": "global"}


def _version_policy(writer: _Writer, config: Any, value: Any) -> None:
    names = {options.Latest: "latest", options.AllVersions: "all", options.Specific: "specific"}
    writer.message(getattr(config.version_policy, names[type(value)]), value)


def _response_cache(writer: _Writer, config: Any, value: bool) -> None:
    config.response_cache.enable = value


def _decoupled(writer: _Writer, config: Any, value: bool) -> None:
    config.model_transaction_policy.decoupled = value


def _parameters(writer: _Writer, config: Any, value: Mapping[str, str]) -> None:
    for key, item in value.items():
        if not isinstance(item, str):
            raise writer.error(f"parameters={{{key!r}: {item!r}}} is no text", f"write {str(item)!r}")
        config.parameters[key].string_value = item


def _model_metrics(writer: _Writer, config: Any, value: Sequence[options.MetricControl]) -> None:
    for control in value:
        entry = config.model_metrics.metric_control.add()
        entry.metric_identifier.family = control.family
        entry.histogram_options.buckets.extend(control.histogram_options.buckets)


def _optimization(writer: _Writer, config: Any, value: options.Optimization) -> None:
    if value.graph_level is not None:
        config.optimization.graph.level = value.graph_level
    writer.message(config.optimization, dataclasses.replace(value, graph_level=None))


def _labels(writer: _Writer, config: Any, value: Mapping[str, str]) -> None:
    outputs = {entry.name: entry for entry in config.output}
    for name, file in value.items():
        if name not in outputs:
            raise writer.error(
                f"labels names '{name}', which is no output{did_you_mean(name, outputs)}",
                f"the outputs are {', '.join(map(repr, outputs))}",
            )
        outputs[name].label_filename = file.rpartition("/")[2]


def _warmup(writer: _Writer, config: Any, value: Sequence[options.Warmup]) -> None:
    writer.write(config, "model_warmup", value)
    for warmup in config.model_warmup:
        for item in warmup.inputs.values():
            if item.WhichOneof("input_data_type") == "input_data_file":
                item.input_data_file = item.input_data_file.rpartition("/")[2]


def _config_extra(writer: _Writer, config: Any, value: str) -> None:
    extra = type(config)()
    try:
        text_format.Parse(value, extra)
    except text_format.ParseError as error:
        raise OptionsError(
            "TPB442",
            f"config_extra does not parse: {error}",
            writer.where,
            "write it as in config.pbtxt; line and column count from the beginning of config_extra",
        ) from None
    for name in ("name", "platform", "backend"):
        said, held = getattr(extra, name), getattr(config, name)
        if said and held and said != held:
            raise writer.error(f"config_extra says {name}: {said!r}, the declaration {held!r}", f"leave {name} out")
    config.MergeFrom(extra)


_SPECIAL = {
    "version_policy": _version_policy,
    "response_cache": _response_cache,
    "decoupled": _decoupled,
    "parameters": _parameters,
    "model_metrics": _model_metrics,
    "optimization": _optimization,
    "labels": _labels,
    "model_warmup": _warmup,
    "config_extra": _config_extra,
}


def files_named(given: object) -> dict[str, str]:
    """Files that the options name: path inside the model folder -> path as written."""
    if not isinstance(given, options.ModelOptions):
        return {}
    found = {file.rpartition("/")[2]: file for file in given.labels.values()}
    for warmup in given.model_warmup:
        for item in warmup.inputs.values():
            if item.input_data_file:
                found[f"warmup/{item.input_data_file.rpartition('/')[2]}"] = item.input_data_file
    return found
