"""Group 14: `model_warmup`.  A sample that does not fit makes the model unavailable."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

from triton_pyb.check.finding import Finding
from triton_pyb.check.model import Model, dims_text
from triton_pyb.check.rule import ModelRule
from triton_pyb.check.rules.sequence import byte_size
from triton_pyb.check.rules.tensors import FOLDER_SAID, below
from triton_pyb.config.pbtxt import Entry, Message
from triton_pyb.runtime.dtypes import wire_name
from triton_pyb.runtime.errors import did_you_mean

_KINDS_OF_DATA = ("zero_data", "random_data", "input_data_file")
#: A larger file of strings is not read.
_MOST_BYTES = 16 * 1024 * 1024
_NO_ID = "[request id: <id_unknown>] "


def samples(model: Model) -> list[Message]:
    """Samples that are run: not those of batch_size 0, and none when every instance is passive."""
    groups = model.config["instance_group"]
    if groups and all(group["passive"] for group in groups):
        return []
    return [sample for sample in model.config["model_warmup"] if sample["batch_size"] != 0]


class WarmupRule(ModelRule):
    """Base: looks at every input of every sample that is run (a batch_size of 0 skips one)."""

    needs = frozenset({"config", "single"})
    stage = "load"

    def check(self, model: Model) -> Iterator[Finding]:
        for sample in samples(model):
            for name, entry in sample.map("inputs").items():
                if isinstance(entry.value, Message):
                    yield from self.sample_input(model, sample, name, entry)

    def sample_input(self, model: Model, sample: Message, name: str, entry: Entry) -> Iterator[Finding]:
        raise NotImplementedError


class WarmupVariableDim(WarmupRule):
    """A warmup input has a dimension that varies.

    Source: core/src/backend_model_instance.cc:377 (24.10), GenerateWarmupData.
    """

    code = "TPB1401"
    message = "warmup input '{name}' has dims {dims}"
    fix = "write a fixed size for every dimension"
    said = "Invalid argument: warmup setting expects all variable-size dimensions are specified for input '{name}'"

    def sample_input(self, model: Model, sample: Message, name: str, entry: Entry) -> Iterator[Finding]:
        if -1 in entry.value["dims"]:
            where = next(dim for dim in entry.value.entries["dims"] if dim.value == -1)
            yield self.found(model, where, name=name, dims=dims_text(entry.value["dims"]))


class WarmupWithoutData(WarmupRule):
    """A warmup input does not say what to send.

    Source: core/src/backend_model_instance.cc:495 (24.10), GenerateWarmupData.
    """

    code = "TPB1402"
    message = "warmup input '{name}' has neither zero_data, random_data nor input_data_file"
    fix = "add zero_data: true, random_data: true or input_data_file"
    said = "Invalid argument: " + _NO_ID + "warmup setting expects input '{name}' to have input_data_type set"

    def check(self, model: Model) -> Iterator[Finding]:
        for sample in samples(model):
            for name, entry in sample.map("inputs").items():
                given = entry.value.entries if isinstance(entry.value, Message) else {}
                if not any(kind in given for kind in _KINDS_OF_DATA):
                    yield self.found(model, entry, name=name)


class WarmupFile(WarmupRule):
    """The data file of a warmup input is not in `warmup/`, is too short, or does not hold the strings it should.

    A file for TYPE_STRING holds each string behind its length, 4 bytes little endian; for one item, whatever the
    batch_size.

    Source: core/src/filesystem/implementations/local.h:194, backend_model_instance.cc:484 and infer_request.cc,
    ValidateBytesInputs (24.10).
    """

    code = "TPB1403"
    message = "{path} {why}"
    fix = "write {size} bytes of data there"
    said = "{what}"

    def sample_input(self, model: Model, sample: Message, name: str, entry: Entry) -> Iterator[Finding]:
        value = entry.value
        if "input_data_file" not in value:
            return
        file = value["input_data_file"]
        shown = below(os.path.join(model.name, "warmup"), file)
        path = below(os.path.join(model.path, "warmup"), file)
        size = byte_size(value["data_type"], value["dims"])
        where = value.entry("input_data_file")
        if os.path.isdir(path):
            values = {"path": shown, "size": max(size, 0), "what": FOLDER_SAID, "stage": "crash"}
            yield self.found(model, where, why="is a folder: the whole server dies", **values)
            return
        if not os.path.isfile(path):
            what = f"Internal: failed to open text file for read <REPO>/{shown}: No such file or directory"
            yield self.found(model, where, path=shown, why="does not exist", size=max(size, 0), what=what)
            return
        have = os.path.getsize(path)
        if value["data_type"] != "TYPE_STRING" and have < size:
            what = (
                f"Invalid argument: {_NO_ID}warmup setting expects {size} bytes, but the data provided from "
                f"{file}only has {have} bytes"
            )
            yield self.found(model, where, path=shown, why=f"has {have} bytes, {size} are needed", size=size, what=what)
        elif value["data_type"] == "TYPE_STRING" and value["dims"] and min(value["dims"]) > 0:
            count = math.prod(value["dims"])
            why, what = _strings_fault(path, count, f"inference input '{name}'", model.name, sample["name"])
            if why:
                fix = f"write {count} strings there, each behind its length as 4 bytes"
                yield self.found(model, where, path=shown, why=why, what=what, fix=fix)


def _strings_fault(path: str, count: int, which: str, model: str, sample: str) -> tuple[str, str]:
    """What is wrong with a file of `count` strings, in our words and in the server's."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(_MOST_BYTES)
    except OSError:
        return "", ""
    where = f"Invalid argument: {_NO_ID}"
    at, found = 0, 0
    while at < len(data):
        rest = len(data) - at
        if rest < 4:
            said = f"incomplete string length indicator for {which} for model '{model}', expecting 4 bytes but only "
            return f"ends inside the length of string {found + 1}", f"{where}{said}{rest} bytes available."
        length = int.from_bytes(data[at : at + 4], "little")
        at, found = at + 4 + length, found + 1
        if found > count:
            said = f"unexpected number of string elements {found} for {which} for model '{model}', expecting {count}"
            return f"holds more than {count} strings", where + said
    if len(data) == _MOST_BYTES:
        return "", ""
    if found != count:
        said = f"expected {count} string elements for {which} for model '{model}', got {found}"
        return f"holds {found} strings instead of {count}", where + said
    if at > len(data):
        said = f"incomplete string data for {which}, expecting string of length {length} but only "
        said = (
            f"Invalid argument: failed to run warmup sample '{sample}': {said}{len(data) - at + length} bytes available"
        )
        return f"ends inside string {found}", said
    return "", ""


class WarmupMissingInput(ModelRule):
    """A warmup sample lacks an input that the model requires, or gives none at all to a model that batches.

    Source: core/src/infer_request.cc:1278 (24.10).
    """

    code = "TPB1404"
    needs = frozenset({"config", "single"})
    stage = "load"
    message = "warmup sample '{sample}' gives no input{which}{hint}"
    fix = "add it to the inputs of the sample, or make it optional"
    said = (
        "Invalid argument: " + _NO_ID + "expected {count} inputs but got {given} inputs for model '{model}'. Got "
        "input(s) [{got}], but missing required input(s) [{missing}]. Please provide all required input(s)."
    )

    def check(self, model: Model) -> Iterator[Finding]:
        declared = model.tensors("input")
        required = [tensor["name"] for tensor in declared if not tensor["optional"]]
        names = {tensor["name"] for tensor in declared}
        for sample in samples(model):
            given = sample.map("inputs")
            known = [name for name in given if name in names]
            missing = [name for name in required if name not in given]
            for name in missing:
                values: dict[str, Any] = {
                    "count": len(declared),
                    "given": len(known),
                    "got": ",".join(f"'{n}'" for n in known),
                    "missing": ",".join(f"'{n}'" for n in missing),
                    "sample": sample["name"],
                    "which": f" '{name}'",
                    "hint": did_you_mean(name, [n for n in given if n not in names]),
                }
                yield self.found(model, sample, name=name, **values)
            if not given and not missing and model.is_python and model.max_batch_size > 0:
                said = "Invalid argument: failed to run warmup sample '{sample}': " + _NO_ID + "out of bounds index 0"
                yield self.found(model, sample, sample=sample["name"], which=" at all", hint="", said=said)


class WarmupUnknownInput(WarmupRule):
    """A warmup sample gives an input that the model does not have.

    The server passes it on as an extra tensor, as it does with control inputs.

    Source: core/src/backend_model_instance.cc GenerateWarmupData, AddOverrideInput.
    """

    code = "TPB1405"
    severity = "warning"
    stage = ""
    message = "warmup input '{name}' is no input of this model{hint}"
    fix = "name one of: {known}"

    def sample_input(self, model: Model, sample: Message, name: str, entry: Entry) -> Iterator[Finding]:
        known = [tensor["name"] for tensor in model.tensors("input")]
        block = model.config["sequence_batching"]
        extra = [control["name"] for control in block["control_input"]] if block is not None else []
        extra += [tensor["name"] for tensor in model.tensors("batch_input")]
        if known and name not in known and name not in extra:
            yield self.found(model, entry, name=name, hint=did_you_mean(name, known), known=", ".join(known))


class WarmupType(WarmupRule):
    """A warmup input has another data type than the model's input.

    Source: core/src/infer_request.cc:1100 (24.10).
    """

    code = "TPB1406"
    message = "warmup input '{name}' has data_type {got}, the model's input {expected}"
    fix = "write data_type: {expected}"
    said = (
        "Invalid argument: " + _NO_ID + "inference input '{name}' data-type is '{got_wire}', but model '{model}' "
        "expects '{expected_wire}'"
    )

    def sample_input(self, model: Model, sample: Message, name: str, entry: Entry) -> Iterator[Finding]:
        tensor = _declared(model, name)
        got = entry.value["data_type"]
        if tensor is None or tensor["data_type"] in ("TYPE_INVALID", got):
            return
        expected = tensor["data_type"]
        got_wire = "<invalid>" if got == "TYPE_INVALID" else wire_name(str(got))
        wires = {"got_wire": got_wire, "expected_wire": wire_name(str(expected))}
        where = entry.value.entry("data_type") or entry
        related = (("the model's input", model.place(tensor.entry("data_type"))),)
        yield self.found(model, where, name=name, got=got, expected=expected, related=related, **wires)


class WarmupDims(WarmupRule):
    """A warmup input has other dims than the model's input.

    dims are per item here too: the batch axis is added.

    Source: core/src/infer_request.cc:1140 (24.10).
    """

    code = "TPB1407"
    message = "warmup input '{name}' has dims {got}, the model's input {expected}"
    fix = "write dims: {expected} with a size for each -1"
    said = (
        "Invalid argument: " + _NO_ID + "unexpected shape for input '{name}' for model '{model}'. Expected "
        "{full_expected}, got {full_got}."
    )

    def sample_input(self, model: Model, sample: Message, name: str, entry: Entry) -> Iterator[Finding]:
        tensor = _declared(model, name)
        if tensor is None or not tensor["dims"]:
            return
        got, expected = entry.value["dims"], tensor["dims"]
        if len(got) == len(expected) and all(b in (-1, a) for a, b in zip(got, expected, strict=False)) or -1 in got:
            return
        batch = model.max_batch_size > 0
        values = {
            "got": dims_text(got),
            "expected": dims_text(expected),
            "full_got": dims_text([1] * batch + got),
            "full_expected": dims_text([-1] * batch + expected),
        }
        where = entry.value.entry("dims") or entry
        related = (("the model's input", model.place(tensor.entry("dims"))),)
        yield self.found(model, where, name=name, related=related, **values)


class WarmupBatch(ModelRule):
    """A warmup sample is larger than max_batch_size: the model does not load, or the whole server dies.

    A warm-up that fails ends the process of 24.10 now and then (SIGSEGV); otherwise the model is unavailable.

    Source: measured on 24.10 (case W_batch_gt_max: exit -11; "max allowed is 8").
    """

    code = "TPB1408"
    needs = frozenset({"config", "python"})
    stage = "crash"
    message = "warmup sample '{sample}' has batch_size {got}, above max_batch_size {most}: the server may die of it"
    fix = "write batch_size: {most} at most"
    said = (
        "Invalid argument: failed to run warmup sample '{sample}': batch size {got} for '{model}_0', max allowed is "
        "{allowed}"
    )

    def check(self, model: Model) -> Iterator[Finding]:
        most = max(model.max_batch_size, 1)
        for sample in samples(model):
            if sample["batch_size"] > most:
                yield self.found(
                    model,
                    sample.entry("batch_size"),
                    sample=sample["name"],
                    got=sample["batch_size"],
                    most=most,
                    allowed=max(model.max_batch_size, 0),
                )


def _declared(model: Model, name: str) -> Message | None:
    return next((tensor for tensor in model.tensors("input") if tensor["name"] == name), None)
