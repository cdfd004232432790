"""Group 11, first half: `input`, `output`, `batch_input` and `batch_output` of one model."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

from triton_pyb.check.finding import Finding
from triton_pyb.check.model import Model, dims_text
from triton_pyb.check.rule import ModelRule, Rule
from triton_pyb.config.pbtxt import Message
from triton_pyb.runtime.errors import did_you_mean

_SINGLE = frozenset({"config", "single"})


def tensors(model: Model) -> Iterator[tuple[str, Message]]:
    """``("input", message)`` and ``("output", message)``."""
    for kind in ("input", "output"):
        for tensor in model.tensors(kind):
            yield kind, tensor


class IoRule(ModelRule):
    """Base of what ValidateModelIOConfig checks, for ensembles too.

    The server does so when the model loads; with ``--disable-auto-complete-config`` already when it polls.
    """

    needs = frozenset({"config"})
    stage = "load"

    def found(self, model: Model, where: Any = None, /, **values: Any) -> Finding:
        if model.target.strict:
            values = {"stage": "poll", "said": self.said.removeprefix("Invalid argument: "), **values}
        return super().found(model, where, **values)


class TensorRule(IoRule):
    """Base: looks at one tensor after the other."""

    def check(self, model: Model) -> Iterator[Finding]:
        for kind, tensor in tensors(model):
            yield from self.tensor(model, kind, tensor)

    def tensor(self, model: Model, kind: str, tensor: Message) -> Iterator[Finding]:
        raise NotImplementedError


class TensorWithoutName(TensorRule):
    """An input or output has no name.

    The model does not load.  Give it the name that model.py asks for.

    Source: core/src/model_config_utils.cc:302 (24.10), ValidateIOShape.
    """

    code = "TPB1108"
    message = "an {kind} has no name"
    fix = 'add name: "..."'
    said = "Invalid argument: model {kind} must specify 'name' for {model}"

    def tensor(self, model: Model, kind: str, tensor: Message) -> Iterator[Finding]:
        if not tensor["name"] and not damaged(model, tensor):
            yield self.found(model, tensor, kind=kind)


class TensorWithoutType(TensorRule):
    """An input or output has no data type.

    With `--disable-auto-complete-config` the server refuses it when it polls, otherwise when it loads.

    Source: core/src/model_config_utils.cc:311 (24.10), ValidateIOShape.
    """

    code = "TPB1109"
    message = "{kind} '{name}' has no data_type"
    fix = "add data_type: TYPE_FP32 (or what the model uses)"
    said = "Invalid argument: model {kind} '{name}' must specify 'data_type' for {model}"

    def tensor(self, model: Model, kind: str, tensor: Message) -> Iterator[Finding]:
        if tensor["name"] and tensor["data_type"] == "TYPE_INVALID" and not completes_itself(model, kind, tensor):
            where = tensor.entry("data_type") or tensor
            yield self.found(model, where, kind=kind, name=tensor["name"])


class TensorWithoutDims(TensorRule):
    """An input or output has no dims.

    Source: core/src/model_config_utils.cc:317 (24.10), ValidateIOShape.
    """

    code = "TPB1110"
    message = "{kind} '{name}' has no dims"
    fix = "add dims: [ ... ], per item, -1 for a size that varies"
    said = "Invalid argument: model {kind} '{name}' must specify 'dims' for {model}"

    def tensor(self, model: Model, kind: str, tensor: Message) -> Iterator[Finding]:
        if tensor["name"] and not tensor["dims"] and not completes_itself(model, kind, tensor):
            yield self.found(model, tensor.entry("dims") or tensor, kind=kind, name=tensor["name"])


def damaged(model: Model, tensor: Message) -> bool:
    """True when the text of a tensor has a fault of its own, which says all that is to be said."""
    return model.document is not None and model.document.damaged(tensor)


def completes_itself(model: Model, kind: str, tensor: Message) -> bool:
    """True when the backend may fill the gap from its model file, or auto_complete_config may."""
    if damaged(model, tensor):
        return True
    if model.target.strict or model.is_ensemble:
        return False
    if model.completed.backend in ("onnxruntime", "tensorrt", "tensorflow", "openvino"):
        return True
    if not model.is_python:
        return model.completed.backend not in ("pytorch", "python")
    return any(source.completion is not None and source.completion.completes(kind, tensor) for source in model.sources)


class DimOutOfRange(TensorRule):
    """A dimension is neither -1 nor at least 1.

    Source: core/src/model_config_utils.cc:337 (24.10), ValidateIOShape.
    """

    code = "TPB1111"
    message = "{kind} '{name}' has the dimension {got}"
    fix = "write a size of at least 1, or -1 for one that varies"
    said = (
        "Invalid argument: model {kind} '{name}' dimension must be integer >= 1, or -1 to indicate a "
        "variable-size dimension for {model}"
    )

    def tensor(self, model: Model, kind: str, tensor: Message) -> Iterator[Finding]:
        for entry in tensor.entries.get("dims", ()):
            if entry.value < 1 and entry.value != -1:
                yield self.found(model, entry, kind=kind, name=tensor["name"], got=entry.value)


class EmptyReshape(TensorRule):
    """A model without batching reshapes a tensor to nothing.

    `reshape { shape: [ ] }` needs the batch axis that max_batch_size brings.

    Source: core/src/model_config_utils.cc:328 (24.10), ValidateIOShape.
    """

    code = "TPB1112"
    message = "{kind} '{name}' is reshaped to [ ], which needs max_batch_size of at least 1"
    fix = "set max_batch_size, or remove the reshape"
    said = (
        "Invalid argument: model {kind} '{name}' cannot have empty reshape for non-batching model as scalar "
        "tensors are not supported for {model}"
    )

    def tensor(self, model: Model, kind: str, tensor: Message) -> Iterator[Finding]:
        if "reshape" in tensor and not tensor["reshape"]["shape"] and model.max_batch_size == 0:
            yield self.found(model, tensor.entry("reshape"), kind=kind, name=tensor["name"])


class ReshapeDimOutOfRange(TensorRule):
    """A reshape has a dimension that is neither -1 nor at least 1.

    Source: core/src/model_config_utils.cc:350 (24.10), ValidateIOShape.
    """

    code = "TPB1113"
    message = "the reshape of {kind} '{name}' has the dimension {got}"
    fix = "write a size of at least 1, or -1 for one that varies"
    said = (
        "Invalid argument: model {kind} '{name}' reshape dimensions must be integer >= 1, or -1 to indicate a "
        "variable-size dimension for {model}"
    )

    def tensor(self, model: Model, kind: str, tensor: Message) -> Iterator[Finding]:
        if "reshape" in tensor:
            for entry in tensor["reshape"].entries.get("shape", ()):
                if entry.value < 1 and entry.value != -1:
                    yield self.found(model, entry, kind=kind, name=tensor["name"], got=entry.value)


class ReshapeSize(TensorRule):
    """dims and reshape hold a different number of elements.

    Around a -1 the products must agree piece by piece: `[2, 4, -1, 6]` may become `[8, -1, 1, 6]`.  The client
    still sends `dims`; only the model sees the reshaped form.

    Source: core/src/model_config_utils.cc:368 and 404 (24.10), ValidateIOShape.
    """

    code = "TPB1114"
    message = "{kind} '{name}': dims {dims} and reshape {shape} hold different numbers of elements"
    fix = "make the products equal, piece by piece around each -1"
    said = "Invalid argument: model {kind} '{name}' has different {what} for {model}"

    def tensor(self, model: Model, kind: str, tensor: Message) -> Iterator[Finding]:
        if "reshape" not in tensor:
            return
        dims, shape = tensor["dims"], tensor["reshape"]["shape"]
        if not dims or any(d < 1 and d != -1 for d in (*dims, *shape)):
            return
        what = reshape_fault(dims, shape)
        if what:
            values = {"dims": dims_text(dims), "shape": dims_text(shape), "what": what}
            yield self.found(model, tensor.entry("reshape"), kind=kind, name=tensor["name"], **values)


def reshape_fault(dims: list[int], shape: list[int]) -> str:
    """``"size for dims and reshape"`` ..., or an empty string.

    Examples
    --------
    >>> reshape_fault([2, 4, -1, 6], [8, -1, 1, 6]), reshape_fault([1], []), reshape_fault([4], [2, 3])
    ('', '', 'size for dims and reshape')
    """
    sizes = [-1 if -1 in x else _wrapped(math.prod(x)) if x else 0 for x in (dims, shape)]
    if sizes[0] != sizes[1] and not (sizes[1] == 0 and sizes[0] == 1):
        return "size for dims and reshape"
    if sizes[0] != -1:
        return ""
    pieces = [_pieces(dims), _pieces(shape)]
    if len(pieces[0]) != len(pieces[1]):
        return "number of variable-size dimensions for dims and reshape"
    pieces = [[_wrapped(piece) for piece in side] for side in pieces]
    return "" if pieces[0] == pieces[1] else "size for dims and reshape"


def _wrapped(count: int) -> int:
    """As the server's int64_t holds it."""
    return (count + 2**63) % 2**64 - 2**63


def _pieces(dims: list[int]) -> list[int]:
    pieces = [1]
    for dim in dims:
        if dim == -1:
            pieces.append(1)
        else:
            pieces[-1] *= dim
    return pieces


class FormatNeedsThreeDims(TensorRule):
    """FORMAT_NHWC or FORMAT_NCHW stands on an input that has not three dims.

    Source: core/src/model_config_utils.cc:1754 (24.10), ValidateModelInput.
    """

    code = "TPB1115"
    message = "input '{name}' has format {format} and {count} dims instead of 3"
    fix = "give it three dims, or remove the format"
    said = "Invalid argument: model input NHWC/NCHW require 3 dims for {model}"

    def tensor(self, model: Model, kind: str, tensor: Message) -> Iterator[Finding]:
        if kind == "input" and tensor["format"] in ("FORMAT_NHWC", "FORMAT_NCHW") and len(tensor["dims"]) != 3:
            values = {"format": tensor["format"], "count": len(tensor["dims"])}
            if tensor["dims"]:
                yield self.found(model, tensor.entry("format"), name=tensor["name"], **values)


class NonLinearFormat(TensorRule):
    """is_non_linear_format_io stands outside TensorRT, or not on three dims.

    Source: core/src/model_config_utils.cc:436 (24.10), ValidateNonLinearFormatIO.
    """

    code = "TPB1116"
    message = "{kind} '{name}' is a non-linear format tensor, {why}"
    fix = "remove is_non_linear_format_io"
    said = "Invalid argument: {what} for {model}"

    def tensor(self, model: Model, kind: str, tensor: Message) -> Iterator[Finding]:
        if not tensor["is_non_linear_format_io"]:
            return
        if model.completed.platform != "tensorrt_plan":
            why, what = "outside TensorRT", "Non-linear IO format is only supported for the TensorRT platform"
        elif len(tensor["dims"]) != 3:
            why, what = "without three dims", f"Non-linear IO format {kind} requires 3 dims"
        else:
            return
        where = tensor.entry("is_non_linear_format_io")
        yield self.found(model, where, kind=kind, name=tensor["name"], why=why, what=what)


class ShapeTensor(TensorRule):
    """is_shape_tensor stands outside TensorRT.

    Source: core/src/model_config_utils.cc:1760 (24.10), ValidateModelInput.
    """

    code = "TPB1117"
    message = "{kind} '{name}' is a shape tensor outside TensorRT"
    fix = "remove is_shape_tensor"
    said = "Invalid argument: shape tensors are only supported for TensorRT platform for {model}"

    def tensor(self, model: Model, kind: str, tensor: Message) -> Iterator[Finding]:
        if tensor["is_shape_tensor"] and model.completed.platform != "tensorrt_plan":
            yield self.found(model, tensor.entry("is_shape_tensor"), kind=kind, name=tensor["name"])


class BatchTensorSources(IoRule):
    """A batch_input or batch_output names no source, or several.

    Source: core/src/model_config_utils.cc:1296 (24.10), ValidateBatchIO.
    """

    code = "TPB1118"
    message = "{kind} of kind {name} has {count} source_input instead of 1"
    fix = "name exactly one source_input"
    said = "Invalid argument: {spoken} kind '{name}' expects 1 source input, got {count} for {model}"

    def check(self, model: Model) -> Iterator[Finding]:
        for kind in ("batch_input", "batch_output"):
            for tensor in model.tensors(kind):
                count = len(tensor["source_input"])
                if count != 1 and isinstance(tensor["kind"], str):
                    spoken = kind.replace("_", " ")
                    yield self.found(model, tensor, kind=kind, name=tensor["kind"], count=count, spoken=spoken)


class BatchTensorKind(IoRule):
    """The kind of a batch_input or batch_output is a number that no kind has.

    Source: measured on 24.10 (the number reaches the backend as JSON, where a name is expected).
    """

    code = "TPB1135"
    message = "{kind} has the kind {got}, which is none"
    fix = "write one of the names"
    said = "Internal: attempt to access JSON non-string as string"

    def check(self, model: Model) -> Iterator[Finding]:
        for kind in ("batch_input", "batch_output"):
            for tensor in model.tensors(kind):
                if isinstance(tensor["kind"], int) and not model.is_ensemble:
                    values = {"kind": kind, "got": tensor["kind"]}
                    if model.target.strict:  # ValidateBatchIO comes first then
                        values["said"] = f"unknown {kind.replace('_', ' ')} kind '' for {{model}}"
                    yield self.found(model, tensor.entry("kind"), **values)


class BatchOutputWithoutTarget(IoRule):
    """A batch_output names no target: the whole server dies.

    Source: measured on 24.10 (SIGSEGV while the model loads).
    """

    code = "TPB1136"
    stage = "crash"
    message = "batch_output names no target_name: the whole server dies"
    fix = "name the output that it is for"

    def check(self, model: Model) -> Iterator[Finding]:
        for tensor in model.tensors("batch_output"):
            if not tensor["target_name"] and not model.is_ensemble:
                yield Rule.found(self, model, tensor)


class BatchInputType(IoRule):
    """A batch_input is neither TYPE_INT32 nor TYPE_FP32.

    Source: core/src/model_config_utils.cc:1311 (24.10), ValidateBatchIO.
    """

    code = "TPB1119"
    message = "a batch_input has data_type {got}"
    fix = "write TYPE_INT32 or TYPE_FP32"
    said = "Invalid argument: batch input data type must be TYPE_INT32 or TYPE_FP32 for {model}"

    def check(self, model: Model) -> Iterator[Finding]:
        for tensor in model.tensors("batch_input"):
            got, said = tensor["data_type"], dict[str, str]()
            if isinstance(got, int):
                said = {"said": BatchTensorKind.said}
            elif got == "TYPE_INVALID" and not model.target.strict:
                said = {"said": "Invalid argument: unexpected batch input data type 'TYPE_INVALID'"}
            if got not in ("TYPE_INT32", "TYPE_FP32"):
                yield self.found(model, tensor.entry("data_type") or tensor, got=got, **said)


class BatchTensorUnknownName(IoRule):
    """A batch_input or batch_output names a tensor that is not declared.

    Source: core/src/model_config_utils.cc:1317 and 1353 (24.10), ValidateBatchIO.
    """

    code = "TPB1120"
    message = "{field} '{name}' is no {kind} of this model{hint}"
    fix = "name one of: {known}"
    said = "Invalid argument: unknown {spoken} '{name}' for {model}"

    def check(self, model: Model) -> Iterator[Finding]:
        for holder in ("batch_input", "batch_output"):
            for tensor in model.tensors(holder):
                yield from self._names(model, tensor, "source_input", "input", "source input name")
                if holder == "batch_output":
                    yield from self._names(model, tensor, "target_name", "output", "target output name")

    def _names(self, model: Model, tensor: Message, field: str, kind: str, spoken: str) -> Iterator[Finding]:
        known = [declared["name"] for declared in model.tensors(kind)]
        if not known and not model.target.strict and not (model.is_python or model.is_ensemble):
            return
        for entry in tensor.entries.get(field, ()):
            if entry.value not in known:
                values = {"field": field, "kind": kind, "spoken": spoken, "known": ", ".join(known) or "none"}
                yield self.found(model, entry, name=entry.value, hint=did_you_mean(entry.value, known), **values)


class BatchOutputTwice(IoRule):
    """A batch_output names one target twice.

    Source: core/src/model_config_utils.cc:1358 (24.10), ValidateBatchIO.
    """

    code = "TPB1121"
    message = "batch_output names the target '{name}' twice"
    fix = "name it once"
    said = "Invalid argument: target output name '{name}' can only be specified once for {model}"

    def check(self, model: Model) -> Iterator[Finding]:
        for tensor in model.tensors("batch_output"):
            seen: set[str] = set()
            for entry in tensor.entries.get("target_name", ()):
                if entry.value in seen:
                    yield self.found(model, entry, name=entry.value)
                seen.add(entry.value)


class LabelFileMissing(ModelRule):
    """A label file is not there.

    It belongs into the model folder, beside config.pbtxt, not into the version folder; an absolute path is taken
    below the model folder too.  A folder in its place ends the whole server.

    Source: core/src/filesystem/implementations/local.h:194 (24.10), "failed to open text file for read".
    """

    code = "TPB1122"
    needs = frozenset({"config"})
    stage = "load"
    message = "output '{name}' has label_filename \"{file}\", and {path} {why}"
    fix = "put the file there, or remove label_filename"
    said = "Internal: failed to open text file for read <REPO>/{model}/{file}: No such file or directory"

    def check(self, model: Model) -> Iterator[Finding]:
        for tensor in model.tensors("output"):
            file = tensor["label_filename"]
            if not file:
                continue
            path = below(model.path, file)
            where = tensor.entry("label_filename")
            values = {"name": tensor["name"], "file": file.lstrip("/"), "path": below(model.name, file)}
            if os.path.isdir(path):
                values |= {"stage": "crash", "said": FOLDER_SAID}
                yield self.found(model, where, why="is a folder: the whole server dies", **values)
            elif not os.path.isfile(path):
                yield self.found(model, where, why="does not exist", **values)


#: What the process says that dies of reading a folder.  Source: local.h ReadTextFile, measured on 24.10.
FOLDER_SAID = "basic_string::_M_replace_aux"


def below(folder: str, file: str) -> str:
    """JoinPath of filesystem/api.cc: an absolute path is taken below the folder as well."""
    return os.path.join(folder, file.replace("\0", "").lstrip("/"))


class BatchAxisInDims(ModelRule):
    """dims begin with the batch axis although max_batch_size adds one.

    With max_batch_size above 0 the server puts a batch axis in front of `dims`: `[-1, 3, 224, 224]` then means five
    axes, and every ordinary request is refused ("unexpected shape for input").  Remove the first dimension, or set
    max_batch_size to 0.  `--fix` removes it only where every input and every output begins with the same -1: a
    leading 1, and a -1 that some tensor lacks, may be a dimension of each item (the frames of a video), and a
    repair would turn away requests that the model takes now.

    Source: core/src/infer_request.cc:1140 (24.10), requests measured on 24.10.
    """

    code = "TPB1123"
    severity = "warning"
    needs = frozenset({"config"})
    message = (
        "{kind} '{name}' has dims {dims} and max_batch_size {batch}: requests need the shape [batch,{inside}], "
        "one axis more than usual"
    )
    fix = "write dims: [ {shorter} ], or max_batch_size: 0{unless}"

    def check(self, model: Model) -> Iterator[Finding]:
        unless = "; leave it where {first} is a dimension of each item, such as frames (--fix does not touch it)"
        is_certain = self.is_certain(model)
        for kind, tensor in self.suspects(model):
            dims = tensor["dims"]
            values: dict[str, Any] = {
                "dims": dims_text(dims),
                "inside": ",".join(map(str, dims)),
                "shorter": ", ".join(map(str, dims[1:])),
                "batch": model.max_batch_size,
                "unless": "" if is_certain else unless.format(first=dims[0]),
            }
            yield self.found(model, tensor.entries["dims"][0], kind=kind, name=tensor["name"], **values)

    @staticmethod
    def suspects(model: Model) -> list[tuple[str, Message]]:
        """Tensors that begin with -1 or 1, when all tensors of rank 2 and more do and it looks like a batch.

        ``[-1, 3, 224, 224]`` does; ``[-1, 4]`` alone may be a sequence of any length, and is left alone.
        """
        ranked = [(kind, t) for kind, t in tensors(model) if len(t["dims"]) >= 2]
        if model.max_batch_size < 1 or not ranked or any(t["dims"][0] not in (-1, 1) for _, t in ranked):
            return []
        everywhere_one = len(ranked) == len(list(tensors(model))) and all(t["dims"][0] == 1 for _, t in ranked)
        if not everywhere_one and not any(_like_a_batched_image(t["dims"]) for _, t in ranked):
            return []
        return [(kind, t) for kind, t in ranked if "reshape" not in t]

    @staticmethod
    def is_certain(model: Model) -> bool:
        """True when every input and every output begins with -1 and has dimensions left without it."""
        every = list(tensors(model))
        both = {kind for kind, _ in every} == {"input", "output"}
        return both and all(len(t["dims"]) >= 2 and t["dims"][0] == -1 and "reshape" not in t for _, t in every)


def _like_a_batched_image(dims: list[int]) -> bool:
    """``[-1, 3, 224, 224]``, ``[1, 224, 224, 3]``, ``[-1, 1, 28, 28]``."""
    return len(dims) >= 4 and (dims[1] in (1, 3, 4) or dims[-1] in (1, 3, 4))


class DuplicateTensor(ModelRule):
    """Two inputs, or two outputs, have the same name.

    The server loads the model.  Two inputs of one name no request can satisfy: it wants as many inputs as are
    declared and refuses a name that comes twice.

    Source: measured on 24.10 (config loads; "input 'IN' already exists in request").
    """

    code = "TPB1124"
    severity = "warning"
    needs = frozenset({"config"})
    message = "{kind} '{name}' is declared twice{effect}"
    fix = "rename one of the two, or remove it"

    def check(self, model: Model) -> Iterator[Finding]:
        for kind in ("input", "output"):
            seen: dict[str, Message] = {}
            for tensor in model.tensors(kind):
                name = tensor["name"]
                if name and name in seen:
                    related = (("first declared here", model.place(seen[name].entry("name"))),)
                    effect = ": no request can satisfy the model" if kind == "input" else ""
                    yield self.found(model, tensor.entry("name"), kind=kind, name=name, effect=effect, related=related)
                seen[name] = tensor


class NoTensors(ModelRule):
    """A model has no inputs, or no outputs.

    It loads.  Without declared inputs every request is refused ("expected 0 inputs but got 1"); without outputs
    nothing comes back.

    Source: measured on 24.10 (cases C_ok_no_inputs_outputs, A_no_config_no_autocomplete_fn).
    """

    code = "TPB1125"
    severity = "warning"
    needs = _SINGLE
    message = "the model declares no {kinds}{why}: {effect}"
    fix = "declare them in config.pbtxt{or_hook}"

    def check(self, model: Model) -> Iterator[Finding]:
        if not model.is_python and model.completed.backend != "pytorch":
            return
        if any(source.completion is not None for source in model.sources) and not model.target.strict:
            return
        missing = [kind for kind in ("inputs", "outputs") if not model.tensors(kind[:-1])]
        if missing and model.selected_versions:
            why = "" if model.config_state == "file" else " (there is no config.pbtxt)"
            effect = "every request is refused" if "inputs" in missing else "nothing comes back"
            hook = ", or in auto_complete_config" if model.is_python and not model.target.strict else ""
            yield self.found(model, None, kinds=" and no ".join(missing), why=why, effect=effect, or_hook=hook)


class UnknownTypeNumber(ModelRule):
    """A data type is written as a number that no type has.

    The server loads it, and no request fits.

    Source: measured on 24.10 (case C_dtype_out_of_range_enum_output_used).
    """

    code = "TPB1126"
    severity = "warning"
    needs = frozenset({"config"})
    message = "{kind} '{name}' has data_type {got}, which is no type"
    fix = "write a name such as TYPE_FP32"

    def check(self, model: Model) -> Iterator[Finding]:
        for kind, tensor in tensors(model):
            if isinstance(tensor["data_type"], int):
                yield self.found(
                    model, tensor.entry("data_type"), kind=kind, name=tensor["name"], got=tensor["data_type"]
                )


class RaggedWithoutBatching(ModelRule):
    """allow_ragged_batch stands where nothing is ever batched.

    Source: measured on 24.10 (case C_ragged_no_batching); ensembles ignore it.
    """

    code = "TPB1127"
    severity = "warning"
    needs = frozenset({"config"})
    message = "input '{name}' allows ragged batches, but {why}"
    fix = "remove allow_ragged_batch{or_set}"

    def check(self, model: Model) -> Iterator[Finding]:
        for tensor in model.tensors("input"):
            if tensor["allow_ragged_batch"] and (model.is_ensemble or model.max_batch_size == 0):
                why = "an ensemble ignores it" if model.is_ensemble else "max_batch_size is 0"
                or_set = "" if model.is_ensemble else ", or set max_batch_size"
                where = tensor.entry("allow_ragged_batch")
                yield self.found(model, where, name=tensor["name"], why=why, or_set=or_set)
