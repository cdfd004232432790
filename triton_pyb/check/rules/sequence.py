"""Group 13: sequence batching, its control inputs and its states."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

from triton_pyb.check.finding import Finding
from triton_pyb.check.model import Model, dims_text
from triton_pyb.check.rule import ModelRule
from triton_pyb.check.rules.tensors import FOLDER_SAID, below
from triton_pyb.config.pbtxt import Entry, Message

_CONFIG = frozenset({"config"})
_VALUES = ("int32_false_true", "fp32_false_true", "bool_false_true")
_BOOLEAN_KINDS = ("CONTROL_SEQUENCE_START", "CONTROL_SEQUENCE_END", "CONTROL_SEQUENCE_READY")
CORRELATION_TYPES = ("TYPE_UINT64", "TYPE_INT64", "TYPE_UINT32", "TYPE_INT32", "TYPE_STRING")

#: Bytes of one element; TYPE_STRING counts its length prefix.  Source: common/src/model_config.cc.
ELEMENT_BYTES = {
    **dict.fromkeys(("TYPE_BOOL", "TYPE_UINT8", "TYPE_INT8"), 1),
    **dict.fromkeys(("TYPE_UINT16", "TYPE_INT16", "TYPE_FP16", "TYPE_BF16"), 2),
    **dict.fromkeys(("TYPE_UINT32", "TYPE_INT32", "TYPE_FP32"), 4),
    **dict.fromkeys(("TYPE_UINT64", "TYPE_INT64", "TYPE_FP64"), 8),
    "TYPE_STRING": 4,
}


#: So many elements no machine can hold: allocating them ends the process.
_MORE_THAN_MEMORY = 2**44


def byte_size(data_type: Any, dims: list[int]) -> int:
    """What a tensor of these dims takes; -1 when a dim varies."""
    if any(dim < 0 for dim in dims):
        return -1
    return ELEMENT_BYTES.get(data_type, 0) * math.prod(dims) if dims else 0


class SequenceRule(ModelRule):
    """Base: reads the `sequence_batching` block."""

    needs = _CONFIG
    stage = "poll"

    def check(self, model: Model) -> Iterator[Finding]:
        block = model.config["sequence_batching"]
        if block is not None:
            yield from self.block(model, block)

    def block(self, model: Model, block: Message) -> Iterator[Finding]:
        raise NotImplementedError


def controls(block: Message) -> Iterator[tuple[Message, Entry, Message]]:
    """``(control_input, entry of the control, control)``."""
    for control_input in block["control_input"]:
        for entry in control_input.entries.get("control", ()):
            yield control_input, entry, entry.value


class ControlWithoutName(SequenceRule):
    """A control input has no name.

    Source: core/src/model_config_utils.cc:489 (24.10), GetBooleanSequenceControlProperties.
    """

    code = "TPB1301"
    message = "a control_input has no name"
    fix = 'add name: "START" (the input that the model reads it from)'
    said = "sequence batching control tensor must have a name for {model}"

    def block(self, model: Model, block: Message) -> Iterator[Finding]:
        for control_input in block["control_input"]:
            if not control_input["name"]:
                yield self.found(model, control_input)


class ControlTensorTwice(SequenceRule):
    """One tensor carries two control inputs.

    Source: core/src/model_config_utils.cc:497 (24.10), GetBooleanSequenceControlProperties.
    """

    code = "TPB1302"
    message = "control_input '{name}' is declared twice"
    fix = "give each control its own tensor, or put both controls into one control_input"
    said = "sequence batching control tensor '{name}' is specified for multiple control kinds for {model}"

    def block(self, model: Model, block: Message) -> Iterator[Finding]:
        seen: dict[str, Message] = {}
        for control_input in block["control_input"]:
            name = control_input["name"]
            if name and name in seen:
                related = (("first here", model.place(seen[name].entry("name"))),)
                yield self.found(model, control_input.entry("name"), name=name, related=related)
            seen[name] = control_input


class ControlKindTwice(SequenceRule):
    """One control kind stands on two tensors.

    Source: core/src/model_config_utils.cc:507 (24.10), GetBooleanSequenceControlProperties.
    """

    code = "TPB1303"
    message = "{kind} is given for two tensors"
    fix = "keep one of them"
    said = "sequence batching specifies multiple {kind} tensors for {model}"

    def block(self, model: Model, block: Message) -> Iterator[Finding]:
        seen: set[Any] = set()
        for _, entry, control in controls(block):
            if control["kind"] in seen:
                yield self.found(model, control.entry("kind") or entry, kind=control["kind"])
            seen.add(control["kind"])


class ControlWithoutValues(SequenceRule):
    """A control has no false/true values.

    Source: core/src/model_config_utils.cc:522 (24.10), GetBooleanSequenceControlProperties.
    """

    code = "TPB1304"
    message = "{kind} has no false and true values"
    fix = "add fp32_false_true: [ 0, 1 ], or int32_false_true, or bool_false_true"
    said = (
        "sequence batching must specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for "
        "{kind} for {model}"
    )

    def block(self, model: Model, block: Message) -> Iterator[Finding]:
        for _, entry, control in controls(block):
            if control["kind"] in _BOOLEAN_KINDS and not any(control[field] for field in _VALUES):
                yield self.found(model, entry, kind=control["kind"])


class ControlWithTwoTypes(SequenceRule):
    """A control has values of more than one type.

    Source: core/src/model_config_utils.cc:536 (24.10), GetBooleanSequenceControlProperties.
    """

    code = "TPB1305"
    message = "{kind} has {fields}"
    fix = "keep one of them"
    said = (
        "sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and "
        "'bool_false_true' for {kind} for {model}"
    )

    def block(self, model: Model, block: Message) -> Iterator[Finding]:
        for _, entry, control in controls(block):
            given = [field for field in _VALUES if control[field]]
            if control["kind"] in _BOOLEAN_KINDS and len(given) > 1:
                yield self.found(model, entry, kind=control["kind"], fields=" and ".join(given))


class ControlValueCount(SequenceRule):
    """A control has another number of values than two.

    Source: core/src/model_config_utils.cc:548 to 588 (24.10), GetBooleanSequenceControlProperties.
    """

    code = "TPB1306"
    message = "{field} of {kind} has {count} entries instead of 2"
    fix = "write the value for false and the value for true"
    said = "sequence batching control '{field}' must have exactly 2 entries for {kind} for {model}"

    def block(self, model: Model, block: Message) -> Iterator[Finding]:
        for _, _, control in controls(block):
            given = [field for field in _VALUES if control[field]]
            if control["kind"] in _BOOLEAN_KINDS and len(given) == 1 and len(control[given[0]]) != 2:
                count = len(control[given[0]])
                yield self.found(model, control.entries[given[0]][0], kind=control["kind"], field=given[0], count=count)


class CorrelationType(SequenceRule):
    """The correlation id has a type that it cannot have.

    Left out it is TYPE_INVALID, which is refused too.

    Source: core/src/model_config_utils.cc:1551 (24.10), ValidateModelConfig.
    """

    code = "TPB1307"
    message = "CONTROL_SEQUENCE_CORRID has data_type {got}"
    fix = "write data_type: TYPE_UINT64 (or TYPE_INT64, TYPE_UINT32, TYPE_INT32, TYPE_STRING)"
    said = (
        "unexpected data type for control CONTROL_SEQUENCE_CORRID for {model}. Allowed data types are "
        "TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING"
    )

    def block(self, model: Model, block: Message) -> Iterator[Finding]:
        for _, entry, control in controls(block):
            if control["kind"] == "CONTROL_SEQUENCE_CORRID" and control["data_type"] not in CORRELATION_TYPES:
                yield self.found(model, control.entry("data_type") or entry, got=control["data_type"])


class CorrelationValues(SequenceRule):
    """The correlation id has false/true values.

    Source: core/src/model_config_utils.cc:677 (24.10), GetTypedSequenceControlProperties.
    """

    code = "TPB1308"
    message = "CONTROL_SEQUENCE_CORRID has {field}"
    fix = "remove it: the correlation id is a value, not a flag"
    said = (
        "sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for "
        "CONTROL_SEQUENCE_CORRID for {model}"
    )

    def block(self, model: Model, block: Message) -> Iterator[Finding]:
        for _, _, control in controls(block):
            for field in _VALUES if control["kind"] == "CONTROL_SEQUENCE_CORRID" else ():
                if control[field]:
                    yield self.found(model, control.entries[field][0], field=field)


class OldestPreferred(SequenceRule):
    """A preferred batch size of the oldest strategy is not from 1 to max_batch_size.

    Source: core/src/model_config_utils.cc:1565 and 1571 (24.10), ValidateModelConfig.
    """

    code = "TPB1309"
    message = "oldest.preferred_batch_size is {got}, outside 1 to max_batch_size {most}"
    fix = "write a size from 1 to max_batch_size, or remove it"
    said = "sequence batching preferred batch size must be {what} for {model}"

    def block(self, model: Model, block: Message) -> Iterator[Finding]:
        oldest = block["oldest"]
        most = max(model.max_batch_size, 0)
        for entry in oldest.entries.get("preferred_batch_size", ()) if oldest is not None else ():
            if entry.value <= 0 or entry.value > most:
                what = "positive" if entry.value <= 0 else "<= max batch size"
                yield self.found(model, entry, got=entry.value, most=most, what=what)


class SlotUtilization(SequenceRule):
    """minimum_slot_utilization is not from 0 to 1.

    Source: core/src/model_config_utils.cc:1587 (24.10), ValidateModelConfig.
    """

    code = "TPB1310"
    message = "minimum_slot_utilization is {got}"
    fix = "write a number from 0.0 to 1.0"
    said = "sequence batching minimum slot utilization must be in range (0.0, 1.0] for {model}"

    def block(self, model: Model, block: Message) -> Iterator[Finding]:
        direct = block["direct"]
        if direct is not None and (direct["minimum_slot_utilization"] < 0 or direct["minimum_slot_utilization"] > 1):
            got = direct["minimum_slot_utilization"]
            yield self.found(model, direct.entry("minimum_slot_utilization"), got=got)


class StateRule(ModelRule):
    """Base: looks at every state that has one initial state."""

    needs = frozenset({"config", "single"})
    stage = "load"

    def check(self, model: Model) -> Iterator[Finding]:
        block = model.config["sequence_batching"]
        for state in block["state"] if block is not None else []:
            if len(state["initial_state"]) == 1:
                yield from self.state(model, state, state["initial_state"][0])

    def state(self, model: Model, state: Message, initial: Message) -> Iterator[Finding]:
        raise NotImplementedError


class SeveralInitialStates(ModelRule):
    """A state has several initial states.

    Source: core/src/sequence_batch_scheduler/sequence_batch_scheduler.cc:148 (24.10).
    """

    code = "TPB1311"
    needs = frozenset({"config", "single"})
    stage = "load"
    message = "state '{name}' has {count} initial_state"
    fix = "keep one"
    said = (
        "Invalid argument: initial_state field for state input '{name}' must contain exactly one or zero element. "
        "Found '{count}' elements."
    )

    def check(self, model: Model) -> Iterator[Finding]:
        block = model.config["sequence_batching"]
        for state in block["state"] if block is not None else []:
            count = len(state["initial_state"])
            if count > 1:
                where = state.entries["initial_state"][1]
                yield self.found(model, where, name=state["input_name"], count=count)


class InitialStateType(StateRule):
    """An initial state has another type than its state.

    Source: core/src/sequence_batch_scheduler/sequence_batch_scheduler.cc:342 (24.10).
    """

    code = "TPB1312"
    message = "initial_state of '{name}' has data_type {got}, the state {expected}"
    fix = "write data_type: {expected}"
    said = (
        "Invalid argument: The data type used for 'initial_state' field of state '{name}' does not match the "
        "state data type."
    )

    def state(self, model: Model, state: Message, initial: Message) -> Iterator[Finding]:
        if initial["data_type"] != state["data_type"]:
            where = initial.entry("data_type") or initial
            values = {"got": initial["data_type"], "expected": state["data_type"]}
            yield self.found(model, where, name=state["input_name"], **values)


class InitialStateName(StateRule):
    """An initial state has no name.

    Source: core/src/sequence_batch_scheduler/sequence_batch_scheduler.cc:349 (24.10).
    """

    code = "TPB1313"
    message = "initial_state of '{name}' has no name"
    fix = 'add name: "initial"'
    said = "Invalid argument: Field 'name' must be set when using initial_state for state input '{name}'."

    def state(self, model: Model, state: Message, initial: Message) -> Iterator[Finding]:
        if not initial["name"]:
            yield self.found(model, initial, name=state["input_name"])


class StateTwice(ModelRule):
    """Two states with an initial state share their input.

    Source: core/src/sequence_batch_scheduler/sequence_batch_scheduler.cc, "specified more than once".
    """

    code = "TPB1314"
    needs = frozenset({"config", "single"})
    stage = "load"
    message = "state input '{name}' is given twice"
    fix = "keep one"
    said = "Invalid argument: State input name '{name}' specified more than once."

    def check(self, model: Model) -> Iterator[Finding]:
        block = model.config["sequence_batching"]
        seen: set[str] = set()
        for state in block["state"] if block is not None else []:
            if state["initial_state"] and state["input_name"] in seen:
                yield self.found(model, state.entry("input_name") or state, name=state["input_name"])
            if state["initial_state"]:
                seen.add(state["input_name"])


class InitialStateDims(StateRule):
    """An initial state has other dims than its state, or dims that vary.

    Source: core/src/sequence_batch_scheduler/sequence_batch_scheduler.cc:366 to 396 (24.10).
    """

    code = "TPB1315"
    message = "initial_state of '{name}' has dims {got}, the state {expected}{why}"
    fix = "give it the dims of the state, each fixed"
    said = "Invalid argument: {what}"

    def state(self, model: Model, state: Message, initial: Message) -> Iterator[Finding]:
        got, expected, name = initial["dims"], state["dims"], state["input_name"]
        why, stage = "", None
        if len(got) != len(expected):
            what = (
                "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state "
                f"input '{name}'. {len(got)} != {len(expected)}"
            )
        elif -1 in got:
            what = f"'initial_state' field for state input name '{name}' contains variable dimensions."
            why = ": the first state needs a size"
        elif any(b not in (-1, a) for a, b in zip(got, expected, strict=False)):
            first = next((a, b) for a, b in zip(got, expected, strict=False) if b not in (-1, a))
            what = (
                f"'initial_state' dim for input name '{name}' doesn't match 'state' dim description. "
                f"{first[0]} != {first[1]}"
            )
        elif math.prod(got) < 0 or math.prod(got) >= _MORE_THAN_MEMORY:
            what, stage = "", "crash"
            why = ": the whole server dies of the size"
        else:
            return
        where = initial.entry("dims") or initial
        shown = {"got": dims_text(got), "expected": dims_text(expected), "stage": stage}
        said = "" if stage else None
        yield self.found(model, where, name=name, why=why, what=what, said=said, **shown)


class InitialStateData(StateRule):
    """An initial state says nothing about its data.

    Source: core/src/sequence_batch_scheduler/sequence_batch_scheduler.cc:467 (24.10).
    """

    code = "TPB1316"
    message = "initial_state of '{name}' has neither zero_data nor data_file"
    fix = "add zero_data: true, or data_file"
    said = "Invalid argument: initial_state setting expects state'{name}' to have state_data set"

    def state(self, model: Model, state: Message, initial: Message) -> Iterator[Finding]:
        if "zero_data" not in initial and "data_file" not in initial:
            yield self.found(model, initial, name=state["input_name"])


class InitialStateFile(StateRule):
    """The file of an initial state is not in `initial_state/`, or is too short.

    Source: core/src/filesystem/implementations/local.h:194; sequence_batch_scheduler.cc, "initial_state setting
    expects ... bytes" (24.10).
    """

    code = "TPB1317"
    message = "{path} {why}"
    fix = "put the data there: {size} bytes"
    said = "{what}"

    def state(self, model: Model, state: Message, initial: Message) -> Iterator[Finding]:
        if "data_file" not in initial:
            return
        file = initial["data_file"]
        path = below(os.path.join(model.path, "initial_state"), file)
        size = byte_size(initial["data_type"], initial["dims"])
        shown = below(os.path.join(model.name, "initial_state"), file)
        if os.path.isdir(path):
            values = {"path": shown, "size": max(size, 0), "what": FOLDER_SAID, "stage": "crash"}
            why = "is a folder: the whole server dies"
            yield self.found(model, initial.entry("data_file"), why=why, **values)
        elif not os.path.isfile(path):
            what = f"Internal: failed to open text file for read <REPO>/{shown}: No such file or directory"
            yield self.found(model, initial.entry("data_file"), path=shown, why="does not exist", size=size, what=what)
        elif initial["data_type"] != "TYPE_STRING" and os.path.getsize(path) < size:
            have = os.path.getsize(path)
            what = (
                f"Invalid argument: initial_state setting expects {size} bytes, but the data provided from "
                f"{file}only has {have} bytes."
            )
            why = f"has {have} bytes, {size} are needed"
            yield self.found(model, initial.entry("data_file"), path=shown, why=why, size=size, what=what)


class SequenceWithoutControls(ModelRule):
    """A Python model batches sequences and never learns where they begin.

    Without CONTROL_SEQUENCE_START a model can only tell by `request.flags()`; it loads all the same.

    Source: measured on 24.10 (case S_ok_empty).
    """

    code = "TPB1318"
    severity = "warning"
    needs = frozenset({"config", "python"})
    message = "sequence_batching has no control_input, and model.py asks neither flags() nor correlation_id()"
    fix = "add a control_input with CONTROL_SEQUENCE_START, or read request.flags()"

    def check(self, model: Model) -> Iterator[Finding]:
        block = model.config["sequence_batching"]
        if block is None or block["control_input"] or block["state"] or not model.sources:
            return
        if not any(s.uses_attribute("flags") or s.uses_attribute("correlation_id") for s in model.sources):
            yield self.found(model, model.config.entry("sequence_batching"))
