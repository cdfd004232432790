"""Group 16: ensembles, alone and against the models of their steps."""

from __future__ import annotations

from collections.abc import Iterator

from triton_pyb.check.ensemble_graph import EnsembleGraph, Fault
from triton_pyb.check.finding import Finding
from triton_pyb.check.model import Model
from triton_pyb.check.repository import Repository
from triton_pyb.check.rule import ModelRule, RepositoryRule

_ENSEMBLE = frozenset({"config", "ensemble"})


class SchedulingWithoutPlatform(ModelRule):
    """ensemble_scheduling stands in a model whose platform is not ensemble.

    A `backend`, or a model.py in the version folder, makes it another kind of model.

    Source: core/src/model_config_utils.cc:166 (24.10), ValidateEnsembleSchedulingConfig.
    """

    code = "TPB1601"
    needs = _ENSEMBLE
    stage = "poll"
    message = "ensemble_scheduling stands in a model of {what}"
    fix = 'write platform: "ensemble" and no backend'
    said = "ensemble scheduling cannot be set for model '{model}' whose platform is not ensemble"

    def check(self, model: Model) -> Iterator[Finding]:
        done = model.completed
        if "ensemble_scheduling" in model.config and done.platform != "ensemble" and not done.undetermined:
            where = model.config.entry("backend") or model.config.entry("platform")
            where = where or model.config.entry("ensemble_scheduling")
            what = f'backend "{done.backend}"' if done.backend else f'platform "{done.platform}"'
            yield self.found(model, where, what=what)


class PlatformWithoutScheduling(ModelRule):
    """platform is ensemble, and ensemble_scheduling is missing.

    Source: core/src/model_config_utils.cc:1608 (24.10), ValidateModelConfig.
    """

    code = "TPB1602"
    needs = _ENSEMBLE
    stage = "poll"
    message = "the ensemble has no ensemble_scheduling"
    fix = "add ensemble_scheduling {{ step [ ... ] }}"
    said = "ensemble scheduling must be set for ensemble {model} whose platform is ensemble"

    def check(self, model: Model) -> Iterator[Finding]:
        if model.config["platform"] == "ensemble" and "ensemble_scheduling" not in model.config:
            yield self.found(model, model.config.entry("platform"))


class ForbiddenInEnsemble(ModelRule):
    """An ensemble has instance_group, optimization or model_warmup.

    They belong to the models of its steps.

    Source: core/src/model_config_utils.cc:172 to 184 (24.10), ValidateEnsembleSchedulingConfig.
    """

    code = "TPB1603"
    needs = _ENSEMBLE
    stage = "poll"
    message = "an ensemble cannot have {field}"
    fix = "move it to the models of the steps"
    said = "{what} for ensemble '{model}'"

    def check(self, model: Model) -> Iterator[Finding]:
        if "ensemble_scheduling" not in model.config:
            return
        says = {
            "instance_group": "instance group should not be specified",
            "optimization": "optimization should not be specified",
            "model_warmup": "model_warmup can not be specified",
        }
        for field, what in says.items():
            if field in model.config:
                yield self.found(model, model.config.entry(field), field=field, what=what)


class AloneRule(ModelRule):
    """Base: turns one kind of the graph's faults into findings."""

    needs = _ENSEMBLE
    stage = "poll"
    kind = ""

    def check(self, model: Model) -> Iterator[Finding]:
        if "ensemble_scheduling" not in model.config:
            return
        graph = EnsembleGraph(model)
        for fault in graph.faults_alone():
            if fault.kind == self.kind:
                yield self.fault(model, graph, fault)

    def fault(self, model: Model, graph: EnsembleGraph, fault: Fault) -> Finding:
        drawing = graph.drawing(fault.tensor, fault.sink) if fault.tensor else ""
        return self.found(model, fault.where, drawing=drawing, related=fault.related, **fault.values)


class NoSteps(AloneRule):
    """An ensemble has no step.

    Source: core/src/model_config_utils.cc:192 (24.10).
    """

    code = "TPB1604"
    kind = "no-steps"
    message = "the ensemble has no step"
    fix = "add step [ {{ model_name: ... model_version: -1 input_map ... output_map ... }} ]"
    said = "must specify 'step' for ensemble '{model}'"


class IncompleteStep(AloneRule):
    """A step lacks model_name, input_map or output_map.

    Source: core/src/model_config_utils.cc:89 to 101 (24.10), BuildEnsembleGraph.
    """

    code = "TPB1605"
    kind = "incomplete-step"
    message = "step {step} has no {field}"
    fix = "add {field}"
    said = "must specify '{field}' in step {step} of ensemble '{model}'"


class WrittenTwice(AloneRule):
    """Two steps write one tensor.

    Source: core/src/model_config_utils.cc:114 (24.10), BuildEnsembleGraph.
    """

    code = "TPB1606"
    kind = "written-twice"
    message = "{source} writes tensor '{tensor}', which is already written"
    fix = "give one of the two another name"
    said = "ensemble tensor '{tensor}' can appear in an output map only once for ensemble '{model}' step {step}"


class EnsembleInputUnused(AloneRule):
    """No step takes an input of the ensemble.

    Source: core/src/model_config_utils.cc:205 (24.10); the stray quote is the server's.
    """

    code = "TPB1607"
    kind = "input-unused"
    message = "no step takes the ensemble input '{tensor}'{hint}"
    fix = "name it as the value of an input_map, or remove it from input"
    said = "ensemble input '{tensor}' for ensemble {model}' is not used"


class EnsembleOutputUnused(AloneRule):
    """No step writes an output of the ensemble.

    Source: core/src/model_config_utils.cc:237 (24.10); the stray quote is the server's.
    """

    code = "TPB1608"
    kind = "output-unused"
    message = "no step writes the ensemble output '{tensor}'{hint}"
    fix = "name it as the value of an output_map, or remove it from output"
    said = "ensemble output '{tensor}' for ensemble {model}' is not used"


class OutputNotWritten(AloneRule):
    """An output can never be written: a tensor on its way has no source.

    Mostly a typing error in a tensor name.

    Source: core/src/model_config_utils.cc:244 and 267 (24.10).
    """

    code = "TPB1609"
    kind = "not-written"
    message = "output '{output}' is never written: tensor '{tensor}' has no source, {why}{hint}"
    fix = "write '{tensor}' in the output_map of a step, or read another tensor here"
    said = "output '{output}' for ensemble '{model}' is not written{tail}"


class TensorUnused(AloneRule):
    """A tensor between steps leads nowhere.

    The server refuses it.  An output of a model that nobody needs is simply left out of output_map.

    Source: core/src/model_config_utils.cc:285 (24.10).
    """

    code = "TPB1610"
    kind = "tensor-unused"
    message = "tensor '{tensor}' {why}"
    fix = "{repair}"
    said = "ensemble tensor '{tensor}' is unused in ensemble '{model}'"

    def fault(self, model: Model, graph: EnsembleGraph, fault: Fault) -> Finding:
        waiting = fault.values.pop("waiting")
        why, repair = "is written and never read", "remove it from output_map, or read it"
        if waiting and fault.tensor not in graph.writers():
            why, repair = "is read and never written", "declare it as an input of the ensemble, or write it in a step"
        elif waiting:
            why, repair = "can never be written: its step waits for a tensor", "write what it waits for"
        fault.values["why"], fault.values["repair"] = why, repair
        return super().fault(model, graph, fault)


class MapKeyTwice(ModelRule):
    """An input_map or output_map has one key twice: the last one wins.

    Source: protobuf map fields; measured on 24.10.
    """

    code = "TPB1611"
    severity = "warning"
    needs = _ENSEMBLE
    message = "{field} of step {step} has the key '{key}' twice: the last one wins"
    fix = "remove one of the two"

    def check(self, model: Model) -> Iterator[Finding]:
        for step in EnsembleGraph(model).steps:
            for field in ("input_map", "output_map"):
                seen: set[str] = set()
                for entry in step.entry.value.entries.get(field, ()):
                    key = entry.value["key"]
                    if key in seen:
                        yield self.found(model, entry, field=field, step=step.index, key=key)
                    seen.add(key)


class TogetherRule(RepositoryRule):
    """Base: turns one kind of the faults between an ensemble and its steps into findings."""

    stage = "dependency"
    kind = ""

    def check_repository(self, repository: Repository) -> Iterator[Finding]:
        for model in repository.models:
            if {"config", "ensemble"} <= model.facts and "ensemble_scheduling" in model.config:
                graph = EnsembleGraph(model)
                for fault in repository.ensemble_faults.get(model.name, ()):
                    if fault.kind == self.kind:
                        drawing = graph.drawing(fault.tensor, fault.sink) if fault.tensor else ""
                        yield self.found(model, fault.where, drawing=drawing, related=fault.related, **fault.values)


class StepModelMissing(TogetherRule):
    """The model of a step is not in the repository, or cannot be read.

    Source: core/src/model_repository_manager/model_repository_manager.cc:2107 (24.10).
    """

    code = "TPB1621"
    kind = "model-missing"
    message = "model '{step}' of this ensemble {why}{hint}"
    fix = "{repair}"
    said = "Invalid argument: ensemble {model} contains models that are not available or ambiguous: {step}"


class StepVersionMissing(TogetherRule):
    """The version that a step asks for is not loaded.

    `model_version` left out means 0, not the latest: write -1 (`--fix` does it).  By default only the newest
    version of a model is loaded.

    Source: core/src/model_repository_manager/model_repository_manager.cc:1858 (24.10).
    """

    code = "TPB1622"
    kind = "version-missing"
    message = "the ensemble asks for version {version} of '{step}'{why}; loaded: {loaded}"
    fix = "write model_version: -1 for the latest{or_policy}"
    said = "Invalid argument: ensemble '{model}' depends on '{step}' whose required version {version} is not loaded."


class StepModelBroken(TogetherRule):
    """The model of a step does not load, so the ensemble does not either.

    Source: core/src/model_repository_manager/model_repository_manager.cc:1841 (24.10).
    """

    code = "TPB1623"
    kind = "model-broken"
    message = "model '{step}' of this ensemble does not load"
    fix = "repair '{step}' first: its own findings say how"
    said = (
        "Invalid argument: ensemble '{model}' depends on '{step}' which has no loaded version. Model '{step}' "
        "loading failed with error: {error}"
    )


class InnerEnsembleBroken(TogetherRule):
    """An ensemble used as a step is broken.

    Source: core/src/model_repository_manager/model_repository_manager.cc:1822 (24.10).
    """

    code = "TPB1624"
    kind = "inner-broken"
    message = "ensemble '{step}', a step of this one, is not valid"
    fix = "repair '{step}' first: its own findings say how"
    said = (
        "Invalid argument: ensemble '{model}' depends on '{step}' which is not valid. Model '{step}' failed with "
        "error: {error}"
    )


class NoSuchInput(TogetherRule):
    """An input_map names an input that the model does not have.

    Source: core/src/ensemble_scheduler/ensemble_utils.cc:141 (24.10).
    """

    code = "TPB1625"
    kind = "no-such-input"
    message = "model '{step}' has no input '{key}'{hint}"
    fix = "name one of its inputs: {known}"
    said = (
        "Invalid argument: in ensemble {model}, ensemble tensor {tensor} is mapping to non-existing input {key} in "
        "model {step}"
    )


class NoSuchOutput(TogetherRule):
    """An output_map names an output that the model does not have.

    Source: core/src/ensemble_scheduler/ensemble_utils.cc:194 (24.10).
    """

    code = "TPB1626"
    kind = "no-such-output"
    message = "model '{step}' has no output '{key}'{hint}"
    fix = "name one of its outputs: {known}"
    said = (
        "Invalid argument: in ensemble {model}, ensemble tensor {tensor} is mapped from non-existing output {key} "
        "in model {step}"
    )


class InputNotMapped(TogetherRule):
    """A required input of a step's model gets nothing.

    Source: core/src/ensemble_scheduler/ensemble_utils.cc:173 (24.10).
    """

    code = "TPB1627"
    kind = "input-not-mapped"
    message = "input '{key}' of model '{step}' gets no tensor"
    fix = 'add input_map {{ key: "{key}" value: ... }}, or make the input optional'
    said = "Invalid argument: in ensemble {model}, input {key} in model {step} is not mapped to any ensemble tensors"


class TypeMismatch(TogetherRule):
    """The two ends of a tensor have different data types.

    Source: core/src/ensemble_scheduler/ensemble_utils.cc:96 (24.10), ValidateTensorConsistency.
    """

    code = "TPB1628"
    kind = "type"
    message = "tensor '{tensor}' is {first_type} in '{first}' and {second_type} in '{second}' ({key})"
    fix = "give both ends one data_type"
    said = (
        "Invalid argument: in ensemble {model}, ensemble tensor {tensor}: inconsistent data type: {first_type} is "
        "inferred from model {first} while {second_type} is inferred from model {second}"
    )


class ShapeMismatch(TogetherRule):
    """The two ends of a tensor have shapes that do not fit.

    The rank must agree and each pair of sizes be equal or -1; a -1 never stands for a missing axis.  Every mention
    is compared with the first one.

    Source: core/src/ensemble_scheduler/ensemble_utils.cc:96 (24.10), ValidateTensorConsistency.
    """

    code = "TPB1629"
    kind = "shape"
    message = "tensor '{tensor}' is {first_dims} in '{first}' and {second_dims} in '{second}' ({key})"
    fix = "give both ends the same dims, or set max_batch_size on both"
    said = (
        "Invalid argument: in ensemble {model}, ensemble tensor {tensor}: inconsistent shape: {first_dims} is "
        "inferred from model {first} while {second_dims} is inferred from model {second}"
    )


class BatchLimit(TogetherRule):
    """An ensemble allows larger batches than one of its models.

    Source: core/src/ensemble_scheduler/ensemble_utils.cc:300 (24.10).
    """

    code = "TPB1630"
    kind = "batch-limit"
    message = "the ensemble allows batches of {most}, its model '{step}' of {step_most}"
    fix = "write max_batch_size: {step_most} here, or raise that of '{step}'"
    said = (
        "Invalid argument: ensemble {model} allows maximum batch size {most}, but it contains model {step} which "
        "only allows maximum batch size to be {step_most}"
    )


class CircularEnsembles(TogetherRule):
    """Ensembles contain each other.

    Source: core/src/model_repository_manager/model_repository_manager.cc:2204 (24.10).
    """

    code = "TPB1631"
    kind = "circular"
    message = "the ensemble contains itself: {path}"
    fix = "break the circle"
    said = "Invalid argument: circular dependency between ensembles: {said_path}"


class DecoupledSources(TogetherRule):
    """A step takes tensors of different decoupled models, or of one and of the request.

    A decoupled model answers any number of times: the server cannot pair its answers with something else.

    Source: core/src/ensemble_scheduler/ensemble_utils.cc:338 (24.10).
    """

    code = "TPB1632"
    kind = "decoupled"
    message = "step '{step}' takes tensors that come from different decoupled models, or from one and the request"
    fix = "pass the tensor through the decoupled model, or do it with BLS"
    said = (
        "Invalid argument: in ensemble {model}, step of model '{who}' receives inputs originated from different "
        "decoupled models"
    )


class OneRowOnly(TogetherRule):
    """A batching ensemble feeds a model without batching that has no axis for the batch.

    It loads, works for a batch of one and refuses every larger one.

    Source: measured on 24.10 (case Q_ens_batching_ensemble_nonbatching_model_same_dims).
    """

    code = "TPB1633"
    kind = "one-row-only"
    severity = "warning"
    stage = ""
    message = (
        "tensor '{tensor}' is {first_dims} in '{first}' and {second_dims} in '{second}': this loads, and only a "
        "batch of 1 gets through"
    )
    fix = "set max_batch_size on both, or on neither"


class VaryingIntoFixed(TogetherRule):
    """A tensor whose size varies feeds an input of fixed size.

    It loads, and fails for every request of another size.

    Source: measured on 24.10 (case Q_ens_intermediate_wildcard_shape).
    """

    code = "TPB1634"
    kind = "varying-into-fixed"
    severity = "warning"
    stage = ""
    message = "tensor '{tensor}' is {first_dims} in '{first}', but '{second}' takes {second_dims} only ({key})"
    fix = "write the fixed size on both ends, or -1 on both"
